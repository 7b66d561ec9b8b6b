//! CertificateSigningRequest: the parsed form for approval and signing.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_apis::certificate_requests::signature_problem;
use keelson_authn::User;
use keelson_object::{Map, Object};
use rustls_pki_types::CertificateSigningRequestDer;
use rustls_pki_types::pem::PemObject as _;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer as _;

/// A CertificateSigningRequest and its requester.
pub(super) struct Request {
    /// `kubernetes.io/kube-apiserver-client`
    pub(super) signer: String,
    /// The requester, as the server recorded it.
    pub(super) user: User,
    /// The requested usages, in the words of the API.
    pub(super) usages: BTreeSet<String>,
    /// The requested lifetime in seconds, if there is one.
    pub(super) seconds: Option<i64>,
    /// The content of the PKCS#10 request itself.
    pub(super) wanted: Wanted,
    conditions: Vec<String>,
    is_issued: bool,
}

/// The part of a PKCS#10 request that gets into a certificate. Nothing else does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Number of the attribute below 2.5.4, and its value.
    pub(super) subject: Vec<(u8, String)>,
    pub(super) dns: Vec<String>,
    pub(super) emails: Vec<String>,
    pub(super) uris: Vec<String>,
    pub(super) addresses: Vec<Vec<u8>>,
    /// The public key and its algorithm, in DER.
    pub(super) key: Vec<u8>,
}

/// Attributes of a subject, below 2.5.4.
pub(super) const COMMON_NAME: u8 = 3;
pub(super) const ORGANIZATION: u8 = 10;

impl Request {
    /// `None` if it cannot be parsed; the API rejects such requests.
    pub(super) fn of(object: &Object) -> Option<Request> {
        let spec = object.fields.map("spec")?;
        let nothing = Map::new();
        let status = object.fields.map("status").unwrap_or(&nothing);
        let is_true = |it: &&Map| it.str("status").is_none_or(|it| it == "True");
        let conditions = status.maps("conditions").filter(is_true);
        let pem = STANDARD.decode(spec.str("request")?).ok()?;
        Some(Request {
            signer: spec.str("signerName")?.to_owned(),
            user: User::read(spec, "username"),
            usages: strings(spec, "usages").collect(),
            seconds: spec.int("expirationSeconds"),
            wanted: Wanted::read(&pem)?,
            conditions: conditions.filter_map(|it| it.str("type").map(str::to_owned)).collect(),
            is_issued: status.str("certificate").is_some_and(|it| !it.is_empty()),
        })
    }

    /// Whether a condition holds.
    pub(super) fn has(&self, condition: &str) -> bool {
        self.conditions.iter().any(|it| it == condition)
    }

    /// Whether there is a certificate.
    pub(super) fn is_issued(&self) -> bool {
        self.is_issued
    }
}

impl Wanted {
    /// Reads a request in PEM; `None` if it cannot be parsed, or if it is not signed with its own key.
    pub(super) fn read(pem: &[u8]) -> Option<Wanted> {
        let der = CertificateSigningRequestDer::from_pem_slice(pem).ok()?;
        let (_, parsed) = X509CertificationRequest::from_der(&der).ok()?;
        if signature_problem(&parsed).is_some() {
            return None;
        }
        let info = &parsed.certification_request_info;
        let mut wanted = Wanted { key: info.subject_pki.raw.to_vec(), ..Wanted::default() };
        for attribute in info.subject.iter_attributes() {
            let id: Vec<u64> = attribute.attr_type().iter().into_iter().flatten().collect();
            if let ([2, 5, 4, number], Ok(value)) = (&id[..], attribute.as_str()) {
                wanted.subject.extend(u8::try_from(*number).ok().map(|it| (it, value.to_owned())));
            }
        }
        for extension in parsed.requested_extensions().into_iter().flatten() {
            if let ParsedExtension::SubjectAlternativeName(names) = extension {
                names.general_names.iter().for_each(|it| wanted.add(it));
            }
        }
        Some(wanted)
    }

    fn add(&mut self, name: &GeneralName<'_>) {
        match name {
            GeneralName::DNSName(it) => self.dns.push((*it).to_owned()),
            GeneralName::RFC822Name(it) => self.emails.push((*it).to_owned()),
            GeneralName::URI(it) => self.uris.push((*it).to_owned()),
            GeneralName::IPAddress(it) => self.addresses.push(it.to_vec()),
            _ => (),
        }
    }

    /// The values of an attribute.
    pub(super) fn values(&self, attribute: u8) -> impl DoubleEndedIterator<Item = &str> {
        self.subject.iter().filter(move |(it, _)| *it == attribute).map(|(_, value)| value.as_str())
    }

    /// The last one counts, as in Go.
    pub(super) fn common_name(&self) -> &str {
        self.values(COMMON_NAME).next_back().unwrap_or_default()
    }
}

fn strings<'m>(map: &'m Map, key: &str) -> impl Iterator<Item = String> + use<'m> {
    map.list(key).iter().filter_map(|it| it.as_str().map(str::to_owned))
}
