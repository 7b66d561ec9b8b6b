//! Decoding: from a parsed document to an object of a kind. Strictness, shape, defaults.

mod identity;

use std::sync::Arc;

use keelson_codec::json;
use keelson_merge::strategic;
use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, GroupKind, Object, Path, SmolStr, Value};
use keelson_schema::Schema;
use keelson_structural::prune::Report;

pub use self::identity::{Identity, unread};
use crate::context::Context;
use crate::convert;
use crate::error::{Error, Result};
use crate::options::FieldValidation;
use crate::resource::{Resource, Version};
use crate::structural_types::StructuralTypes;

/// A parsed request body.
#[derive(Debug, Default)]
pub struct Draft {
    /// The tree.
    pub value: Value,
    /// Paths of keys that occur twice.
    pub duplicates: Vec<String>,
    /// The same document with all occurrences of duplicate keys; only if there are duplicates.
    pub every_pair: Option<Value>,
    /// Other complaints of the reader, in its own words. They are errors only in strict validation.
    pub complaints: Vec<String>,
    /// The origin of the tree.
    pub origin: Origin,
}

/// The origin of a tree: it decides how errors in it are worded.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// A client sent it.
    #[default]
    Body,
    /// A patch made it out of an object.
    Patch,
    /// This strategic merge patch made it out of an object.
    Strategic(Arc<Value>),
}

/// Values are repeated in messages up to this many bytes.
const MAX_ECHO: usize = 64 * 1024;

/// The object that `draft` describes, with defaults filled in, in the version in which the rules of the kind run.
///
/// `kind` and `apiVersion` may be left out; what is there must fit the address.
pub fn object(
    context: &Context,
    resource: &Resource,
    version: &Version,
    mut draft: Draft,
    validation: FieldValidation,
) -> Result<Object> {
    let shape = Shape {
        kind: &resource.kind,
        version: &version.name,
        schema: version.schema.as_ref(),
        structural: version.structural.as_deref(),
    };
    let identity = Identity {
        is_custom: resource.is_custom(),
        kind: &resource.kind,
        group: &resource.group,
        api_version: &version.api_version,
        served: &resource.versions,
    };
    identity.check(&draft)?;
    if let (Origin::Patch | Origin::Strategic(_), Value::Map(map)) = (&draft.origin, &mut draft.value)
        && map.get("apiVersion").is_none_or(|it| it.is_null() || it.as_str().is_some())
    {
        map.set("apiVersion", version.api_version.clone());
    }
    let mut object = shape.read(context, draft, validation)?;
    // A custom resource of another kind is refused with the other errors of the object.
    if !resource.is_custom() || object.kind.is_empty() {
        object.kind = resource.kind.clone();
    }
    object.api_version = version.api_version.clone();
    if !resource.is_custom() {
        resource.strategy.default(&mut object);
        convert::to_stored(resource, version, &mut object);
    }
    Ok(object)
}

/// The expected shape of a document, independent of any resource.
pub struct Shape<'s> {
    /// `Deployment`.
    pub kind: &'s str,
    /// `v1`.
    pub version: &'s str,
    /// The schema; `None` admits anything.
    pub schema: Option<&'s Schema>,
    /// The structural schema, if it is a custom resource.
    pub structural: Option<&'s StructuralTypes>,
}

impl Shape<'_> {
    /// The object that `draft` describes, without defaults.
    pub fn read(&self, context: &Context, draft: Draft, validation: FieldValidation) -> Result<Object> {
        let Draft { mut value, duplicates, every_pair, mut complaints, origin } = draft;
        keep_reset_of_managers(&mut value);
        let patched = match &origin {
            Origin::Body => None,
            Origin::Patch if self.structural.is_some() => {
                let mut sorted = value.clone();
                sorted.sort_all_keys();
                Some(echo(&sorted))
            }
            Origin::Patch => Some(echo(&value)),
            Origin::Strategic(patch) => Some(cut(strategic::shown(patch))),
        };
        let wrong = |error: &dyn std::fmt::Display| self.wrong(patched.as_deref(), error);
        let folded = self.schema.zip(every_pair).and_then(|(schema, it)| schema.fold(it));
        match folded {
            Some((folded, found)) => {
                value = folded;
                keep_reset_of_managers(&mut value);
                complaints.extend(found.iter().map(ToString::to_string));
            }
            None => {
                complaints.extend(duplicates.iter().map(|path| format!("duplicate field {}", quote(path))))
            }
        }
        if let Some(schema) = self.schema {
            let is_strategic = matches!(origin, Origin::Strategic(_));
            if let (true, Some(misfit)) = (is_strategic, schema.misfit(&value)) {
                return Err(wrong(&misfit));
            }
            let mut unknown = schema.conform(&mut value).map_err(|error| wrong(&error))?;
            if is_strategic {
                unknown.sort_unstable();
            }
            complaints.extend(unknown.iter().map(|path| format!("unknown field {}", quote(path))));
        }
        if let Some(types) = self.structural {
            let report = match validation {
                FieldValidation::Ignore => Report::Nothing,
                FieldValidation::Strict | FieldValidation::Warn => Report::Paths,
            };
            complaints.extend(types.decode(&mut value, report).map_err(|error| wrong(&error))?);
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
            return wrong_patch(patched, error);
        }
        let kind = self.kind;
        Error::BadRequest(format!(
            "{kind} in version {:?} cannot be handled as a {kind}: {error}",
            self.version
        ))
    }
}

/// Returns the complaints of a strict reader as warnings: a complaint about YAML is one warning for each of
/// its lines.
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

/// An empty list of managedFields asks to reset them, but empty lists do not survive decoding. A list of one
/// empty entry means the same, and survives.
fn keep_reset_of_managers(value: &mut Value) {
    let Value::Map(map) = value else { return };
    let Some(Value::Map(metadata)) = map.get_mut("metadata") else { return };
    if let Some(Value::List(entries)) = metadata.get_mut("managedFields")
        && entries.is_empty()
    {
        entries.push(Value::Map(keelson_object::Map::new()));
    }
}

fn wrong_patch(patched: &str, error: &dyn std::fmt::Display) -> Error {
    let mut errors = FieldErrors::default();
    errors.invalid(&Path::root("patch"), patched, error.to_string());
    let kind = GroupKind { group: SmolStr::default(), kind: SmolStr::default() };
    Error::Invalid { kind, name: String::new(), errors }
}

/// The beginning of a tree as JSON.
fn echo(value: &Value) -> String {
    cut(String::from_utf8_lossy(&json::to_bytes(value)).into_owned())
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_ECHO {
        let end = (0..=MAX_ECHO).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
    }
    text
}
