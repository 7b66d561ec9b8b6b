//! `Server-Timing: name;desc="what";dur=milliseconds`: the calls that a request waited for, as far as clients
//! see them.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use keelson_registry::context::Timing;
use parking_lot::Mutex;

use crate::response::Response;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The calls that a request waited for.
#[derive(Debug, Default)]
pub(crate) struct Timings(Mutex<Vec<Timing>>);

/// How long a response waited for webhooks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Webhooks {
    pub(crate) mutating: Duration,
    pub(crate) validating: Duration,
}

impl Timings {
    /// Adds some.
    pub(crate) fn extend(&self, timings: impl IntoIterator<Item = Timing>) {
        self.0.lock().extend(timings);
    }

    /// How long the response waited for webhooks: mutating ones are called one after the other, validating
    /// ones all at once.
    ///
    /// Upstream: apiserver/pkg/endpoints/request/webhook_duration.go (v1.36.4).
    pub(crate) fn webhooks(&self) -> Webhooks {
        let mut webhooks = Webhooks::default();
        for timing in self.0.lock().iter() {
            match timing.what {
                "validating" => webhooks.validating = webhooks.validating.max(timing.elapsed),
                _ => webhooks.mutating += timing.elapsed,
            }
        }
        webhooks
    }

    /// How long the response waited for all webhooks.
    pub(crate) fn waited(&self) -> Duration {
        let webhooks = self.webhooks();
        webhooks.mutating + webhooks.validating
    }

    /// Adds the timings that are reported to clients to the response.
    pub(crate) fn add_to(&self, response: &mut Response) {
        for value in self.0.lock().iter().filter(|it| it.is_told).filter_map(header_value) {
            response.headers_mut().append(SERVER_TIMING, value);
        }
    }
}

/// `None` for a name that is not valid in a header.
fn header_value(timing: &Timing) -> Option<HeaderValue> {
    let is_token = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
    if timing.name.is_empty() || !timing.name.bytes().all(is_token) {
        return None;
    }
    let milliseconds = timing.elapsed.as_secs_f64() * 1000.0;
    HeaderValue::from_str(&format!("{};desc=\"{}\";dur={milliseconds:.3}", timing.name, timing.what)).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_registry::context::Timing;

    use super::{Timings, header_value};

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        let timing = Timing {
            name: name.to_owned(),
            what: "validating",
            elapsed: Duration::from_micros(1500),
            is_told: true,
        };
        let found = header_value(&timing);
        assert_eq!(found.as_ref().and_then(|it| it.to_str().ok()), expected);
    }

    #[test]
    fn who_judges_is_waited_for_all_at_once() {
        let timings = Timings::default();
        assert_eq!(timings.waited(), Duration::ZERO);
        let timing = |what, milliseconds| Timing {
            name: String::from("a.example.com"),
            what,
            elapsed: Duration::from_millis(milliseconds),
            is_told: false,
        };
        timings.extend([
            timing("admit", 3),
            timing("admit", 4),
            timing("validating", 20),
            timing("validating", 10),
        ]);
        assert_eq!(timings.waited(), Duration::from_millis(27));
    }

    #[test]
    fn a_timing_is_a_token_with_milliseconds() {
        check("a.example.com", Some("a.example.com;desc=\"validating\";dur=1.500"));
        check("no token, this", None);
        check("", None);
    }
}
