//! Media types: the encoding of a body (`Content-Type`) and those that a client accepts (`Accept`).

use smol_str::SmolStr;

/// The encodings that Kubernetes knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaType {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
    /// `application/vnd.kubernetes.protobuf`.
    Protobuf,
    /// `application/cbor`.
    Cbor,
    /// Anything else.
    Unknown,
}

impl MediaType {
    /// The media type of `essence`, which is type and subtype in lower case.
    pub fn named(essence: &str) -> MediaType {
        match essence {
            "application/json" => MediaType::Json,
            "application/yaml" => MediaType::Yaml,
            "application/vnd.kubernetes.protobuf" => MediaType::Protobuf,
            "application/cbor" => MediaType::Cbor,
            _ => MediaType::Unknown,
        }
    }

    /// Its name; `application/octet-stream` if it is unknown.
    pub fn as_str(self) -> &'static str {
        match self {
            MediaType::Json => "application/json",
            MediaType::Yaml => "application/yaml",
            MediaType::Protobuf => "application/vnd.kubernetes.protobuf",
            MediaType::Cbor => "application/cbor",
            MediaType::Unknown => "application/octet-stream",
        }
    }
}

/// A `Content-Type` header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentType {
    /// Type and subtype in lower case: `application/merge-patch+json`.
    pub essence: SmolStr,
    /// Names in lower case, values without quotes.
    pub parameters: Vec<(SmolStr, SmolStr)>,
}

impl ContentType {
    /// Parses the header; `None` if it is malformed.
    ///
    /// Upstream: Go's mime.ParseMediaType, without the continuations of RFC 2231.
    pub fn parse(header: &str) -> Option<ContentType> {
        let (essence, mut rest) = header.split_once(';').unwrap_or((header, ""));
        let essence = essence.trim().to_ascii_lowercase();
        let (main, sub) = essence.split_once('/')?;
        if !is_token(main) || !is_token(sub) {
            return None;
        }
        let mut parameters: Vec<(SmolStr, SmolStr)> = Vec::new();
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            let (name, value, behind) = parameter(rest)?;
            if parameters.iter().any(|(there, _)| *there == name) {
                return None;
            }
            parameters.push((name, value));
            rest = behind.trim_start();
            rest = rest.strip_prefix(';').or_else(|| rest.is_empty().then_some(""))?;
        }
        Some(ContentType { essence: essence.into(), parameters })
    }

    /// The encoding.
    pub fn media_type(&self) -> MediaType {
        MediaType::named(&self.essence)
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.parameters, name)
    }
}

/// One parameter at the start of `text`, and the rest.
fn parameter(text: &str) -> Option<(SmolStr, SmolStr, &str)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim_end();
    let value = value.trim_start();
    if !is_token(name) {
        return None;
    }
    let name = SmolStr::new(name.to_ascii_lowercase());
    if let Some(quoted) = value.strip_prefix('"') {
        let (value, rest) = unquote(quoted)?;
        return Some((name, value.into(), rest));
    }
    let end = value.find(|c: char| !is_token_char(c)).unwrap_or(value.len());
    let (value, rest) = value.split_at(end);
    if value.is_empty() { None } else { Some((name, value.into(), rest)) }
}

/// The text up to its closing quote, and the rest.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(c),
        }
    }
    None
}

fn is_token(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_token_char)
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(c)
}

/// One alternative of an `Accept` header.
#[derive(Clone, Debug, PartialEq)]
pub struct Accept {
    /// `application`, or `*`.
    pub main: SmolStr,
    /// `json`, or `*`.
    pub sub: SmolStr,
    /// The quality; 1 is best.
    pub quality: f64,
    /// All parameters except `q`.
    pub parameters: Vec<(SmolStr, SmolStr)>,
}

/// Another kind that the client wants instead: `as=Table;g=meta.k8s.io;v=v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversion {
    /// `as`.
    pub kind: SmolStr,
    /// `g`.
    pub group: SmolStr,
    /// `v`.
    pub version: SmolStr,
}

impl Accept {
    /// Whether `media_type` is acceptable.
    pub fn takes(&self, media_type: MediaType) -> bool {
        let Some((main, sub)) = media_type.as_str().split_once('/') else { return false };
        match (self.main.as_str(), self.sub.as_str()) {
            ("*", "*") => true,
            (there, "*") => there == main,
            (there, rest) => there == main && rest == sub,
        }
    }

    /// The value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.parameters, name)
    }

    /// The kind that the client wants instead of the resource's own, if any.
    pub fn conversion(&self) -> Option<Conversion> {
        let [kind, group, version] = ["as", "g", "v"].map(|it| self.parameter(it));
        if kind.is_none() && group.is_none() && version.is_none() {
            return None;
        }
        let text = |it: Option<&str>| SmolStr::new(it.unwrap_or_default());
        Some(Conversion { kind: text(kind), group: text(group), version: text(version) })
    }

    /// The requested streaming protocol: `watch`, or empty.
    pub fn stream(&self) -> &str {
        self.parameter("stream").unwrap_or_default()
    }

    /// Whether the response should be pretty-printed.
    pub fn is_pretty(&self) -> bool {
        self.parameter("pretty") == Some("1")
    }

    /// The discovery profile: `nopeer`, or empty.
    pub fn profile(&self) -> &str {
        self.parameter("profile").unwrap_or_default()
    }
}

/// The alternatives of an `Accept` header, best first: by quality, then by position; wildcards come after
/// specific types. Malformed alternatives are left out.
///
/// Upstream: github.com/munnerz/goautoneg, ParseAccept.
pub fn parse_accept(header: &str) -> Vec<Accept> {
    let mut accepted: Vec<Accept> = header.split(',').filter_map(alternative).collect();
    // Upstream's comparison is not transitive. For short lists its sort is an insertion sort, and only for
    // these the result is predictable.
    if accepted.len() <= 12 {
        for end in 1..accepted.len() {
            let mut at = end;
            while at > 0 && is_before(&accepted[at], &accepted[at - 1]) {
                accepted.swap(at, at - 1);
                at -= 1;
            }
        }
    } else {
        accepted.sort_by(|a, b| b.quality.total_cmp(&a.quality).then_with(|| wildness(a).cmp(&wildness(b))));
    }
    accepted
}

fn alternative(text: &str) -> Option<Accept> {
    let blanks = |c: char| c == ' ';
    let mut parts = text.trim_matches(blanks).split(';');
    let name = parts.next()?;
    let (main, sub) = match name.split_once('/') {
        Some((main, sub)) if !sub.is_empty() && !sub.trim_end_matches('/').contains('/') => {
            (main, sub.strip_suffix('/').unwrap_or(sub))
        }
        _ if name.trim_matches(blanks).trim_end_matches('/') == "*" => ("*", "*"),
        _ => return None,
    };
    let mut accept = Accept {
        main: main.trim_matches(blanks).into(),
        sub: sub.trim_matches(blanks).into(),
        quality: 1.0,
        parameters: Vec::new(),
    };
    for part in parts {
        let Some((name, value)) = part.split_once('=') else { continue };
        if value.is_empty() || value.trim_end_matches('=').contains('=') {
            continue;
        }
        let value = value.strip_suffix('=').unwrap_or(value);
        let name = name.trim_matches(blanks);
        if name == "q" {
            accept.quality = value.parse().ok().filter(|it: &f64| !it.is_nan()).unwrap_or(0.0);
        } else {
            accept.parameters.retain(|(there, _)| there != name);
            accept.parameters.push((name.into(), value.trim_matches(blanks).into()));
        }
    }
    Some(accept)
}

fn is_before(a: &Accept, b: &Accept) -> bool {
    a.quality > b.quality || (a.main != "*" && b.main == "*") || (a.sub != "*" && b.sub == "*")
}

fn wildness(accept: &Accept) -> usize {
    usize::from(accept.main == "*") + usize::from(accept.sub == "*")
}

fn find<'p>(parameters: &'p [(SmolStr, SmolStr)], name: &str) -> Option<&'p str> {
    parameters.iter().find(|(there, _)| there == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::{Accept, ContentType, Conversion, MediaType, parse_accept};

    #[test]
    fn content_types_are_read() {
        let check = |header: &str, expected: Option<(&str, MediaType)>| {
            let found = ContentType::parse(header);
            let found = found.as_ref().map(|it| (it.essence.as_str(), it.media_type()));
            assert_eq!(found, expected, "{header}");
        };
        check("application/json", Some(("application/json", MediaType::Json)));
        check(" Application/JSON ; charset=UTF-8", Some(("application/json", MediaType::Json)));
        check("application/yaml;", Some(("application/yaml", MediaType::Yaml)));
        check(
            "application/vnd.kubernetes.protobuf",
            Some(("application/vnd.kubernetes.protobuf", MediaType::Protobuf)),
        );
        check("application/cbor", Some(("application/cbor", MediaType::Cbor)));
        check("application/merge-patch+json", Some(("application/merge-patch+json", MediaType::Unknown)));
        check("text/plain", Some(("text/plain", MediaType::Unknown)));
        check("", None);
        check("json", None);
        check("application/", None);
        check("application/json; charset", None);
        check("application/json; a=1; a=2", None);
        check("application/json; a=\"1", None);
        check("application/js on", None);
    }

    #[test]
    fn parameters_of_content_types_are_unquoted() {
        let found = ContentType::parse(r#"a/b; Charset="ut\"f;8"; v=1"#).unwrap();
        assert_eq!(found.parameter("charset"), Some("ut\"f;8"));
        assert_eq!(found.parameter("v"), Some("1"));
        assert_eq!(found.parameter("w"), None);
    }

    /// The alternatives in order, without parameters.
    fn check(header: &str, expected: &[&str]) {
        let found: Vec<String> =
            parse_accept(header).iter().map(|it| format!("{}/{}", it.main, it.sub)).collect();
        assert_eq!(found, expected, "{header}");
    }

    #[test]
    fn alternatives_are_ordered() {
        check("", &[]);
        check("application/json", &["application/json"]);
        check("a/b, c/d", &["a/b", "c/d"]);
        check("a/b;q=0.5, c/d", &["c/d", "a/b"]);
        check("a/b;q=0.5,c/d;q=0.9,e/f;q=0.7", &["c/d", "e/f", "a/b"]);
        check("*/*, a/b", &["a/b", "*/*"]);
        check("*/*, a/b;q=0.1", &["a/b", "*/*"]);
        check("a/*, a/b, *", &["a/b", "a/*", "*/*"]);
        check("a/b;q=x, c/d;q=0.1", &["c/d", "a/b"]);
        check("nonsense, a/b/c, a/b", &["a/b"]);
    }

    #[test]
    fn long_lists_are_ordered_too() {
        let header: Vec<String> = (0..30).map(|n| format!("a/t{n};q=0.{n:02}")).collect();
        let found = parse_accept(&header.join(","));
        assert_eq!((found[0].sub.as_str(), found[29].sub.as_str()), ("t29", "t0"));
    }

    #[test]
    fn parameters_say_what_is_wanted() {
        let header = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;stream=watch; pretty=1;profile=nopeer";
        let found = parse_accept(header);
        let table = Conversion { kind: "Table".into(), group: "meta.k8s.io".into(), version: "v1".into() };
        assert_eq!(found[0].conversion(), Some(table));
        assert_eq!(found[1].conversion(), None);
        assert_eq!((found[0].stream(), found[1].stream()), ("", "watch"));
        assert_eq!((found[0].is_pretty(), found[1].is_pretty()), (false, true));
        assert_eq!((found[0].profile(), found[1].profile()), ("", "nopeer"));
    }

    #[test]
    fn wildcards_take_everything_below_them() {
        let takes = |header: &str, media_type: MediaType| {
            parse_accept(header).iter().any(|it: &Accept| it.takes(media_type))
        };
        assert!(takes("*/*", MediaType::Json));
        assert!(takes("*", MediaType::Protobuf));
        assert!(takes("application/*", MediaType::Yaml));
        assert!(takes("application/vnd.kubernetes.protobuf", MediaType::Protobuf));
        assert!(!takes("text/*", MediaType::Json));
        assert!(!takes("application/json", MediaType::Yaml));
        assert!(!takes("*/json", MediaType::Json));
    }
}
