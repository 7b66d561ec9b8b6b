//! Certificate: what a certificate says, read from DER.

use std::ops::Range;

use keelson_object::scalar::Time;
use num_bigint::BigUint;

use crate::der::{Element, Reader, SEQUENCE, constructed, context};
use crate::error::Error;
use crate::extensions::Extensions;
use crate::key::PublicKey;
use crate::name::{Name, ORGANIZATION};

/// A certificate that was read. Nothing in it is verified yet.
#[derive(Clone, Debug)]
pub struct Certificate {
    pub(crate) raw: Vec<u8>,
    /// The part of `raw` that is signed.
    pub(crate) signed: Range<usize>,
    /// Counted from one.
    pub(crate) version: u64,
    serial: Vec<u8>,
    /// Algorithm and parameters, without the outer sequence.
    pub(crate) signature_algorithm: Vec<u8>,
    pub(crate) signature: Vec<u8>,
    pub(crate) issuer: Name,
    pub(crate) subject: Name,
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
    pub(crate) key: PublicKey,
    pub(crate) extensions: Extensions,
}

impl Certificate {
    /// Reads one certificate and nothing behind it.
    ///
    /// Origin: Go, crypto/x509/parser.go, parseCertificate.
    pub fn parse(der: &[u8]) -> Result<Certificate, Error> {
        const MALFORMED: Error = Error::Malformed("malformed certificate");
        let mut input = Reader(der);
        let mut outer = input.enter(SEQUENCE).ok_or(MALFORMED)?;
        if !input.is_empty() {
            return Err(Error::Malformed("trailing data"));
        }
        let start = der.len() - outer.0.len();
        let body = outer.element(SEQUENCE).ok_or(Error::Malformed("malformed tbs certificate"))?;
        let outer_algorithm =
            outer.read(SEQUENCE).ok_or(Error::Malformed("malformed algorithm identifier"))?;
        let signature = outer.bytes_of_bits().ok_or(Error::Malformed("malformed signature"))?;

        let mut tbs = Reader(body.content);
        let version = version(&mut tbs)?;
        let serial = serial(&mut tbs)?;
        let algorithm =
            tbs.read(SEQUENCE).ok_or(Error::Malformed("malformed signature algorithm identifier"))?;
        if algorithm != outer_algorithm {
            return Err(Error::Malformed("inner and outer signature algorithm identifiers don't match"));
        }
        Reader(algorithm).oid().ok_or(Error::Malformed("malformed OID"))?;
        let issuer = Name::parse(element(&mut tbs, "malformed issuer")?.whole)?;
        let mut validity = Reader(element(&mut tbs, "malformed validity")?.content);
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = Name::parse(element(&mut tbs, "malformed subject")?.whole)?;
        let key = PublicKey::parse(element(&mut tbs, "malformed spki")?.whole)?;
        let extensions = extensions(&mut tbs, version)?;

        Ok(Certificate {
            raw: der.to_vec(),
            signed: start..start + body.whole.len(),
            version,
            serial,
            signature_algorithm: algorithm.to_vec(),
            signature: signature.to_vec(),
            issuer,
            subject,
            not_before,
            not_after,
            key,
            extensions,
        })
    }

    /// The DER.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Whose certificate it is.
    #[must_use]
    pub fn subject(&self) -> &Name {
        &self.subject
    }

    /// Who signed it.
    #[must_use]
    pub fn issuer(&self) -> &Name {
        &self.issuer
    }

    /// In decimal.
    #[must_use]
    pub fn serial_number(&self) -> String {
        BigUint::from_bytes_be(&self.serial).to_string()
    }

    /// From when on it is valid, in seconds since 1970.
    #[must_use]
    pub fn not_before(&self) -> i64 {
        self.not_before
    }

    /// Until when it is valid, in seconds since 1970.
    #[must_use]
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// The identifier of its key; empty if it has none.
    #[must_use]
    pub fn subject_key_id(&self) -> &[u8] {
        &self.extensions.subject_key_id
    }

    /// The identifier of the key that signed it; empty if it does not say.
    #[must_use]
    pub fn authority_key_id(&self) -> &[u8] {
        &self.extensions.authority_key_id
    }

    /// Whether alternative names are given, whatever they are.
    #[must_use]
    pub fn has_alternative_names(&self) -> bool {
        self.extensions.names.is_some()
    }

    /// Whether it was signed with SHA-1.
    #[must_use]
    pub fn is_signed_with_sha1(&self) -> bool {
        crate::signature::insecure_name(&self.signature_algorithm).is_some_and(|it| it.contains("SHA1"))
    }

    /// The DER of its public key with the key's algorithm.
    #[must_use]
    pub fn public_key_info(&self) -> &[u8] {
        &self.key.info
    }

    /// What Go calls a candidate that did not sign.
    pub(crate) fn label(&self) -> String {
        let subject = &self.subject;
        let name = Some(subject.common_name()).filter(|it| !it.is_empty());
        match name.or_else(|| subject.values(ORGANIZATION).next()) {
            Some(name) => name.to_owned(),
            None => format!("serial:{}", self.serial_number()),
        }
    }
}

fn element<'d>(from: &mut Reader<'d>, or: &'static str) -> Result<Element<'d>, Error> {
    from.element(SEQUENCE).ok_or(Error::Malformed(or))
}

fn version(tbs: &mut Reader<'_>) -> Result<u64, Error> {
    const MALFORMED: Error = Error::Malformed("malformed version");
    let given = tbs.optional(constructed(0)).ok_or(MALFORMED)?;
    let number = match given {
        Some(content) => Reader(content).small_integer().ok_or(MALFORMED)?,
        None => 0,
    };
    if number <= 2 { Ok(number + 1) } else { Err(Error::Malformed("invalid version")) }
}

fn serial(tbs: &mut Reader<'_>) -> Result<Vec<u8>, Error> {
    let bytes = tbs.integer().ok_or(Error::Malformed("malformed serial number"))?;
    if bytes[0] & 0x80 != 0 {
        return Err(Error::Malformed("negative serial number"));
    }
    Ok(bytes.to_vec())
}

/// Certificates of version 1 and 2 have no extensions.
fn extensions(tbs: &mut Reader<'_>, version: u64) -> Result<Extensions, Error> {
    if version == 1 {
        return Ok(Extensions::default());
    }
    tbs.optional(context(1)).ok_or(Error::Malformed("malformed issuerUniqueID"))?;
    tbs.optional(context(2)).ok_or(Error::Malformed("malformed subjectUniqueID"))?;
    if version == 2 {
        return Ok(Extensions::default());
    }
    const MALFORMED: Error = Error::Malformed("malformed extensions");
    match tbs.optional(constructed(3)).ok_or(MALFORMED)? {
        Some(content) => Extensions::parse(Reader(content).enter(SEQUENCE).ok_or(MALFORMED)?),
        None => Ok(Extensions::default()),
    }
}

/// `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ` in seconds since 1970.
fn time(from: &mut Reader<'_>) -> Result<i64, Error> {
    const UTC: u8 = 23;
    const GENERALIZED: u8 = 24;
    let (bytes, malformed) = match (from.next_is(UTC), from.next_is(GENERALIZED)) {
        (true, _) => (from.read(UTC), Error::Malformed("malformed UTCTime")),
        (_, true) => (from.read(GENERALIZED), Error::Malformed("malformed GeneralizedTime")),
        _ => return Err(Error::Malformed("unsupported time format")),
    };
    let digits = bytes.and_then(|it| it.strip_suffix(b"Z")).filter(|it| it.iter().all(u8::is_ascii_digit));
    let digits = digits.and_then(|it| std::str::from_utf8(it).ok());
    let text = digits.and_then(|it| match it.len() {
        // Two digits are a year of the 20th century from 50 on.
        12 => Some(format!("{}{it}", if it < "50" { "20" } else { "19" })),
        14 => Some(it.to_owned()),
        _ => None,
    });
    let time = text.and_then(|it| {
        let (year, month, day) = (&it[..4], &it[4..6], &it[6..8]);
        let (hour, minute, second) = (&it[8..10], &it[10..12], &it[12..]);
        Time::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")).ok()
    });
    time.map(Time::unix).ok_or(malformed)
}
