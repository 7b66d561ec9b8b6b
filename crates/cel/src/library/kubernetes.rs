//! URLs, addresses, networks, versions and formats: the small libraries of Kubernetes.

use std::net::IpAddr;
use std::sync::Arc;

use super::format::Format;
use super::semver::Semver;
use super::url::Url;
use super::{mismatch, net, quantity};
use crate::fail::{Failure, Outcome, fail};
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::{Entries, MapVal, Opaque, Val};

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("url", 1) => parse_url,
        ("isURL", 1) => is_url,
        ("getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" | "getQuery", 1) => read_url,
        ("ip", 1) => to_ip,
        ("isIP" | "ip.isCanonical", 1) => is_ip,
        (
            "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast",
            1,
        ) => read_ip,
        ("cidr", 1) => to_cidr,
        ("isCIDR", 1) => is_cidr,
        ("containsIP", 2) => contains_ip,
        ("containsCIDR", 2) => contains_cidr,
        ("prefixLength" | "masked", 1) => read_cidr,
        ("semver" | "isSemver", 1 | 2) => semver,
        ("major" | "minor" | "patch", 1) => read_semver,
        ("format.named", 1) => named_format,
        ("validate", 2) => validate,
        (function, 0) if function.starts_with("format.") => constant_format,
        _ => return None,
    })
}

/// The opaque value of the first argument.
fn opaque<'v, 'a>(args: &'v [Val<'a>], index: usize) -> Option<&'v Opaque<'a>> {
    match args.get(index) {
        Some(Val::Opaque(value)) => Some(value),
        _ => None,
    }
}

fn parse_url<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(text)] = args else { return mismatch(site, args) };
    match Url::parse(text) {
        Ok(url) => Ok(Val::opaque(Opaque::Url(Box::new(url)))),
        Err(error) => fail!("URL parse error during conversion from string: {error}"),
    }
}

fn is_url<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => Ok(Val::Bool(Url::check(text).is_ok())),
        _ => mismatch(site, args),
    }
}

fn read_url<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Url(url)) = opaque(args, 0) else { return mismatch(site, args) };
    Ok(match site.function.as_str() {
        "getScheme" => Val::text(&url.scheme),
        "getHost" => Val::text(&url.host),
        "getHostname" => Val::text(url.hostname()),
        "getPort" => Val::text(url.port()),
        "getEscapedPath" => Val::text(url.escaped_path()),
        _ => {
            let query = url.query().into_iter();
            let entries: Entries<'a> = query
                .map(|(key, values)| (Val::text(key), Val::list(values.iter().map(Val::text).collect())))
                .collect();
            Val::Map(MapVal::Owned(Arc::new(entries)))
        }
    })
}

fn to_ip<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match (args, opaque(args, 0)) {
        ([Val::Str(text)], _) if site.overload != "cidr_ip" => {
            net::parse_ip(text).map(|address| Val::opaque(Opaque::Ip(address))).map_err(Failure::new)
        }
        (_, Some(Opaque::Cidr(cidr))) if site.overload != "string_to_ip" => {
            Ok(Val::opaque(Opaque::Ip(cidr.address)))
        }
        _ => mismatch(site, args),
    }
}

fn is_ip<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(text)] = args else { return mismatch(site, args) };
    let parsed = net::parse_ip(text);
    if site.function == "isIP" {
        return Ok(Val::Bool(parsed.is_ok()));
    }
    parsed.map(|address| Val::Bool(address.to_string() == text.as_str())).map_err(Failure::new)
}

fn read_ip<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Ip(address)) = opaque(args, 0) else { return mismatch(site, args) };
    Ok(Val::Bool(match site.function.as_str() {
        "family" => return Ok(Val::Int(if address.is_ipv4() { 4 } else { 6 })),
        "isUnspecified" => address.is_unspecified(),
        "isLoopback" => address.is_loopback(),
        "isLinkLocalMulticast" => net::is_link_local_multicast(address),
        "isLinkLocalUnicast" => net::is_link_local_unicast(address),
        _ => net::is_global_unicast(address),
    }))
}

fn parse_cidr(text: &str) -> Result<net::Cidr, Failure> {
    // Upstream says where it happened twice.
    net::parse_cidr(text).map_err(|error| {
        Failure::new(format!("network address parse error during conversion from string: {error}"))
    })
}

fn to_cidr<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => parse_cidr(text).map(|cidr| Val::opaque(Opaque::Cidr(cidr))),
        _ => mismatch(site, args),
    }
}

fn is_cidr<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => Ok(Val::Bool(net::parse_cidr(text).is_ok())),
        _ => mismatch(site, args),
    }
}

fn contains_ip<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Cidr(cidr)) = opaque(args, 0) else { return mismatch(site, args) };
    let address: IpAddr = match (&args[1], opaque(args, 1)) {
        (Val::Str(text), _) => match net::parse_ip(text) {
            Ok(address) => address,
            // Upstream looks at the network instead of the error here.
            Err(_) => return Err(Failure::no_such_overload()),
        },
        (_, Some(Opaque::Ip(address))) => *address,
        _ => return mismatch(site, args),
    };
    Ok(Val::Bool(cidr.contains(&address)))
}

fn contains_cidr<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Cidr(cidr)) = opaque(args, 0) else { return mismatch(site, args) };
    let other = match (&args[1], opaque(args, 1)) {
        (Val::Str(text), _) => parse_cidr(text)?,
        (_, Some(Opaque::Cidr(other))) => *other,
        _ => return mismatch(site, args),
    };
    Ok(Val::Bool(cidr.contains_cidr(&other)))
}

fn read_cidr<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Cidr(cidr)) = opaque(args, 0) else { return mismatch(site, args) };
    Ok(match site.function.as_str() {
        "prefixLength" => Val::Int(i64::from(cidr.bits)),
        _ => Val::opaque(Opaque::Cidr(cidr.masked())),
    })
}

fn semver<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let parsed = match args {
        [Val::Str(text)] | [Val::Str(text), Val::Bool(false)] => Semver::parse(text),
        [Val::Str(text), Val::Bool(true)] => Semver::parse_normalized(text),
        _ => return mismatch(site, args),
    };
    if site.function == "isSemver" {
        return Ok(Val::Bool(parsed.is_ok()));
    }
    parsed.map(|version| Val::opaque(Opaque::Semver(Box::new(version)))).map_err(Failure::new)
}

fn read_semver<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(Opaque::Semver(version)) = opaque(args, 0) else { return mismatch(site, args) };
    Ok(Val::Int(
        match site.function.as_str() {
            "major" => version.major,
            "minor" => version.minor,
            _ => version.patch,
        }
        .cast_signed(),
    ))
}

/// `isGreaterThan`, `isLessThan` and `compareTo` of versions.
pub(super) fn compare_versions<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match (opaque(args, 0), opaque(args, 1)) {
        (Some(Opaque::Semver(first)), Some(Opaque::Semver(second))) => {
            Ok(quantity::comparison(site, first.precedence(second)))
        }
        _ => mismatch(site, args),
    }
}

fn named_format<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(name)] = args else { return mismatch(site, args) };
    let format = Format::named(name).map(|format| Arc::new(Val::opaque(Opaque::Format(format))));
    Ok(Val::Optional(format))
}

fn constant_format<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let name = site.function.strip_prefix("format.").unwrap_or_default();
    match Format::named(name) {
        Some(format) => Ok(Val::opaque(Opaque::Format(format))),
        None => mismatch(site, args),
    }
}

fn validate<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match (opaque(args, 0), args.get(1)) {
        (Some(Opaque::Format(format)), Some(Val::Str(text))) => {
            let errors = format.validate(text);
            if errors.is_empty() {
                return Ok(Val::none());
            }
            Ok(Val::some(Val::list(errors.iter().map(Val::text).collect())))
        }
        _ => mismatch(site, args),
    }
}
