//! The messages of upstream's kms/apis/v2/api.proto and of envelope/kmsv2/v2/api.proto (v1.36.4).

use std::collections::BTreeMap;

/// Asks for the status of the plugin.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StatusRequest {}

/// Fine, and this is my key.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StatusResponse {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    #[prost(string, tag = "2")]
    pub(crate) healthz: String,
    #[prost(string, tag = "3")]
    pub(crate) key_id: String,
}

/// Please decrypt.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
    #[prost(string, tag = "3")]
    pub(crate) key_id: String,
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

/// The plaintext.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plaintext: Vec<u8>,
}

/// Please encrypt.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct EncryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plaintext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
}

/// The ciphertext, and what is needed to decrypt it.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct EncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(crate) key_id: String,
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

/// The stored form of a value.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct EncryptedObject {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) encrypted_data: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(crate) key_id: String,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) encrypted_dek_source: Vec<u8>,
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
    #[prost(int32, tag = "5")]
    pub(crate) encrypted_dek_source_type: i32,
}

/// The plaintext of `encrypted_dek_source` is an AES-GCM key.
pub(crate) const AES_GCM_KEY: i32 = 0;
/// The plaintext of `encrypted_dek_source` is a seed.
pub(crate) const HKDF_SHA256_XNONCE_AES_GCM_SEED: i32 = 1;

/// Asks for the protocol version.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct VersionRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

/// This one.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct VersionResponse {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

/// Please decrypt, of version 1.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OldDecryptRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) cipher: Vec<u8>,
}

/// The plaintext.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OldDecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plain: Vec<u8>,
}

/// Please encrypt, of version 1.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OldEncryptRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) plain: Vec<u8>,
}

/// The ciphertext.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct OldEncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) cipher: Vec<u8>,
}
