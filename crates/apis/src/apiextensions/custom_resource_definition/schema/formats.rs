//! Formats that a server does not know have no effect; whoever writes one is warned.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/validation/formats.go (v1.36.4).

use std::cell::RefCell;

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
