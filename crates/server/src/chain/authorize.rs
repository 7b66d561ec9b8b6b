//! Authorization: decides whether the user may make the request.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use keelson_authn::User;
use keelson_authz::{Attributes, Decision, Selectors, Subject, Target, deny_message};
use keelson_object::GroupResource;
use keelson_object::selector::{field, label};
use tracing::debug;

use crate::chain::Facts;
use crate::error::{Error, Result};
use crate::request_info::{RequestInfo, request_uri};

/// Proof that `user` may do what `info` says. Only [`authorize`] makes one, and no route can be called without it.
pub(crate) struct Granted<'r> {
    /// The user.
    pub(crate) user: &'r Arc<User>,
    /// The request that the user may make.
    pub(crate) info: &'r RequestInfo,
    _proof: Proof,
}

struct Proof;

/// Calls the authorizer. `begun` is the current time.
pub(crate) async fn authorize<'r>(
    facts: &Facts<'_>,
    parts: &Parts,
    info: &'r RequestInfo,
    user: &'r Arc<User>,
    begun: Duration,
) -> Result<Granted<'r>> {
    let (clock, metrics) = (&facts.server.clock, &facts.server.metrics.authorization);
    let selected = Selected::of(info);
    let attributes = attributes(info, user, &selected);
    let verdict = facts.server.authorizer.authorize(&attributes).await;
    let elapsed = clock.monotonic().saturating_sub(begun);
    facts.latencies.authorization.set(elapsed);
    // An evaluation error does not take away what another rule allows.
    if verdict.decision.is_allowed() {
        metrics.allowed.count(elapsed);
        facts.server.metrics.filters.authorization.observe(elapsed.as_secs_f64());
        annotate(facts, "allow", verdict.decision.reason());
        return Ok(Granted { user, info, _proof: Proof });
    }
    if let Some(source) = verdict.error {
        metrics.error.count(elapsed);
        if let Some(record) = facts.record() {
            record.annotate(REASON, "internal error");
        }
        return Err(Error::AuthorizationFailed { uri: request_uri(&parts.uri), source });
    }
    match verdict.decision {
        Decision::NoOpinion { .. } => metrics.no_opinion.count(elapsed),
        Decision::Deny { .. } | Decision::Allow { .. } => metrics.denied.count(elapsed),
    }
    annotate(facts, "forbid", verdict.decision.reason());
    debug!(uri = %parts.uri, reason = verdict.decision.reason(), "forbidden");
    Err(Error::Forbidden {
        resource: GroupResource::new(info.group.clone(), info.resource.clone()),
        name: info.name.to_string(),
        message: deny_message(&attributes, verdict.decision.reason()),
    })
}

const DECISION: &str = "authorization.k8s.io/decision";
const REASON: &str = "authorization.k8s.io/reason";

/// Adds the decision to the audit event.
fn annotate(facts: &Facts<'_>, decision: &str, reason: &str) {
    if let Some(record) = facts.record() {
        record.annotate(DECISION, decision);
        record.annotate(REASON, reason);
    }
}

/// The parsed selectors of a request. An unparsable one selects everything; the list reports the error later.
pub(crate) struct Selected {
    fields: field::Selector,
    labels: label::Selector,
}

impl Selected {
    pub(crate) fn of(info: &RequestInfo) -> Selected {
        Selected {
            fields: field::Selector::parse(&info.field_selector).unwrap_or(field::Selector::everything()),
            labels: label::Selector::parse(&info.label_selector).unwrap_or(label::Selector::everything()),
        }
    }
}

/// The attributes of a request that the authorizer sees.
pub(crate) fn attributes<'a>(
    info: &'a RequestInfo,
    user: &'a User,
    selected: &'a Selected,
) -> Attributes<'a> {
    let target = if info.is_resource_request {
        Target::Resource {
            namespace: &info.namespace,
            api_group: &info.group,
            api_version: &info.version,
            resource: &info.resource,
            subresource: &info.subresource,
            name: &info.name,
        }
    } else {
        Target::Path
    };
    Attributes {
        user: Subject { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra },
        verb: &info.verb,
        target,
        path: &info.path,
        selectors: Selectors { fields: selected.fields.terms(), labels: selected.labels.requirements() },
    }
}
