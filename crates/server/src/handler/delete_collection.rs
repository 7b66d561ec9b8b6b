//! DELETE of a collection.

use keelson_registry::operation;

use super::{Call, delete, list};
use crate::body::RequestBody;
use crate::error::Result;
use crate::params;
use crate::response::Response;

pub(crate) async fn delete_collection(call: &Call<'_>, body: RequestBody) -> Result<Response> {
    let output = call.output()?;
    let options = params::list::list(call.query, "", call.facts.server.settings.shards)?;
    let how = delete::params(call, body).await?;
    params::delete::refuse_unreadable(&how)?;
    let mut context = call.context(how.dry_run, "");
    context.options = how.sent.clone().into();
    let live = &call.found.live;
    let done = operation::delete_collection(live, &context, call.namespace(), &options, &how.options).await;
    call.pass_on(&context);
    list::answer(call, done?, output).await
}
