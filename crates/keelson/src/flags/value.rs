//! Values of flags: from text to a typed value, with upstream's error messages.

use std::net::IpAddr;

use keelson_object::scalar::{Duration, Quantity, quote};

use super::Kind;
use super::go_csv::read_record;
use super::go_number::{parse_bool, parse_decimal, parse_float, parse_int, parse_uint};
use super::go_version::GoVersion;

/// The value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// The value of a [`Kind::Bool`].
    Bool(bool),
    /// The value of a [`Kind::Int`] or a [`Kind::Level`].
    Int(i64),
    /// The value of a [`Kind::Uint`].
    Uint(u64),
    /// The value of a [`Kind::Float`] or a [`Kind::Float32`].
    Float(f64),
    /// The value of a [`Kind::Duration`].
    Duration(Duration),
    /// The value of a [`Kind::Ip`].
    Ip(Option<IpAddr>),
    /// The value of a [`Kind::Text`] or a [`Kind::Quantity`].
    Text(String),
    /// The value of a [`Kind::List`] or a [`Kind::Array`].
    List(Vec<String>),
    /// The value of all kinds with keys; an absent key or value is empty.
    Pairs(Vec<(String, String)>),
    /// The value of a [`Kind::CertKeys`].
    CertKeys(Vec<NamedCertKey>),
    /// The value of a [`Kind::PortRange`]: the first and the last port; `None` if it is empty.
    PortRange(Option<(u16, u16)>),
    /// The value of a [`Kind::Int32List`].
    Numbers(Vec<i64>),
    /// The value of a [`Kind::Version`].
    Version(VersionWish),
}

/// A certificate, its key, and the names for which it is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCertKey {
    /// The file of the certificate.
    pub cert_file: String,
    /// The file of the key.
    pub key_file: String,
    /// Exact names or `*.suffix`; if empty, those of the certificate.
    pub names: Vec<String>,
}

/// The meaning of `--version`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionWish {
    /// Print nothing.
    No,
    /// Print the version.
    Short,
    /// Print everything about the version.
    Raw,
    /// Report this version, which differs from ours only after its numbers.
    Report(String),
}

impl Value {
    /// The value of a flag without a default.
    pub(super) fn zero(kind: Kind) -> Value {
        match kind {
            Kind::Bool => Value::Bool(false),
            Kind::Int | Kind::Level => Value::Int(0),
            Kind::Uint => Value::Uint(0),
            Kind::Float | Kind::Float32 => Value::Float(0.0),
            Kind::Duration => Value::Duration(Duration::from_nanos(0)),
            Kind::Ip => Value::Ip(None),
            Kind::Text => Value::Text(String::new()),
            Kind::Quantity => Value::Text("0".to_owned()),
            Kind::List | Kind::Array => Value::List(Vec::new()),
            Kind::Map | Kind::Settings | Kind::Gates | Kind::Modules | Kind::LabelMap => {
                Value::Pairs(Vec::new())
            }
            Kind::CertKeys => Value::CertKeys(Vec::new()),
            Kind::PortRange => Value::PortRange(None),
            Kind::Int32List => Value::Numbers(Vec::new()),
            Kind::Version => Value::Version(VersionWish::No),
        }
    }

    /// Parses one occurrence of a flag. [`Value::add`] joins lists with earlier occurrences.
    pub(super) fn read(kind: Kind, text: &str) -> Result<Value, String> {
        Ok(match kind {
            Kind::Bool => Value::Bool(parse_bool(text)?),
            Kind::Int => Value::Int(parse_int(text, 64)?),
            Kind::Uint => Value::Uint(parse_uint(text, 64)?),
            Kind::Float | Kind::Float32 => Value::Float(parse_float(text)?),
            Kind::Level => Value::Int(parse_decimal(text, 31)?),
            Kind::Duration => Value::Duration(Duration::parse(text).map_err(|error| error.to_string())?),
            Kind::Ip => Value::Ip(read_ip(text)?),
            Kind::Text => Value::Text(text.to_owned()),
            Kind::Quantity => {
                Quantity::parse(text).map_err(|error| error.to_string())?;
                Value::Text(text.to_owned())
            }
            Kind::List => Value::List(read_record(text)?),
            Kind::Array => Value::List(vec![text.to_owned()]),
            Kind::Map => Value::Pairs(read_pairs(text)?),
            Kind::Settings => Value::Pairs(read_settings(text)),
            Kind::Gates => Value::Pairs(read_gates(text)),
            Kind::Modules => Value::Pairs(read_modules(text)?),
            Kind::LabelMap => Value::Pairs(read_label_map(text)?),
            Kind::CertKeys => Value::CertKeys(vec![read_cert_key(text)?]),
            Kind::PortRange => Value::PortRange(read_port_range(text)?),
            Kind::Int32List => Value::Numbers(read_numbers(text)?),
            Kind::Version => Value::Version(read_version(text)?),
        })
    }

    /// A further occurrence of the same flag: lists grow, everything else is replaced.
    pub(super) fn add(&mut self, later: Value) {
        match (self, later) {
            (Value::List(items), Value::List(more)) => items.extend(more),
            (Value::Pairs(items), Value::Pairs(more)) => items.extend(more),
            (Value::CertKeys(items), Value::CertKeys(more)) => items.extend(more),
            (Value::Numbers(items), Value::Numbers(more)) => items.extend(more),
            (earlier, later) => *earlier = later,
        }
    }
}

fn read_ip(text: &str) -> Result<Option<IpAddr>, String> {
    match text.trim() {
        "" => Ok(None),
        trimmed => trimmed.parse().map(Some).map_err(|_| format!("failed to parse IP: {}", quote(text))),
    }
}

/// The parts between commas that are not empty.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|part| !part.is_empty())
}

fn trimmed(key: &str, value: &str) -> (String, String) {
    (key.trim().to_owned(), value.trim().to_owned())
}

fn read_pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |part: &str| part.split_once('=').map(|(key, value)| trimmed(key, value));
    parts(text)
        .map(|part| pair(part).ok_or_else(|| "malformed pair, expect string=string".to_owned()))
        .collect()
}

fn read_settings(text: &str) -> Vec<(String, String)> {
    parts(text)
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(key, value)| trimmed(key, value))
        .collect()
}

/// `kube:WatchList=true` is the pair `kube`, `WatchList=true`; without a component the key is empty.
fn read_gates(text: &str) -> Vec<(String, String)> {
    parts(text)
        .map(|part| part.split_once(':').unwrap_or(("", part)))
        .map(|(key, value)| trimmed(key, value))
        .collect()
}

fn read_modules(text: &str) -> Result<Vec<(String, String)>, String> {
    let read = |part: &str| match part.split('=').collect::<Vec<_>>()[..] {
        [pattern, level] if !pattern.is_empty() && !level.is_empty() => {
            parse_decimal(level, 31)
                .map_err(|error| format!("parsing verbosity in {}: {error}", quote(part)))?;
            Ok((pattern.to_owned(), level.to_owned()))
        }
        _ => Err(format!("{} does not have the pattern=N format", quote(part))),
    };
    parts(text).map(read).collect()
}

fn read_label_map(text: &str) -> Result<Vec<(String, String)>, String> {
    let items = match text.matches('=').count() {
        0 => return Err(format!("{text} must be formatted as key=value")),
        1 => vec![text.trim_matches('"').to_owned()],
        _ => read_record(text)?,
    };
    let pair = |item: &String| item.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    items
        .iter()
        .map(|item| pair(item).ok_or_else(|| format!("{item} must be formatted as key=value")))
        .collect()
}

fn read_cert_key(text: &str) -> Result<NamedCertKey, String> {
    let (files, names) = match text.split_once(':') {
        None => (text, Vec::new()),
        Some((_, names)) if names.trim().is_empty() => {
            return Err("empty names list is not allowed".to_owned());
        }
        Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
    };
    match files.split(',').collect::<Vec<_>>()[..] {
        [cert, key] => {
            Ok(NamedCertKey { cert_file: cert.trim().to_owned(), key_file: key.trim().to_owned(), names })
        }
        _ => Err("expected comma separated certificate and key file paths".to_owned()),
    }
}

/// `30000-32767`, `30000+2767` or `30000`.
fn read_port_range(text: &str) -> Result<Option<(u16, u16)>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let atoi = |part: &str| parse_decimal(part, 64).map_err(|error| error.replacen("ParseUint", "Atoi", 1));
    let (low, high) = match (text.split_once('-'), text.split_once('+')) {
        (None, None) => {
            let port = atoi(text)?;
            (port, port)
        }
        (Some((low, high)), None) => (atoi(low)?, atoi(high)?),
        (None, Some((low, offset))) => {
            let low = atoi(low)?;
            (low, low.saturating_add(atoi(offset)?))
        }
        (Some(_), Some(_)) => return Err(format!("unable to parse port range: {text}")),
    };
    let too_large = || format!("the port range cannot be greater than 65535: {text}");
    let low = u16::try_from(low).map_err(|_| too_large())?;
    let high = u16::try_from(high).map_err(|_| too_large())?;
    if high < low {
        return Err(format!("end port cannot be less than start port: {text}"));
    }
    Ok(Some((low, high)))
}

fn read_numbers(text: &str) -> Result<Vec<i64>, String> {
    text.split(',').map(|part| parse_int(part.trim(), 32)).collect()
}

fn read_version(text: &str) -> Result<VersionWish, String> {
    if text == "raw" {
        return Ok(VersionWish::Raw);
    }
    if text.starts_with('v') {
        return read_reported_version(text);
    }
    Ok(if parse_bool(text)? { VersionWish::Short } else { VersionWish::No })
}

/// Upstream: staging/src/k8s.io/component-base/version/dynamic.go, ValidateDynamicVersion (v1.36.4).
fn read_reported_version(text: &str) -> Result<VersionWish, String> {
    let own = crate::KUBERNETES_VERSION;
    let numbers = |text: &str| GoVersion::semantic(text).map(|it| it.numbers());
    if text != own && numbers(text)? != numbers(own)? {
        return Err(format!(
            "version {} must match major/minor/patch of default version {}",
            quote(text),
            quote(own)
        ));
    }
    Ok(VersionWish::Report(text.to_owned()))
}
