//! Extensions of certificates: those that decide whether a chain is accepted.

use std::collections::HashSet;

use crate::constraints::Constraints;
use crate::der::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE, constructed, context};
use crate::error::Error;
use crate::uri;

/// What the extensions of a certificate say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extensions {
    /// `None` if there are no basic constraints.
    pub(crate) basic: Option<BasicConstraints>,
    /// The first eight bits of the key usage, the first bit highest; none is as good as all.
    pub(crate) key_usage: u8,
    /// Empty means any purpose.
    pub(crate) extended_key_usages: Vec<Vec<u8>>,
    /// `None` if there are no alternative names.
    pub(crate) names: Option<AlternativeNames>,
    pub(crate) constraints: Option<Constraints>,
    pub(crate) subject_key_id: Vec<u8>,
    pub(crate) authority_key_id: Vec<u8>,
    /// Policies are not followed: a chain in which they would decide is refused.
    pub(crate) is_bound_to_policies: bool,
    pub(crate) has_unknown_critical: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BasicConstraints {
    pub(crate) is_authority: bool,
    pub(crate) most_intermediates: Option<u64>,
}

/// The names that the subject has besides its distinguished name.
#[derive(Clone, Debug, Default)]
pub(crate) struct AlternativeNames {
    pub(crate) dns: Vec<String>,
    pub(crate) emails: Vec<String>,
    /// Four or sixteen bytes each.
    pub(crate) addresses: Vec<Vec<u8>>,
    pub(crate) uris: Vec<String>,
}

/// The bit of the key usage that lets a key sign certificates.
pub(crate) const MAY_SIGN_CERTIFICATES: u8 = 0x80 >> 5;

/// More extensions than this have no certificates.
const MOST_EXTENSIONS: usize = 256;

impl Extensions {
    /// Origin: Go, crypto/x509/parser.go, processExtensions.
    pub(crate) fn parse(mut input: Reader<'_>) -> Result<Extensions, Error> {
        const MALFORMED: Error = Error::Malformed("malformed extension");
        let mut found = Extensions::default();
        let mut seen = HashSet::new();
        while !input.is_empty() {
            let mut extension = input.enter(SEQUENCE).ok_or(MALFORMED)?;
            let oid = extension.oid().ok_or(MALFORMED)?;
            let is_critical = extension.next_is(BOOLEAN) && extension.boolean().ok_or(MALFORMED)?;
            let value = extension.read(OCTET_STRING).ok_or(MALFORMED)?;
            if !seen.insert(oid) || seen.len() > MOST_EXTENSIONS {
                return Err(Error::Malformed("certificate contains duplicate extension"));
            }
            let is_handled = found.add(oid, Reader(value), is_critical)?;
            found.has_unknown_critical |= is_critical && !is_handled;
        }
        Ok(found)
    }

    /// Whether this extension is one that is followed here.
    fn add(&mut self, oid: &[u8], mut value: Reader<'_>, is_critical: bool) -> Result<bool, Error> {
        const INFORMATION_ACCESS: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 1, 1];
        let number = match oid {
            [0x55, 0x1d, number] => *number,
            INFORMATION_ACCESS if is_critical => {
                return Err(Error::Malformed("authority info access incorrectly marked critical"));
            }
            _ => return Ok(false),
        };
        match number {
            14 => {
                if is_critical {
                    return Err(Error::Malformed("subject key identifier incorrectly marked critical"));
                }
                let key = value.read(OCTET_STRING);
                self.subject_key_id = key.ok_or(Error::Malformed("invalid subject key identifier"))?.to_vec();
            }
            15 => {
                let (bits, _) = value.bits().ok_or(Error::Malformed("invalid key usage"))?;
                // The ninth bit, too, says that the key is for something else.
                let ninth = bits.get(1).is_some_and(|it| it & 0x80 != 0);
                self.key_usage = bits.first().copied().unwrap_or(0);
                if self.key_usage == 0 && ninth {
                    self.key_usage = 1;
                }
            }
            17 => {
                let names = alternative_names(value)?;
                let is_known = !names.is_empty();
                self.names = Some(names);
                return Ok(is_known);
            }
            19 => self.basic = Some(basic_constraints(value)?),
            30 => {
                let (constraints, is_known) = Constraints::parse(value)?;
                self.constraints = Some(constraints);
                return Ok(is_known);
            }
            33 => self.is_bound_to_policies |= maps_any_policy(value)?,
            35 => self.authority_key_id = authority_key_id(value, is_critical)?,
            36 => {
                const INVALID: Error = Error::Malformed("invalid policy constraints extension");
                let constraints = value.enter(SEQUENCE).ok_or(INVALID)?;
                self.is_bound_to_policies |= constraints.next_is(context(0));
            }
            37 => self.extended_key_usages = extended_key_usages(value)?,
            // Distribution points of revocation lists, and policies: not used here.
            31 | 32 | 54 => (),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

impl AlternativeNames {
    fn is_empty(&self) -> bool {
        self.dns.is_empty() && self.emails.is_empty() && self.addresses.is_empty() && self.uris.is_empty()
    }
}

fn basic_constraints(mut value: Reader<'_>) -> Result<BasicConstraints, Error> {
    const INVALID: Error = Error::Malformed("invalid basic constraints");
    let mut value = value.enter(SEQUENCE).ok_or(INVALID)?;
    let is_authority = value.next_is(BOOLEAN) && value.boolean().ok_or(INVALID)?;
    let most_intermediates =
        if value.next_is(INTEGER) { Some(value.small_integer().ok_or(INVALID)?) } else { None };
    Ok(BasicConstraints { is_authority, most_intermediates })
}

/// Origin: Go, crypto/x509/parser.go, parseSANExtension.
fn alternative_names(mut value: Reader<'_>) -> Result<AlternativeNames, Error> {
    let mut list = value.enter(SEQUENCE).ok_or(Error::Malformed("invalid subject alternative names"))?;
    let mut names = AlternativeNames::default();
    while !list.is_empty() {
        let name = list.any().ok_or(Error::Malformed("invalid subject alternative name"))?;
        match name.tag ^ 0x80 {
            1 => names.emails.push(ascii(name.content, "SAN rfc822Name is malformed")?),
            2 => names.dns.push(ascii(name.content, "SAN dNSName is malformed")?),
            6 => {
                let uri = ascii(name.content, "SAN uniformResourceIdentifier is malformed")?;
                if !uri::is_valid(&uri) {
                    return Err(Error::Malformed("cannot parse URI"));
                }
                names.uris.push(uri);
            }
            7 if !matches!(name.content.len(), 4 | 16) => {
                return Err(Error::Malformed("cannot parse IP address"));
            }
            7 => names.addresses.push(name.content.to_vec()),
            _ => (),
        }
    }
    Ok(names)
}

pub(crate) fn ascii(bytes: &[u8], or: &'static str) -> Result<String, Error> {
    let text = std::str::from_utf8(bytes).ok().filter(|it| it.is_ascii());
    text.map(str::to_owned).ok_or(Error::Malformed(or))
}

fn authority_key_id(mut value: Reader<'_>, is_critical: bool) -> Result<Vec<u8>, Error> {
    const INVALID: Error = Error::Malformed("invalid authority key identifier");
    if is_critical {
        return Err(Error::Malformed("authority key identifier incorrectly marked critical"));
    }
    let mut value = value.enter(SEQUENCE).ok_or(INVALID)?;
    let key = value.optional(context(0)).ok_or(INVALID)?;
    Ok(key.unwrap_or_default().to_vec())
}

fn extended_key_usages(mut value: Reader<'_>) -> Result<Vec<Vec<u8>>, Error> {
    const INVALID: Error = Error::Malformed("invalid extended key usages");
    let mut list = value.enter(SEQUENCE).ok_or(INVALID)?;
    let mut usages = Vec::new();
    while !list.is_empty() {
        usages.push(list.oid().ok_or(INVALID)?.to_vec());
    }
    Ok(usages)
}

/// A mapping from or to any policy makes a chain invalid.
fn maps_any_policy(mut value: Reader<'_>) -> Result<bool, Error> {
    const INVALID: Error = Error::Malformed("invalid policy mappings extension");
    const ANY: &[u8] = &[0x55, 0x1d, 0x20, 0];
    let mut list = value.enter(SEQUENCE).ok_or(INVALID)?;
    let mut found = false;
    while !list.is_empty() {
        let mut pair = list.enter(SEQUENCE).ok_or(INVALID)?;
        let (from, to) = (pair.oid().ok_or(INVALID)?, pair.oid().ok_or(INVALID)?);
        found |= from == ANY || to == ANY;
    }
    Ok(found)
}

/// The subtrees of name constraints: `[0]` permitted, `[1]` excluded.
pub(crate) const SUBTREES: [u8; 2] = [constructed(0), constructed(1)];
