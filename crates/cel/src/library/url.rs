//! URLs: `url()`, with the rules and texts of Go's `net/url`.

use std::fmt;

use keelson_object::scalar::quote;

use super::net;

/// A parsed URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// The scheme in lower case.
    pub scheme: String,
    opaque: String,
    /// User name and password as they are printed.
    user: Option<String>,
    /// Host and port.
    pub host: String,
    path: Vec<u8>,
    /// The path as written, where the usual escaping would not give it.
    raw_path: String,
    omits_host: bool,
    forces_query: bool,
    raw_query: String,
    fragment: Option<String>,
}

/// Where an escape stands; what must be escaped depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Query,
    Host,
    Zone,
    User,
    Fragment,
}

impl Url {
    /// Reads an absolute URL or an absolute path, then reads it again for its fragment.
    ///
    /// Upstream: apiserver/pkg/cel/library/urls.go, stringToUrl (v1.36.4).
    pub fn parse(text: &str) -> Result<Url, String> {
        Url::check(text)?;
        let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = parse(before, false).map_err(|error| format!("parse {}: {error}", quote(before)))?;
        if !fragment.is_empty() {
            unescape(fragment, Mode::Fragment).map_err(|error| format!("parse {}: {error}", quote(text)))?;
            url.fragment = Some(fragment.to_owned());
        }
        Ok(url)
    }

    /// Whether `url.ParseRequestURI` takes the text.
    pub fn check(text: &str) -> Result<(), String> {
        parse(text, true).map(drop).map_err(|error| format!("parse {}: {error}", quote(text)))
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> &str {
        split_host_port(&self.host).0
    }

    /// The port, empty if there is none.
    pub fn port(&self) -> &str {
        split_host_port(&self.host).1
    }

    /// The path with escapes.
    pub fn escaped_path(&self) -> String {
        if !self.raw_path.is_empty() && is_valid_encoded_path(&self.raw_path) {
            return self.raw_path.clone();
        }
        if self.path == b"*" {
            return "*".to_owned();
        }
        escape(&self.path, Mode::Path)
    }

    /// The parameters of the query with their values; what is malformed is left out.
    pub fn query(&self) -> Vec<(String, Vec<String>)> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for pair in self.raw_query.split('&') {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Ok(key), Ok(value)) = (unescape(key, Mode::Query), unescape(value, Mode::Query)) else {
                continue;
            };
            let [key, value] = [key, value].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(value),
                None => found.push((key, vec![value])),
            }
        }
        found
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            self.fmt_hierarchy(f)?;
        } else {
            f.write_str(&self.opaque)?;
        }
        if self.forces_query || !self.raw_query.is_empty() {
            write!(f, "?{}", self.raw_query)?;
        }
        match &self.fragment {
            Some(fragment) => write!(f, "#{fragment}"),
            None => Ok(()),
        }
    }
}

impl Url {
    fn fmt_hierarchy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_authority = !self.host.is_empty() || self.user.is_some();
        if has_authority || !self.scheme.is_empty() && !self.omits_host {
            if has_authority || !self.path.is_empty() {
                f.write_str("//")?;
            }
            if let Some(user) = &self.user {
                write!(f, "{user}@")?;
            }
            f.write_str(&escape(self.host.as_bytes(), Mode::Host))?;
        }
        let path = self.escaped_path();
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            f.write_str("/")?;
        }
        if self.scheme.is_empty()
            && !has_authority
            && path.split('/').next().is_some_and(|first| first.contains(':'))
        {
            f.write_str("./")?;
        }
        f.write_str(&path)
    }
}

fn parse(text: &str, is_request: bool) -> Result<Url, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && is_request {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, mut rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    match rest.strip_suffix('?') {
        Some(before) if !before.contains('?') => (url.forces_query, rest) = (true, before),
        _ => {
            if let Some((before, query)) = rest.split_once('?') {
                url.raw_query = query.to_owned();
                rest = before;
            }
        }
    }
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            url.opaque = rest.to_owned();
            return Ok(url);
        }
        if is_request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let may_have_authority = !url.scheme.is_empty() || !is_request && !rest.starts_with("///");
    if may_have_authority && let Some(authority) = rest.strip_prefix("//") {
        let end = authority.find('/').unwrap_or(authority.len());
        rest = &authority[end..];
        (url.user, url.host) = parse_authority(&url.scheme, &authority[..end])?;
    } else if !url.scheme.is_empty() && rest.starts_with('/') {
        url.omits_host = true;
    }
    url.path = unescape(rest, Mode::Path)?;
    if escape(&url.path, Mode::Path) != rest {
        url.raw_path = rest.to_owned();
    }
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(scheme: &str, authority: &str) -> Result<(Option<String>, String), String> {
    let Some((user, host)) = authority.rsplit_once('@') else {
        return Ok((None, parse_host(scheme, authority)?));
    };
    let host = parse_host(scheme, host)?;
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(is_valid) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    let printed = match user.split_once(':') {
        None => escape(&unescape(user, Mode::User)?, Mode::User),
        Some((name, password)) => {
            let [name, password] = [unescape(name, Mode::User)?, unescape(password, Mode::User)?];
            format!("{}:{}", escape(&name, Mode::User), escape(&password, Mode::User))
        }
    };
    Ok((Some(printed), host))
}

fn parse_host(scheme: &str, host: &str) -> Result<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    match host.rfind('[') {
        Some(0) => return parse_bracketed_host(host),
        Some(_) => return Err("invalid IP-literal".to_owned()),
        None => {}
    }
    if let Some(first) = host.find(':') {
        let last = host.rfind(':').unwrap_or(first);
        let is_strict = matches!(scheme, "http" | "https");
        let port = &host[if is_strict { first } else { last }..];
        if !is_valid_port(port) {
            return Err(format!("invalid port {} after host", quote(port)));
        }
    }
    unescape(host, Mode::Host).map(text)
}

fn parse_bracketed_host(host: &str) -> Result<String, String> {
    let end = host.rfind(']').ok_or("missing ']' in host")?;
    let port = &host[end + 1..];
    if !is_valid_port(port) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    let name = &host[1..end];
    let unescaped = match name.find("%25") {
        Some(zone) => {
            let mut whole = unescape(&name[..zone], Mode::Host)?;
            whole.extend(unescape(&name[zone..], Mode::Zone)?);
            whole
        }
        None => unescape(name, Mode::Host)?,
    };
    let unescaped = String::from_utf8_lossy(&unescaped).into_owned();
    match net::parse_address(&unescaped) {
        Err(error) => Err(format!("invalid host: {error}")),
        Ok((address, _)) if address.is_ipv4() => Err("invalid IP-literal".to_owned()),
        Ok(_) => Ok(format!("[{unescaped}]{port}")),
    }
}

fn is_valid_port(port: &str) -> bool {
    port.is_empty()
        || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn split_host_port(host: &str) -> (&str, &str) {
    let (name, port) = match host.rfind(':') {
        Some(at) if is_valid_port(&host[at..]) => (&host[..at], &host[at + 1..]),
        _ => (host, ""),
    };
    (name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name), port)
}

/// Upstream: Go's net/url, shouldEscape.
fn should_escape(byte: u8, mode: Mode) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    let kept: &[u8] = match mode {
        Mode::Host | Mode::Zone => b"!$&'()*+,;=:[]<>\"",
        Mode::Path => b"$&+,/:;=@",
        Mode::User => b"$&+,;=",
        Mode::Query => b"",
        Mode::Fragment => b"$&+,/:;=?@!()*",
    };
    !kept.contains(&byte)
}

fn unescape(text: &str, mode: Mode) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    let bad_escape = |at: usize| {
        let shown = String::from_utf8_lossy(&bytes[at..bytes.len().min(at + 3)]);
        Err(format!("invalid URL escape {}", quote(&shown)))
    };
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let digit = |at: usize| bytes.get(at).and_then(|byte| (*byte as char).to_digit(16));
                let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else { return bad_escape(at) };
                let value = (high << 4 | low) as u8;
                let is_percent = value == b'%' && bytes[at + 1..at + 3] == *b"25";
                if mode == Mode::Host && high < 8 && !is_percent {
                    return bad_escape(at);
                }
                if mode == Mode::Zone && !is_percent && value != b' ' && should_escape(value, Mode::Host) {
                    return bad_escape(at);
                }
                out.push(value);
                at += 3;
                continue;
            }
            b'+' if mode == Mode::Query => out.push(b' '),
            byte => {
                if matches!(mode, Mode::Host | Mode::Zone) && byte < 0x80 && should_escape(byte, mode) {
                    let shown = (byte as char).to_string();
                    return Err(format!("invalid character {} in host name", quote(&shown)));
                }
                out.push(byte);
            }
        }
        at += 1;
    }
    Ok(out)
}

fn escape(bytes: &[u8], mode: Mode) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if should_escape(byte, mode) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(byte as char);
        }
    }
    out
}

fn is_valid_encoded_path(path: &str) -> bool {
    path.bytes().all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || !should_escape(byte, Mode::Path))
}

#[cfg(test)]
mod tests {
    use super::Url;

    #[test]
    fn urls_are_taken_apart_as_go_does() {
        let url = Url::parse("HTTPS://user:p@ss@example.com:80/a%2Fb?k=a&k=b&x=+%41#frag").expect("a URL");
        assert_eq!(
            (&*url.scheme, &*url.host, url.hostname(), url.port()),
            ("https", "example.com:80", "example.com", "80")
        );
        assert_eq!(url.escaped_path(), "/a%2Fb");
        assert_eq!(
            url.query(),
            [("k".to_owned(), vec!["a".to_owned(), "b".to_owned()]), ("x".to_owned(), vec![" A".to_owned()])]
        );
        assert_eq!(Url::parse("https://[::1]:80/").expect("a URL").hostname(), "::1");
        assert_eq!(Url::parse("/path with spaces").expect("a path").escaped_path(), "/path%20with%20spaces");
    }

    #[test]
    fn bad_urls_have_gos_texts() {
        for (text, expected) in [
            ("", "parse \"\": empty url"),
            ("../relative", "parse \"../relative\": invalid URI for request"),
            (":foo", "parse \":foo\": missing protocol scheme"),
            ("https://a:port/", "parse \"https://a:port/\": invalid port \":port\" after host"),
            ("https://a b/", "parse \"https://a b/\": invalid character \" \" in host name"),
            ("/%zz", "parse \"/%zz\": invalid URL escape \"%zz\""),
            ("https://[::1/", "parse \"https://[::1/\": missing ']' in host"),
        ] {
            assert_eq!(Url::parse(text), Err(expected.to_owned()));
        }
    }
}
