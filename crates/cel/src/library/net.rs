//! Addresses and networks: `ip()` and `cidr()`, with the error texts of Go's `net/netip`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use keelson_object::scalar::quote;

/// A network: an address, which may have bits beyond the prefix, and the length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cidr {
    /// The address.
    pub address: IpAddr,
    /// The length of the prefix in bits.
    pub bits: u8,
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Cidr {
    /// Whether the network has the address.
    pub fn contains(&self, address: &IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => masked4(own, self.bits) == masked4(*other, self.bits),
            (IpAddr::V6(own), IpAddr::V6(other)) => masked6(own, self.bits) == masked6(*other, self.bits),
            _ => false,
        }
    }

    /// Whether the network has all of the other one.
    pub fn contains_cidr(&self, other: &Cidr) -> bool {
        self.bits <= other.bits && self.contains(&other.address)
    }

    /// The network with the bits beyond the prefix cleared.
    pub fn masked(&self) -> Cidr {
        let address = match self.address {
            IpAddr::V4(own) => IpAddr::V4(masked4(own, self.bits).into()),
            IpAddr::V6(own) => IpAddr::V6(masked6(own, self.bits).into()),
        };
        Cidr { address, bits: self.bits }
    }
}

fn masked4(address: Ipv4Addr, bits: u8) -> u32 {
    u32::from(address) & u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0)
}

fn masked6(address: Ipv6Addr, bits: u8) -> u128 {
    u128::from(address) & u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0)
}

/// Reads an address as rules may write it: without zone, not an IPv4 address in IPv6.
///
/// Upstream: apiserver/pkg/cel/library/ip.go, parseIPAddr (v1.36.4).
pub fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let quoted = quote(text);
    let (address, has_zone) = parse_address(text)
        .map_err(|error| format!("IP Address {quoted} parse error during conversion from string: {error}"))?;
    if has_zone {
        return Err(format!("IP address {quoted} with zone value is not allowed"));
    }
    if is_4_in_6(&address) {
        return Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"));
    }
    Ok(address)
}

/// Reads a network.
///
/// Upstream: apiserver/pkg/cel/library/cidr.go, parseCIDR (v1.36.4).
pub fn parse_cidr(text: &str) -> Result<Cidr, String> {
    let cidr = parse_prefix(text).map_err(|error| {
        let quoted = quote(text);
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({quoted}): {error}"
        )
    })?;
    if is_4_in_6(&cidr.address) {
        return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote(text)));
    }
    Ok(cidr)
}

fn is_4_in_6(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn parse_prefix(text: &str) -> Result<Cidr, String> {
    let (address, bits_text) = text.rsplit_once('/').ok_or("no '/'")?;
    let (address, has_zone) = parse_address(address)?;
    if has_zone {
        return Err("IPv6 zones cannot be present in a prefix".to_owned());
    }
    let bad_bits = || format!("bad bits after slash: {}", quote(bits_text));
    if bits_text.len() > 1 && !matches!(bits_text.as_bytes()[0], b'1'..=b'9') {
        return Err(bad_bits());
    }
    let bits: i64 = bits_text.parse().map_err(|_| bad_bits())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    match u8::try_from(bits) {
        Ok(bits) if bits <= most => Ok(Cidr { address, bits }),
        _ => Err("prefix length out of range".to_owned()),
    }
}

/// The error of `netip.ParseAddr`.
fn error(text: &str, message: &str, at: &str) -> String {
    let at = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
    format!("ParseAddr({}): {message}{at}", quote(text))
}

/// Reads an address and says whether it has a zone.
///
/// Upstream: Go's net/netip, ParseAddr.
pub fn parse_address(text: &str) -> Result<(IpAddr, bool), String> {
    match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => parse_fields(text, text).map(|fields| (IpAddr::V4(fields.into()), false)),
        Some(b':') => parse_v6(text),
        Some(_) => Err(error(text, "missing IPv6 address", "")),
        None => Err(error(text, "unable to parse IP", "")),
    }
}

/// Four decimal fields; `whole` is what the error shows.
fn parse_fields(whole: &str, text: &str) -> Result<[u8; 4], String> {
    let bytes = text.as_bytes();
    let mut fields = [0u8; 4];
    let (mut value, mut position, mut digits) = (0u32, 0, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(error(whole, "IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(error(whole, "IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if at == 0 || at == bytes.len() - 1 || bytes[at - 1] == b'.' {
                    return Err(error(whole, "IPv4 field must have at least one digit", &text[at..]));
                }
                if position == 3 {
                    return Err(error(whole, "IPv4 address too long", ""));
                }
                fields[position] = value as u8;
                position += 1;
                (value, digits) = (0, 0);
            }
            // Positions before this are ASCII, so that this is the beginning of a character.
            _ => return Err(error(whole, "unexpected character", &text[at..])),
        }
    }
    if position < 3 {
        return Err(error(whole, "IPv4 address too short", ""));
    }
    fields[3] = value as u8;
    Ok(fields)
}

fn parse_v6(whole: &str) -> Result<(IpAddr, bool), String> {
    let (mut rest, zone) = match whole.split_once('%') {
        Some((_, "")) => return Err(error(whole, "zone must be a non-empty string", "")),
        Some((address, _)) => (address, true),
        None => (whole, false),
    };
    let mut address = [0u8; 16];
    let mut ellipsis = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok((IpAddr::V6(Ipv6Addr::UNSPECIFIED), zone));
        }
    }
    let mut filled = 0;
    while filled < 16 {
        let (group, length) = read_group(whole, rest)?;
        if rest.as_bytes().get(length) == Some(&b'.') {
            if ellipsis.is_none() && filled != 12 {
                let message = "embedded IPv4 address must replace the final 2 fields of the address";
                return Err(error(whole, message, rest));
            }
            if filled + 4 > 16 {
                let message = "too many hex fields to fit an embedded IPv4 at the end of the address";
                return Err(error(whole, message, rest));
            }
            address[filled..filled + 4].copy_from_slice(&parse_fields(whole, rest)?);
            rest = "";
            filled += 4;
            break;
        }
        address[filled..filled + 2].copy_from_slice(&group.to_be_bytes());
        filled += 2;
        rest = &rest[length..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(error(whole, "unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(error(whole, "colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return Err(error(whole, "multiple :: in address", rest));
            }
            ellipsis = Some(filled);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(error(whole, "trailing garbage after address", rest));
    }
    expand(whole, &mut address, filled, ellipsis)?;
    Ok((IpAddr::V6(address.into()), zone))
}

/// Up to four hexadecimal digits: their value and how many there are.
fn read_group(whole: &str, rest: &str) -> Result<(u16, usize), String> {
    let mut value: u32 = 0;
    let mut length = 0;
    for byte in rest.bytes() {
        let Some(digit) = (byte as char).to_digit(16) else { break };
        value = (value << 4) + digit;
        if length > 3 {
            return Err(error(whole, "each group must have 4 or less digits", rest));
        }
        length += 1;
    }
    if length == 0 {
        return Err(error(whole, "each colon-separated field must have at least one digit", rest));
    }
    Ok((value as u16, length))
}

/// Moves what follows `::` to the end.
fn expand(whole: &str, address: &mut [u8; 16], filled: usize, ellipsis: Option<usize>) -> Result<(), String> {
    match ellipsis {
        None if filled < 16 => Err(error(whole, "address string too short", "")),
        Some(_) if filled >= 16 => Err(error(whole, "the :: must expand to at least one field of zeros", "")),
        None => Ok(()),
        Some(at) => {
            let missing = 16 - filled;
            address.copy_within(at..filled, at + missing);
            address[at..at + missing].fill(0);
            Ok(())
        }
    }
}

/// Whether the address is for one host anywhere: Go's `IsGlobalUnicast`.
pub fn is_global_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_loopback()
                || v4.is_multicast()
                || v4.is_link_local())
        }
        IpAddr::V6(v6) => {
            !(v6.is_unspecified() || v6.is_loopback() || v6.is_multicast() || v6.is_unicast_link_local())
        }
    }
}

/// Go's `IsLinkLocalUnicast`.
pub fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Go's `IsLinkLocalMulticast`.
pub fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets()[..3] == [224, 0, 0],
        IpAddr::V6(v6) => v6.segments()[0] & 0xff0f == 0xff02,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, expected: &str) {
        assert_eq!(
            parse_address(text).map_err(|error| error.split_once("): ").map(|(_, why)| why.to_owned())),
            Err(Some(expected.to_owned()))
        );
    }

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        for text in ["1.2.3.4", "::", "::1", "2001:db8::68", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::8"] {
            assert_eq!(parse_address(text).map(|(address, _)| address.to_string()), Ok(text.to_owned()));
        }
        refused("1.2.3", "IPv4 address too short");
        refused("1.2.3.256", "IPv4 field has value >255");
        refused("1.2.3.04", "IPv4 field has octet with leading zero");
        refused("1..2.3", "IPv4 field must have at least one digit (at \".2.3\")");
        refused("1.2.3.4.5", "IPv4 address too long");
        refused("1.2.3.a", "unexpected character (at \"a\")");
        refused("1:2", "address string too short");
        refused("1:::2", "each colon-separated field must have at least one digit (at \":2\")");
        refused("1:2:3:4:5:6:7:8:9", "trailing garbage after address (at \"9\")");
        refused("12345::", "each group must have 4 or less digits (at \"12345::\")");
        refused("abc", "unable to parse IP");
    }

    #[test]
    fn networks_contain_addresses_and_networks() {
        let cidr = |text| parse_cidr(text).expect("a network");
        assert!(cidr("10.0.0.0/8").contains(&"10.1.2.3".parse().expect("an address")));
        assert!(!cidr("10.0.0.0/8").contains(&"11.1.2.3".parse().expect("an address")));
        assert!(cidr("0.0.0.0/0").contains_cidr(&cidr("10.0.0.0/8")));
        assert!(!cidr("10.0.0.0/24").contains_cidr(&cidr("10.0.0.0/23")));
        assert_eq!(cidr("10.1.2.3/8").masked().to_string(), "10.0.0.0/8");
        assert_eq!(
            parse_cidr("10.0.0.0/33"),
            Err("network address parse error during conversion from string: netip.ParsePrefix(\"10.0.0.0/33\"): prefix length out of range".to_owned())
        );
    }
}
