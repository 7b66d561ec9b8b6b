//! Formats that the server does not know have no effect; a definition with one gets a warning.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go (v1.36.4).

use std::cell::RefCell;
use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::scalar::{Duration, Time};
use keelson_object::selector::name_rules;

use super::Schema;

/// Formats of text, without dashes.
const OF_TEXT: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// The formats in a schema that nobody knows, in order.
pub(crate) fn unknown<'s>(schema: Schema<'s>) -> Vec<&'s str> {
    let found = RefCell::new(Vec::new());
    schema.has(&|it: Schema<'s>| {
        let format = it.text("format");
        if !format.is_empty() && !is_known(it.kind(), format) {
            found.borrow_mut().push(format);
        }
        false
    });
    found.into_inner()
}

fn is_known(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => OF_TEXT.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether a text has a format. Of formats that are not looked at, every text is one.
///
/// Upstream: kube-openapi/pkg/validation/strfmt (v1.36.4).
pub(crate) fn is_of(format: &str, text: &str) -> bool {
    match format.replace('-', "").as_str() {
        "date" => text.len() == 10 && Time::parse(&format!("{text}T00:00:00Z")).is_ok(),
        "datetime" => Time::parse(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "byte" => STANDARD.decode(text).is_ok(),
        "duration" => Duration::parse(text).is_ok(),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some(b'3')),
        "uuid4" => is_uuid(text, Some(b'4')),
        "uuid5" => is_uuid(text, Some(b'5')),
        "k8sshortname" => name_rules::dns1123_label(text).is_empty(),
        "k8slongname" => name_rules::dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

/// 32 digits in groups of 8, 4, 4, 4 and 12; dashes between the groups may be left out.
fn is_uuid(text: &str, version: Option<u8>) -> bool {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    let mut position = 0;
    let dashes_fit = text.bytes().all(|byte| {
        let is_dash = byte == b'-';
        position += usize::from(!is_dash);
        !is_dash || matches!(position, 8 | 12 | 16 | 20)
    });
    let is_version = |version: u8| {
        digits.get(12) == Some(&version)
            && (version == b'3' || digits.get(16).is_some_and(|it| b"89abAB".contains(it)))
    };
    dashes_fit
        && digits.len() == 32
        && digits.iter().all(u8::is_ascii_hexdigit)
        && !text.contains("--")
        && version.is_none_or(is_version)
}

#[cfg(test)]
mod tests {
    use super::is_of;

    #[test]
    fn texts_have_formats() {
        let check = |format: &str, text: &str, expected: bool| {
            assert_eq!(is_of(format, text), expected, "{format} {text}");
        };
        check("date", "2020-01-31", true);
        check("date", "2020-1-31", false);
        check("date-time", "2020-01-31T00:00:00Z", true);
        check("date-time", "yesterday", false);
        check("ipv4", "1.2.3.4", true);
        check("ipv6", "::1", true);
        check("ipv4", "::1", false);
        check("byte", "YQ==", true);
        check("byte", "?", false);
        check("uuid", "00000000-0000-0000-0000-000000000000", true);
        check("uuid", "00000000000000000000000000000000", true);
        check("uuid", "0000-0000", false);
        check("uuid4", "00000000-0000-4000-8000-000000000000", true);
        check("uuid4", "00000000-0000-3000-8000-000000000000", false);
        check("poem", "anything", true);
    }
}
