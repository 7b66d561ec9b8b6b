//! DELETE of an object.

use http::StatusCode;
use keelson_codec::{cbor, protobuf};
use keelson_registry::{Context, operation};
use keelson_schema::Schema;
use keelson_status::{Details, Status};

use super::Call;
use crate::body::RequestBody;
use crate::error::{Error, Result};
use crate::negotiate::Input;
use crate::params::delete::{DeleteParams, Unreadable, from_body, from_query};
use crate::respond;
use crate::response::Response;

pub(crate) async fn delete(call: &Call<'_>, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let params = params(call, body).await?;
    let mut context = call.context(params.dry_run, "");
    context.options = params.sent.clone().into();
    let (live, place) = (&call.found.live, call.place());
    if params.unreadable == Unreadable::Meant {
        return delete_unreadable(call, &context).await;
    }
    let deleted = call.run(&context, operation::delete(live, &context, &place, &params.options)).await?;
    let code = match (deleted.gone, params.orphan_dependents) {
        (false, Some(false)) => StatusCode::ACCEPTED,
        _ => StatusCode::OK,
    };
    if !deleted.gone || live.resource.returns_deleted {
        return call.answer(code, &deleted.object, output).await;
    }
    let status = Status::success(Details {
        name: place.name.to_string(),
        group: live.resource.group.to_string(),
        kind: live.resource.plural.to_string(),
        uid: deleted.object.index().uid.to_string(),
        ..Details::default()
    });
    Ok(respond::encode_status(&status, &call.parts.headers, call.query, call.offer().cbor))
}

/// Removes an object that cannot be read.
async fn delete_unreadable(call: &Call<'_>, context: &Context) -> Result<Response> {
    let place = call.place();
    call.run(context, operation::delete_unreadable(&call.found.live, context, &place)).await?;
    let kind = call.found.live.resource.kind.to_string();
    let details = Details { name: place.name.to_string(), kind, ..Details::default() };
    let status = Status { code: 200, ..Status::success(details) };
    Ok(respond::encode_status(&status, &call.parts.headers, call.query, call.offer().cbor))
}

/// The options of a delete: the body if there is one, else the query.
pub(super) async fn params(call: &Call<'_>, body: RequestBody) -> Result<DeleteParams> {
    let body = call.read(body).await?;
    if body.is_empty() {
        return from_query(call.query, call.facts.server.settings.unreadable_deletion);
    }
    let value = match call.input()? {
        Input::Json => keelson_codec::json::read(&body).map(|it| it.value).map_err(|error| {
            Error::BadRequest(format!("couldn't get version/kind; json parse error: {error}"))
        })?,
        Input::Yaml => keelson_codec::yaml::read(&body)
            .map(|it| it.value)
            .map_err(|error| Error::BadRequest(error.to_string()))?,
        Input::Protobuf => protobuf::Envelope::read(&body)
            .and_then(|envelope| envelope.or("v1", "DeleteOptions").decode())
            .map_err(|error| Error::BadRequest(error.to_string()))?,
        Input::Cbor => {
            cbor::identify(&body).map_err(|error| {
                Error::BadRequest(format!("unable to determine group/version/kind: {error}"))
            })?;
            let schema = Schema::builtin("", "v1", "DeleteOptions");
            let document = cbor::read_object(&body, schema.as_ref().map(Schema::root));
            document.map_err(|error| Error::BadRequest(error.to_string()))?.value
        }
    };
    call.record_delete_options(&value);
    from_body(&value, call.facts.server.settings.unreadable_deletion)
}
