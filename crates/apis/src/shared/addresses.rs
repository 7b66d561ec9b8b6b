//! IP addresses and CIDRs in fields: errors and warnings.
//!
//! Old fields accept forms that were valid once, and warn the client about them:
//!
//! ```text
//! 192.0.02.1           non-standard, use 192.0.2.1
//! ::ffff:192.0.2.1     non-standard, use 192.0.2.1
//! 2001:DB8::1          should be 2001:db8::1
//! 192.0.2.1/24         ambiguous: 192.0.2.0/24 or 192.0.2.1/32
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keelson_object::{FieldErrors, Path};

use crate::catalog::Settings;

/// Whether old forms of addresses are accepted.
///
/// Upstream: StrictIPCIDRValidation (v1.36.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Only forms that every program reads the same way.
    Strict,
    /// Leading zeros and mapped addresses as well.
    Sloppy,
}

impl Strictness {
    /// The operator's setting.
    pub(crate) fn of(settings: &Settings) -> Strictness {
        if settings.is_on("StrictIPCIDRValidation") { Strictness::Strict } else { Strictness::Sloppy }
    }
}

/// Checks an address in a field that once accepted other forms; returns whether it is valid.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidIPForLegacyField (v1.36.4).
pub(crate) fn check_address(
    text: &str,
    strictness: Strictness,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) -> bool {
    let problem = match sloppy(text) {
        None => Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        Some(_) if strictness == Strictness::Sloppy => None,
        Some(_) => match text.parse::<IpAddr>() {
            Err(_) => Some("must not have leading 0s"),
            Ok(strict) => is_mapped(strict).then_some("must not be an IPv4-mapped IPv6 address"),
        },
    };
    problem.into_iter().for_each(|problem| errors.invalid(at, text, problem));
    problem.is_none()
}

/// Checks a CIDR in a field that once accepted other forms.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidCIDRForLegacyField (v1.36.4).
pub(crate) fn check_range(text: &str, strictness: Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(problem) = range_problem(text, strictness) {
        errors.invalid(at, text, problem);
    }
}

/// What is wrong with a CIDR in a field that once accepted other forms.
pub(crate) fn range_problem(text: &str, strictness: Strictness) -> Option<&'static str> {
    let Some(range) = Range::parse(text) else {
        return Some("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    if strictness == Strictness::Sloppy {
        None
    } else if !range.is_strict {
        Some("must not have leading 0s in IP or prefix length")
    } else if is_mapped(range.address) {
        Some("must not have an IPv4-mapped IPv6 address")
    } else if range.network() != range.address {
        Some("must not have bits set beyond the prefix length")
    } else {
        None
    }
}

/// Checks a CIDR in a field that accepts only the canonical form.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidCIDR (v1.36.4).
pub(crate) fn check_canonical_range(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(problem) = range_problem(text, Strictness::Strict) {
        errors.invalid(at, text, problem);
        return;
    }
    let shown = Range::parse(text).map(|it| it.shown());
    if let Some(shown) = shown.filter(|it| it != text) {
        errors.invalid(at, text, format!("must be in canonical form ({shown:?})"));
    }
}

/// Checks that an address can be the destination of packets.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateEndpointIP (v1.36.4).
pub(crate) fn check_endpoint_address(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(address) = sloppy(text) else {
        errors.invalid(at, text, "must be a valid IP address");
        return;
    };
    if address.is_unspecified() {
        errors.invalid(at, text, format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        errors.invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let (unicast, multicast) = match address {
        IpAddr::V4(it) => (it.is_link_local(), it.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(it) => (it.is_unicast_link_local(), it.segments()[0] & 0xff0f == 0xff02),
    };
    if unicast {
        errors.invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if multicast {
        errors.invalid(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

/// What is wrong with an address in a field that accepts only the canonical form.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidIP (v1.36.4).
pub(crate) fn address_problem(text: &str) -> Option<String> {
    let Some(address) = sloppy(text) else {
        return Some(String::from("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    };
    match text.parse::<IpAddr>() {
        Err(_) => Some(String::from("must not have leading 0s")),
        Ok(strict) if is_mapped(strict) => Some(String::from("must not be an IPv4-mapped IPv6 address")),
        Ok(_) if address.to_string() != text => Some(format!("must be in canonical form (\"{address}\")")),
        Ok(_) => None,
    }
}

/// What is wrong with an address in a field that accepts more than one form.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidIPForLegacyField (v1.36.4), strict.
pub(crate) fn strict_problem(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(strict) if is_mapped(strict) => Some("must not be an IPv4-mapped IPv6 address"),
        Ok(_) => None,
        Err(_) => Some(sloppy_problem(text).unwrap_or("must not have leading 0s")),
    }
}

/// The same where leading zeros and mapped addresses still count.
pub(crate) fn sloppy_problem(text: &str) -> Option<&'static str> {
    sloppy(text).is_none().then_some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
}

/// What is wrong with the address of an interface, which includes the prefix length.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, IsValidInterfaceAddress (v1.36.4).
pub(crate) fn interface_problem(text: &str) -> Option<String> {
    let Some(range) = Range::parse(text) else {
        let detail = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        return Some(String::from(detail));
    };
    let address = plain(range.address);
    let length = match (address, range.address) {
        (IpAddr::V4(_), IpAddr::V6(_)) if range.length > 32 => range.length.saturating_sub(96),
        _ => range.length,
    };
    let canonical = format!("{address}/{length}");
    (canonical != text).then(|| format!("must be in canonical form ({canonical:?})"))
}

/// The warning about an address that is accepted.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, GetWarningsForIP (v1.36.4).
pub(crate) fn address_warning(at: &Path<'_>, text: &str) -> Option<String> {
    let address = sloppy(text)?;
    match text.parse::<IpAddr>() {
        Ok(strict) if !is_mapped(strict) => {
            let canonical = strict.to_string();
            (strict.is_ipv6() && canonical != text).then(|| {
                format!("{at}: IPv6 address {text:?} should be in RFC 5952 canonical format ({canonical:?})")
            })
        }
        _ => Some(format!("{at}: non-standard IP address {text:?} is invalid: use \"{address}\"")),
    }
}

/// The warnings about a CIDR that is accepted.
///
/// Upstream: apimachinery/pkg/util/validation/ip.go, GetWarningsForCIDR (v1.36.4).
pub(crate) fn range_warnings(at: &Path<'_>, text: &str) -> Vec<String> {
    let Some(range) = Range::parse(text) else { return Vec::new() };
    let mut warnings = Vec::new();
    let (network, shown) = (range.network(), range.shown());
    if network != range.address {
        let single = format!("{}/{}", plain(range.address), range.width());
        warnings.push(format!(
            "{at}: CIDR value {text:?} is ambiguous in this context (should be {shown:?} or {single:?}?)"
        ));
    }
    if !range.is_strict || is_mapped(range.address) {
        warnings.push(format!("{at}: non-standard CIDR value {text:?} is invalid: use {shown:?}"));
    }
    let canonical = format!("{}/{}", range.address, range.length);
    if warnings.is_empty() && range.address.is_ipv6() && canonical != text {
        warnings.push(format!(
            "{at}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({canonical:?})"
        ));
    }
    warnings
}

/// Whether a CIDR is a proper part of another. Like upstream, a mapped CIDR is compared as the mapped one,
/// except for its length.
pub(crate) fn is_within(inner: &str, outer: &str) -> bool {
    let (Some(inner), Some(outer)) = (Range::parse(inner), Range::parse(outer)) else { return false };
    let (network, address) = (plain(outer.network()), plain(inner.network()));
    let mapped_bits = if network.is_ipv4() && outer.address.is_ipv6() { 96 } else { 0 };
    let cut = Range { address, length: outer.length - mapped_bits, is_strict: true };
    network.is_ipv4() == address.is_ipv4() && outer.length < inner.length && cut.network() == network
}

/// The two sorts of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Four bytes.
    V4,
    /// Sixteen bytes.
    V6,
}

/// The family of a range.
pub(crate) fn range_family(text: &str) -> Option<Family> {
    let address = plain(Range::parse(text)?.address);
    Some(if address.is_ipv6() { Family::V6 } else { Family::V4 })
}

/// An address, and how many of its bits count.
struct Range {
    address: IpAddr,
    length: u32,
    /// Whether it is in the strict form.
    is_strict: bool,
}

impl Range {
    fn parse(text: &str) -> Option<Range> {
        let (host, bits) = text.split_once('/')?;
        let length: u32 = bits.parse().ok()?;
        let is_strict = host.parse::<IpAddr>().is_ok() && length.to_string() == bits;
        // A mapped address keeps its 128 bits here: the length counts from the first of them.
        let address = host.parse().ok().or_else(|| sloppy(host))?;
        let range = Range { address, length, is_strict };
        (length <= range.width() && !bits.starts_with('+')).then_some(range)
    }

    fn width(&self) -> u32 {
        if self.address.is_ipv6() { 128 } else { 32 }
    }

    /// The address without the bits that do not count.
    fn network(&self) -> IpAddr {
        match self.address {
            IpAddr::V4(it) => {
                let mask = u32::MAX.checked_shl(32 - self.length).unwrap_or_default();
                IpAddr::V4(Ipv4Addr::from_bits(it.to_bits() & mask))
            }
            IpAddr::V6(it) => {
                let mask = u128::MAX.checked_shl(128 - self.length).unwrap_or_default();
                IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & mask))
            }
        }
    }

    /// The form that Go prints: a mapped CIDR in the form of the mapped address.
    fn shown(&self) -> String {
        match (plain(self.network()), self.network()) {
            (IpAddr::V4(it), IpAddr::V6(_)) => format!("{it}/{}", self.length.saturating_sub(96)),
            (it, _) => format!("{it}/{}", self.length),
        }
    }
}

/// Parses an address, with or without leading zeros; a mapped address becomes the mapped one.
///
/// Upstream: utils/net/parse.go, ParseIPSloppy (v1.36.4).
pub(crate) fn sloppy(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(plain(address));
    }
    let digits = |part: &str| part.bytes().all(|it| it.is_ascii_digit());
    let octets: Vec<u8> =
        text.split('.').map(|part| part.parse().ok().filter(|_| digits(part))).collect::<Option<_>>()?;
    <[u8; 4]>::try_from(octets).ok().map(IpAddr::from)
}

fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn is_mapped(address: IpAddr) -> bool {
    address.to_canonical() != address
}

#[cfg(test)]
mod tests {
    use keelson_object::Path;

    use super::{address_problem, address_warning, interface_problem, is_within, range_warnings};

    #[test]
    fn an_address_has_one_form() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(address_problem(text).as_deref(), expected, "{text}");
        };
        let invalid = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        check("10.9.8.7", None);
        check("2001:db8::ffff", None);
        check("10.9.8", Some(invalid));
        check("10.9.8.256", Some(invalid));
        check("10.9.8.+7", Some(invalid));
        check("a", Some(invalid));
        check("10.09.8.7", Some("must not have leading 0s"));
        check("::ffff:1.2.3.4", Some("must not be an IPv4-mapped IPv6 address"));
        check("2001:DB8::1", Some("must be in canonical form (\"2001:db8::1\")"));
        check("2001:db8:0:0:0:0:0:1", Some("must be in canonical form (\"2001:db8::1\")"));
    }

    #[test]
    fn an_address_of_an_interface_has_one_form() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(interface_problem(text).as_deref(), expected, "{text}");
        };
        let invalid = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";
        check("10.9.8.7/24", None);
        check("2001:db8::1/64", None);
        check("10.9.8.7", Some(invalid));
        check("10.9.8.7/33", Some(invalid));
        check("10.9.08.7/24", Some("must be in canonical form (\"10.9.8.7/24\")"));
        check("::ffff:10.9.8.7/120", Some("must be in canonical form (\"10.9.8.7/24\")"));
        check("2001:DB8::1/64", Some("must be in canonical form (\"2001:db8::1/64\")"));
    }

    #[test]
    fn odd_addresses_are_told() {
        let check = |text: &str, expected: Option<&str>| {
            let expected = expected.map(|it| format!("f: {it}"));
            assert_eq!(address_warning(&Path::root("f"), text), expected, "{text}");
        };
        check("192.0.2.1", None);
        check("2001:db8::1", None);
        check("nonsense", None);
        check("192.0.02.1", Some(r#"non-standard IP address "192.0.02.1" is invalid: use "192.0.2.1""#));
        check(
            "::ffff:192.0.2.1",
            Some(r#"non-standard IP address "::ffff:192.0.2.1" is invalid: use "192.0.2.1""#),
        );
        check(
            "2001:DB8::1",
            Some(r#"IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")"#),
        );
    }

    #[test]
    fn a_part_of_a_range_is_smaller_than_the_range() {
        let check = |inner: &str, outer: &str, expected: bool| {
            assert_eq!(is_within(inner, outer), expected, "{inner} in {outer}");
        };
        check("192.0.2.0/28", "192.0.2.0/24", true);
        check("192.0.2.0/24", "192.0.2.0/24", false);
        check("192.0.0.0/16", "192.0.2.0/24", false);
        check("198.51.100.0/28", "192.0.2.0/24", false);
        check("10.0.0.0/8", "0.0.0.0/0", true);
        check("2001:db8::/68", "2001:db8::/64", true);
        check("2001:db8::/64", "192.0.2.0/24", false);
        check("192.0.2.0/24", "::/0", false);
        check("::ffff:192.0.2.0/124", "192.0.2.0/24", true);
        check("::ffff:192.0.2.0/124", "::ffff:192.0.2.0/120", true);
        check("192.0.2.0/28", "::ffff:192.0.2.0/120", false);
        check("x", "192.0.2.0/24", false);
    }

    #[test]
    fn odd_ranges_are_told() {
        let check = |text: &str, expected: &[&str]| {
            let expected: Vec<String> = expected.iter().map(|it| format!("f: {it}")).collect();
            assert_eq!(range_warnings(&Path::root("f"), text), expected, "{text}");
        };
        check("192.0.2.0/24", &[]);
        check("0.0.0.0/0", &[]);
        check("2001:db8::/64", &[]);
        check("nonsense", &[]);
        check("192.0.2.0/33", &[]);
        check(
            "192.0.2.1/24",
            &[
                r#"CIDR value "192.0.2.1/24" is ambiguous in this context (should be "192.0.2.0/24" or "192.0.2.1/32"?)"#,
            ],
        );
        check(
            "192.0.02.0/24",
            &[r#"non-standard CIDR value "192.0.02.0/24" is invalid: use "192.0.2.0/24""#],
        );
        check(
            "192.0.2.0/024",
            &[r#"non-standard CIDR value "192.0.2.0/024" is invalid: use "192.0.2.0/24""#],
        );
        check(
            "::ffff:192.0.2.0/120",
            &[r#"non-standard CIDR value "::ffff:192.0.2.0/120" is invalid: use "192.0.2.0/24""#],
        );
        check(
            "2001:DB8::/64",
            &[r#"IPv6 CIDR value "2001:DB8::/64" should be in RFC 5952 canonical format ("2001:db8::/64")"#],
        );
    }
}
