//! Audit: records requests, as the audit policy says.
//!
//! Upstream: apiserver/pkg/endpoints/filters/audit.go, authn_audit.go, request_deadline.go (v1.36.4).

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, HeaderName, header};
use keelson_audit::{Event, Level, ObjectReference, Record, Request, Target, UserInfo};
use keelson_authn::{Authenticated, User};
use keelson_status::Status;
use keelson_stdx::clock::Clock;

use crate::chain::Facts;
use crate::chain::impersonation::Actor;
use crate::chain::latency::Layers;
use crate::error::{Error, Result};
use crate::negotiate::text;
use crate::request_info::{RequestInfo, request_uri};
use crate::response::Response;

/// The audit record of a request. It is complete when it is dropped: the response was sent, or the client is
/// gone.
pub(crate) struct Recorded {
    pub(crate) record: Arc<Record>,
    course: Course,
    clock: Clock,
    /// The time of receipt, on the monotonic clock.
    received: Duration,
    /// How long each layer took; set when the response is known.
    layers: OnceLock<Layers>,
}

/// The audit stages that a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// RequestReceived and ResponseComplete.
    Short,
    /// RequestReceived, ResponseStarted and ResponseComplete.
    Long,
    /// ResponseStarted, for requests that failed authentication.
    Refused,
}

impl Drop for Recorded {
    fn drop(&mut self) {
        if self.course == Course::Refused {
            return;
        }
        // A watch takes long, but that does not make it slow.
        if let Some(layers) = self.layers.get().filter(|_| self.course == Course::Short) {
            layers.annotate(&self.record, self.received, self.clock.monotonic());
        }
        self.record.complete();
    }
}

/// The Status in a response, for the record.
#[derive(Clone)]
pub(crate) struct SentStatus(pub(crate) Arc<Status>);

/// Begins the record of an authenticated request, if the policy wants it.
pub(crate) async fn receive(
    facts: &Facts<'_>,
    parts: &Parts,
    info: &RequestInfo,
    authenticated: &Authenticated,
) -> Result<()> {
    let course = if info.is_long_running() { Course::Long } else { Course::Short };
    let user = Some(&*authenticated.user);
    let Some(recorded) = begin(facts, parts, (info, user), course) else { return Ok(()) };
    for (key, value) in &authenticated.annotations {
        recorded.record.annotate(key, value.as_str());
    }
    if !recorded.record.received().await {
        return Err(Error::NotRecorded { uri: request_uri(&parts.uri) });
    }
    Ok(())
}

/// Begins the record of a request that fails authentication.
pub(crate) fn refuse(facts: &Facts<'_>, parts: &Parts, info: &RequestInfo) {
    begin(facts, parts, (info, None), Course::Refused);
}

/// Records the impersonated user.
pub(crate) fn impersonated(facts: &Facts<'_>, actor: &Actor) {
    if let Some(record) = facts.record() {
        record.edit(|event| {
            event.impersonated_user = Some(user_info(&actor.user));
            event.impersonation_constraint = actor.constraint;
        });
    }
}

/// Records the response; its body holds the record until the last byte is sent.
pub(crate) async fn answer(facts: &Facts<'_>, response: &mut Response) {
    let Some(recorded) = facts.recorded.get() else { return };
    let status = response.extensions_mut().remove::<SentStatus>();
    let status = status.map(|SentStatus(status)| Box::new(Arc::unwrap_or_clone(status)));
    recorded.record.answered(response.status().as_u16(), status);
    let now = recorded.clock.monotonic();
    recorded.layers.get_or_init(|| Layers::new(&facts.latencies, &facts.timings, now));
    match recorded.course {
        Course::Short => {}
        Course::Long => recorded.record.started().await,
        Course::Refused => return recorded.record.refused().await,
    }
    response.body_mut().hold(Arc::clone(recorded));
}

fn begin<'f>(
    facts: &'f Facts<'_>,
    parts: &Parts,
    (info, user): (&RequestInfo, Option<&User>),
    course: Course,
) -> Option<&'f Arc<Recorded>> {
    let audit = facts.server.audit.as_ref()?;
    let judgement = audit.judge(&Request {
        user: user.map(|it| (&*it.name, &*it.groups)),
        verb: &info.verb,
        target: match info.is_resource_request {
            false => Target::Path,
            true => Target::Resource {
                namespace: &info.namespace,
                group: &info.group,
                resource: &info.resource,
                subresource: &info.subresource,
                name: &info.name,
            },
        },
        path: &info.path,
    });
    if judgement.level == Level::None {
        return None;
    }
    let clock = &facts.server.clock;
    let since = clock.monotonic().saturating_sub(facts.received);
    let event = Event {
        audit_id: String::from_utf8_lossy(facts.audit_id.as_bytes()).into_owned(),
        request_uri: request_uri(&parts.uri),
        verb: info.verb.to_string(),
        user: user.map(user_info).unwrap_or_default(),
        source_ips: source_ips(&parts.headers, facts.peer.address.ip()),
        user_agent: Event::cut_user_agent(text(&parts.headers, header::USER_AGENT)),
        object: info.is_resource_request.then(|| reference(info)),
        received: clock.since_epoch().saturating_sub(since),
        ..Event::default()
    };
    let recorded = Arc::new(Recorded {
        record: audit.record(judgement, event),
        course,
        clock: clock.clone(),
        received: facts.received,
        layers: OnceLock::new(),
    });
    // There is one record: a request that failed authentication goes no further.
    Some(facts.recorded.get_or_init(|| recorded))
}

fn user_info(user: &User) -> UserInfo {
    UserInfo {
        username: user.name.clone(),
        uid: user.uid.clone(),
        groups: user.groups.clone(),
        extra: user.extra.clone(),
    }
}

fn reference(info: &RequestInfo) -> ObjectReference {
    ObjectReference {
        resource: info.resource.to_string(),
        namespace: info.namespace.to_string(),
        name: info.name.to_string(),
        api_group: info.group.to_string(),
        api_version: info.version.to_string(),
        subresource: info.subresource.to_string(),
        ..ObjectReference::default()
    }
}

const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");
const REAL: HeaderName = HeaderName::from_static("x-real-ip");

/// The addresses in the forwarding headers of proxies, and the peer. All but the last one may be forged.
///
/// Upstream: apimachinery/pkg/util/net/http.go, SourceIPs (v1.36.4).
fn source_ips(headers: &HeaderMap, peer: IpAddr) -> Vec<String> {
    let parse = |text: &str| text.trim().parse::<IpAddr>().ok();
    let mut ips: Vec<IpAddr> = text(headers, FORWARDED).split(',').filter_map(parse).collect();
    if let Some(real) = parse(text(headers, REAL)).filter(|it| !ips.contains(it)) {
        ips.push(real);
    }
    let peer = peer.to_canonical();
    if ips.last() != Some(&peer) {
        ips.push(peer);
    }
    ips.iter().map(IpAddr::to_string).collect()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::source_ips;

    #[track_caller]
    fn check(forwarded: &str, real: &str, expected: &[&str]) {
        let mut headers = HeaderMap::new();
        for (name, value) in [("x-forwarded-for", forwarded), ("x-real-ip", real)] {
            if !value.is_empty() {
                headers.insert(name, HeaderValue::from_str(value).unwrap());
            }
        }
        assert_eq!(source_ips(&headers, "10.0.0.9".parse().unwrap()), expected);
    }

    #[test]
    fn proxies_are_named_before_the_peer() {
        check("", "", &["10.0.0.9"]);
        check("1.2.3.4, 5.6.7.8,junk", "", &["1.2.3.4", "5.6.7.8", "10.0.0.9"]);
        check("1.2.3.4", "1.2.3.4", &["1.2.3.4", "10.0.0.9"]);
        check("", "2001:db8::1", &["2001:db8::1", "10.0.0.9"]);
        check("1.2.3.4, 10.0.0.9", "", &["1.2.3.4", "10.0.0.9"]);
    }
}
