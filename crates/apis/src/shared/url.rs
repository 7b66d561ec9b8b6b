//! URLs as Go's `net/url` reads them, because its words reach clients.

use keelson_object::scalar::quote;

/// The parts of a URL that rules check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Url<'t> {
    /// The scheme in lower case.
    pub scheme: String,
    /// The user, before the `@`.
    pub user: Option<&'t str>,
    /// The host, with the port.
    pub host: &'t str,
    /// The query, after the `?`.
    pub query: &'t str,
    /// The fragment, after the `#`.
    pub fragment: &'t str,
}

/// Parses a URL, or returns the error: `parse "a b": …`.
///
/// Upstream: net/url, Parse.
pub fn parse(text: &str) -> Result<Url<'_>, String> {
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let wrong = |whole: &str, problem: String| format!("parse {}: {problem}", quote(whole));
    let mut url = read(rest).map_err(|problem| wrong(rest, problem))?;
    check_escapes(fragment).map_err(|problem| wrong(text, problem))?;
    url.fragment = fragment;
    Ok(url)
}

fn read(text: &str) -> Result<Url<'_>, String> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    let (scheme, rest) = split_scheme(text)?;
    let mut url = Url { scheme: scheme.to_ascii_lowercase(), ..Url::default() };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    url.query = query;
    if !rest.starts_with('/') {
        let first = rest.split('/').next().unwrap_or_default();
        return match scheme {
            "" if first.contains(':') => Err("first path segment in URL cannot contain colon".to_owned()),
            "" => check_escapes(rest).map(|()| url),
            _ => Ok(url),
        };
    }
    let mut path = rest;
    if let Some(authority) = rest.strip_prefix("//")
        && (!scheme.is_empty() || !authority.starts_with('/'))
    {
        let end = authority.find('/').unwrap_or(authority.len());
        path = &authority[end..];
        (url.user, url.host) = split_authority(&url.scheme, &authority[..end])?;
    }
    check_escapes(path)?;
    Ok(url)
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if position > 0 => {}
            b':' if position == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..position], &text[position + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn split_authority<'t>(scheme: &str, authority: &'t str) -> Result<(Option<&'t str>, &'t str), String> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    check_host(scheme, host)?;
    let is_user_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if let Some(user) = user {
        if !user.bytes().all(is_user_byte) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        check_escapes(user)?;
    }
    Ok((user, host))
}

fn check_host(scheme: &str, host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(address) => {
            let (_, port) = address.rsplit_once(']').ok_or("missing ']' in host")?;
            port
        }
        // Go allows further colons in the host, except where browsers go.
        None if matches!(scheme, "http" | "https") => host.find(':').map_or("", |position| &host[position..]),
        None => host.rfind(':').map_or("", |position| &host[position..]),
    };
    let is_port = |port: &str| {
        port.is_empty()
            || port.strip_prefix(':').is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if !is_port(port) {
        return Err(format!("invalid port {} after host", quote(port)));
    }
    for (position, byte) in host.bytes().enumerate() {
        let is_host_byte =
            byte >= 0x80 || byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte);
        if byte == b'%' {
            return Err(escape_problem(host, position));
        }
        if !is_host_byte {
            return Err(format!("invalid character {} in host name", quote(&char::from(byte).to_string())));
        }
    }
    Ok(())
}

/// Two hexadecimal digits follow every `%`.
fn check_escapes(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    let is_escape = |position: usize| {
        bytes.get(position + 1..position + 3).is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit))
    };
    match text.match_indices('%').find(|(position, _)| !is_escape(*position)) {
        Some((position, _)) => Err(escape_problem(text, position)),
        None => Ok(()),
    }
}

fn escape_problem(text: &str, position: usize) -> String {
    let shown: Vec<u8> = text.bytes().skip(position).take(3).collect();
    format!("invalid URL escape {}", quote(&String::from_utf8_lossy(&shown)))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match parse(text) {
            Ok(url) => {
                let user = url.user.map(|it| format!("{it}@")).unwrap_or_default();
                format!("{} {user}{} ?{} #{}", url.scheme, url.host, url.query, url.fragment)
            }
            Err(problem) => problem,
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn parts_are_told_apart() {
        check("HTTPS://u:p@example.com:443/a?b=c#d", "https u:p@example.com:443 ?b=c #d");
        check("https://[::1]:8443", "https [::1]:8443 ? #");
        check("example.com/a", "  ? #");
        check("///a", "  ? #");
        check("", "  ? #");
        check("mailto:x", "mailto  ? #");
    }

    #[test]
    fn what_is_no_url_is_told_in_the_words_of_go() {
        check(":a", r#"parse ":a": missing protocol scheme"#);
        check("1a:b", r#"parse "1a:b": first path segment in URL cannot contain colon"#);
        check("https://a:b", r#"parse "https://a:b": invalid port ":b" after host"#);
        check("https://a b", r#"parse "https://a b": invalid character " " in host name"#);
        check("https://[a", r#"parse "https://[a": missing ']' in host"#);
        check("https://a/%zz", r#"parse "https://a/%zz": invalid URL escape "%zz""#);
        check("https://a/%4", r#"parse "https://a/%4": invalid URL escape "%4""#);
        check("https://a%41", r#"parse "https://a%41": invalid URL escape "%41""#);
        check("https://a b@c", r#"parse "https://a b@c": net/url: invalid userinfo"#);
        check("https://a\n", r#"parse "https://a\n": net/url: invalid control character in URL"#);
    }
}
