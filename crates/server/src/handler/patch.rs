//! PATCH of an object or of its status.

use std::sync::Arc;

use bytes::Bytes;
use http::{StatusCode, header};
use keelson_codec::json::{self, Document};
use keelson_codec::{cbor, yaml};
use keelson_merge::{JsonPatch, merge_patch, strategic};
use keelson_object::scalar::quote;
use keelson_object::{Object, Value};
use keelson_registry::decode::{Draft, Origin};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::options::{FieldValidation, Part};
use keelson_registry::{Context, Error as RegistryError, decode, operation};
use keelson_schema::types::Member;
use keelson_schema::{Field, Schema, Shape, Struct, StructRef, Type};
use keelson_status::{ServerResponse, Status};
use keelson_stdx::offload;

use super::Call;
use crate::body::RequestBody;
use crate::error::{Error, Result};
use crate::negotiate::{self, Output};
use crate::openapi::Offered;
use crate::params::write::{Writing, write};
use crate::response::Response;

/// A byte of a patch costs more than one of an object, because it is compared with the object.
pub(super) const WORK_PER_BYTE: usize = 16;

pub(crate) async fn patch(call: &Call<'_>, part: Part, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let form = Form::of(call)?;
    let body = call.read(body).await?;
    offload::expect(WORK_PER_BYTE * body.len()).await;
    if let Form::Apply(language) = form {
        return apply(call, part, (language, &body), output).await;
    }
    let params = write(call.query, Writing::Patch)?;
    call.record_patch(form, &body);
    let patch = Patch::read(form, &body, params.validation)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let place = call.place();
    let edit = |old: &Object| patch.apply(call, &context, params.validation, old);
    let work = operation::patch(&call.found.live, &context, &place, part, edit);
    let updated = call.run(&context, work).await?;
    call.answer(StatusCode::OK, &updated.object, output).await
}

async fn apply(
    call: &Call<'_>,
    part: Part,
    (language, body): (Language, &Bytes),
    output: Output,
) -> Result<Response> {
    let params = write(call.query, Writing::Apply)?;
    call.record_patch(Form::Apply(language), body);
    let wanted = read_applied(language, body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let place = call.place();
    let apply = Apply {
        patch: &wanted.value,
        force: params.force,
        complaint: wanted.complaint.as_deref(),
        validation: params.validation,
    };
    let version = call.found.version();
    let work = operation::apply(&call.found.live, &context, version, (&place, part), &apply);
    let updated = call.run(&context, work).await?;
    let code = if updated.created { StatusCode::CREATED } else { StatusCode::OK };
    call.answer(code, &updated.object, output).await
}

/// The body of a server-side apply.
pub(super) struct Applied {
    pub(super) value: Value,
    /// The complaint of a strict reader.
    pub(super) complaint: Option<String>,
}

/// Reads the body of a server-side apply. Whatever its encoding, upstream calls it YAML.
///
/// Upstream: apiserver/pkg/endpoints/handlers/patch.go, applyPatcher.applyPatchToCurrentObject (v1.36.4).
pub(super) fn read_applied(language: Language, body: &Bytes) -> Result<Applied> {
    let refuse = |problem: String| Err(Error::BadRequest(format!("error decoding YAML: {problem}")));
    let (applied, before) = match language {
        Language::Yaml => match yaml::read(body) {
            Ok(document) => {
                let complaint = document.strict_problem();
                (
                    Applied { value: document.value, complaint },
                    "error unmarshaling JSON: while decoding JSON: json",
                )
            }
            Err(error) => return refuse(format!("error converting YAML to JSON: {error}")),
        },
        Language::Cbor => match cbor::read(body) {
            Ok(value) => (Applied { value, complaint: None }, "cbor"),
            Err(error) => return refuse(error.to_string()),
        },
    };
    match &applied.value {
        Value::Map(_) | Value::Null => Ok(applied),
        other => {
            let found = match language {
                Language::Yaml => other.json_type(),
                Language::Cbor => cbor_type(other),
            };
            refuse(format!(
                "{before}: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            ))
        }
    }
}

/// Go's names of CBOR types.
fn cbor_type(value: &Value) -> &'static str {
    match value {
        Value::Int(it) if *it < 0 => "negative integer",
        Value::Int(_) => "positive integer",
        Value::List(_) => "array",
        Value::String(_) => "UTF-8 text string",
        _ => "primitives",
    }
}

/// The type of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Merge,
    Strategic,
    Apply(Language),
}

/// The encoding of the body of a server-side apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// YAML, which includes JSON.
    Yaml,
    Cbor,
}

const FORMS: [(&str, Form); 5] = [
    ("application/json-patch+json", Form::Json),
    ("application/merge-patch+json", Form::Merge),
    ("application/strategic-merge-patch+json", Form::Strategic),
    ("application/apply-patch+yaml", Form::Apply(Language::Yaml)),
    ("application/apply-patch+cbor", Form::Apply(Language::Cbor)),
];

impl Form {
    pub(super) fn of(call: &Call<'_>) -> Result<Form> {
        let header = negotiate::text(&call.parts.headers, header::CONTENT_TYPE);
        let name = header.split(';').next().unwrap_or_default().trim();
        let offered = match call.facts.server.settings.cbor {
            Offered::Yes => &FORMS[..],
            Offered::No => &FORMS[..FORMS.len() - 1],
        };
        // Custom resources have no strategic merge patches, but their scale does.
        let is_custom = call.found.live.resource.is_custom() && call.info.subresource != "scale";
        let is_offered = |form: Form| !is_custom || form != Form::Strategic;
        let offered = offered.iter().filter(|(_, form)| is_offered(*form));
        match offered.clone().find(|(media_type, _)| *media_type == name) {
            Some((_, form)) => Ok(*form),
            None if call.found.live.resource.is_custom() => {
                let names: Vec<&str> = offered.map(|(media_type, _)| *media_type).collect();
                Err(Error::UnsupportedMediaType(negotiate::unknown_format(&names.join(", "))))
            }
            None => Err(Error::NoSuchPatch),
        }
    }
}

/// A parsed patch; it may be applied more than once.
pub(super) enum Patch {
    /// The patch, and the complaints of a strict reader.
    Json(JsonPatch, Vec<String>),
    Merge(Document),
    /// The patch, and the complaints of a strict reader.
    Strategic(Arc<Value>, Vec<String>),
}

impl Patch {
    pub(super) fn read(form: Form, body: &Bytes, validation: FieldValidation) -> Result<Patch> {
        // For strict field validation the patch is read twice, the first time for its errors.
        let is_strict = validation != FieldValidation::Ignore && form != Form::Strategic;
        let refuse = |problem: &dyn std::fmt::Display| {
            let before = if is_strict { "error decoding patch: " } else { "" };
            Error::BadRequest(format!("{before}{problem}"))
        };
        let document = json::read(body).map_err(|error| refuse(&error))?;
        if let (true, Some(problem)) = (is_strict, misfit(form, &document.value)) {
            return Err(refuse(&format!("json: cannot unmarshal {problem}")));
        }
        Ok(match form {
            Form::Json => {
                let complaints = json_patch_complaints(&document, body);
                Patch::Json(JsonPatch::from_value(document.value).map_err(refusal)?, complaints)
            }
            Form::Merge if !matches!(document.value, Value::Map(_)) => {
                return Err(Error::BadRequest("Invalid JSON Patch".to_owned()));
            }
            Form::Merge => Patch::Merge(document),
            Form::Strategic | Form::Apply(_) => {
                let complaints = duplicates(&document);
                Patch::Strategic(Arc::new(document.value), complaints)
            }
        })
    }

    fn apply(
        &self,
        call: &Call<'_>,
        context: &Context,
        validation: FieldValidation,
        old: &Object,
    ) -> keelson_registry::Result<Object> {
        let (resource, version) = (&call.found.live.resource, call.found.version());
        let mut value = call.found.live.in_version(version, old.clone()).into_value();
        let complaints = self.merge_into(version.schema.as_ref(), &mut value)?;
        let draft = Draft { value, complaints, origin: self.origin(), ..Draft::default() };
        decode::object(context, resource, version, draft, validation)
    }

    /// The origin of the object that the patch produces.
    pub(super) fn origin(&self) -> Origin {
        match self {
            Patch::Json(..) | Patch::Merge(_) => Origin::Patch,
            Patch::Strategic(patch, _) => Origin::Strategic(Arc::clone(patch)),
        }
    }

    /// Changes `value`, and returns the complaints of a strict reader about the patch.
    pub(super) fn merge_into(
        &self,
        schema: Option<&Schema>,
        value: &mut Value,
    ) -> keelson_registry::Result<Vec<String>> {
        match self {
            Patch::Json(patch, complaints) => {
                patch.apply(value).map(|()| complaints.clone()).map_err(refusal)
            }
            Patch::Merge(patch) => {
                merge_patch::merge(value, patch.value.clone());
                Ok(duplicates(patch))
            }
            Patch::Strategic(patch, complaints) => {
                let missing = || RegistryError::BadRequest("the kind has no schema to merge by".to_owned());
                let was = IDENTITY.map(|key| value.as_map().and_then(|map| map.get(key)).cloned());
                let patch = Value::clone(patch);
                strategic::merge(value, patch, schema.ok_or_else(missing)?).map_err(refusal)?;
                keep_identity(value, was);
                Ok(complaints.clone())
            }
        }
    }
}

/// The fields that identify the kind of an object.
const IDENTITY: [&str; 2] = ["kind", "apiVersion"];

/// Restores kind and apiVersion: a strategic merge patch cannot change them.
fn keep_identity(value: &mut Value, was: [Option<Value>; 2]) {
    let Value::Map(map) = value else { return };
    for (key, was) in IDENTITY.into_iter().zip(was) {
        let is_text = map.get(key).is_none_or(|it| it.is_null() || it.as_str().is_some());
        if let (true, Some(was)) = (is_text, was) {
            map.set(key, was);
        }
    }
}

/// Why a document is not a patch of this type, in Go's words.
fn misfit(form: Form, value: &Value) -> Option<String> {
    match (form, value) {
        (Form::Merge, Value::Map(_) | Value::Null) | (Form::Json, Value::Null) => None,
        (Form::Merge, other) => {
            Some(format!("{} into Go value of type map[string]interface {{}}", other.json_type()))
        }
        (Form::Json, Value::List(operations)) => operations.iter().find_map(|operation| match operation {
            Value::Null => None,
            Value::Map(map) => ["op", "path", "from"].into_iter().find_map(|key| {
                let value = map.get(key).filter(|it| !it.is_null() && it.as_str().is_none())?;
                Some(format!("{} into Go struct field jsonPatchOp.{key} of type string", value.json_type()))
            }),
            other => Some(format!("{} into Go value of type handlers.jsonPatchOp", other.json_type())),
        }),
        (Form::Json, other) => {
            Some(format!("{} into Go value of type []handlers.jsonPatchOp", other.json_type()))
        }
        (Form::Strategic | Form::Apply(_), _) => None,
    }
}

fn duplicates(document: &Document) -> Vec<String> {
    document.duplicates.iter().map(|path| format!("duplicate field {}", quote(path))).collect()
}

/// Upstream: apiserver/pkg/endpoints/handlers/patch.go, jsonPatcher.applyJSPatch (v1.36.4).
fn json_patch_complaints(document: &Document, body: &Bytes) -> Vec<String> {
    let every_pair =
        if document.duplicates.is_empty() { Ok(document.value.clone()) } else { json::read_every_pair(body) };
    let found = every_pair.ok().and_then(|operations| operations_type().complaints(operations));
    found.into_iter().flatten().map(|complaint| format!("json patch {complaint}")).collect()
}

/// The type of a JSON patch, as a strict reader sees it.
fn operations_type() -> Type {
    let field = |name: &'static str, shape| Member::Field(Field::new(name, Type::of(shape)));
    let texts = ["op", "path", "from"].map(|name| field(name, Shape::String));
    let members = texts.into_iter().chain([field("value", Shape::Any)]).collect();
    let operation = StructRef::from(Struct::new("handlers", "jsonPatchOp", members));
    Type::of(Shape::List(Arc::new(Type::of(Shape::Struct(operation)))))
}

/// Upstream: apiserver/pkg/endpoints/handlers/patch.go, applyJSPatch and interpretStrategicMergePatchError (v1.36.4).
fn refusal(error: keelson_merge::Error) -> RegistryError {
    match error {
        keelson_merge::Error::Malformed(problem) => RegistryError::BadRequest(problem),
        keelson_merge::Error::DoesNotApply(problem) => {
            let response = ServerResponse {
                code: 422,
                verb: "",
                group: "",
                resource: "",
                name: "",
                message: &problem,
                retry_after_seconds: 0,
                is_unexpected: false,
            };
            RegistryError::Rejected(Box::new(Status::generic_server_response(&response)))
        }
        keelson_merge::Error::Failed(problem) => RegistryError::Unclassified(problem),
        keelson_merge::Error::TooLarge(problem) => {
            RegistryError::Rejected(Box::new(Status::request_entity_too_large(&problem)))
        }
    }
}
