//! What is wrong with a message, in the words of upstream's generated code where it has some.

use keelson_object::scalar::{ScalarError, quote};
use smol_str::SmolStr;

use crate::json;

/// Why a message could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing at all.
    #[error("empty data")]
    EmptyData,
    /// Nothing after the prefix.
    #[error("empty body")]
    EmptyBody,
    /// Something else than protobuf in an envelope.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoPrefix,
    /// An envelope that does not say what is in it.
    #[error(
        "Object 'Kind' is missing in 'runtime.TypeMeta{{APIVersion:{}, Kind:\"\"}}'",
        quote(.api_version)
    )]
    MissingKind {
        /// What it says of the version.
        api_version: SmolStr,
    },
    /// An envelope that does not say of which version its content is.
    #[error(
        "Object 'apiVersion' is missing in 'runtime.TypeMeta{{APIVersion:{}, Kind:{}}}'",
        quote(.api_version), quote(.kind)
    )]
    MissingVersion {
        /// Empty, or no version.
        api_version: SmolStr,
        /// The kind.
        kind: SmolStr,
    },
    /// A kind that no table describes.
    #[error("no kind {} is registered for version {}", quote(.kind), quote(.api_version))]
    UnknownKind {
        /// `group/version`.
        api_version: SmolStr,
        /// The kind.
        kind: SmolStr,
    },
    /// A kind that has no protobuf form.
    #[error(
        "object *{go_name} does not implement the protobuf marshalling interface and cannot be encoded to a \
         protobuf message"
    )]
    NotMarshalable {
        /// `v1.Table`.
        go_name: String,
    },
    /// The data stops in the middle.
    #[error("unexpected EOF")]
    End,
    /// A number of more than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A length of more than 63 bits.
    #[error("proto: negative length found during unmarshaling")]
    Length,
    /// A wire type that does not exist.
    #[error("proto: illegal wireType {found}")]
    WireType {
        /// 6 or 7.
        found: u8,
    },
    /// A known field with another wire type than its own.
    #[error("proto: wrong wireType = {found} for field {field}")]
    WrongWireType {
        /// The wire type.
        found: u8,
        /// The field, with a capital letter.
        field: String,
    },
    /// A field number that does not exist.
    #[error("proto: {message}: illegal tag {number} (wire type {tag})")]
    Tag {
        /// The message.
        message: String,
        /// The number, as far as 32 bits can say it.
        number: i32,
        /// The whole tag.
        tag: u64,
    },
    /// The end of a group that did not begin.
    #[error("proto: {message}: wiretype end group for non-group")]
    EndGroup {
        /// The message.
        message: String,
    },
    /// Messages within messages without end.
    #[error("exceeded max depth")]
    TooDeep,
    /// Few bytes that stand for very many values.
    #[error("message has more than {limit} values")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// Neither a number nor text.
    #[error("impossible IntOrString.Type")]
    IntOrString,
    /// A number that JSON cannot say.
    #[error("json: unsupported value: {number}")]
    NotFinite {
        /// `NaN`, `+Inf` or `-Inf`.
        number: &'static str,
    },
    /// A quantity, time or duration that cannot be read.
    #[error(transparent)]
    Scalar(#[from] ScalarError),
    /// A value that should be JSON and is not.
    #[error("embedded value is not JSON")]
    Json(#[from] json::Error),
    /// A tree that is not of its kind: it did not go through the check by schema.
    #[error("{found} where {expected} is expected")]
    Mismatch {
        /// What the tree has: `array`.
        found: &'static str,
        /// What the schema says: `int32`.
        expected: String,
    },
}

/// What goes through the recursion of readers and writers: the error itself would make every frame on the stack much
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
