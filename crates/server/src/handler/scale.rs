//! Scale subresource: read, replaced and patched like an object, but stored as the replicas of another
//! object.

use bytes::Bytes;
use http::StatusCode;
use keelson_codec::json;
use keelson_object::scalar::Time;
use keelson_object::{Frozen, Map, Object, Value};
use keelson_registry::column::human_age;
use keelson_registry::decode::{self, Draft, Identity};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::options::{FieldValidation, Part};
use keelson_registry::resource::Scale;
use keelson_registry::{Context, operation, scale};
use keelson_schema::Schema;
use keelson_stdx::offload;

use super::get::freshness;
use super::patch::{self, Form, Language, Patch};
use super::{Call, now};
use crate::body::RequestBody;
use crate::encode;
use crate::encode::compress::Gzip;
use crate::error::{Error, Result};
use crate::negotiate::{MetaVersion, Output, Shape};
use crate::params::table::{self, IncludeObject};
use crate::params::write::{Writing, write};
use crate::response::Response;

pub(crate) async fn get(call: &Call<'_>, at: &Scale) -> Result<Response> {
    let output = call.output()?;
    let frozen = operation::get(&call.found.live, &call.place(), freshness(call)?).await?;
    if at.needs_replicas {
        scale::check(&call.found.live.look_at(&frozen)?, at)?;
    }
    answer(call, &frozen, at, output).await
}

pub(crate) async fn update(call: &Call<'_>, at: &Scale, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let body = call.read(body).await?;
    let params = write(call.query, Writing::Update)?;
    let draft = call.draft(call.input()?, &body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let wanted = read(&context, draft, params.validation)?;
    operation::check_address(&call.place(), &wanted)?;
    call.record_foreign_request(&as_scale(&wanted), schema().as_ref());
    let edit = |old: &Object| scale::apply(old, &wanted, at);
    write_back(call, &context, at, output, edit).await
}

pub(crate) async fn patch(call: &Call<'_>, at: &Scale, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let form = Form::of(call)?;
    let body: Bytes = call.read(body).await?;
    offload::expect(patch::WORK_PER_BYTE * body.len()).await;
    if let Form::Apply(language) = form {
        return apply(call, at, (language, &body), output).await;
    }
    let params = write(call.query, Writing::Patch)?;
    call.record_patch(form, &body);
    let patch = Patch::read(form, &body, params.validation)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let (schema, place) = (schema(), call.place());
    let edit = |old: &Object| {
        let mut value = scale::of(old, at).into_value();
        let complaints = patch.merge_into(schema.as_ref(), &mut value)?;
        let draft = Draft { value, complaints, origin: patch.origin(), ..Draft::default() };
        let wanted = read(&context, draft, params.validation)?;
        operation::check_address(&place, &wanted)?;
        scale::apply(old, &wanted, at)
    };
    write_back(call, &context, at, output, edit).await
}

async fn apply(
    call: &Call<'_>,
    at: &Scale,
    (language, body): (Language, &Bytes),
    output: Output,
) -> Result<Response> {
    let params = write(call.query, Writing::Apply)?;
    call.record_patch(Form::Apply(language), body);
    let wanted = patch::read_applied(language, body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let (place, version) = (call.place(), call.found.version());
    let apply = Apply {
        patch: &wanted.value,
        force: params.force,
        complaint: wanted.complaint.as_deref(),
        validation: params.validation,
    };
    let work = operation::apply(&call.found.live, &context, version, (&place, Part::Scale), &apply);
    let updated = call.run(&context, work).await?;
    answer(call, &updated.object, at, output).await
}

async fn write_back(
    call: &Call<'_>,
    context: &Context,
    at: &Scale,
    output: Output,
    edit: impl FnMut(&Object) -> keelson_registry::Result<Object> + Send,
) -> Result<Response> {
    let place = call.place();
    let work = operation::patch(&call.found.live, context, &place, Part::Scale, edit);
    let updated = call.run(context, work).await?;
    answer(call, &updated.object, at, output).await
}

async fn answer(call: &Call<'_>, frozen: &Frozen, at: &Scale, output: Output) -> Result<Response> {
    offload::expect(frozen.json().len()).await;
    let object = call.found.live.thaw(frozen)?;
    let scale = scale::of(&object, at);
    let compact = json::to_bytes(&match output.shape {
        Shape::Object => scale.into_value(),
        Shape::Table(version) => {
            let include = table::include_object(call.query)?;
            as_table(scale, version, include, now(call.facts))
        }
        Shape::Metadata(version) => as_metadata(&scale, version),
        Shape::MetadataList(_) => {
            return Err(Error::NotAcceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list (*autoscaling.Scale)"
                    .to_owned(),
            ));
        }
    });
    call.record_response(|| Some(compact.clone()));
    encode::one(StatusCode::OK, compact, output, Gzip::of(&call.parts.headers)).await
}

/// Upstream: pkg/printers/internalversion/printers.go, scaleColumnDefinitions and printScale (v1.36.4).
fn as_table(scale: Object, version: MetaVersion, include: IncludeObject, now: Time) -> Value {
    let number = |path: &str| scale.fields.at(path).and_then(Value::as_int).unwrap_or_default();
    let cells = vec![
        Value::from(scale.meta.name.clone()),
        Value::from(number("spec.replicas")),
        Value::from(number("status.replicas")),
        Value::from(human_age(scale.meta.creation_timestamp, now).as_str()),
    ];
    let mut meta = Map::new();
    meta.push_new("resourceVersion", scale.meta.resource_version.clone());
    let object = match include {
        IncludeObject::None => Value::Null,
        IncludeObject::Metadata => as_metadata(&scale, version),
        IncludeObject::Object => scale.into_value(),
    };
    let mut row = Map::new();
    row.push_new("cells", cells);
    row.push_new("object", object);
    let mut map = Map::new();
    map.push_new("kind", "Table");
    map.push_new("apiVersion", version.api_version());
    map.push_new("metadata", meta);
    map.push_new("columnDefinitions", COLUMNS.map(column).to_vec());
    map.push_new("rows", vec![Value::Map(row)]);
    Value::Map(map)
}

const COLUMNS: [(&str, &str, &str); 4] = [
    ("Name", "string", "The name of the object that is scaled."),
    ("Desired", "integer", "How many replicas are wanted."),
    ("Available", "integer", "How many replicas there are."),
    ("Age", "string", "How long ago the object was created."),
];

fn column((name, kind, description): (&str, &str, &str)) -> Value {
    let mut map = Map::new();
    for (key, text) in [("name", name), ("type", kind), ("format", ""), ("description", description)] {
        map.push_new(key, text);
    }
    map.push_new("priority", 0);
    Value::Map(map)
}

pub(super) fn as_metadata(scale: &Object, version: MetaVersion) -> Value {
    let whole = scale.clone().into_value();
    let mut map = Map::new();
    map.push_new("kind", "PartialObjectMetadata");
    map.push_new("apiVersion", version.api_version());
    map.push_new("metadata", whole.as_map().and_then(|it| it.get("metadata")).cloned().unwrap_or_default());
    Value::Map(map)
}

/// A Scale with its kind and version.
fn as_scale(wanted: &Object) -> Object {
    Object { kind: scale::KIND.into(), api_version: scale::API_VERSION.into(), ..wanted.clone() }
}

fn schema() -> Option<Schema> {
    Schema::builtin("autoscaling", "v1", scale::KIND)
}

/// A scale that a client sent.
fn read(context: &Context, draft: Draft, validation: FieldValidation) -> keelson_registry::Result<Object> {
    let identity = Identity {
        kind: scale::KIND,
        group: "autoscaling",
        api_version: scale::API_VERSION,
        // The scale has one version, independent of those of the object.
        served: &[],
        is_custom: false,
    };
    identity.check(&draft)?;
    let schema = schema();
    let shape = decode::Shape { kind: scale::KIND, version: "v1", schema: schema.as_ref(), structural: None };
    shape.read(context, draft, validation)
}
