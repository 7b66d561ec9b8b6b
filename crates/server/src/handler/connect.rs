//! Subresources that are known but not there: streams to where an object runs, and what else is still to come. Clients
//! are told so.

use keelson_registry::operation;
use keelson_registry::options::Freshness;

use super::Call;
use crate::error::{Error, Result};
use crate::response::Response;

/// Why there are no streams.
pub(crate) const NO_NODES: &str = "this server opens no connections to nodes yet";

pub(crate) async fn refuse(call: &Call<'_>, name: &str, why: &str) -> Result<Response> {
    operation::get(&call.found.live, &call.place(), Freshness::Latest).await?;
    let plural = &call.found.live.resource.plural;
    Err(Error::NotHere(format!("{plural}/{name} is not available: {why}")))
}
