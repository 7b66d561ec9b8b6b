//! The messages of upstream's externaljwt/apis/v1/api.proto (v1.36.4).

/// Claims to be signed, in base64url.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SignRequest {
    #[prost(string, tag = "1")]
    pub(super) claims: String,
}

/// The parts of the token before and after the claims, in base64url.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SignResponse {
    #[prost(string, tag = "1")]
    pub(super) header: String,
    #[prost(string, tag = "2")]
    pub(super) signature: String,
}

/// Asks for the keys.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FetchKeysRequest {}

/// All keys that verify tokens.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FetchKeysResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) keys: Vec<Key>,
    #[prost(message, optional, tag = "2")]
    pub(super) data_timestamp: Option<Timestamp>,
    #[prost(int64, tag = "3")]
    pub(super) refresh_hint_seconds: i64,
}

/// One key.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Key {
    #[prost(string, tag = "1")]
    pub(super) key_id: String,
    /// A `SubjectPublicKeyInfo` in DER.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) key: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub(super) exclude_from_oidc_discovery: bool,
}

/// google.protobuf.Timestamp.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

/// Asks for what the signer can do.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MetadataRequest {}

/// The capabilities of the signer.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct MetadataResponse {
    #[prost(int64, tag = "1")]
    pub(super) max_token_expiration_seconds: i64,
}
