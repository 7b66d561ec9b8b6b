//! `/statusz` and `/flagz`: the version and the flags of the server, for troubleshooting.
//!
//! Both are plain text, or documents of the group `config.k8s.io` for clients that explicitly ask for them:
//! `Accept: application/json;as=Statusz;v=v1beta1;g=config.k8s.io`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use keelson_codec::json;
use keelson_codec::media_type::{Accept, Conversion, MediaType, parse_accept};
use keelson_object::scalar::Time;
use keelson_object::{Map, Value};
use keelson_stdx::clock::Clock;

use crate::endpoint::version::Version;
use crate::error::Error;
use crate::negotiate::{self, Encoding, Layout, Output};
use crate::openapi::Offered;
use crate::plain::{Endpoint, Mounted};
use crate::query::Query;
use crate::response::{Body, Response, with_type};
use crate::{encode, respond};

/// The name of the component.
const COMPONENT: &str = "apiserver";
const GROUP: &str = "config.k8s.io";

const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees \
    and is for debugging purposes only.\n";

/// The content of `/statusz`.
#[derive(Clone)]
pub struct Statusz {
    /// The version of the server, and the version that it emulates.
    pub version: Version,
    /// The start of the process, in seconds of Unix time.
    pub started: u64,
    /// The clock.
    pub clock: Clock,
    /// The other debugging paths.
    pub paths: Vec<String>,
}

/// One of the pages.
enum Page {
    Statusz(Box<Statusz>),
    Flagz(BTreeMap<String, String>),
}

struct Zpage {
    page: Page,
    /// The gate `CBORServingAndStorage`.
    cbor: Offered,
}

/// `/statusz`.
#[must_use]
pub fn statusz(statusz: Statusz, cbor: Offered) -> Mounted {
    Mounted {
        path: "/statusz".to_owned(),
        endpoint: Arc::new(Zpage { page: Page::Statusz(Box::new(statusz)), cbor }),
    }
}

/// `/flagz`: flags by name.
#[must_use]
pub fn flagz(flags: BTreeMap<String, String>, cbor: Offered) -> Mounted {
    Mounted { path: "/flagz".to_owned(), endpoint: Arc::new(Zpage { page: Page::Flagz(flags), cbor }) }
}

/// The form of a response.
enum Form {
    Text,
    Document { encoding: Encoding, conversion: Conversion, layout: Layout },
}

impl Zpage {
    /// Upstream: apiserver/pkg/server/statusz/statusz.go, handleStatusz, and flagz/flagz.go, handleFlagz (v1.36.4).
    fn respond(&self, parts: &Parts) -> Result<Response, Error> {
        match self.form(parts)? {
            Form::Text => {
                let media_type = HeaderValue::from_static("text/plain; charset=utf-8");
                Ok(with_type(StatusCode::OK, media_type, Body::full(self.page.text())))
            }
            Form::Document { encoding, conversion, layout } => {
                let document = Value::Map(self.page.document(&conversion.version));
                let output = Output { encoding, layout, ..Output::JSON };
                let mut response = encode::document(StatusCode::OK, &json::to_bytes(&document), output);
                let media_type = format!(
                    "{};g={GROUP};v={};as={}",
                    encoding.media_type().as_str(),
                    conversion.version,
                    conversion.kind
                );
                let headers = response.headers_mut();
                if let Ok(media_type) = HeaderValue::try_from(media_type) {
                    headers.insert(header::CONTENT_TYPE, media_type);
                }
                if conversion.version == "v1alpha1" {
                    headers.insert(header::WARNING, self.page.deprecated());
                }
                Ok(response)
            }
        }
    }

    /// Text, unless the client accepts a document by its group, version and kind.
    fn form(&self, parts: &Parts) -> Result<Form, Error> {
        let accepted = negotiate::text(&parts.headers, header::ACCEPT);
        if accepted.trim().is_empty() {
            return Ok(Form::Text);
        }
        let eyes = negotiate::is_for_eyes(&parts.headers, &Query::of(&parts.uri));
        let found = parse_accept(accepted).iter().find_map(|accept| self.offered(accept, eyes));
        found.ok_or_else(|| {
            let cbor = if self.cbor == Offered::Yes { ", application/cbor" } else { "" };
            negotiate::not_acceptable(&format!("application/json, application/yaml, text/plain{cbor}"))
        })
    }

    fn offered(&self, accept: &Accept, is_for_eyes: bool) -> Option<Form> {
        if !accept.stream().is_empty() {
            return None;
        }
        let Some(conversion) = accept.conversion() else {
            let takes_text = matches!((&*accept.main, &*accept.sub), ("*", "*") | ("text", "plain" | "*"));
            return takes_text.then_some(Form::Text);
        };
        let is_known = conversion.group == GROUP
            && conversion.kind == self.page.kind()
            && matches!(&*conversion.version, "v1alpha1" | "v1beta1");
        let has = |it: &Encoding| {
            (it.media_type() != MediaType::Cbor || self.cbor == Offered::Yes) && accept.takes(it.media_type())
        };
        let encoding = [Encoding::Json, Encoding::Yaml, Encoding::Cbor].into_iter().find(has)?;
        let layout = if is_for_eyes || accept.is_pretty() { Layout::Pretty } else { Layout::Compact };
        is_known.then_some(Form::Document { encoding, conversion, layout })
    }
}

impl Page {
    fn kind(&self) -> &'static str {
        match self {
            Page::Statusz(_) => "Statusz",
            Page::Flagz(_) => "Flagz",
        }
    }

    fn deprecated(&self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Page::Statusz(_) => {
                "299 - \"This version of the statusz endpoint is deprecated. Please use a newer version.\""
            }
            Page::Flagz(_) => {
                "299 - \"This version of the flagz endpoint is deprecated. Please use a newer version.\""
            }
        })
    }

    fn text(&self) -> String {
        match self {
            Page::Statusz(statusz) => statusz.text(),
            Page::Flagz(flags) => {
                let mut out = format!("\n{COMPONENT} flagz\n{WARNING}");
                for (name, value) in flags {
                    let _ = writeln!(out, "{name}={value}");
                }
                out
            }
        }
    }

    fn document(&self, version: &str) -> Map {
        let mut map = Map::new();
        map.set("kind", self.kind());
        map.set("apiVersion", format!("{GROUP}/{version}"));
        map.map_mut("metadata").set("name", COMPONENT);
        match self {
            Page::Statusz(statusz) => statusz.fill(&mut map),
            Page::Flagz(flags) => {
                let shown = map.map_mut("flags");
                for (name, value) in flags {
                    shown.set(name, value.as_str());
                }
            }
        }
        map
    }
}

impl Statusz {
    fn uptime(&self) -> u64 {
        self.clock.unix_seconds().saturating_sub(self.started)
    }

    fn started(&self) -> Time {
        Time::from_unix(i64::try_from(self.started).unwrap_or_default())
    }

    /// `1.36.4`, without the suffix.
    fn binary_version(&self) -> &str {
        let version = self.version.git_version.trim_start_matches('v');
        version.split(['-', '+']).next().unwrap_or(version)
    }

    fn emulation_version(&self) -> String {
        format!("{}.{}", self.version.emulation_major, self.version.emulation_minor)
    }

    fn text(&self) -> String {
        let up = self.uptime();
        format!(
            "\n{COMPONENT} statusz\n{WARNING}\nStarted= {}\nUp= {} hr {:02} min {:02} sec\nGo version= {}\n\
             Binary version= {}\nEmulation version= {}\nPaths= {}\n",
            unix_date(self.started()),
            up / 3600,
            up % 3600 / 60,
            up % 60,
            self.version.go_version,
            self.binary_version(),
            self.emulation_version(),
            self.paths.join(" "),
        )
    }

    fn fill(&self, map: &mut Map) {
        map.set("startTime", self.started().to_string());
        map.set("uptimeSeconds", i64::try_from(self.uptime()).unwrap_or(i64::MAX));
        map.set("goVersion", self.version.go_version);
        map.set("binaryVersion", self.binary_version());
        map.set("emulationVersion", self.emulation_version());
        let paths: Vec<Value> = self.paths.iter().map(|it| Value::from(it.as_str())).collect();
        map.set("paths", Value::List(paths));
    }
}

/// `Mon Nov 16 19:17:54 UTC 2026`.
fn unix_date(time: Time) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let day = usize::try_from(time.unix().div_euclid(86_400).rem_euclid(7)).unwrap_or_default();
    let shown = time.to_string();
    let number = |range: std::ops::Range<usize>| shown.get(range).and_then(|it| it.parse::<usize>().ok());
    let month = number(5..7).and_then(|it| MONTHS.get(it.wrapping_sub(1))).copied().unwrap_or_default();
    let date = number(8..10).unwrap_or_default();
    let (year, hours) = (shown.get(..4).unwrap_or_default(), shown.get(11..19).unwrap_or_default());
    format!("{} {month} {date:>2} {hours} UTC {year}", DAYS[day])
}

impl Endpoint for Zpage {
    fn answer<'a>(&'a self, _: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response> {
        let response = self
            .respond(parts)
            .unwrap_or_else(|error| respond::answer(error, &parts.headers, &Query::of(&parts.uri)));
        Box::pin(std::future::ready(response))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::Request;
    use keelson_object::scalar::Time;
    use keelson_stdx::clock::Clock;

    use super::{Form, Page, Statusz, Zpage, unix_date};
    use crate::endpoint::version::Version;
    use crate::openapi::Offered;

    fn page(cbor: Offered) -> Zpage {
        let (clock, manual) = Clock::manual();
        let started = clock.unix_seconds();
        manual.advance(Duration::from_secs(3725));
        let paths = vec!["/livez".to_owned(), "/statusz".to_owned()];
        let statusz = Statusz { version: Version::KUBERNETES, started, clock, paths };
        Zpage { page: Page::Statusz(Box::new(statusz)), cbor }
    }

    #[track_caller]
    fn check(accept: &str, cbor: Offered, expected: &str) {
        let (parts, ()) = Request::get("/statusz").header("accept", accept).body(()).unwrap().into_parts();
        let found = match page(cbor).form(&parts) {
            Ok(Form::Text) => "text".to_owned(),
            Ok(Form::Document { encoding, conversion, .. }) => format!("{encoding:?} {}", conversion.version),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{accept}");
    }

    #[test]
    fn documents_are_for_those_who_name_them() {
        let refused = "not acceptable: only the following media types are accepted: application/json, application/yaml, text/plain";
        for accept in ["", "*/*", "text/plain", "text/*", "text/html, text/plain;q=0.5"] {
            check(accept, Offered::No, "text");
        }
        for accept in [
            "application/json",
            "text/html",
            "application/json;as=Flagz;v=v1beta1;g=config.k8s.io",
            "application/json;as=Statusz;v=v2;g=config.k8s.io",
            "application/cbor;as=Statusz;v=v1beta1;g=config.k8s.io",
        ] {
            check(accept, Offered::No, refused);
        }
        check("application/json;as=Statusz;v=v1beta1;g=config.k8s.io", Offered::No, "Json v1beta1");
        check("application/yaml;as=Statusz;v=v1alpha1;g=config.k8s.io", Offered::No, "Yaml v1alpha1");
        check("application/cbor;as=Statusz;v=v1beta1;g=config.k8s.io", Offered::Yes, "Cbor v1beta1");
    }

    #[test]
    fn the_text_tells_how_long_it_runs() {
        let text = page(Offered::No).page.text();
        assert!(text.starts_with("\napiserver statusz\nWarning: This endpoint is not meant to be"), "{text}");
        assert!(text.contains("\nUp= 1 hr 02 min 05 sec\n"), "{text}");
        assert!(
            text.ends_with("\nBinary version= 1.36.4\nEmulation version= 1.36\nPaths= /livez /statusz\n"),
            "{text}"
        );
    }

    #[test]
    fn dates_are_those_of_unix() {
        assert_eq!(unix_date(Time::from_unix(0)), "Thu Jan  1 00:00:00 UTC 1970");
        assert_eq!(unix_date(Time::from_unix(1_794_857_874)), "Mon Nov 16 19:37:54 UTC 2026");
    }
}
