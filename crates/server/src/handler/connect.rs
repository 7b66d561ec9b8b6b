//! Subresources that are known but not implemented, such as streams to the node of a pod. Clients get an
//! error that says so, after admission.

use keelson_registry::DryRun;
use keelson_registry::admission::{self, Operation, Request};
use keelson_registry::operation;
use keelson_registry::options::Freshness;
use keelson_registry::subresource::ForeignKind;

use super::Call;
use crate::error::{Error, Result};
use crate::params::connect::connect;
use crate::response::Response;

/// Why there are no streams.
pub(crate) const NO_NODES: &str = "this server opens no connections to nodes yet";

/// Opens a stream, as far as that is possible. Admission runs before the object is looked up.
///
/// Upstream: apiserver/pkg/endpoints/handlers/rest.go, ConnectResource (v1.36.4).
pub(crate) async fn open(call: &Call<'_>, name: &str, options: &ForeignKind) -> Result<Response> {
    if call.query.has("dryRun") {
        return Err(Error::BadRequest("dryRun is not supported".to_owned()));
    }
    let mut options = connect(options, call.info, call.query)?;
    let (context, place) = (call.context(DryRun::Off, ""), call.place());
    let work = async {
        let new = || Request::new(Operation::Connect, &call.found.live, &context, &place);
        let request = Request { subresource: name, ..new() };
        admission::mutate(&request, Some(&mut options)).await?;
        admission::validate(&request, Some(&options)).await
    };
    call.run(&context, work).await?;
    refuse(call, name, NO_NODES).await
}

pub(crate) async fn refuse(call: &Call<'_>, name: &str, why: &str) -> Result<Response> {
    operation::get(&call.found.live, &call.place(), Freshness::Latest).await?;
    let plural = &call.found.live.resource.plural;
    Err(Error::NotHere(format!("{plural}/{name} is not available: {why}")))
}
