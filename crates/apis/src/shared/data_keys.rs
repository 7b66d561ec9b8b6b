//! Keys and values of config maps and secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Path};

/// Checks a key of `data`.
pub(crate) fn check(key: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    for message in name_rules::config_map_key(key) {
        errors.invalid(at, key, message);
    }
}

/// The decoded length of a base64 text in bytes.
pub(crate) fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Text as base64.
pub(crate) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}

/// The decoded bytes of a base64 text; empty if it is invalid, which decoding has rejected before.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{decoded_len, encode};

    #[test]
    fn base64_is_padded() {
        for (text, expected) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(text), expected);
            assert_eq!(decoded_len(expected), text.len());
        }
    }
}
