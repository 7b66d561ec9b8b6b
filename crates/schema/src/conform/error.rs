//! Why a document is not of its kind, in the words of upstream's decoder.

use keelson_object::scalar::ScalarError;
use thiserror::Error;

use super::place::{self, Place};

/// Why a document is not of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypeMismatch {
    /// A field has a value of the wrong type.
    #[error("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {expected}")]
    Field {
        /// `string`, `number 1.5`, …
        found: String,
        /// The struct that has the field.
        owner: String,
        /// All fields from the root.
        path: String,
        /// The type that it should be.
        expected: String,
    },
    /// The document itself is of the wrong type.
    #[error("json: cannot unmarshal {found} into Go value of type {expected}")]
    Root {
        /// `string`, `array`, …
        found: String,
        /// The type that it should be.
        expected: String,
    },
    /// Text that should be base64.
    #[error("illegal base64 data at input byte {at}")]
    Base64 {
        /// Where it stops being that.
        at: usize,
    },
    /// A quantity, time or duration that cannot be read.
    #[error(transparent)]
    Scalar(#[from] ScalarError),
    /// Something else in the place of a JSON schema or a truth value.
    #[error("boolean or JSON schema expected")]
    NotBoolOrSchema,
    /// Structs within structs without end.
    #[error("exceeded max depth")]
    TooDeep,
}

/// `found` stands at `at`, where a value of type `expected` should be.
pub(super) fn mismatch(found: String, expected: String, at: Option<&Place<'_>>) -> TypeMismatch {
    match place::owner_and_fields(at) {
        Some((owner, path)) => TypeMismatch::Field { found, owner, path, expected },
        None => TypeMismatch::Root { found, expected },
    }
}
