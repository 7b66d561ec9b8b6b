//! Distinguished names: the subject and the issuer of a certificate.

use crate::der::{Reader, SEQUENCE, SET};
use crate::error::Error;

/// The attribute `CN` as encoded arcs.
pub const COMMON_NAME: &[u8] = &[0x55, 4, 3];
/// The attribute `O` as encoded arcs.
pub const ORGANIZATION: &[u8] = &[0x55, 4, 10];

/// A distinguished name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    raw: Vec<u8>,
    attributes: Vec<(Vec<u8>, String)>,
}

impl Name {
    /// The DER of the whole name. Names are equal if these bytes are.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// All values of an attribute, in their order; `oid` is its encoded arcs.
    pub fn values<'n>(&'n self, oid: &'n [u8]) -> impl Iterator<Item = &'n str> {
        self.attributes.iter().filter(move |(it, _)| it == oid).map(|(_, value)| value.as_str())
    }

    /// The last common name, as in Go; empty if there is none.
    #[must_use]
    pub fn common_name(&self) -> &str {
        self.values(COMMON_NAME).last().unwrap_or_default()
    }

    /// Origin: Go, crypto/x509/parser.go, parseName.
    pub(crate) fn parse(raw: &[u8]) -> Result<Name, Error> {
        const INVALID: Error = Error::Malformed("invalid RDNSequence");
        const INVALID_ATTRIBUTE: Error = Error::Malformed("invalid RDNSequence: invalid attribute");
        let mut attributes = Vec::new();
        let mut sets = Reader(raw).enter(SEQUENCE).ok_or(INVALID)?;
        while !sets.is_empty() {
            let mut set = sets.enter(SET).ok_or(INVALID)?;
            while !set.is_empty() {
                let mut attribute = set.enter(SEQUENCE).ok_or(INVALID_ATTRIBUTE)?;
                let oid = attribute.oid().ok_or(INVALID_ATTRIBUTE)?;
                let value = attribute.any().ok_or(INVALID_ATTRIBUTE)?;
                let text = text(value.tag, value.content)
                    .ok_or(Error::Malformed("invalid RDNSequence: invalid attribute value"))?;
                attributes.push((oid.to_vec(), text));
            }
        }
        Ok(Name { raw: raw.to_vec(), attributes })
    }
}

/// Origin: Go, crypto/x509/parser.go, parseASN1String.
fn text(tag: u8, bytes: &[u8]) -> Option<String> {
    const UTF8: u8 = 12;
    const NUMERIC: u8 = 18;
    const PRINTABLE: u8 = 19;
    const T61: u8 = 20;
    const IA5: u8 = 22;
    const BMP: u8 = 30;
    match tag {
        UTF8 => String::from_utf8(bytes.to_vec()).ok(),
        NUMERIC => ascii(bytes, |it| it.is_ascii_digit() || it == b' '),
        PRINTABLE => ascii(bytes, |it| it.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(&it)),
        IA5 => ascii(bytes, |it| it.is_ascii()),
        // Read as Latin-1, as everybody does.
        T61 => Some(bytes.iter().map(|it| char::from(*it)).collect()),
        BMP => two_byte_text(bytes),
        _ => None,
    }
}

fn ascii(bytes: &[u8], is_allowed: impl Fn(u8) -> bool) -> Option<String> {
    let text = bytes.iter().all(|it| is_allowed(*it)).then(|| bytes.to_vec())?;
    String::from_utf8(text).ok()
}

fn two_byte_text(bytes: &[u8]) -> Option<String> {
    let bytes = bytes.strip_suffix(&[0, 0]).filter(|_| bytes.len().is_multiple_of(2)).unwrap_or(bytes);
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let points = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    // Surrogates are no characters, and these never will be.
    let reserved = |it: u16| it >= 0xfffe || (0xfdd0..=0xfdef).contains(&it);
    points.map(|it| if reserved(it) { None } else { char::from_u32(u32::from(it)) }).collect()
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn texts_have_several_forms() {
        assert_eq!(text(30, &[0, b'a', 0x20, 0xac]).as_deref(), Some("a\u{20ac}"));
        assert_eq!(text(30, &[0, b'a', 0, 0]).as_deref(), Some("a"));
        assert_eq!(text(30, &[0xd8, 0]), None);
        assert_eq!(text(30, &[0]), None);
        assert_eq!(text(19, b"system:masters").as_deref(), Some("system:masters"));
        assert_eq!(text(19, b"a@b"), None);
        assert_eq!(text(20, &[0xe4]).as_deref(), Some("\u{e4}"));
        assert_eq!(text(12, &[0xff]), None);
        assert_eq!(text(4, b"octets"), None);
    }
}
