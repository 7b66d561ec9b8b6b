//! PUT of an object or of its status.

use http::StatusCode;
use keelson_registry::options::Part;
use keelson_registry::{decode, operation};

use super::Call;
use crate::body::RequestBody;
use crate::error::Result;
use crate::params::write::{Writing, write};
use crate::response::Response;

pub(crate) async fn update(call: &Call<'_>, part: Part, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let body = call.read(body).await?;
    let params = write(call.query, Writing::Update)?;
    let encoding = call.input()?;
    let draft = call.draft(encoding, &body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let (live, version, place) = (&call.found.live, call.found.version(), call.place());
    let updated = call
        .run(&context, async {
            let object = decode::object(&context, &live.resource, version, draft, params.validation)?;
            call.record_request(&object);
            operation::update(live, &context, &place, part, object).await
        })
        .await?;
    let code = if updated.created { StatusCode::CREATED } else { StatusCode::OK };
    call.answer(code, &updated.object, output).await
}
