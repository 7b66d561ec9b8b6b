//! Subresources that are streams to where an object runs. There is nobody to connect to yet, and that is what clients
//! are told.

use keelson_registry::operation;
use keelson_registry::options::Freshness;

use super::Call;
use crate::error::{Error, Result};
use crate::response::Response;

pub(crate) async fn connect(call: &Call<'_>, name: &str) -> Result<Response> {
    operation::get(&call.found.live, &call.place(), Freshness::Latest).await?;
    let plural = &call.found.live.resource.plural;
    Err(Error::NotHere(format!(
        "{plural}/{name} is not available: this server opens no connections to nodes yet"
    )))
}
