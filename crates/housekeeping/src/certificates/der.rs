//! DER encoding of the parts of a certificate.
//!
//! ```text
//! sequence([oid([2, 5, 29, 15]), TRUE, octets(bits)])   30 0e  06 03 55 1d 0f  01 01 ff  04 04 03 02 05 a0
//!                                                       tag and length, then the content
//! ```

use keelson_object::scalar::Time;

/// `BOOLEAN TRUE`
pub(super) const TRUE: &[u8] = &[1, 1, 0xff];

/// A tag, the length and the content.
pub(super) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().position(|it| *it != 0).unwrap_or(length.len() - 1)..];
    if content.len() >= 0x80 {
        bytes.push(0x80 | u8::try_from(significant.len()).expect("a length has at most eight bytes"));
    }
    bytes.extend_from_slice(significant);
    bytes.extend_from_slice(content);
    bytes
}

/// `SEQUENCE`
pub(super) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tagged(0x30, &parts.concat())
}

/// `SET OF`; DER requires its parts to be sorted.
pub(super) fn set(mut parts: Vec<Vec<u8>>) -> Vec<u8> {
    parts.sort();
    tagged(0x31, &parts.concat())
}

/// `INTEGER`, not negative, from its bytes.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|it| *it != 0).unwrap_or(bytes.len());
    let significant = &bytes[start..];
    match significant.first() {
        Some(first) if *first < 0x80 => tagged(2, significant),
        _ => tagged(2, &[&[0], significant].concat()),
    }
}

/// `OBJECT IDENTIFIER`
pub(super) fn oid(numbers: &[u32]) -> Vec<u8> {
    let (first, rest) = numbers.split_at(2);
    let mut content = Vec::new();
    for number in std::iter::once(first[0] * 40 + first[1]).chain(rest.iter().copied()) {
        let groups = (0..5).rev().map(|group| u8::try_from(number >> (7 * group) & 0x7f).unwrap_or_default());
        let mut groups: Vec<u8> = groups.skip_while(|it| *it == 0).collect();
        if let Some(last) = groups.pop() {
            content.extend(groups.iter().map(|it| it | 0x80));
            content.push(last);
        } else {
            content.push(0);
        }
    }
    tagged(6, &content)
}

/// `OCTET STRING`
pub(super) fn octets(content: &[u8]) -> Vec<u8> {
    tagged(4, content)
}

/// `BIT STRING`, the last byte of which has this many unused bits.
pub(super) fn bits(content: &[u8], unused: u8) -> Vec<u8> {
    tagged(3, &[&[unused], content].concat())
}

/// A string, of the simplest type that can hold it.
pub(super) fn text(text: &str) -> Vec<u8> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte);
    let tag = if text.bytes().all(is_plain) { 0x13 } else { 0x0c };
    tagged(tag, text.as_bytes())
}

/// `UTCTime` until 2049, as X.509 wants it, then `GeneralizedTime`.
pub(super) fn time(seconds: i64) -> Vec<u8> {
    let digits: String = Time::from_unix(seconds).to_string().chars().filter(char::is_ascii_digit).collect();
    let text = format!("{digits}Z");
    if text.as_str() < "2050" { tagged(0x17, &text.as_bytes()[2..]) } else { tagged(0x18, text.as_bytes()) }
}

#[cfg(test)]
mod tests {
    use super::{integer, oid, sequence, tagged, text, time};

    #[test]
    fn lengths_and_numbers_are_as_short_as_can_be() {
        assert_eq!(tagged(4, &[]), [4, 0]);
        assert_eq!(tagged(4, &[7; 127])[..2], [4, 127]);
        assert_eq!(tagged(4, &[7; 128])[..3], [4, 0x81, 128]);
        assert_eq!(tagged(4, &[7; 300])[..4], [4, 0x82, 1, 44]);
        assert_eq!(integer(&[]), [2, 1, 0]);
        assert_eq!(integer(&[0, 0, 5]), [2, 1, 5]);
        assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(sequence(&[&[1], &[2]]), [0x30, 2, 1, 2]);
    }

    #[test]
    fn names_of_things_are_packed() {
        assert_eq!(oid(&[2, 5, 29, 37, 0]), [6, 4, 0x55, 29, 37, 0]);
        assert_eq!(oid(&[1, 2, 840, 10045, 4, 3, 2]), [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]);
    }

    #[test]
    fn texts_and_times_have_their_kinds() {
        assert_eq!(text("system:node")[0], 0x13);
        assert_eq!(text("a@b")[0], 0x0c);
        assert_eq!(time(0), [&[0x17, 13][..], b"700101000000Z"].concat());
        assert_eq!(time(2_524_608_000), [&[0x18, 15][..], b"20500101000000Z"].concat());
    }
}
