//! VolumeAttachment: a request to attach a volume to a node.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use crate::core::persistent_volume::{self, Place};
use crate::shared::go_form::{Field, Form, Shape};
use crate::shared::immutable::is_same;
use crate::shared::{cells, status, volume_sources};

/// The size limit of attachment metadata in bytes.
const METADATA_MAX: usize = 256 * 1024;

/// Messages have at most this many.
const MESSAGE_MAX: usize = 1024;

pub(crate) struct VolumeAttachment;

pub(super) fn columns() -> [Column; 6] {
    [
        Column::name(),
        cells::named(Column::text("Attacher", "spec.attacher")),
        Column::text("PV", "spec.source.persistentVolumeName"),
        Column::text("Node", "spec.nodeName"),
        cells::boolean("Attached", |object| {
            Cell::Bool(cells::truth(object, "status.attached").unwrap_or(false))
        }),
        Column::age(),
    ]
}

impl Strategy for VolumeAttachment {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        status::clear(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateVolumeAttachment (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let empty = Map::new();
        let (spec, at) = (object.fields.map("spec").unwrap_or(&empty), Path::root("spec"));
        volume_sources::check_driver_name(
            spec.str("attacher").unwrap_or_default(),
            &at.key("attacher"),
            errors,
        );
        let source = spec.map("source").unwrap_or(&empty);
        check_source(source, &at.key("source"), errors);
        let node = spec.str("nodeName").unwrap_or_default();
        errors.invalid_each(&at.key("nodeName"), node, name_rules::dns1123_subdomain(node));
        check_status(object.fields.map("status").unwrap_or(&empty), errors);
        if let Some(volume) = source.str("persistentVolumeName") {
            let at = Path::root("spec.source.persistentVolumeName");
            errors.invalid_each(&at, volume, name_rules::dns1123_subdomain(volume));
        }
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateVolumeAttachmentUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        if !is_same(object.fields.get("spec"), old.fields.get("spec")) {
            let empty = Map::new();
            let spec = object.fields.map("spec").unwrap_or(&empty);
            errors.invalid(&Path::root("spec"), Shape(spec, &SPEC), "field is immutable");
        }
    }

    fn validate_status_update(
        &self,
        context: &Context,
        object: &Object,
        old: &Object,
        errors: &mut FieldErrors,
    ) {
        self.validate_update(context, object, old, errors);
    }
}

fn check_source(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (source.map("inlineVolumeSpec"), source.str("persistentVolumeName")) {
        (None, None) => errors.required(at, detail),
        (Some(_), Some(_)) => errors.forbidden(at, detail),
        (None, Some("")) => {
            errors.required(&at.key("persistentVolumeName"), "must specify non empty persistentVolumeName");
        }
        (None, Some(_)) => {}
        (Some(spec), None) => {
            persistent_volume::check(spec, &Place::Inline, &at.key("inlineVolumeSpec"), errors);
        }
    }
}

fn check_status(status: &Map, errors: &mut FieldErrors) {
    let at = Path::root("status");
    let metadata = status.map("attachmentMetadata").into_iter().flat_map(Map::iter);
    let size: usize = metadata.map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > METADATA_MAX {
        errors.too_long(&at.key("attachmentMetadata"), METADATA_MAX);
    }
    for field in ["attachError", "detachError"] {
        let Some(error) = status.map(field) else { continue };
        let at = at.key(field);
        if error.str("message").is_some_and(|it| it.len() > MESSAGE_MAX) {
            // Upstream names the other limit in the message.
            errors.too_long(&at.key("message"), METADATA_MAX);
        }
        if let Some(code) = error.int("errorCode").filter(|it| *it < 0) {
            errors.invalid(&at.key("errorCode"), code, "must be between 0 and 2147483647, inclusive");
        }
    }
}

/// Upstream: pkg/apis/storage/types.go, VolumeAttachmentSpec (v1.36.4).
const SPEC: [Field; 3] = [
    Field("Attacher", "attacher", Form::Text),
    Field("Source", "source", Form::Maybe(&SOURCE)),
    Field("NodeName", "nodeName", Form::Text),
];

const SOURCE: [Field; 2] = [
    Field("PersistentVolumeName", "persistentVolumeName", Form::AsIs),
    Field("InlineVolumeSpec", "inlineVolumeSpec", Form::AsIs),
];
