//! Field managers: tracks the ownership of fields (managedFields) on every write, and executes server-side
//! apply.
//!
//! Objects are in the stored version here, but managedFields use the version of the request, so objects are
//! converted to that version temporarily. Where all versions have the same shape, this only replaces kind and
//! apiVersion. Custom resources are in the version of the request, and other versions are needed where
//! managers have used them.

mod conversions;

pub(crate) use conversions::{Conversion, Conversions, MAX_CONVERSIONS, Wanted};

use std::borrow::Cow;
use std::cell::RefCell;

use keelson_codec::json;
use keelson_merge::apply::{
    ConvertError, FieldSet, Filter, Force, Json, Managers, OneVersion, Refusal, Tracker, Tree, Types,
    Versions, Written, differ_in_times_only, managers_of_scale, managers_of_scaled,
};
use keelson_object::{ApiVersion, Map, Object, SmolStr, Value};
use keelson_schema::Schema;
use keelson_status::{Cause, Status};
use tracing::debug;

use crate::context::Context;
use crate::convert;
use crate::error::{Error, Result};
use crate::live::Live;
use crate::options::{FieldValidation, Part};
use crate::resource::{Resource, Scale, Version};
use crate::scale;

/// The parameters of a server-side apply.
pub struct Apply<'a> {
    /// The patch, as the client sent it.
    pub patch: &'a Value,
    /// Whether fields are taken over from other managers.
    pub force: Force,
    /// The complaint of a strict reader about the patch.
    pub complaint: Option<&'a str>,
    /// Whether that complaint is an error, a warning or ignored.
    pub validation: FieldValidation,
}

/// Updates managedFields for a write that is not an apply: `object` is about to replace `old`, or to be
/// created.
///
/// Malformed managedFields do not prevent a write: they are discarded.
pub(crate) async fn follow(
    live: &Live,
    context: &Context,
    part: Part,
    object: &mut Object,
    old: Option<&Object>,
) {
    let none = Conversions::default();
    let followed = if let (Part::Scale, Some(at), Some(old)) = (part, &live.resource.scale, old) {
        Scaled::new(&Kind::new(live, context, part, &none), at, context).follow(object, old)
    } else {
        let given = std::mem::take(&mut object.meta.managed_fields);
        if live.keeps_fields() {
            Kind::new(live, context, part, &none).follow(context, object, given, old)
        } else {
            follow_converted(live, context, part, (object, given, old)).await
        }
    };
    object.meta.managed_fields = followed.unwrap_or_else(|error| {
        debug!(%error, "managed fields are dropped");
        Vec::new()
    });
}

/// The same if a webhook converts the object to the versions of other managers.
async fn follow_converted(
    live: &Live,
    context: &Context,
    part: Part,
    (object, given, old): (&Object, Vec<Value>, Option<&Object>),
) -> std::result::Result<Vec<Value>, Refusal> {
    let mut known = Conversions::default();
    for _ in 0..MAX_CONVERSIONS {
        let wanted = {
            let kind = Kind::new(live, context, part, &known);
            let followed = kind.follow(context, object, given.clone(), old);
            match kind.wanted.into_inner() {
                None => return followed,
                Some(wanted) => wanted,
            }
        };
        known.add(wanted.convert(live).await);
    }
    Err(Refusal::Internal("managed fields need too many conversions".to_owned()))
}

/// Sets managedFields of `object`, which is posted to a subresource and is not of the resource's own kind.
pub(crate) fn note_foreign(context: &Context, subresource: &str, object: &mut Object) {
    let ApiVersion { group, version } = ApiVersion::parse(&object.api_version).unwrap_or_default();
    let schema = Schema::builtin(&group, &version, &object.kind);
    let types = schema.as_ref().map_or(Types::Deduced, Types::Known);
    let versions = OneVersion { api_version: &object.api_version, types };
    let given = std::mem::take(&mut object.meta.managed_fields);
    let tracker = Tracker {
        api_version: &object.api_version,
        kind: &object.kind,
        subresource,
        reset: &[],
        versions: &versions,
        json: JSON,
        now: context.now(),
    };
    let head = head(object);
    let given = (!given.is_empty()).then_some(given);
    let written = tracker.follow(None, Tree::Parts(&head, &object.fields), given, &context.field_manager);
    object.meta.managed_fields = written.unwrap_or_default();
}

/// Whether this asks to reset managedFields; see `decode::keep_reset_of_managers`.
pub(crate) fn is_reset(entries: &[Value]) -> bool {
    matches!(entries, [Value::Map(entry)] if entry.is_empty())
}

/// What is wrong with managedFields, if anything.
///
/// Upstream: apimachinery/pkg/util/managedfields/fieldmanager.go, ValidateManagedFields (v1.36.4).
pub(crate) fn problem(entries: &[Value]) -> Option<String> {
    match Managers::from_entries(entries.to_vec()) {
        Ok(_) => None,
        Err(Refusal::Internal(problem) | Refusal::BadRequest(problem)) => Some(problem),
        Err(Refusal::Conflicts(conflicts)) => Some(conflicts.to_string()),
    }
}

const JSON: Json = Json { read: |text| Some(json::read(text.as_bytes()).ok()?.value), write: to_text };

/// The result of an apply.
pub(crate) enum Applied {
    /// The object, in the version of the client.
    Object(Value),
    /// Nothing yet: this conversion is needed first.
    Wanted(Wanted),
}

/// `old` with the changes of `apply`; `None` if the object does not exist yet.
pub(crate) fn apply(
    live: &Live,
    context: &Context,
    part: Part,
    old: Option<&Object>,
    (apply, known): (&Apply<'_>, &Conversions),
) -> Result<Applied> {
    let kind = Kind::new(live, context, part, known);
    if let (Part::Scale, Some(at), Some(old)) = (part, &live.resource.scale, old) {
        return Scaled::new(&kind, at, context).apply(old, apply).map(Applied::Object);
    }
    let before = old.map(|old| kind.spoken(old));
    let applied = kind.tracker(context).apply(before, apply.patch, &context.field_manager, apply.force);
    match kind.wanted.into_inner() {
        None => applied.map(Applied::Object).map_err(refused),
        Some(wanted) => Ok(Applied::Wanted(wanted)),
    }
}

/// The scale of `object`, with its managedFields.
pub(crate) fn scale(live: &Live, context: &Context, object: &Object, at: &Scale) -> Result<Object> {
    let none = Conversions::default();
    let kind = Kind::new(live, context, Part::Scale, &none);
    Scaled::new(&kind, at, context).scale(object).map_err(refused)
}

fn refused(refusal: Refusal) -> Error {
    match refusal {
        Refusal::BadRequest(message) => Error::BadRequest(message),
        Refusal::Internal(message) => Error::Unclassified(message),
        Refusal::Conflicts(conflicts) => {
            let cause = |it: keelson_merge::apply::Cause| Cause {
                reason: "FieldManagerConflict".into(),
                message: it.message,
                field: it.field,
            };
            let causes = conflicts.causes().into_iter().map(cause).collect();
            Error::Rejected(Box::new(Status::apply_conflict(causes, &conflicts.to_string())))
        }
    }
}

/// Restores the old times if nothing else has changed, so that a repeated apply writes nothing.
///
/// This is known only now, because defaulting and canonicalization can undo what the client wrote
/// differently.
pub(crate) fn keep_times(object: &mut Object, old: &Object) {
    if !differ_in_times_only(&old.meta.managed_fields, &object.meta.managed_fields) {
        return;
    }
    let new = std::mem::replace(&mut object.meta.managed_fields, old.meta.managed_fields.clone());
    let revision = std::mem::replace(&mut object.meta.resource_version, old.meta.resource_version.clone());
    let is_same = object == old;
    object.meta.resource_version = revision;
    if !is_same {
        object.meta.managed_fields = new;
    }
}

/// Reports duplicate keys in the patch, after all errors that prevent it from being applied.
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

/// The managedFields of a tree.
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

/// A write to the scale of an object: its managedFields are tracked as those of an object of kind Scale.
struct Scaled<'k> {
    kind: &'k Kind<'k>,
    at: &'k Scale,
    context: &'k Context,
    schema: Option<Schema>,
}

impl<'k> Scaled<'k> {
    fn new(kind: &'k Kind<'k>, at: &'k Scale, context: &'k Context) -> Scaled<'k> {
        let schema = Schema::builtin("autoscaling", "v1", scale::KIND);
        Scaled { kind, at, context, schema }
    }

    fn follow(&self, object: &Object, old: &Object) -> std::result::Result<Vec<Value>, Refusal> {
        let before = self.scale(old)?.into_value();
        let mut after = scale::of(object, self.at).into_value();
        self.tracker(&self.versions()).update(Some(before), &mut after, &self.context.field_manager)?;
        self.managers(old, &mut after)
    }

    fn apply(&self, old: &Object, apply: &Apply<'_>) -> Result<Value> {
        let before = self.scale(old).map_err(refused)?.into_value();
        let versions = self.versions();
        let tracker = self.tracker(&versions);
        let mut scale = tracker
            .apply(Some(before), apply.patch, &self.context.field_manager, apply.force)
            .map_err(refused)?;
        let entries = self.managers(old, &mut scale).map_err(refused)?;
        if let Some(schema) = &self.schema {
            schema.conform(&mut scale).map_err(|error| Error::BadRequest(error.to_string()))?;
        }
        let scale = Object::from_value(scale).map_err(|error| Error::BadRequest(error.to_string()))?;
        let mut object = scale::apply(old, &scale, self.at)?;
        object.meta.managed_fields = entries;
        Ok(self.kind.spoken(&object))
    }

    fn scale(&self, object: &Object) -> std::result::Result<Object, Refusal> {
        let mut scale = scale::of(object, self.at);
        scale.meta.managed_fields = managers_of_scale(&object.meta.managed_fields, &self.paths())?;
        Ok(scale)
    }

    fn managers(&self, old: &Object, scale: &mut Value) -> std::result::Result<Vec<Value>, Refusal> {
        let entries = managed_fields(scale);
        managers_of_scaled(&old.meta.managed_fields, &entries, &self.kind.version.api_version, &self.paths())
    }

    fn paths(&self) -> Vec<(&str, &str)> {
        let versions = self.kind.live.resource.versions.iter();
        let replicas = |version: &'k Version| version.scale_replicas.as_deref().unwrap_or(&self.at.replicas);
        versions.map(|it| (it.api_version.as_str(), replicas(it))).collect()
    }

    fn versions(&self) -> OneVersion<'_> {
        let types = self.schema.as_ref().map_or(Types::Deduced, Types::Known);
        OneVersion { api_version: scale::API_VERSION, types }
    }

    fn tracker<'t>(&'t self, versions: &'t OneVersion<'t>) -> Tracker<'t> {
        Tracker {
            api_version: scale::API_VERSION,
            kind: scale::KIND,
            reset: &[],
            versions,
            ..self.kind.tracker(self.context)
        }
    }
}

/// A kind in the version of a request.
struct Kind<'l> {
    live: &'l Live,
    version: &'l Version,
    subresource: &'static str,
    reset: Vec<(SmolStr, Filter)>,
    /// Conversions that a webhook has done.
    known: &'l Conversions,
    /// The first conversion that was needed and is not known.
    wanted: RefCell<Option<Wanted>>,
}

impl<'l> Kind<'l> {
    fn new(live: &'l Live, context: &Context, part: Part, known: &'l Conversions) -> Kind<'l> {
        let resource = &live.resource;
        let spoken = resource.versions.iter().find(|it| it.api_version == context.api_version);
        let version = spoken.unwrap_or_else(|| resource.hub_version());
        let wanted = RefCell::default();
        Kind { live, version, subresource: part.name(), reset: reset(resource, part), known, wanted }
    }

    fn tracker<'k>(&'k self, context: &Context) -> Tracker<'k> {
        Tracker {
            api_version: &self.version.api_version,
            kind: &self.live.resource.kind,
            subresource: self.subresource,
            reset: &self.reset,
            versions: self,
            json: JSON,
            now: context.now(),
        }
    }

    /// The managedFields after a write; `given` are those that the client sent.
    fn follow(
        &self,
        context: &Context,
        object: &Object,
        given: Vec<Value>,
        old: Option<&Object>,
    ) -> std::result::Result<Vec<Value>, Refusal> {
        let mut new = Cow::Borrowed(object);
        if self.live.resource.strategy.fills_owned() {
            self.live.resource.strategy.fill_owned(new.to_mut());
        }
        let new = self.shown(new);
        let old = old.map(|old| (self.shown(Cow::Borrowed(old)), &old.meta.managed_fields[..]));
        let (new_head, old_head) = (head(&new), old.as_ref().map(|(old, _)| head(old)));
        let live = old
            .as_ref()
            .zip(old_head.as_ref())
            .map(|((old, entries), head)| Written { object: Tree::Parts(head, &old.fields), entries });
        let new = Tree::Parts(&new_head, &new.fields);
        let given = (!given.is_empty()).then_some(given);
        self.tracker(context).follow(live, new, given, &context.field_manager)
    }

    /// A stored object in the version of the request; mostly that is the stored version.
    fn shown<'o>(&self, object: Cow<'o, Object>) -> Cow<'o, Object> {
        if object.api_version == self.version.api_version {
            return object;
        }
        Cow::Owned(self.live.in_version(self.version, object.into_owned()))
    }

    /// Upstream converts without the schema of the other version here: nothing is pruned.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, RequestScope.Convertor (v1.36.4).
    fn convert_custom(&self, object: &Value, api_version: &str) -> std::result::Result<Value, ConvertError> {
        let map = object.as_map().ok_or(ConvertError::Missing)?;
        let from = map.str("apiVersion").unwrap_or_default();
        if !self.live.resource.versions.iter().any(|it| it.api_version == from) {
            return Err(ConvertError::Missing);
        }
        // An object with nothing but its kind and version is the same in all versions.
        let is_blank = map.iter().all(|(key, _)| matches!(key.as_str(), "kind" | "apiVersion"));
        if is_blank || from == api_version || self.live.keeps_fields() {
            let mut map = map.clone();
            map.set("apiVersion", api_version);
            return Ok(Value::Map(map));
        }
        self.known.find(object, api_version).unwrap_or_else(|| {
            self.wanted.borrow_mut().get_or_insert_with(|| Wanted::new(object, api_version));
            Err(ConvertError::Failed("the conversion is not known yet".to_owned()))
        })
    }

    /// A stored object in the version of the request, as one tree.
    fn spoken(&self, object: &Object) -> Value {
        self.shown(Cow::Borrowed(object)).into_owned().into_value()
    }
}

impl Versions for Kind<'_> {
    fn types(&self, api_version: &str) -> Option<Types<'_>> {
        let version = self.live.resource.versions.iter().find(|it| it.api_version == api_version)?;
        let structural = version.structural.as_ref().and_then(|it| it.schema.as_deref());
        Some(match (&version.schema, structural) {
            (Some(schema), _) => Types::Known(schema),
            (None, Some(schema)) => Types::Structural(schema),
            (None, None) => Types::Deduced,
        })
    }

    fn convert(&self, object: &Value, api_version: &str) -> std::result::Result<Value, ConvertError> {
        let resource = &self.live.resource;
        let find = |wanted: &str| resource.versions.iter().find(|it| it.api_version == wanted);
        let to = find(api_version).ok_or(ConvertError::Missing)?;
        if resource.is_custom() {
            return self.convert_custom(object, api_version);
        }
        let mut object =
            Object::from_value(object.clone()).map_err(|error| ConvertError::Failed(error.to_string()))?;
        let from = find(&object.api_version).ok_or(ConvertError::Missing)?;
        convert::to_stored(resource, from, &mut object);
        Ok(self.live.in_version(to, object).into_value())
    }
}

/// The fields that every kind has, without managedFields.
fn head(object: &Object) -> Map {
    let mut head = Map::with_capacity(3);
    head.push_new("kind", object.kind.clone());
    head.push_new("apiVersion", object.api_version.clone());
    head.push_new("metadata", object.meta.to_map_without_managers());
    head
}

/// The fields that a part of the object does not write, by version.
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
