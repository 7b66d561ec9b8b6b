//! KMS v2 envelope: the metadata stored beside the data, and its validation.

use aws_lc_rs::digest::{SHA256, digest};
use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use prost::Message as _;

use super::messages::{AES_GCM_KEY, EncryptedObject, HKDF_SHA256_XNONCE_AES_GCM_SEED};
use crate::cipher::{AesGcm, Seed};
use crate::error::{Error, Result};

const MAX_ANNOTATIONS: usize = 32 * 1024;
const MAX_KEY_ID: usize = 1024;
const MAX_DEK_SOURCE: usize = 1024;

/// A data key that a service decrypted.
pub(crate) enum DataKey {
    /// The form that older servers wrote.
    Key(AesGcm),
    /// The form that this server writes.
    Seed(Seed),
}

impl DataKey {
    /// A data key from the bytes that a service decrypted.
    pub(crate) fn new(kind: i32, bytes: &[u8]) -> Result<DataKey> {
        match kind {
            HKDF_SHA256_XNONCE_AES_GCM_SEED => Seed::new(bytes).map(DataKey::Seed).ok_or_else(|| {
                Error::Envelope(format!("invalid seed length {} used for key generation", bytes.len()))
            }),
            _ => AesGcm::new(bytes)
                .map(DataKey::Key)
                .ok_or_else(|| Error::Envelope(format!("crypto/aes: invalid key size {}", bytes.len()))),
        }
    }

    pub(crate) fn open(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        match self {
            DataKey::Key(key) => key.open(data, place),
            DataKey::Seed(seed) => seed.open(data, place),
        }
    }

    pub(crate) fn seal(&self, data: &[u8], place: &[u8]) -> Result<Vec<u8>> {
        match self {
            DataKey::Key(key) => key.seal(data, place),
            DataKey::Seed(seed) => seed.seal(data, place),
        }
    }
}

/// Reads and checks.
pub(crate) fn decode(data: &[u8]) -> Result<EncryptedObject> {
    let object = EncryptedObject::decode(data).map_err(|error| Error::Envelope(error.to_string()))?;
    check(&object)?;
    Ok(object)
}

/// Upstream: envelope/kmsv2/envelope.go, ValidateEncryptedObject (v1.36.4).
pub(crate) fn check(object: &EncryptedObject) -> Result<()> {
    let wrong = |text: String| Err(Error::Envelope(text));
    let kind = object.encrypted_dek_source_type;
    if !matches!(kind, AES_GCM_KEY | HKDF_SHA256_XNONCE_AES_GCM_SEED) {
        return wrong(format!("unknown encryptedDEKSourceType: {kind}"));
    }
    if object.encrypted_data.is_empty() {
        return wrong("encrypted data is empty".to_owned());
    }
    if let Some(problem) = dek_source_problem(&object.encrypted_dek_source) {
        return wrong(format!("failed to validate encrypted DEK source: {problem}"));
    }
    if let Err((_, problem)) = check_key_id(&object.key_id) {
        return wrong(format!("failed to validate key id: {problem}"));
    }
    if let Some(problem) = annotation_problems(object) {
        return wrong(format!("failed to validate annotations: {problem}"));
    }
    Ok(())
}

fn dek_source_problem(source: &[u8]) -> Option<String> {
    if source.is_empty() {
        return Some("encrypted DEK source is empty".to_owned());
    }
    let size = source.len();
    (size > MAX_DEK_SOURCE).then(|| {
        format!("encrypted DEK source is {size} bytes, which exceeds the max size of {MAX_DEK_SOURCE}")
    })
}

/// The error is the label of the metric, and the problem.
pub(crate) fn check_key_id(key_id: &str) -> std::result::Result<(), (&'static str, String)> {
    if key_id.is_empty() {
        return Err(("empty", "keyID is empty".to_owned()));
    }
    if key_id.len() > MAX_KEY_ID {
        let size = key_id.len();
        return Err((
            "too_long",
            format!("keyID is {size} bytes, which exceeds the max size of {MAX_KEY_ID}"),
        ));
    }
    Ok(())
}

fn annotation_problems(object: &EncryptedObject) -> Option<String> {
    let mut problems: Vec<String> = object.annotations.keys().filter_map(|key| domain_problem(key)).collect();
    let size: usize = object.annotations.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > MAX_ANNOTATIONS {
        problems.push(format!(
            "total size of annotations is {size}, which exceeds the max size of {MAX_ANNOTATIONS}"
        ));
    }
    match problems.len() {
        0 => None,
        1 => problems.pop(),
        _ => Some(format!("[{}]", problems.join(", "))),
    }
}

/// Upstream: apimachinery/pkg/util/validation/validation.go, IsFullyQualifiedDomainName (v1.36.4).
fn domain_problem(name: &str) -> Option<String> {
    if name.is_empty() {
        return Some("annotations: Required value".to_owned());
    }
    let shown = quote(name);
    if let Some(problem) = name_rules::dns1123_subdomain(name).first() {
        return Some(format!("annotations: Invalid value: {shown}: {problem}"));
    }
    (!name.contains('.')).then(|| {
        format!("annotations: Invalid value: {shown}: should be a domain with at least two segments separated by dots")
    })
}

/// The cache key of a data key: a hash of everything that is needed to decrypt it.
///
/// Upstream: envelope/kmsv2/envelope.go, generateCacheKey (v1.36.4).
pub(crate) fn cache_key(object: &EncryptedObject) -> [u8; 32] {
    fn add(out: &mut Vec<u8>, bytes: &[u8]) {
        out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
        out.extend_from_slice(bytes);
    }
    let mut text = object.encrypted_dek_source_type.to_be_bytes().to_vec();
    add(&mut text, &object.encrypted_dek_source);
    add(&mut text, object.key_id.as_bytes());
    text.extend_from_slice(&(object.annotations.len() as u32).to_be_bytes());
    for (key, value) in &object.annotations {
        add(&mut text, key.as_bytes());
        add(&mut text, value);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, &text).as_ref());
    hash
}

/// `sha256:…`; empty for empty input.
pub(crate) fn hash(text: &str) -> String {
    use std::fmt::Write as _;
    if text.is_empty() {
        return String::new();
    }
    let mut out = String::from("sha256:");
    for byte in digest(&SHA256, text.as_bytes()).as_ref() {
        let _ = write!(out, "{byte:02x}");
    }
    out
}
