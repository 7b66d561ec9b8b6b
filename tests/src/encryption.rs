//! Encryption configuration files.

use std::fmt::Write as _;

/// Some key of 32 bytes.
pub const ONE: &str = "a2VlbHNvbi10ZXN0LWtleS1vZi0zMi1ieXRlcy1hYmM=";
/// Another one.
pub const TWO: &str = "YWJjLXNldHliLTIzLWZvLXlrZS10c2V0LW5vc2xlZWs=";
/// No encryption.
pub const IDENTITY: &str = "identity: {}";

/// A provider with keys, by name and secret: the first writes.
pub fn keys(provider: &str, keys: &[(&str, &str)]) -> String {
    let keys: Vec<String> =
        keys.iter().map(|(name, secret)| format!("{{name: {name}, secret: {secret}}}")).collect();
    format!("{provider}: {{keys: [{}]}}", keys.join(", "))
}

/// A key management service.
pub fn service(name: &str, endpoint: &str) -> String {
    format!("kms: {{apiVersion: v2, name: {name}, endpoint: '{endpoint}', timeout: 3s}}")
}

/// A key management service of the first version.
pub fn old_service(name: &str, endpoint: &str) -> String {
    format!("kms: {{apiVersion: v1, name: {name}, endpoint: '{endpoint}', timeout: 3s, cachesize: 100}}")
}

/// A configuration of some rules: resources and their providers.
pub fn configuration(rules: &[(&str, &[&str])]) -> String {
    let mut text =
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n".to_owned();
    for (resources, providers) in rules {
        let _ = writeln!(text, "- resources: [{resources}]\n  providers:");
        for provider in *providers {
            let _ = writeln!(text, "  - {provider}");
        }
    }
    text
}
