//! POST to a collection.

use http::StatusCode;
use keelson_registry::{decode, operation};

use super::Call;
use crate::body::RequestBody;
use crate::error::Result;
use crate::params::write::{Writing, write};
use crate::response::Response;

pub(crate) async fn create(call: &Call<'_>, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let encoding = call.input()?;
    let body = call.read(body).await?;
    let params = write(call.query, Writing::Create)?;
    let draft = call.draft(encoding, &body)?;
    let context = call.context(params.dry_run, &params.field_manager);
    let (live, version) = (&call.found.live, call.found.version());
    if live.resource.answers.is_some() {
        let work = async {
            let body = decode::object(&context, &live.resource, version, draft, params.validation)?;
            call.record_request(&body);
            operation::answer(live, &context, call.namespace(), body).await
        };
        let answer = call.run(&context, work).await?;
        return super::action::answered(call, answer, version.schema.as_ref(), output);
    }
    let frozen = call
        .run(&context, async {
            let object = decode::object(&context, &live.resource, version, draft, params.validation)?;
            call.record_request(&object);
            operation::create(live, &context, call.namespace(), object).await
        })
        .await?;
    call.answer(StatusCode::CREATED, &frozen, output)
}
