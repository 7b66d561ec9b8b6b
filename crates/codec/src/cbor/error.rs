//! What is wrong with a CBOR document, in the words of the library that upstream reads it with.
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
    /// The document stops in the middle.
    #[error("unexpected EOF")]
    End,
    /// There is something behind the document.
    #[error("cbor: {count} bytes of extraneous data starting at index {at}")]
    Trailing {
        /// How much.
        count: usize,
        /// Where it begins.
        at: usize,
    },
    /// A first byte that means nothing.
    #[error("cbor: invalid additional information {information} for type {kind}")]
    Information {
        /// Its lower five bits.
        information: u8,
        /// Its upper three.
        kind: Kind,
    },
    /// A simple value that is to be written in one byte.
    #[error("cbor: invalid simple value {0} for type primitives")]
    Simple(u64),
    /// An end of something that has not begun, or that lacks a value.
    #[error("cbor: unexpected \"break\" code")]
    Break,
    /// A piece of a text that is something else.
    #[error("cbor: wrong element type {found} for indefinite-length {within}")]
    Chunk {
        /// What it is.
        found: Kind,
        /// What it should be a piece of.
        within: Kind,
    },
    /// A piece of a text that is in pieces itself.
    #[error("cbor: indefinite-length {0} chunk is not definite-length")]
    OpenChunk(Kind),
    /// A length beyond 63 bits.
    #[error("cbor: {kind} length {length} is too large, {} integer overflow", overflow(*kind))]
    Length {
        /// Of what.
        kind: Kind,
        /// How long.
        length: u64,
    },
    /// Lists, maps and tags within each other without end.
    #[error("cbor: exceeded max nested level {MAX_DEPTH}")]
    TooDeep,
    /// A list that is too long.
    #[error("cbor: exceeded max number of elements {MAX_CBOR_ITEMS} for CBOR array")]
    TooManyItems,
    /// A map that is too large.
    #[error("cbor: exceeded max number of key-value pairs {MAX_CBOR_PAIRS} for CBOR map")]
    TooManyPairs,
    /// Something that JSON cannot say.
    #[error("cbor: data item of cbor type {kind} is not accepted by protocol: {what}")]
    Refused {
        /// What kind of thing.
        kind: Kind,
        /// What it is.
        what: String,
    },
    /// A text string that is none.
    #[error("cbor: invalid UTF-8 string")]
    Utf8,
    /// A tag around something that cannot have it.
    #[error("cbor: tag number {tag} must be followed by {expected}, got {found}")]
    TagContent {
        /// The tag.
        tag: u64,
        /// What it can be around.
        expected: &'static str,
        /// What it is around.
        found: Kind,
    },
    /// A value of the wrong type.
    #[error(transparent)]
    Type(Box<Mismatch>),
    /// A key that stands twice in its map.
    #[error("cbor: found duplicate map key {key} at map element index {index}")]
    Duplicate {
        /// The key, in quotes if it is text.
        key: String,
        /// Where the second one stands.
        index: usize,
    },
    /// A field that a struct does not have.
    #[error("cbor: found unknown field at map element index {0}")]
    Unknown(usize),
    /// Text that should be base64.
    #[error("cbor: failed to decode base64 from byte string: illegal base64 data at input byte {0}")]
    Base64(usize),
    /// A time that cannot be read.
    #[error("cbor: cannot set {text} for time.Time: {problem}")]
    Time {
        /// What it says.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A time that RFC 3339 cannot write.
    #[error(
        "cbor: decoded time cannot be represented in RFC3339 format with sub-second precision: Time.MarshalText: {0}"
    )]
    TimeRange(&'static str),
}

/// A value of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cbor: cannot unmarshal {found} into Go {}{expected}{}", place(field.as_deref()), detail(why))]
pub struct Mismatch {
    /// What it is.
    pub found: Kind,
    /// The outermost field that it is in, if it is in one: `v1.Deployment.spec`.
    pub field: Option<String>,
    /// The type that it should be.
    pub expected: String,
    /// What else there is to say.
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

    /// The same, found within the field `field`. Only wrong types say where they are.
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

/// What a data item is: the major type, as upstream's messages call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number from zero on.
    Positive,
    /// A whole number below zero.
    Negative,
    /// Bytes.
    Bytes,
    /// Text.
    Text,
    /// A list.
    Array,
    /// A map.
    Map,
    /// A tag and what it is around.
    Tag,
    /// A float, a truth value, null.
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

    /// What a number that does not fit is: it prints as the number it is.
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
