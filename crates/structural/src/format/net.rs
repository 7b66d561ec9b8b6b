//! Formats of addresses and names of hosts.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

/// Whether a text is a host name: labels with letters and symbols of any script, and a last label of letters.
///
/// Upstream: kube-openapi/pkg/validation/strfmt/default.go, IsHostname (v1.36.4).
pub(super) fn is_hostname(text: &str) -> bool {
    static LABELS: LazyLock<Regex> = LazyLock::new(|| {
        let expression = r"^(?:[a-zA-Z0-9\p{S}\p{L}](?:(?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|(?:[a-zA-Z0-9\p{S}\p{L}](?:(?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(?:\.)){1,}(?:[a-zA-Z\p{L}]){2,63})$";
        Regex::new(expression).expect("the expression is constant and tested")
    });
    text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && LABELS.is_match(text)
}

/// The octets of an IPv4 address; leading zeros are allowed.
fn is_dotted(text: &str) -> bool {
    let is_octet = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number && part.trim_start_matches('0').len() <= 3 && part.parse::<u128>().is_ok_and(|it| it <= 255)
    };
    text.split('.').count() == 4 && text.split('.').all(is_octet)
}

/// IPv6, whose last part may be IPv4 with leading zeros.
fn is_sloppy_ipv6(text: &str) -> bool {
    let groups = |text: &str| {
        // Leading zeros do not count in the sloppy reader.
        text.split(':')
            .map(|group| {
                let short = group.trim_start_matches('0');
                if group.is_empty() { String::new() } else { format!("{:0>1}", short) }
            })
            .collect::<Vec<_>>()
            .join(":")
    };
    match text.rsplit_once(':') {
        Some((head, tail)) if tail.contains('.') => {
            is_dotted(tail) && format!("{}:1.2.3.4", groups(head)).parse::<Ipv6Addr>().is_ok()
        }
        _ => groups(text).parse::<Ipv6Addr>().is_ok(),
    }
}

/// `ipv4`: an address with a dot in it, which may be IPv4 in IPv6.
pub(super) fn is_ipv4(text: &str) -> bool {
    match text.find(['.', ':']) {
        Some(at) if text.as_bytes()[at] == b'.' => is_dotted(text),
        Some(_) => text.contains('.') && is_sloppy_ipv6(text),
        None => false,
    }
}

/// `ipv6`: as strict as Go is today.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// `cidr`
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, mask)) = text.split_once('/') else { return false };
    let is_number = !mask.is_empty() && mask.bytes().all(|byte| byte.is_ascii_digit());
    let bits = mask.parse::<u64>().unwrap_or(u64::MAX);
    let limit = if is_dotted(address) {
        32
    } else if is_sloppy_ipv6(address) {
        128
    } else {
        return false;
    };
    is_number && bits <= limit
}

/// `mac`: 6, 8 or 20 bytes, as Go's `net.ParseMAC` reads them.
pub(super) fn is_mac(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() < 12 {
        return false;
    }
    let (width, separator) = match (bytes[2], bytes[4]) {
        (separator @ (b':' | b'-'), _) => (2, separator),
        (_, b'.') => (4, b'.'),
        _ => {
            return matches!(bytes.len(), 12 | 16 | 40) && bytes.iter().all(u8::is_ascii_hexdigit);
        }
    };
    let groups: Vec<&[u8]> = bytes.split(|byte| *byte == separator).collect();
    let are_good = groups.iter().all(|it| it.len() == width && it.iter().all(u8::is_ascii_hexdigit));
    are_good && matches!(groups.len() * width / 2, 6 | 8 | 20)
}
