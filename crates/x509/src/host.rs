//! Host names: whether a certificate is one of the host that was asked for.

use std::net::IpAddr;

use crate::certificate::Certificate;
use crate::error::Error;

/// What Go says of a certificate that names its host in the common name alone.
pub const LEGACY_COMMON_NAME: &str = "x509: certificate relies on legacy Common Name field, use SANs instead";

/// So many names are listed.
const MOST_NAMES: usize = 100;

/// Origin: Go, crypto/x509/verify.go, VerifyHostname.
pub(crate) fn check(certificate: &Certificate, host: &str) -> Result<(), Error> {
    let bare = host.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(host);
    let is_named = match bare.parse::<IpAddr>() {
        Ok(address) => addresses(certificate).any(|it| it.to_canonical() == address.to_canonical()),
        Err(_) => is_one_of(certificate, host),
    };
    if is_named { Ok(()) } else { Err(Error::Host(mismatch(certificate, bare))) }
}

fn addresses(certificate: &Certificate) -> impl Iterator<Item = IpAddr> {
    let names = certificate.extensions.names.iter();
    names.flat_map(|it| &it.addresses).filter_map(|bytes| {
        let four = <[u8; 4]>::try_from(bytes.as_slice()).map(IpAddr::from);
        four.or_else(|_| <[u8; 16]>::try_from(bytes.as_slice()).map(IpAddr::from)).ok()
    })
}

fn dns_names(certificate: &Certificate) -> &[String] {
    certificate.extensions.names.as_ref().map_or(&[], |it| &it.dns)
}

fn is_one_of(certificate: &Certificate, host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_valid = is_host(host.strip_suffix('.').unwrap_or(&host), Wildcard::Refused);
    dns_names(certificate).iter().any(|name| {
        if is_valid && is_host(name, Wildcard::Allowed) {
            matches(name, &host)
        } else {
            // Odd names match themselves.
            !matches!(host.as_str(), "" | ".") && name.to_ascii_lowercase() == host
        }
    })
}

/// Whether `*` may stand for the first label.
#[derive(Clone, Copy, PartialEq)]
enum Wildcard {
    Allowed,
    Refused,
}

/// Origin: Go, crypto/x509/verify.go, validHostname.
fn is_host(host: &str, wildcard: Wildcard) -> bool {
    let is_label = |(position, label): (usize, &str)| {
        if wildcard == Wildcard::Allowed && position == 0 && label == "*" {
            return true;
        }
        let is_good = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
        !label.is_empty() && !label.starts_with('-') && label.chars().all(is_good)
    };
    host != "*" && host.split('.').enumerate().all(is_label)
}

/// Origin: Go, crypto/x509/verify.go, matchHostnames.
fn matches(pattern: &str, host: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    let host = host.strip_suffix('.').unwrap_or(host);
    if pattern.is_empty() || pattern.split('.').count() != host.split('.').count() {
        return false;
    }
    let mut labels = pattern.split('.').zip(host.split('.')).enumerate();
    labels.all(|(position, (wanted, label))| position == 0 && wanted == "*" || wanted == label)
}

/// What is said about a certificate of another host.
///
/// Origin: Go, crypto/x509/verify.go, HostnameError.Error.
fn mismatch(certificate: &Certificate, host: &str) -> String {
    let common_name = certificate.subject.common_name();
    if !certificate.has_alternative_names() && matches(common_name, &host.to_ascii_lowercase()) {
        return LEGACY_COMMON_NAME.to_owned();
    }
    let is_address = host.parse::<IpAddr>().is_ok();
    let valid_for: Vec<String> = if is_address {
        addresses(certificate).map(|it| it.to_canonical().to_string()).collect()
    } else {
        dns_names(certificate).to_vec()
    };
    let kind = if is_address { "IP SANs" } else { "names" };
    match (valid_for.len(), is_address) {
        (0, true) => {
            format!("x509: cannot validate certificate for {host} because it doesn't contain any IP SANs")
        }
        (count @ MOST_NAMES.., _) => {
            format!("x509: certificate is valid for {count} {kind}, but none matched {host}")
        }
        _ => match valid_for.join(", ") {
            nothing if nothing.is_empty() => {
                format!("x509: certificate is not valid for any names, but wanted to match {host}")
            }
            names => format!("x509: certificate is valid for {names}, not {host}"),
        },
    }
}
