//! Serving certificates: where they come from, and which one a client gets.
//!
//! ```text
//! SNI pairs   a.example.com,*.b.example.com ─┐
//!             (names from the certificate)  ─┤   asked for            answered with
//! default pair ──────────────────────────────┤   a.example.com        exact name
//!                                            ├─▶ x.b.example.com      *.b.example.com
//!                                            │   nothing, on 10.0.0.1 the pair that names 10.0.0.1
//!                                            └─▶ anything else        the default
//! ```
//!
//! Names that were configured take precedence over names in a certificate; of two pairs with the same name,
//! the first one is used.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use keelson_x509::handshake::key_pair;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// The source of PEM data: a file, which may change, or memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PemSource {
    /// A PEM file, read again when it changes.
    File(PathBuf),
    /// PEM text.
    Memory(Bytes),
}

/// A certificate chain (leaf first) and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateSource {
    /// The chain.
    pub certificate: PemSource,
    /// The key: PKCS#8, PKCS#1 or SEC1.
    pub key: PemSource,
}

impl CertificateSource {
    /// A pair of PEM files.
    pub fn files(certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> CertificateSource {
        CertificateSource {
            certificate: PemSource::File(certificate.into()),
            key: PemSource::File(key.into()),
        }
    }

    /// A pair of PEM texts.
    pub fn memory(certificate: impl Into<Bytes>, key: impl Into<Bytes>) -> CertificateSource {
        CertificateSource {
            certificate: PemSource::Memory(certificate.into()),
            key: PemSource::Memory(key.into()),
        }
    }
}

/// A pair for clients that ask for one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCertificate {
    /// The pair.
    pub source: CertificateSource,
    /// Host names (`*.example.com` is allowed) and addresses; empty takes them from the certificate.
    pub names: Vec<String>,
}

/// Why serving certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The file is not readable.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// There is no certificate in the text.
    #[error("{from} holds no PEM certificate")]
    NoCertificate {
        /// The file, or `memory`.
        from: String,
    },
    /// There is no private key in the text.
    #[error("{from} holds no PEM private key")]
    NoKey {
        /// The file, or `memory`.
        from: String,
    },
    /// The key does not belong to the certificate, or is of a kind that is not supported.
    #[error("the certificate of {from} and its key do not go together")]
    Pair {
        /// The file, or `memory`.
        from: String,
        /// The reason.
        source: rustls::Error,
    },
    /// The TLS settings are inconsistent.
    #[error("TLS cannot be configured")]
    Settings(#[source] rustls::Error),
    /// A cipher suite that is not supported.
    #[error("cipher suite {0} is not supported")]
    CipherSuite(String),
    /// A key exchange group that is not supported.
    #[error("key exchange group {0} is not supported")]
    Group(u16),
}

impl PemSource {
    /// The current text.
    pub fn read(&self) -> Result<Bytes, CertificateError> {
        match self {
            PemSource::Memory(text) => Ok(text.clone()),
            PemSource::File(path) => std::fs::read(path)
                .map(Bytes::from)
                .map_err(|source| CertificateError::Unreadable { path: path.clone(), source }),
        }
    }

    fn describe(&self) -> String {
        match self {
            PemSource::File(path) => path.display().to_string(),
            PemSource::Memory(_) => "memory".to_owned(),
        }
    }
}

/// A pair that is ready for handshakes.
pub(crate) fn load(
    source: &CertificateSource,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, CertificateError> {
    let from = || source.certificate.describe();
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(&source.certificate.read()?).filter_map(Result::ok).collect();
    if chain.is_empty() {
        return Err(CertificateError::NoCertificate { from: from() });
    }
    let key = PrivateKeyDer::from_pem_slice(&source.key.read()?)
        .map_err(|_| CertificateError::NoKey { from: source.key.describe() })?;
    let pair =
        key_pair(chain, key, provider).map_err(|source| CertificateError::Pair { from: from(), source })?;
    Ok(Arc::new(pair))
}

/// The pairs by name. See the drawing at the top.
#[derive(Debug, Default)]
pub(crate) struct Names {
    exact: HashMap<String, Arc<CertifiedKey>>,
    addresses: HashMap<IpAddr, Arc<CertifiedKey>>,
}

impl Names {
    /// `pairs` in the order in which they were given, each with its given names.
    pub(crate) fn new<'p>(pairs: impl IntoIterator<Item = (&'p [String], Arc<CertifiedKey>)>) -> Names {
        let mut names = Names::default();
        let pairs: Vec<_> = pairs.into_iter().collect();
        for (given, pair) in pairs.iter().filter(|(given, _)| !given.is_empty()) {
            for name in *given {
                names.add(name, pair);
            }
        }
        for (_, pair) in pairs.iter().filter(|(given, _)| given.is_empty()) {
            for name in pair.cert.first().map(own_names).unwrap_or_default() {
                names.add(&name, pair);
            }
        }
        names
    }

    fn add(&mut self, name: &str, pair: &Arc<CertifiedKey>) {
        let pair = Arc::clone(pair);
        match name.parse::<IpAddr>() {
            Ok(address) => self.addresses.entry(address).or_insert(pair),
            Err(_) => self.exact.entry(name.to_ascii_lowercase()).or_insert(pair),
        };
    }

    /// The pair for a host name: the exact name first, then a wildcard for its first label.
    pub(crate) fn find(&self, host: &str) -> Option<&Arc<CertifiedKey>> {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        self.exact.get(&host).or_else(|| {
            let (_, parent) = host.split_once('.')?;
            self.exact.get(&format!("*.{parent}"))
        })
    }

    /// The pairs for clients that send no host name, by the local address of the connection.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (IpAddr, &Arc<CertifiedKey>)> {
        self.addresses.iter().map(|(address, pair)| (*address, pair))
    }
}

/// The names in a certificate: common name, DNS names, addresses.
fn own_names(certificate: &CertificateDer<'static>) -> Vec<String> {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return Vec::new() };
    let mut names: Vec<String> = parsed
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok())
        .filter(|name| is_host_or_address(name))
        .map(str::to_owned)
        .collect();
    let Ok(Some(alternatives)) = parsed.subject_alternative_name() else { return names };
    for name in &alternatives.value.general_names {
        match name {
            GeneralName::DNSName(host) => names.push((*host).to_owned()),
            GeneralName::IPAddress(octets) => names.extend(address(octets).map(|it| it.to_string())),
            _ => {}
        }
    }
    names
}

fn is_host_or_address(name: &str) -> bool {
    let host = name.strip_prefix("*.").unwrap_or(name);
    let is_label =
        |label: &str| !label.is_empty() && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    name.parse::<IpAddr>().is_ok() || host.split('.').all(is_label)
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::sign::CertifiedKey;

    use super::{CertificateError, CertificateSource, Names, load};

    fn pair(names: &[&str]) -> Arc<CertifiedKey> {
        let made =
            rcgen::generate_simple_self_signed(names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
                .unwrap();
        let source = CertificateSource::memory(made.cert.pem(), made.signing_key.serialize_pem());
        load(&source, &rustls::crypto::aws_lc_rs::default_provider()).unwrap()
    }

    #[track_caller]
    fn check(names: &Names, host: &str, expected: Option<&Arc<CertifiedKey>>) {
        let found = names.find(host);
        assert_eq!(found.map(|it| &it.cert[0]), expected.map(|it| &it.cert[0]), "{host}");
    }

    #[test]
    fn names_are_found_exactly_then_by_wildcard() {
        let (given, own) =
            (pair(&["ignored.example.com"]), pair(&["a.example.com", "*.b.example.com", "10.0.0.1"]));
        let list = ["*.example.com".to_owned(), "B.example.com".to_owned()];
        let names = Names::new([(&list[..], Arc::clone(&given)), (&[][..], Arc::clone(&own))]);

        check(&names, "a.example.com", Some(&own));
        check(&names, "A.EXAMPLE.com.", Some(&own));
        check(&names, "b.example.com", Some(&given));
        check(&names, "x.b.example.com", Some(&own));
        check(&names, "c.example.com", Some(&given));
        check(&names, "x.c.example.com", None);
        check(&names, "example.com", None);
        check(&names, "ignored.example.com", Some(&given));
        let addresses: Vec<String> = names.addresses().map(|(it, _)| it.to_string()).collect();
        assert_eq!(addresses, ["10.0.0.1"]);
    }

    #[test]
    fn given_names_beat_names_in_certificates_and_earlier_pairs_beat_later_ones() {
        let (first, second) = (pair(&["a.example.com"]), pair(&["a.example.com"]));
        let names = Names::new([(&[][..], Arc::clone(&first)), (&[][..], Arc::clone(&second))]);
        check(&names, "a.example.com", Some(&first));
        let list = ["a.example.com".to_owned()];
        let names = Names::new([(&[][..], first), (&list[..], Arc::clone(&second))]);
        check(&names, "a.example.com", Some(&second));
    }

    #[test]
    fn bad_pairs_say_what_is_wrong() {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let (one, other) = (
            rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap(),
            rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap(),
        );
        let check = |source: CertificateSource, expected: &str| {
            assert_eq!(load(&source, &provider).unwrap_err().to_string(), expected);
        };
        let key = one.signing_key.serialize_pem();
        check(CertificateSource::memory("", key.clone()), "memory holds no PEM certificate");
        check(CertificateSource::memory(one.cert.pem(), ""), "memory holds no PEM private key");
        check(
            CertificateSource::memory(other.cert.pem(), key),
            "the certificate of memory and its key do not go together",
        );
        let missing = load(&CertificateSource::files("/nonexistent/a.crt", "/nonexistent/a.key"), &provider);
        assert!(matches!(missing, Err(CertificateError::Unreadable { .. })));
    }
}
