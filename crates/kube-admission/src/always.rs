//! AlwaysAdmit and AlwaysDeny, for trying out an admission chain.

use std::future::ready;

use keelson_object::Object;
use keelson_registry::admission::{Plugin, Request, Ruling};

/// Admits everything.
pub(crate) struct AlwaysAdmit;

impl Plugin for AlwaysAdmit {
    fn name(&self) -> &'static str {
        "AlwaysAdmit"
    }

    fn handles(&self, _request: &Request<'_>) -> bool {
        false
    }
}

/// Refuses everything.
pub(crate) struct AlwaysDeny;

impl Plugin for AlwaysDeny {
    fn name(&self) -> &'static str {
        "AlwaysDeny"
    }

    fn handles(&self, _request: &Request<'_>) -> bool {
        true
    }

    /// Upstream: plugin/pkg/admission/deny/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        let reason = "admission control is denying all modifications";
        Box::pin(ready(Err(request.forbidden(object.as_deref(), reason))))
    }
}
