//! The scale subresource: read, replaced and patched like an object, written as one number of another.

use bytes::Bytes;
use http::StatusCode;
use keelson_codec::json;
use keelson_object::{Frozen, Object};
use keelson_registry::decode::{Draft, Origin, Shape};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::options::{FieldValidation, Part};
use keelson_registry::resource::Scale;
use keelson_registry::{Context, operation, scale};
use keelson_schema::Schema;

use super::Call;
use super::get::freshness;
use super::patch::{self, Form, Language, Patch};
use crate::body::RequestBody;
use crate::encode;
use crate::encode::compress::Gzip;
use crate::error::Result;
use crate::negotiate::Output;
use crate::params::write::{Writing, write};
use crate::response::Response;

pub(crate) async fn get(call: &Call<'_>, at: &Scale) -> Result<Response> {
    let output = call.output()?;
    let frozen = operation::get(&call.found.live, &call.place(), freshness(call)?).await?;
    answer(call, &frozen, at, output)
}

pub(crate) async fn update(call: &Call<'_>, at: &Scale, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let body = body.read(call.facts.server.settings.max_body).await?;
    let params = write(call.query, Writing::Update)?;
    let draft = call.draft(call.input()?, &body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let wanted = read(&context, draft, params.validation)?;
    let edit = |old: &Object| scale::apply(old, &wanted, at);
    write_back(call, &context, at, output, edit).await
}

pub(crate) async fn patch(call: &Call<'_>, at: &Scale, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let form = Form::of(call)?;
    let body: Bytes = body.read(call.facts.server.settings.max_body).await?;
    if let Form::Apply(language) = form {
        return apply(call, at, (language, &body), output).await;
    }
    let params = write(call.query, Writing::Patch)?;
    let patch = Patch::read(form, &body, params.validation)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let schema = schema();
    let edit = |old: &Object| {
        let mut value = scale::of(old, at).into_value();
        let complaints = patch.merge_into(schema.as_ref(), &mut value)?;
        let draft = Draft { value, complaints, origin: Origin::Patch, ..Draft::default() };
        let wanted = read(&context, draft, params.validation)?;
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
    answer(call, &updated.object, at, output)
}

async fn write_back(
    call: &Call<'_>,
    context: &Context,
    at: &Scale,
    output: Output,
    edit: impl FnMut(&Object) -> keelson_registry::Result<Object>,
) -> Result<Response> {
    let place = call.place();
    let work = operation::patch(&call.found.live, context, &place, Part::Scale, edit);
    let updated = call.run(context, work).await?;
    answer(call, &updated.object, at, output)
}

fn answer(call: &Call<'_>, frozen: &Frozen, at: &Scale, output: Output) -> Result<Response> {
    let object = call.found.live.thaw(frozen)?;
    let compact = json::to_bytes(&scale::of(&object, at).into_value());
    Ok(encode::pieces(StatusCode::OK, std::iter::once(compact), output, Gzip::of(&call.parts.headers)))
}

fn schema() -> Option<Schema> {
    Schema::builtin("autoscaling", "v1", scale::KIND)
}

/// A scale that a client sent.
fn read(context: &Context, draft: Draft, validation: FieldValidation) -> keelson_registry::Result<Object> {
    let schema = schema();
    let shape = Shape { kind: scale::KIND, version: "v1", schema: schema.as_ref() };
    shape.read(context, draft, validation)
}
