//! TLS flags.

use keelson_server::MinVersion;
use keelson_server::suites::{self, Wish};

use crate::flags::{Flags, Value};

/// The TLS settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The oldest version.
    pub min_version: MinVersion,
    /// Cipher suites for TLS 1.2 by name; empty is all.
    pub cipher_suites: Vec<String>,
    /// Key exchange groups by number; empty is all.
    pub groups: Vec<u16>,
}

impl Tls {
    /// The settings, without suites and groups that are not supported.
    pub(super) fn read(flags: &Flags) -> Tls {
        let suites = flags.list("tls-cipher-suites").iter();
        let groups = groups(flags).iter().filter_map(|it| u16::try_from(*it).ok());
        Tls {
            min_version: match flags.text("tls-min-version") {
                "VersionTLS13" => MinVersion::Tls13,
                _ => MinVersion::Tls12,
            },
            cipher_suites: suites.filter(|it| suites::suite(it) == Wish::Offered).cloned().collect(),
            groups: groups.filter(|it| suites::group(*it) == Wish::Offered).collect(),
        }
    }
}

/// The first error.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/serving.go, ApplyTo (v1.36.4).
pub(super) fn check(flags: &Flags) -> Result<(), String> {
    if flags.text("tls-cert-file").is_empty() != flags.text("tls-private-key-file").is_empty() {
        return Err("missing filename for serving cert".to_owned());
    }
    let suites = flags.list("tls-cipher-suites");
    if let Some(unknown) = suites.iter().find(|it| suites::suite(it) == Wish::Unknown) {
        return Err(format!("Cipher suite {unknown} not supported or doesn't exist"));
    }
    if !suites.is_empty() && suites.iter().all(|it| suites::suite(it) == Wish::NotHere) {
        return Err("--tls-cipher-suites names no suite that this server can use".to_owned());
    }
    check_groups(groups(flags))?;
    let version = flags.text("tls-min-version");
    if !matches!(version, "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" | "VersionTLS13") {
        return Err(format!("unknown tls version {version:?}"));
    }
    Ok(())
}

fn check_groups(groups: &[i64]) -> Result<(), String> {
    for (index, number) in groups.iter().enumerate() {
        match u16::try_from(*number) {
            Err(_) | Ok(0) => {
                return Err(format!("curve preference {number} is out of range (must be 1-65535)"));
            }
            Ok(_) if groups[..index].contains(number) => {
                return Err(format!("duplicate curve preference {number}"));
            }
            Ok(known) if suites::group(known) == Wish::Unknown => {
                return Err(format!("curve preference {number} is not supported by the current Go version"));
            }
            Ok(_) => (),
        }
    }
    if !groups.is_empty() && groups.iter().all(|it| group(*it) == Wish::NotHere) {
        return Err("--tls-curve-preferences names no curve that this server can use".to_owned());
    }
    Ok(())
}

/// Warnings about settings that upstream supports and this server does not.
pub(super) fn warnings(flags: &Flags) -> Vec<String> {
    let mut warnings = Vec::new();
    let version = flags.text("tls-min-version");
    if matches!(version, "VersionTLS10" | "VersionTLS11") {
        warnings.push(format!("--tls-min-version={version}: TLS 1.2 is the oldest that is spoken"));
    }
    let suites = flags.list("tls-cipher-suites").iter().filter(|it| suites::suite(it) == Wish::NotHere);
    warnings.extend(suites.map(|it| format!("--tls-cipher-suites: {it} is not offered, it is not safe")));
    let groups = groups(flags).iter().filter(|it| group(**it) == Wish::NotHere);
    warnings.extend(groups.map(|it| format!("--tls-curve-preferences: {it} is not offered")));
    warnings
}

fn group(number: i64) -> Wish {
    u16::try_from(number).map_or(Wish::Unknown, suites::group)
}

fn groups(flags: &Flags) -> &[i64] {
    match flags.value("tls-curve-preferences") {
        Value::Numbers(numbers) => numbers,
        _ => &[],
    }
}
