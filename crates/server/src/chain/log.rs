//! HTTP log: one line per request at `-v=3` and above. No credentials, no bodies.
//!
//! Upstream: apiserver/pkg/server/httplog/httplog.go, Log (v1.36.4).

use std::time::Duration;

use http::request::Parts;
use http::{StatusCode, header};
use keelson_object::scalar::Duration as GoDuration;
use keelson_stdx::clock::Clock;
use tracing::{Level, enabled, info};

use crate::chain::Facts;
use crate::chain::latency::Latency;
use crate::negotiate::text;
use crate::observe;
use crate::request_info::{RequestInfo, request_uri};
use crate::response::Response;

/// The tracing target of the lines, by which they are enabled.
pub const HTTP_LOG: &str = "keelson_server::httplog";

/// Steps before the handler that took longer are named.
///
/// Upstream: apiserver/pkg/endpoints/filterlatency/filterlatency.go, minFilterLatencyToLog (v1.36.4).
const SLOW_STEP: Duration = Duration::from_millis(100);

/// Logs the client, the response and the duration when the last byte is sent.
pub(crate) fn request(facts: &Facts<'_>, parts: &Parts, response: &mut Response) {
    if !enabled!(target: HTTP_LOG, Level::INFO) {
        return;
    }
    let info = RequestInfo::parse(&parts.method, &parts.uri).unwrap_or_default();
    let slow = |step: &Latency| Some(step.get()).filter(|it| *it > SLOW_STEP).map(shown);
    let line = Line {
        verb: observe::verb(&info, parts, observe::scope(&info)),
        uri: request_uri(&parts.uri),
        user_agent: text(&parts.headers, header::USER_AGENT).to_owned(),
        audit_id: String::from_utf8_lossy(facts.audit_id.as_bytes()).into_owned(),
        source: facts.peer.address.to_string(),
        authentication: slow(&facts.latencies.authentication),
        impersonation: slow(&facts.latencies.impersonation),
        authorization: slow(&facts.latencies.authorization),
        code: response.status(),
        clock: facts.server.clock.clone(),
        received: facts.received,
    };
    response.body_mut().hold(line);
}

struct Line {
    verb: &'static str,
    uri: String,
    user_agent: String,
    audit_id: String,
    source: String,
    authentication: Option<String>,
    impersonation: Option<String>,
    authorization: Option<String>,
    code: StatusCode,
    clock: Clock,
    received: Duration,
}

impl Drop for Line {
    fn drop(&mut self) {
        let is_hijacked = self.code == StatusCode::SWITCHING_PROTOCOLS;
        info!(
            target: HTTP_LOG,
            verb = self.verb,
            URI = self.uri,
            latency = shown(self.clock.monotonic().saturating_sub(self.received)),
            userAgent = self.user_agent,
            "audit-ID" = self.audit_id,
            srcIP = self.source,
            fl_authentication = self.authentication,
            fl_impersonation = self.impersonation,
            fl_authorization = self.authorization,
            hijacked = is_hijacked.then_some(true),
            resp = (!is_hijacked).then_some(self.code.as_u16()),
            "HTTP"
        );
    }
}

/// A duration as Go prints it.
fn shown(time: Duration) -> String {
    GoDuration::from_nanos(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Write as _};
    use std::sync::Arc;
    use std::time::Duration;

    use http::StatusCode;
    use keelson_stdx::clock::Clock;
    use parking_lot::Mutex;
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::{HTTP_LOG, Line};

    /// Keeps the fields of events as text.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<String>>);

    impl Visit for Kept {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            let _ = write!(self.0.lock(), "{}={value:?} ", field.name());
        }
    }

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target() == HTTP_LOG
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }

        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[track_caller]
    fn check(code: StatusCode, expected: &str) {
        let ((clock, hand), kept) = (Clock::manual(), Kept::default());
        let line = Line {
            verb: "LIST",
            uri: "/api/v1/pods?limit=5".to_owned(),
            user_agent: "curl".to_owned(),
            audit_id: "a-b".to_owned(),
            source: "127.0.0.1:5".to_owned(),
            authentication: Some("150ms".to_owned()),
            impersonation: None,
            authorization: None,
            code,
            received: clock.monotonic(),
            clock,
        };
        hand.advance(Duration::from_micros(1500));
        tracing::subscriber::with_default(kept.clone(), || drop(line));
        assert_eq!(*kept.0.lock(), expected);
    }

    #[test]
    fn a_line_has_upstreams_fields_in_its_order() {
        let start = "verb=\"LIST\" URI=\"/api/v1/pods?limit=5\" latency=\"1.5ms\" userAgent=\"curl\" \
                     audit-ID=\"a-b\" srcIP=\"127.0.0.1:5\" fl_authentication=\"150ms\"";
        check(StatusCode::OK, &format!("message=HTTP {start} resp=200 "));
        check(StatusCode::SWITCHING_PROTOCOLS, &format!("message=HTTP {start} hijacked=true "));
    }
}
