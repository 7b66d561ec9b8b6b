//! Signing: from a request to a certificate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::rand::fill;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{KeyPair, SigningKey as _};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::prelude::{FromDer as _, ParsedExtension, X509Certificate};

use super::der::{TRUE, bits, integer, octets, oid, sequence, set, tagged, text, time};
use super::request::{Request, Wanted};

/// The CA that signs.
pub(super) struct Authority {
    subject: Vec<u8>,
    key_id: Option<Vec<u8>>,
    expires: i64,
    key: KeyPair,
}

/// Why signing failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum SignError {
    /// A file of the authority cannot be used.
    #[error("{} is not usable: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The CA certificate has expired.
    #[error("the signer has expired")]
    Expired,
    /// An unknown key usage.
    #[error("unrecognized usage values: {0:?}")]
    Usage(String),
    /// The random number generator failed.
    #[error("there are no random numbers")]
    Random,
    /// The key does not sign.
    #[error("the key of the authority does not sign")]
    Signature(#[source] rcgen::Error),
}

/// The longest lifetime of a certificate, and the default, in seconds.
///
/// Upstream: cmd/kube-controller-manager, --cluster-signing-duration (v1.36.4).
const LIFE: i64 = 365 * 24 * 3600;
/// The shortest lifetime, in seconds.
const SHORTEST: i64 = 600;
/// New certificates are valid from this many seconds ago, for clients whose clocks are behind.
const BACKDATED: i64 = 300;
/// A lifetime that is too short to be reduced by [`BACKDATED`].
const SHORT: i64 = 8 * 3600;

impl Authority {
    /// Reads a certificate and its key from PEM files.
    pub(super) fn load(certificate: &Path, key: &Path) -> Result<Authority, SignError> {
        let unusable = |path: &Path, reason: String| SignError::Unusable { path: path.to_owned(), reason };
        let der = CertificateDer::from_pem_file(certificate)
            .map_err(|error| unusable(certificate, error.to_string()))?;
        let (_, parsed) =
            X509Certificate::from_der(&der).map_err(|error| unusable(certificate, error.to_string()))?;
        let pem = std::fs::read_to_string(key).map_err(|error| unusable(key, error.to_string()))?;
        let pair = KeyPair::from_pem(&pem).map_err(|error| unusable(key, error.to_string()))?;
        let key_id = parsed.extensions().iter().find_map(|it| match it.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        });
        Ok(Authority {
            subject: parsed.subject().as_raw().to_vec(),
            key_id,
            expires: parsed.validity().not_after.timestamp(),
            key: pair,
        })
    }

    /// A certificate in PEM.
    ///
    /// Upstream: pkg/controller/certificates/authority/authority.go, Sign, and policies.go, PermissiveSigningPolicy
    /// (v1.36.4).
    pub(super) fn sign(&self, request: &Request, now: Duration) -> Result<String, SignError> {
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        if now >= self.expires {
            return Err(SignError::Expired);
        }
        let algorithm = self.algorithm()?;
        let mut serial = [0; 16];
        fill(&mut serial).map_err(|_| SignError::Random)?;
        let (begin, end) = self.validity(request.seconds, now);
        let extensions = self.extensions(request)?;
        let content = sequence(&[
            // Version 3 is written as 2.
            &tagged(0xa0, &integer(&[2])),
            &integer(&serial),
            &algorithm,
            &self.subject,
            &sequence(&[&time(begin), &time(end)]),
            &name(&request.wanted),
            &request.wanted.key,
            &tagged(0xa3, &sequence(&[&extensions])),
        ]);
        let signature = self.key.sign(&content).map_err(SignError::Signature)?;
        Ok(pem(&sequence(&[&content, &algorithm, &bits(&signature, 0)])))
    }

    fn validity(&self, wanted: Option<i64>, now: i64) -> (i64, i64) {
        let life = wanted.map_or(LIFE, |it| it.clamp(SHORTEST, LIFE));
        let end = if life < SHORT { now + life } else { now + life - BACKDATED };
        (now - BACKDATED, end.min(self.expires))
    }

    fn algorithm(&self) -> Result<Vec<u8>, SignError> {
        let kind = self.key.algorithm();
        if *kind == rcgen::PKCS_ECDSA_P256_SHA256 {
            Ok(sequence(&[&oid(&[1, 2, 840, 10045, 4, 3, 2])]))
        } else if *kind == rcgen::PKCS_ECDSA_P384_SHA384 {
            Ok(sequence(&[&oid(&[1, 2, 840, 10045, 4, 3, 3])]))
        } else if *kind == rcgen::PKCS_ED25519 {
            Ok(sequence(&[&oid(&[1, 3, 101, 112])]))
        } else if *kind == rcgen::PKCS_RSA_SHA256 {
            Ok(sequence(&[&oid(&[1, 2, 840, 113_549, 1, 1, 11]), &[5, 0]]))
        } else {
            Err(SignError::Signature(rcgen::Error::UnsupportedSignatureAlgorithm))
        }
    }

    fn extensions(&self, request: &Request) -> Result<Vec<u8>, SignError> {
        let mut all = Vec::new();
        let (uses, purposes) = usages(request)?;
        if uses != 0 {
            all.push(critical(15, &key_usage(uses)));
        }
        if !purposes.is_empty() {
            let ids: Vec<Vec<u8>> = purposes.iter().map(|it| oid(it)).collect();
            all.push(plain(37, &tagged(0x30, &ids.concat())));
        }
        // Not an authority.
        all.push(critical(19, &sequence(&[])));
        if let Some(id) = &self.key_id {
            all.push(plain(35, &sequence(&[&tagged(0x80, id)])));
        }
        let names = alternatives(&request.wanted);
        if !names.is_empty() {
            let content = tagged(0x30, &names);
            let is_alone = request.wanted.subject.is_empty();
            all.push(if is_alone { critical(17, &content) } else { plain(17, &content) });
        }
        Ok(all.concat())
    }
}

fn plain(number: u32, content: &[u8]) -> Vec<u8> {
    sequence(&[&oid(&[2, 5, 29, number]), &octets(content)])
}

fn critical(number: u32, content: &[u8]) -> Vec<u8> {
    sequence(&[&oid(&[2, 5, 29, number]), TRUE, &octets(content)])
}

/// The subject, built again from these attributes only: others, a uid for instance, are dropped.
///
/// Upstream: crypto/x509/pkix, Name.ToRDNSequence.
fn name(wanted: &Wanted) -> Vec<u8> {
    const COMMON_NAME: u8 = 3;
    const SERIAL_NUMBER: u8 = 5;
    let mut parts = Vec::new();
    for attribute in [6, 10, 11, 7, 8, 9, 17, COMMON_NAME, SERIAL_NUMBER] {
        let value = |value: &str| sequence(&[&oid(&[2, 5, 4, attribute.into()]), &text(value)]);
        let mut values: Vec<Vec<u8>> = wanted.values(attribute).map(value).collect();
        if matches!(attribute, COMMON_NAME | SERIAL_NUMBER) && values.len() > 1 {
            values.drain(..values.len() - 1);
        }
        if !values.is_empty() {
            parts.push(set(values));
        }
    }
    tagged(0x30, &parts.concat())
}

fn alternatives(wanted: &Wanted) -> Vec<u8> {
    let mut names = Vec::new();
    names.extend(wanted.dns.iter().map(|it| tagged(0x82, it.as_bytes())));
    names.extend(wanted.emails.iter().map(|it| tagged(0x81, it.as_bytes())));
    names.extend(wanted.addresses.iter().map(|it| tagged(0x87, it)));
    names.extend(wanted.uris.iter().map(|it| tagged(0x86, it.as_bytes())));
    names.concat()
}

/// Bit 0 is the first, which DER writes leftmost.
fn key_usage(uses: u16) -> Vec<u8> {
    let bytes = uses.reverse_bits().to_be_bytes();
    let content = if bytes[1] == 0 { &bytes[..1] } else { &bytes[..] };
    let unused = content.last().map_or(0, |it| it.trailing_zeros());
    bits(content, u8::try_from(unused).unwrap_or_default())
}

/// Bits of the key usage, and purposes in order.
///
/// Upstream: pkg/controller/certificates/authority/policies.go, keyUsagesFromStrings (v1.36.4).
fn usages(request: &Request) -> Result<(u16, Vec<&'static [u32]>), SignError> {
    let mut uses = 0;
    let mut purposes = Vec::new();
    for usage in &request.usages {
        let bit = match usage.as_str() {
            "signing" | "digital signature" => 0,
            "content commitment" => 1,
            "key encipherment" => 2,
            "data encipherment" => 3,
            "key agreement" => 4,
            "cert sign" => 5,
            "crl sign" => 6,
            "encipher only" => 7,
            "decipher only" => 8,
            other => {
                let known = PURPOSES.iter().position(|(name, _)| *name == other);
                purposes.push(known.ok_or_else(|| SignError::Usage(usage.clone()))?);
                continue;
            }
        };
        uses |= 1 << bit;
    }
    purposes.sort_unstable();
    let mut ids: Vec<&[u32]> = purposes.into_iter().map(|it| PURPOSES[it].1).collect();
    ids.dedup();
    Ok((uses, ids))
}

const PURPOSES: [(&str, &[u32]); 13] = [
    ("any", &[2, 5, 29, 37, 0]),
    ("server auth", &[1, 3, 6, 1, 5, 5, 7, 3, 1]),
    ("client auth", &[1, 3, 6, 1, 5, 5, 7, 3, 2]),
    ("code signing", &[1, 3, 6, 1, 5, 5, 7, 3, 3]),
    ("email protection", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("s/mime", &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
    ("ipsec end system", &[1, 3, 6, 1, 5, 5, 7, 3, 5]),
    ("ipsec tunnel", &[1, 3, 6, 1, 5, 5, 7, 3, 6]),
    ("ipsec user", &[1, 3, 6, 1, 5, 5, 7, 3, 7]),
    ("timestamping", &[1, 3, 6, 1, 5, 5, 7, 3, 8]),
    ("ocsp signing", &[1, 3, 6, 1, 5, 5, 7, 3, 9]),
    ("microsoft sgc", &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3]),
    ("netscape sgc", &[2, 16, 840, 1, 113_730, 4, 1]),
];

/// Lines of 64 characters between the marks.
pub(crate) fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        pem.push_str(line);
        pem.push('\n');
        rest = after;
    }
    pem + "-----END CERTIFICATE-----\n"
}

#[cfg(test)]
mod tests;
