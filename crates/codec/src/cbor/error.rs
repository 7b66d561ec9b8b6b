//! CBOR errors, in the words of the library that upstream uses.
//!
//! Upstream: github.com/fxamacker/cbor/v2, decode.go and valid.go.

use std::fmt;

use super::head::Head;
use crate::limits::{MAX_CBOR_ITEMS, MAX_CBOR_PAIRS, MAX_DEPTH};

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no document.
    #[error("EOF")]
    Empty,
    /// The document ends in the middle.
    #[error("unexpected EOF")]
    End,
    /// There is extra data after the document.
    #[error("cbor: {count} bytes of extraneous data starting at index {at}")]
    Trailing {
        /// The number of bytes.
        count: usize,
        /// Their position.
        at: usize,
    },
    /// The first byte of an item is invalid.
    #[error("cbor: invalid additional information {information} for type {kind}")]
    Information {
        /// Its lower five bits.
        information: u8,
        /// Its upper three bits.
        kind: Kind,
    },
    /// A simple value that must be encoded in one byte is encoded in two.
    #[error("cbor: invalid simple value {0} for type primitives")]
    Simple(u64),
    /// A break without an open item, or in the place of a value.
    #[error("cbor: unexpected \"break\" code")]
    Break,
    /// A chunk of a string has another type.
    #[error("cbor: wrong element type {found} for indefinite-length {within}")]
    Chunk {
        /// The type of the chunk.
        found: Kind,
        /// The type of the string.
        within: Kind,
    },
    /// A chunk of a string is itself of indefinite length.
    #[error("cbor: indefinite-length {0} chunk is not definite-length")]
    OpenChunk(Kind),
    /// A length has more than 63 bits.
    #[error("cbor: {kind} length {length} is too large, {} integer overflow", overflow(*kind))]
    Length {
        /// The type of the item.
        kind: Kind,
        /// The length.
        length: u64,
    },
    /// Lists, maps and tags are nested too deeply.
    #[error("cbor: exceeded max nested level {MAX_DEPTH}")]
    TooDeep,
    /// A list is too long.
    #[error("cbor: exceeded max number of elements {MAX_CBOR_ITEMS} for CBOR array")]
    TooManyItems,
    /// A map is too large.
    #[error("cbor: exceeded max number of key-value pairs {MAX_CBOR_PAIRS} for CBOR map")]
    TooManyPairs,
    /// An item that JSON cannot express.
    #[error("cbor: data item of cbor type {kind} is not accepted by protocol: {what}")]
    Refused {
        /// The type of the item.
        kind: Kind,
        /// The item.
        what: String,
    },
    /// A text string is not UTF-8.
    #[error("cbor: invalid UTF-8 string")]
    Utf8,
    /// A tag contains an item that it may not contain.
    #[error("cbor: tag number {tag} must be followed by {expected}, got {found}")]
    TagContent {
        /// The tag.
        tag: u64,
        /// The items that it may contain.
        expected: &'static str,
        /// The type of the item.
        found: Kind,
    },
    /// A value has the wrong type.
    #[error(transparent)]
    Type(Box<Mismatch>),
    /// A key occurs twice in its map.
    #[error("cbor: found duplicate map key {key} at map element index {index}")]
    Duplicate {
        /// The key, in quotes if it is text.
        key: String,
        /// The position of the second one.
        index: usize,
    },
    /// A struct does not have the field.
    #[error("cbor: found unknown field at map element index {0}")]
    Unknown(usize),
    /// A text is not base64.
    #[error("cbor: failed to decode base64 from byte string: illegal base64 data at input byte {0}")]
    Base64(usize),
    /// A time cannot be parsed.
    #[error("cbor: cannot set {text} for time.Time: {problem}")]
    Time {
        /// The text.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// RFC 3339 cannot express the time.
    #[error(
        "cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: Time.MarshalText: {0}"
    )]
    TimeRange(&'static str),
}

/// A value has the wrong type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cbor: cannot unmarshal {found} into Go {}{expected}{}", place(field.as_deref()), detail(why))]
pub struct Mismatch {
    /// The type of the value.
    pub found: Kind,
    /// The outermost field that it is in, if it is in one: `v1.Deployment.spec`.
    pub field: Option<String>,
    /// The expected type.
    pub expected: String,
    /// Further details.
    pub why: String,
}

fn overflow(kind: Kind) -> &'static str {
    match kind {
        Kind::Bytes | Kind::Text => "causing",
        _ => "it would cause",
    }
}

fn place(field: Option<&str>) -> String {
    match field {
        Some(field) => format!("struct field {field} of type "),
        None => "value of type ".to_owned(),
    }
}

fn detail(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}

impl Error {
    /// `found` is not of the type `expected`.
    pub(super) fn mismatch(found: Kind, expected: &str, why: String) -> Error {
        Error::Type(Box::new(Mismatch { found, field: None, expected: expected.to_owned(), why }))
    }

    /// The same, within the field `field`. Only errors about wrong types contain their field.
    pub(super) fn within(self, field: impl FnOnce() -> String) -> Error {
        match self {
            Error::Type(mut mismatch) => {
                mismatch.field = Some(field());
                Error::Type(mismatch)
            }
            other => other,
        }
    }
}

/// The major type of a data item, as upstream's messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A non-negative integer.
    Positive,
    /// A negative integer.
    Negative,
    /// Bytes.
    Bytes,
    /// Text.
    Text,
    /// A list.
    Array,
    /// A map.
    Map,
    /// A tag and its content.
    Tag,
    /// A float, a boolean, null.
    Primitive,
}

impl Kind {
    /// The kind that a first byte announces.
    pub(super) fn of(first: u8) -> Kind {
        match first >> 5 {
            0 => Kind::Positive,
            1 => Kind::Negative,
            2 => Kind::Bytes,
            3 => Kind::Text,
            4 => Kind::Array,
            5 => Kind::Map,
            6 => Kind::Tag,
            _ => Kind::Primitive,
        }
    }

    /// The value of an integer that does not fit, for messages.
    pub(super) fn number(self, head: Head) -> i128 {
        match self {
            Kind::Negative => -1 - i128::from(head.argument),
            _ => i128::from(head.argument),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Positive => "positive integer",
            Kind::Negative => "negative integer",
            Kind::Bytes => "byte string",
            Kind::Text => "UTF-8 text string",
            Kind::Array => "array",
            Kind::Map => "map",
            Kind::Tag => "tag",
            Kind::Primitive => "primitives",
        })
    }
}
