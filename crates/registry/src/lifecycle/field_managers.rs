//! Who owns which field: follows every write, and makes applies.
//!
//! Objects are in the stored version here; ownership is told in the version in which the client speaks, so that both
//! go through that version for a moment. Where all versions have one shape, that is another head.

use keelson_codec::json;
use keelson_merge::apply::{
    Conflicts, ConvertError, FieldSet, Filter, Force, Json, Refusal, Tracker, Types, Versions,
};
use keelson_object::{Object, SmolStr, Value};
use keelson_status::{Cause, Status};
use tracing::debug;

use crate::context::Context;
use crate::convert;
use crate::error::{Error, Result};
use crate::live::Live;
use crate::options::{FieldValidation, Part};
use crate::resource::{Resource, Version};
use crate::scale;

/// What is applied, and by whom.
pub struct Apply<'a> {
    /// What the client wants, as it sent it.
    pub patch: &'a Value,
    /// Whether fields are taken from other managers.
    pub force: Force,
    /// What a strict reader says about the patch.
    pub complaint: Option<&'a str>,
    /// Who listens to that.
    pub validation: FieldValidation,
}

/// Follows a write that is no apply: `object` is about to replace `old`, or to be made.
///
/// Mistakes in what is known of managers do not keep anybody from writing: then nothing is known any more.
pub(crate) fn follow(live: &Live, context: &Context, part: Part, object: &mut Object, old: Option<&Object>) {
    let kind = Kind::new(live, context, part);
    let before = old.map(|old| kind.spoken(old.clone()));
    let mut filled = object.clone();
    live.resource.strategy.fill_owned(&mut filled);
    let mut after = kind.spoken(filled);
    if let Err(error) = kind.tracker(context).update(before, &mut after, &context.field_manager) {
        debug!(%error, "managed fields are dropped");
    }
    object.meta.managed_fields = managed_fields(&mut after);
}

/// `old` with what `apply` wants, in the version of the client; `None` is an object that is not there yet.
pub(crate) fn apply(
    live: &Live,
    context: &Context,
    part: Part,
    old: Option<&Object>,
    apply: &Apply<'_>,
) -> Result<Value> {
    let kind = Kind::new(live, context, part);
    let before = old.map(|old| kind.spoken(old.clone()));
    let applied = kind.tracker(context).apply(before, apply.patch, &context.field_manager, apply.force);
    applied.map_err(|refusal| match refusal {
        Refusal::BadRequest(message) => Error::BadRequest(message),
        Refusal::Internal(message) => Error::Unclassified(message),
        Refusal::Conflicts(mut conflicts) => {
            if part == Part::Scale {
                tell_in_scales(&mut conflicts);
            }
            let cause = |it: keelson_merge::apply::Cause| Cause {
                reason: "FieldManagerConflict".into(),
                message: it.message,
                field: it.field,
            };
            let causes = conflicts.causes().into_iter().map(cause).collect();
            Error::Rejected(Box::new(Status::apply_conflict(causes, &conflicts.to_string())))
        }
    })
}

/// Whoever updates replicas is told of as if it had updated scales, in whatever version it did so.
///
/// Upstream: apimachinery/pkg/util/managedfields/scalehandler.go, ToSubresource (v1.36.4).
fn tell_in_scales(conflicts: &mut Conflicts) {
    for conflict in &mut conflicts.0 {
        if !conflict.manager.api_version.is_empty() {
            conflict.manager.api_version = SmolStr::new_static(scale::API_VERSION);
        }
    }
}

/// Tells about keys that stand twice in the patch: after everything that keeps it from being applied.
///
/// Upstream: apiserver/pkg/endpoints/handlers/patch.go, applyPatcher.applyPatchToCurrentObject, and rest.go,
/// parseYAMLWarnings (v1.36.4).
pub(crate) fn complain(context: &Context, apply: &Apply<'_>) -> Result<()> {
    let Some(complaint) = apply.complaint else { return Ok(()) };
    match apply.validation {
        FieldValidation::Strict => Err(Error::BadRequest(format!(
            "error strict decoding YAML: error converting YAML to JSON: {complaint}"
        ))),
        FieldValidation::Warn => {
            // The first line is the heading.
            complaint.lines().skip(1).for_each(|line| context.warn(line.trim()));
            Ok(())
        }
        FieldValidation::Ignore => Ok(()),
    }
}

/// The managers in a tree.
pub(crate) fn managed_fields(value: &mut Value) -> Vec<Value> {
    let metadata = match value {
        Value::Map(map) => map.get_mut("metadata"),
        _ => None,
    };
    match metadata {
        Some(Value::Map(metadata)) => match metadata.remove("managedFields") {
            Some(Value::List(entries)) => entries,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// A kind as one request speaks of it.
struct Kind<'l> {
    live: &'l Live,
    version: &'l Version,
    subresource: &'static str,
    reset: Vec<(SmolStr, Filter)>,
}

impl<'l> Kind<'l> {
    fn new(live: &'l Live, context: &Context, part: Part) -> Kind<'l> {
        let resource = &live.resource;
        let spoken = resource.versions.iter().find(|it| it.api_version == context.api_version);
        let version = spoken.unwrap_or_else(|| resource.stored_version());
        Kind { live, version, subresource: part.name(), reset: reset(resource, part) }
    }

    fn tracker<'k>(&'k self, context: &Context) -> Tracker<'k> {
        Tracker {
            api_version: &self.version.api_version,
            kind: &self.live.resource.kind,
            subresource: self.subresource,
            reset: &self.reset,
            versions: self,
            json: Json { read: |text| Some(json::read(text.as_bytes()).ok()?.value), write: to_text },
            // Upstream looks for the time of whoever scales among the managers that were there before.
            now: (self.subresource != Part::Scale.name()).then(|| context.now()),
        }
    }

    /// A stored object in the version of the request.
    fn spoken(&self, object: Object) -> Value {
        self.live.in_version(self.version, object).into_value()
    }
}

impl Versions for Kind<'_> {
    fn types(&self, api_version: &str) -> Option<Types<'_>> {
        let version = self.live.resource.versions.iter().find(|it| it.api_version == api_version)?;
        Some(version.schema.as_ref().map_or(Types::Deduced, Types::Known))
    }

    fn convert(&self, object: &Value, api_version: &str) -> std::result::Result<Value, ConvertError> {
        let resource = &self.live.resource;
        let find = |wanted: &str| resource.versions.iter().find(|it| it.api_version == wanted);
        let to = find(api_version).ok_or(ConvertError::Missing)?;
        let mut object =
            Object::from_value(object.clone()).map_err(|error| ConvertError::Failed(error.to_string()))?;
        let from = find(&object.api_version).ok_or(ConvertError::Missing)?;
        convert::to_stored(resource, from, &mut object);
        Ok(self.live.in_version(to, object).into_value())
    }
}

/// By version, the fields that a part of the object does not write.
fn reset(resource: &Resource, part: Part) -> Vec<(SmolStr, Filter)> {
    let fields = resource.strategy.reset_fields(part);
    let fields: &[&str] = match fields {
        Some(fields) => fields,
        None => match part {
            Part::Main if resource.has_status => &["status"],
            Part::Status => &["spec"],
            _ => &[],
        },
    };
    if fields.is_empty() {
        return Vec::new();
    }
    let filter = Filter::Exclude(FieldSet::of_fields(fields));
    resource.versions.iter().map(|it| (it.api_version.clone(), filter.clone())).collect()
}

fn to_text(value: &Value) -> String {
    String::from_utf8_lossy(&json::to_bytes(value)).into_owned()
}
