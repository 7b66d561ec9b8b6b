//! Format `uri`: what Go's `url.ParseRequestURI` reads.

use std::net::Ipv6Addr;

/// Whether a text is an absolute URI or an absolute path.
pub(super) fn is_request_uri(text: &str) -> bool {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return false;
    }
    if text == "*" {
        return true;
    }
    let Some((scheme, rest)) = split_scheme(text) else { return false };
    let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
    if !rest.starts_with('/') {
        return !scheme.is_empty();
    }
    let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        None => rest,
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            if !is_authority(&scheme.to_ascii_lowercase(), &after[..end]) {
                return false;
            }
            &after[end..]
        }
    };
    has_good_escapes(path, |_| true)
}

/// Whether a text is an absolute URI with a scheme and a host.
pub(crate) fn has_host(text: &str) -> bool {
    let authority = |rest: &str| {
        let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
        let after = rest.strip_prefix("//")?;
        let authority = after.split('/').next()?;
        authority.rsplit('@').next().map(|host| !host.is_empty())
    };
    is_request_uri(text)
        && split_scheme(text)
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && authority(rest) == Some(true))
}

/// The scheme, which may be empty, and the rest; `None` for a scheme that should be there and is not.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index > 0 => return Some((&text[..index], &text[index + 1..])),
            b':' => return None,
            _ => break,
        }
    }
    Some(("", text))
}

fn is_authority(scheme: &str, authority: &str) -> bool {
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    is_host(scheme, host) && user.is_none_or(is_user)
}

fn is_user(user: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    user.chars().all(is_allowed) && user.splitn(2, ':').all(|part| has_good_escapes(part, |_| true))
}

fn is_host(scheme: &str, host: &str) -> bool {
    match host.rfind('[') {
        Some(0) => is_literal(host),
        Some(_) => false,
        None => {
            let first = host.find(':');
            let strict = matches!(scheme, "http" | "https");
            let colon = if strict { first } else { host.rfind(':') };
            colon.is_none_or(|at| is_port(&host[at..])) && is_plain_host(host)
        }
    }
}

/// `[2001:db8::1%25zone]:80`
fn is_literal(host: &str) -> bool {
    let Some(end) = host.rfind(']') else { return false };
    let inside = &host[1..end];
    if !is_port(&host[end + 1..]) {
        return false;
    }
    let (address, zone) = match inside.find("%25") {
        Some(at) => (&inside[..at], Some(&inside[at..])),
        None => (inside, None),
    };
    let is_zone = |zone: &str| {
        let is_allowed = |byte: u8| byte == b'%' || byte == b' ' || is_host_byte(byte);
        let is_plain = zone.bytes().all(|byte| byte >= 0x80 || byte == b'%' || is_host_byte(byte));
        zone.len() > 3 && is_plain && has_good_escapes(zone, is_allowed)
    };
    // A zone that is empty once unescaped is no zone.
    is_plain_host(address) && address.parse::<Ipv6Addr>().is_ok() && zone.is_none_or(is_zone)
}

fn is_plain_host(host: &str) -> bool {
    let is_plain = host.bytes().all(|byte| byte >= 0x80 || byte == b'%' || is_host_byte(byte));
    is_plain && has_good_escapes(host, |byte| byte >= 0x80 || byte == b'%')
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&byte)
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether every `%` is followed by two hexadecimal digits that stand for an allowed byte.
fn has_good_escapes(text: &str, is_allowed: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'%' {
            at += 1;
            continue;
        }
        match (digit(at + 1), digit(at + 2)) {
            (Some(high), Some(low)) if is_allowed((high * 16 + low) as u8) => at += 3,
            _ => return false,
        }
    }
    true
}
