//! Impersonation: a request with `Impersonate-*` headers is made as that user from here on, if all of it is
//! allowed.
//!
//! Upstream: apiserver/pkg/endpoints/filters/impersonation (v1.36.4).

mod headers;
mod metrics;

use std::sync::Arc;

use http::request::Parts;
use keelson_authn::User;
use keelson_authz::Authorizer;
use keelson_authz::impersonation::{Acting, Impersonator, Wanted};
use keelson_stdx::clock::Clock;
use tracing::debug;

use self::metrics::{Counted, ImpersonationMetrics};
use crate::chain::{Facts, authorize};
use crate::error::{Error, Result};
use crate::metrics::Registry;
use crate::openapi::Offered;
use crate::request_info::RequestInfo;

/// Decides which users may impersonate which others.
pub(crate) struct Impersonation {
    impersonator: Impersonator,
    /// Set if the gate `ConstrainedImpersonation` is on.
    constrained: Option<ImpersonationMetrics>,
}

/// The impersonated user of a request.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    pub(crate) user: Arc<User>,
    /// The verb that allowed it; empty for `impersonate`.
    pub(crate) constraint: &'static str,
}

impl Impersonation {
    /// The name of this step in metrics.
    pub(crate) fn step(&self) -> &'static str {
        if self.constrained.is_some() { "constrainedimpersonation" } else { "impersonation" }
    }

    /// `constrained` is the gate `ConstrainedImpersonation`.
    pub(crate) fn new(
        authorizer: Arc<dyn Authorizer>,
        constrained: Offered,
        (registry, clock): (&Registry, &Clock),
    ) -> Impersonation {
        match constrained {
            Offered::No => Impersonation { impersonator: Impersonator::new(authorizer), constrained: None },
            Offered::Yes => {
                let metrics = ImpersonationMetrics::new(registry);
                let counted = Counted { authorizer, metrics: metrics.clone(), clock: clock.clone() };
                Impersonation {
                    impersonator: Impersonator::new(Arc::new(counted)),
                    constrained: Some(metrics),
                }
            }
        }
    }
}

/// The impersonated user of a request; `None` for most requests. The impersonation headers are removed.
pub(crate) async fn impersonate(
    facts: &Facts<'_>,
    parts: &mut Parts,
    info: &RequestInfo,
    user: &Arc<User>,
) -> Result<Option<Actor>> {
    let server = facts.server;
    let impersonation = &server.impersonation;
    let style = match impersonation.constrained {
        Some(_) => headers::Style::Constrained,
        None => headers::Style::Plain,
    };
    let Some(wanted) = headers::wanted(&parts.headers, style).map_err(Error::BadImpersonation)? else {
        return Ok(None);
    };
    headers::remove(&mut parts.headers);
    let selected = authorize::Selected::of(info);
    let request = authorize::attributes(info, user, &selected);
    let acting = match &impersonation.constrained {
        None => impersonation.impersonator.plain(&wanted, request.user).await,
        Some(metrics) => {
            let begun = server.clock.monotonic();
            let acting = impersonation.impersonator.constrained(&wanted, &request).await;
            metrics.attempt(acting.as_ref().ok(), server.clock.monotonic().saturating_sub(begun));
            acting
        }
    };
    let acting = acting.map_err(|refused| {
        debug!(uri = %parts.uri, reason = refused.message, "forbidden");
        Error::Forbidden { resource: refused.resource, name: refused.name, message: refused.message }
    })?;
    debug!(user = user.name, acting_as = acting.user.name, "impersonation");
    let Acting { user: Wanted { name, uid, groups, extra }, constraint } = acting;
    Ok(Some(Actor { user: Arc::new(User { name, uid, groups, extra }), constraint }))
}
