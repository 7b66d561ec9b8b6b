//! Protobuf errors, in the words of upstream's generated code if it has some.

use keelson_object::scalar::{ScalarError, quote};
use smol_str::SmolStr;

use crate::json;

/// Why a message could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no data.
    #[error("empty data")]
    EmptyData,
    /// There is no data after the prefix.
    #[error("empty body")]
    EmptyBody,
    /// The data is not an envelope.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// The envelope has no kind.
    #[error(
        "Object 'Kind' is missing in 'runtime.TypeMeta{{APIVersion:{}, Kind:\"\"}}'",
        quote(.api_version)
    )]
    MissingKind {
        /// The version in the envelope.
        api_version: SmolStr,
    },
    /// The envelope has no valid version.
    #[error(
        "Object 'apiVersion' is missing in 'runtime.TypeMeta{{APIVersion:{}, Kind:{}}}'",
        quote(.api_version), quote(.kind)
    )]
    MissingVersion {
        /// Empty, or invalid.
        api_version: SmolStr,
        /// The kind.
        kind: SmolStr,
    },
    /// The kind is unknown.
    #[error("no kind {} is registered for version {}", quote(.kind), quote(.api_version))]
    UnknownKind {
        /// `group/version`.
        api_version: SmolStr,
        /// The kind.
        kind: SmolStr,
    },
    /// The kind has no protobuf form.
    #[error(
        "object *{go_name} does not implement the protobuf marshalling interface and cannot be encoded to a \
         protobuf message"
    )]
    NotMarshalable {
        /// `v1.Table`.
        go_name: String,
    },
    /// The data ends in the middle.
    #[error("unexpected EOF")]
    End,
    /// A number has more than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length has more than 63 bits.
    #[error("proto: negative length found during unmarshaling")]
    Length,
    /// The wire type does not exist.
    #[error("proto: illegal wireType {found}")]
    WireType {
        /// 6 or 7.
        found: u8,
    },
    /// A known field has the wrong wire type.
    #[error("proto: wrong wireType = {found} for field {field}")]
    WrongWireType {
        /// The wire type.
        found: u8,
        /// The field, with a capital letter.
        field: String,
    },
    /// The field number is invalid.
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    Tag {
        /// The message.
        message: String,
        /// The number, truncated to 32 bits.
        number: i32,
        /// The whole tag.
        tag: u64,
    },
    /// The end of a group that has not begun.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndGroup {
        /// The message.
        message: String,
    },
    /// Messages are nested too deeply.
    #[error("exceeded max depth")]
    TooDeep,
    /// A few bytes that stand for very many values.
    #[error("message has more than {limit} values")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// Neither a number nor text.
    #[error("impossible IntOrString.Type")]
    IntOrString,
    /// A number that JSON cannot express.
    #[error("json: unsupported value: {number}")]
    NotFinite {
        /// `NaN`, `+Inf` or `-Inf`.
        number: &'static str,
    },
    /// A quantity, time or duration is invalid.
    #[error(transparent)]
    Scalar(#[from] ScalarError),
    /// An embedded value is not JSON.
    #[error("embedded value is not JSON")]
    Json(#[from] json::Error),
    /// The tree is not of its kind: it was not checked by schema.
    #[error("{found} where {expected} is expected")]
    Mismatch {
        /// The type in the tree: `array`.
        found: &'static str,
        /// The type in the schema: `int32`.
        expected: String,
    },
}

/// Boxed, because the error itself would make every stack frame of the recursive readers and writers much
/// larger.
pub(super) type Fallible<T> = Result<T, Box<Error>>;

impl From<ScalarError> for Box<Error> {
    fn from(error: ScalarError) -> Box<Error> {
        Box::new(error.into())
    }
}

impl From<json::Error> for Box<Error> {
    fn from(error: json::Error) -> Box<Error> {
        Box::new(error.into())
    }
}

impl Error {
    /// `field` is its name in JSON.
    pub(super) fn wrong_wire_type(found: u8, field: &str) -> Error {
        let mut letters = field.chars();
        let first = letters.next().map(|it| it.to_ascii_uppercase());
        Error::WrongWireType { found, field: first.into_iter().chain(letters).collect() }
    }
}
