//! GET of one object.

use http::StatusCode;
use keelson_registry::operation;
use keelson_registry::options::Freshness;

use super::Call;
use crate::error::{Error, Result};
use crate::params;
use crate::response::Response;

pub(crate) async fn get(call: &Call<'_>) -> Result<Response> {
    let output = call.output()?;
    if call.query.switch("export") == Some(true) {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Error::BadRequest(message.to_owned()));
    }
    let object = operation::get(&call.found.live, &call.place(), freshness(call)?).await?;
    call.answer(StatusCode::OK, &object, output).await
}

/// The freshness that the request asks for.
pub(super) fn freshness(call: &Call<'_>) -> Result<Freshness> {
    let revision = params::revision(call.query.get("resourceVersion").unwrap_or_default());
    Ok(match revision.map_err(Error::BadRevision)? {
        None => Freshness::Latest,
        Some(0) => Freshness::Any,
        Some(revision) => Freshness::AtLeast(revision),
    })
}
