//! From a decoded document to an object of a kind: strictness, shape, defaults.

use keelson_codec::json;
use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, GroupKind, Object, Path, SmolStr, Value};
use keelson_schema::Schema;

use crate::context::Context;
use crate::convert;
use crate::error::{Error, Result};
use crate::options::FieldValidation;
use crate::resource::{Resource, Version};

/// What a body was read into.
#[derive(Debug, Default)]
pub struct Draft {
    /// The tree.
    pub value: Value,
    /// Paths of keys that stood there twice.
    pub duplicates: Vec<String>,
    /// What else the reader complains of, in its own words: only strict clients take it for a mistake.
    pub complaints: Vec<String>,
    /// Where the tree comes from.
    pub origin: Origin,
}

/// Where a tree comes from: it decides how mistakes in it are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// A client sent it.
    #[default]
    Body,
    /// A patch made it out of an object.
    Patch,
}

/// Values are repeated in messages up to this many bytes.
const MAX_ECHO: usize = 1024;

/// The object that `draft` describes, with defaults filled in, in the stored version.
///
/// `kind` and `apiVersion` may be left out; what is there must fit the address.
pub fn object(
    context: &Context,
    resource: &Resource,
    version: &Version,
    mut draft: Draft,
    validation: FieldValidation,
) -> Result<Object> {
    let shape = Shape { kind: &resource.kind, version: &version.name, schema: version.schema.as_ref() };
    match draft.origin {
        Origin::Body => check_kind(resource, version, &draft.value)?,
        Origin::Patch => {
            if let Some(problem) = misnamed(resource, version, &draft.value)? {
                return Err(shape.wrong(Some(&echo(&draft.value)), &problem));
            }
            if let Value::Map(map) = &mut draft.value {
                map.set("apiVersion", version.api_version.clone());
            }
        }
    }
    let mut object = shape.read(context, draft, validation)?;
    object.kind = resource.kind.clone();
    object.api_version = version.api_version.clone();
    resource.strategy.default(&mut object);
    convert::to_stored(resource, version, &mut object);
    Ok(object)
}

/// What a document must look like, apart from any resource.
pub struct Shape<'s> {
    /// `Deployment`.
    pub kind: &'s str,
    /// `v1`.
    pub version: &'s str,
    /// What it may contain; `None` admits anything.
    pub schema: Option<&'s Schema>,
}

impl Shape<'_> {
    /// The object that `draft` describes, without defaults.
    pub fn read(&self, context: &Context, draft: Draft, validation: FieldValidation) -> Result<Object> {
        let Draft { mut value, duplicates, mut complaints, origin } = draft;
        keep_reset_of_managers(&mut value);
        let patched = (origin == Origin::Patch).then(|| echo(&value));
        let wrong = |error: &dyn std::fmt::Display| self.wrong(patched.as_deref(), error);
        complaints.extend(duplicates.iter().map(|path| format!("duplicate field {}", quote(path))));
        if let Some(schema) = self.schema {
            let unknown = schema.conform(&mut value).map_err(|error| wrong(&error))?;
            complaints.extend(unknown.iter().map(|path| format!("unknown field {}", quote(path))));
        }
        match validation {
            FieldValidation::Strict if !complaints.is_empty() => {
                return Err(wrong(&format!("strict decoding error: {}", complaints.join(", "))));
            }
            FieldValidation::Warn => complaints.iter().for_each(|complaint| warn(context, complaint)),
            FieldValidation::Strict | FieldValidation::Ignore => {}
        }
        Object::from_value(value).map_err(|error| wrong(&error))
    }

    /// Upstream: apiserver/pkg/endpoints/handlers/patch.go, applyPatchToCurrentObject, for what patches give (v1.36.4).
    fn wrong(&self, patched: Option<&str>, error: &dyn std::fmt::Display) -> Error {
        if let Some(patched) = patched {
            let mut errors = FieldErrors::default();
            errors.invalid(&Path::root("patch"), patched, error.to_string());
            let kind = GroupKind { group: SmolStr::default(), kind: SmolStr::default() };
            return Error::Invalid { kind, name: String::new(), errors };
        }
        let kind = self.kind;
        Error::BadRequest(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: {error}",
            self.version
        ))
    }
}

/// Warns of what a strict reader complains of: a complaint about YAML is one warning for each of its lines.
///
/// Upstream: apiserver/pkg/endpoints/handlers/rest.go, parseYAMLWarnings (v1.36.4).
pub fn warn(context: &Context, complaint: &str) {
    const SHORT: &str = "yaml: unmarshal errors:\n";
    let yaml = complaint.strip_prefix("error converting YAML to JSON: ").unwrap_or(complaint);
    match yaml.strip_prefix(SHORT) {
        Some(lines) => lines.split('\n').for_each(|line| context.warn(line.trim())),
        None => context.warn(complaint),
    }
}

/// An empty list of managers means that they are to be forgotten, but empty lists do not survive; a list of one empty
/// entry means the same, and does.
fn keep_reset_of_managers(value: &mut Value) {
    let Value::Map(map) = value else { return };
    let Some(Value::Map(metadata)) = map.get_mut("metadata") else { return };
    if let Some(Value::List(entries)) = metadata.get_mut("managedFields")
        && entries.is_empty()
    {
        entries.push(Value::Map(keelson_object::Map::new()));
    }
}

/// Why what a patch made cannot be an object of `resource`: it says that it is something else.
///
/// Upstream decodes what a patch gives as what it says it is (v1.36.4).
fn misnamed(resource: &Resource, version: &Version, value: &Value) -> Result<Option<String>> {
    const HEAD: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let unread = |found: &Value, place: &str| {
        let found = found.json_type();
        Ok(Some(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go {place}"
        )))
    };
    let Value::Map(map) = value else { return unread(value, &format!("value of type {HEAD}")) };
    for key in ["apiVersion", "kind"] {
        if let Some(found) = map.get(key).filter(|it| !it.is_null() && it.as_str().is_none()) {
            return unread(found, &format!("struct field .{key} of type string"));
        }
    }
    let text = |key| map.str(key).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let kind = if kind.is_empty() { &*resource.kind } else { kind };
    if api_version.is_empty() {
        let name = map.map("metadata").and_then(|it| it.str("name")).unwrap_or_default();
        return if name.is_empty() {
            Ok(None)
        } else {
            Err(Error::BadRequest(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )))
        };
    }
    let (group, number) = api_version.split_once('/').unwrap_or(("", api_version));
    if number.contains('/') {
        return Ok(Some(format!("unexpected GroupVersion string: {api_version}")));
    }
    let is_own_group = group == resource.group;
    if kind == resource.kind && (api_version == version.api_version || is_own_group) {
        let is_served = resource.versions.iter().any(|it| it.api_version == api_version);
        if is_served {
            return Ok(None);
        }
    }
    let single = kind.strip_suffix("List").unwrap_or(kind);
    if Schema::builtin(group, number, kind).or_else(|| Schema::builtin(group, number, single)).is_none() {
        return Ok(Some(format!(
            "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
            quote(kind),
            quote(api_version)
        )));
    }
    let inside =
        if resource.group.is_empty() { "core" } else { resource.group.split('.').next().unwrap_or_default() };
    Ok(Some(format!("converting ({number}.{kind}) to ({inside}.{}): unknown conversion", resource.kind)))
}

/// The beginning of a tree as JSON.
fn echo(value: &Value) -> String {
    let mut text = String::from_utf8_lossy(&json::to_bytes(value)).into_owned();
    if text.len() > MAX_ECHO {
        let end = (0..=MAX_ECHO).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
    }
    text
}

fn check_kind(resource: &Resource, version: &Version, value: &Value) -> Result<()> {
    let text = |key| value.as_map().and_then(|map| map.str(key)).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if kind.is_empty() && api_version.is_empty() {
        return Ok(());
    }
    if kind == resource.kind && api_version == version.api_version {
        return Ok(());
    }
    let fits = (kind.is_empty() || kind == resource.kind)
        && (api_version.is_empty() || api_version == version.api_version);
    if fits {
        return Ok(());
    }
    if api_version != version.api_version && !api_version.is_empty() && kind == resource.kind {
        return Err(Error::BadRequest(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            version.api_version
        )));
    }
    Err(Error::BadRequest(format!(
        "{kind} in version {:?} cannot be handled as a {}: converting ({kind}) to ({}): unknown conversion",
        api_version.rsplit('/').next().unwrap_or_default(),
        resource.kind,
        resource.kind,
    )))
}
