//! Cipher suites and key exchange groups, by the names and numbers that operators of upstream know.
//!
//! Only suites with forward secrecy and authenticated encryption are supported. For other suites of upstream
//! the operator gets a warning; unknown ones are refused.

use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS};

use crate::listen::certificates::CertificateError;

/// Whether a suite or group is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It is supported.
    Offered,
    /// Upstream has it, this server does not.
    NotHere,
    /// It is unknown.
    Unknown,
}

/// Suites that upstream accepts and this server does not support: CBC, RC4, 3DES, and RSA without forward
/// secrecy.
///
/// Upstream: staging/src/k8s.io/component-base/cli/flag/ciphersuites_flag.go (v1.36.4).
const NOT_HERE: [&str; 16] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// P-521 and SecP384r1MLKEM1024, which Go has.
const GROUPS_NOT_HERE: [u16; 2] = [25, 4589];

/// Whether a suite is supported, by its registered name.
pub fn suite(name: &str) -> Wish {
    let name = registered(name);
    if ALL_CIPHER_SUITES.iter().any(|it| name_of(it) == name) {
        Wish::Offered
    } else if NOT_HERE.contains(&name.as_str()) {
        Wish::NotHere
    } else {
        Wish::Unknown
    }
}

/// Whether a key exchange group is supported, by its registered number.
pub fn group(number: u16) -> Wish {
    if ALL_KX_GROUPS.iter().any(|it| u16::from(it.name()) == number) {
        Wish::Offered
    } else if GROUPS_NOT_HERE.contains(&number) {
        Wish::NotHere
    } else {
        Wish::Unknown
    }
}

/// The crypto provider with these suites and groups. An empty list means all safe ones.
pub(super) fn provider(suites: &[String], groups: &[u16]) -> Result<CryptoProvider, CertificateError> {
    let mut provider = rustls::crypto::aws_lc_rs::default_provider();
    if !suites.is_empty() {
        if let Some(unknown) = suites.iter().find(|it| suite(it) != Wish::Offered) {
            return Err(CertificateError::CipherSuite(unknown.clone()));
        }
        let wanted: Vec<String> = suites.iter().map(|it| registered(it)).collect();
        provider.cipher_suites.retain(|it| it.tls13().is_some() || wanted.contains(&name_of(it)));
    }
    if !groups.is_empty() {
        if let Some(unknown) = groups.iter().find(|it| group(**it) != Wish::Offered) {
            return Err(CertificateError::Group(*unknown));
        }
        let wanted = ALL_KX_GROUPS.iter().filter(|it| groups.contains(&u16::from(it.name())));
        provider.kx_groups = wanted.copied().collect();
    }
    Ok(provider)
}

/// The registered name of a suite; the library has other names for those of TLS 1.3.
fn name_of(suite: &rustls::SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}

/// Two suites have an older name beside the registered one.
fn registered(name: &str) -> String {
    match name {
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305" | "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305" => {
            format!("{name}_SHA256")
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Wish, group, provider, suite};

    #[test]
    fn suites_have_their_registered_names() {
        use Wish::{NotHere, Offered, Unknown};
        for (name, expected) in [
            ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", Offered),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", Offered),
            ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", Offered),
            ("TLS_AES_128_GCM_SHA256", Offered),
            ("TLS_CHACHA20_POLY1305_SHA256", Offered),
            ("TLS_RSA_WITH_AES_128_CBC_SHA", NotHere),
            ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", NotHere),
            ("tls_aes_128_gcm_sha256", Unknown),
            ("", Unknown),
        ] {
            assert_eq!(suite(name), expected, "{name}");
        }
    }

    #[test]
    fn groups_have_their_registered_numbers() {
        let numbers = [23, 24, 25, 29, 4587, 4588, 4589, 1].map(group);
        use Wish::{NotHere, Offered, Unknown};
        assert_eq!(numbers, [Offered, Offered, NotHere, Offered, Offered, Offered, NotHere, Unknown]);
    }

    #[test]
    fn wishes_leave_tls_13_alone() {
        let names = |suites: &[&str]| {
            let wanted: Vec<String> = suites.iter().map(|it| (*it).to_owned()).collect();
            provider(&wanted, &[]).unwrap().cipher_suites.len()
        };
        assert_eq!(names(&[]), 9);
        assert_eq!(names(&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]), 4);
        assert_eq!(names(&["TLS_AES_128_GCM_SHA256"]), 3);
        assert_eq!(provider(&[], &[23, 29]).unwrap().kx_groups.len(), 2);
        assert!(provider(&["TLS_RSA_WITH_RC4_128_SHA".to_owned()], &[]).is_err());
        assert!(provider(&[], &[25]).is_err());
    }
}
