//! The protobuf form.

/// temporary
pub(super) fn v2(json: &[u8]) -> Vec<u8> {
    json.to_vec()
}
