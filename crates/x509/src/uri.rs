//! URIs in alternative names: what Go's url.Parse would refuse, and their hosts.

use std::net::Ipv6Addr;

/// Whether this is a URI whose host can be told without doubt. Go accepts a few more forms of hosts.
///
/// Origin: Go, net/url, Parse; crypto/x509/parser.go, parseSANExtension.
pub(crate) fn is_valid(uri: &str) -> bool {
    if uri.bytes().any(|it| it <= b' ' || it == 0x7f) || !has_good_escapes(uri) {
        return false;
    }
    let first_segment = uri.split(['/', '?', '#']).next().unwrap_or_default();
    match first_segment.split_once(':') {
        Some((scheme, _)) if !is_scheme(scheme) => return false,
        _ => (),
    }
    match authority(uri) {
        Some(authority) => {
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            host.is_empty() || split_port(host).is_some()
        }
        None => true,
    }
}

/// The host of a URI in lower case, without its port; `None` if it has none, or if it is an address.
pub(crate) fn domain(uri: &str) -> Option<String> {
    let authority = authority(uri)?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = split_port(host).filter(|it| !it.is_empty() && !it.starts_with('['))?;
    if host.parse::<std::net::Ipv4Addr>().is_ok() {
        return None;
    }
    Some(host.to_ascii_lowercase())
}

fn authority(uri: &str) -> Option<&str> {
    let rest = match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => rest,
        _ => uri,
    };
    rest.strip_prefix("//")?.split(['/', '?', '#']).next()
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic())
        && text.chars().all(|it| it.is_ascii_alphanumeric() || "+-.".contains(it))
}

fn has_good_escapes(uri: &str) -> bool {
    let is_digit = |it: Option<&u8>| it.is_some_and(u8::is_ascii_hexdigit);
    let bytes = uri.as_bytes();
    let mut places = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    places.all(|(at, _)| is_digit(bytes.get(at + 1)) && is_digit(bytes.get(at + 2)))
}

/// `host` or `[::1]` of `host:port`, if both are well-formed.
fn split_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some((address, rest)) => {
            address.parse::<Ipv6Addr>().ok()?;
            (&host[..address.len() + 2], rest.strip_prefix(':').or(rest.is_empty().then_some(""))?)
        }
        None => {
            let (name, port) = host.split_once(':').unwrap_or((host, ""));
            let is_name = |it: &str| {
                !it.is_empty() && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_~".contains(&it))
            };
            if !name.split('.').all(is_name) {
                return None;
            }
            (name, port)
        }
    };
    port.bytes().all(|it| it.is_ascii_digit()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{domain, is_valid};

    #[test]
    fn hosts_of_uris() {
        assert_eq!(domain("spiffe://Cluster.local/ns/a/sa/b").as_deref(), Some("cluster.local"));
        assert_eq!(domain("https://u:p@h:8080/x?y#z").as_deref(), Some("h"));
        for uri in ["urn:uuid:1", "https://10.0.0.1/", "https://[::1]/", "https:///x", "/x"] {
            assert!(is_valid(uri), "{uri}");
            assert_eq!(domain(uri), None, "{uri}");
        }
        for uri in
            [":x", "1a:b", "https://a b/", "https://a%zz/", "https://a..b/", "https://[x]/", "https://a:b/"]
        {
            assert!(!is_valid(uri), "{uri}");
        }
    }
}
