//! What the TLS flags mean.

use keelson_server::MinVersion;
use keelson_server::suites::{self, Wish};

use crate::flags::{Flags, Value};

/// Which TLS is spoken.
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
    /// What can be had of what is wanted.
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

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/serving.go, ApplyTo (v1.36.4).
pub(super) fn errors(flags: &Flags, errors: &mut Vec<String>) {
    let suites = flags.list("tls-cipher-suites");
    let unknown = suites.iter().filter(|it| suites::suite(it) == Wish::Unknown);
    errors.extend(unknown.map(|it| format!("Cipher suite {it} not supported or doesn't exist")));
    if !suites.is_empty() && suites.iter().all(|it| suites::suite(it) == Wish::NotHere) {
        errors.push("--tls-cipher-suites names no suite that this server can use".to_owned());
    }
    let groups = groups(flags);
    for (index, number) in groups.iter().enumerate() {
        match u16::try_from(*number) {
            Err(_) | Ok(0) => {
                errors.push(format!("curve preference {number} is out of range (must be 1-65535)"));
            }
            Ok(_) if groups[..index].contains(number) => {
                errors.push(format!("duplicate curve preference {number}"));
            }
            Ok(known) if suites::group(known) == Wish::Unknown => {
                errors.push(format!("curve preference {number} is not supported by the current Go version"));
            }
            Ok(_) => (),
        }
    }
    if !groups.is_empty() && groups.iter().all(|it| group(*it) == Wish::NotHere) {
        errors.push("--tls-curve-preferences names no curve that this server can use".to_owned());
    }
    let version = flags.text("tls-min-version");
    if !matches!(version, "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" | "VersionTLS13") {
        errors.push(format!("unknown tls version {version:?}"));
    }
}

/// What upstream would do and this server does not.
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
