//! POST to a subresource that executes an action.

use std::sync::Arc;

use http::StatusCode;
use keelson_codec::json;
use keelson_object::Object;
use keelson_registry::decode::{Identity, Shape};
use keelson_registry::operation;
use keelson_registry::subresource::{Action, ForeignKind};
use keelson_schema::Schema;

use super::Call;
use super::scale::as_metadata;
use crate::body::RequestBody;
use crate::encode;
use crate::encode::compress::Gzip;
use crate::error::{Error, Result};
use crate::negotiate::{self, Output};
use crate::params::write::{Writing, write};
use crate::response::Response;

pub(crate) async fn act(
    call: &Call<'_>,
    kind: &ForeignKind,
    action: &Arc<dyn Action>,
    body: RequestBody,
) -> Result<Response> {
    let output = call.output()?;
    let encoding = call.input()?;
    let body = call.read(body).await?;
    let params = write(call.query, Writing::Create)?;
    let draft = call.draft(encoding, &body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let schema = kind.schema();
    let place = call.place();
    let said = draft.value.as_map().and_then(|map| map.str("apiVersion")).unwrap_or_default();
    if !action.accepts(said) {
        let api_version = kind.api_version();
        let identity = Identity {
            kind: &kind.kind,
            group: &kind.group,
            api_version: &api_version,
            served: &[],
            is_custom: false,
        };
        identity.check(&draft)?;
    }
    let work = async {
        let shape =
            Shape { kind: &kind.kind, version: &kind.version, schema: schema.as_ref(), structural: None };
        let body = shape.read(&context, draft, params.validation)?;
        let mut body = Object { kind: kind.kind.clone(), api_version: kind.api_version(), ..body };
        action.default(&mut body);
        call.record_foreign_request(&body, schema.as_ref());
        let deed = (&*call.info.subresource, action.as_ref());
        operation::act(&call.found.live, &context, &place, deed, body).await
    };
    let answer = call.run(&context, work).await?;
    answered(call, answer, schema.as_ref(), output).await
}

/// An object that is not stored, as a response.
pub(super) async fn answered(
    call: &Call<'_>,
    mut answer: Object,
    schema: Option<&Schema>,
    output: Output,
) -> Result<Response> {
    // An action without a result returns a Status, which has one form.
    let is_status = answer.kind == "Status";
    if let Some(schema) = schema.filter(|_| !is_status) {
        schema.arrange(&mut answer);
    }
    let compact = json::to_bytes(&match output.shape {
        negotiate::Shape::Metadata(version) if !is_status => as_metadata(&answer, version),
        negotiate::Shape::MetadataList(_) if !is_status => {
            return Err(Error::NotAcceptable(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
                answer.kind
            )));
        }
        _ => answer.into_value(),
    });
    call.record_response(|| Some(compact.clone()));
    encode::one(StatusCode::CREATED, compact, output, Gzip::of(&call.parts.headers)).await
}
