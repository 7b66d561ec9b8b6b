//! Keys and values of config maps and secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{FieldErrors, Path};

const LONGEST: usize = 253;

/// Upstream: apimachinery/pkg/util/validation/validation.go, IsConfigMapKey (v1.36.4).
pub(crate) fn check(key: &str, at: &Path, errors: &mut FieldErrors) {
    if key.len() > LONGEST {
        errors.invalid(at, key, format!("must be no more than {LONGEST} characters"));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || !key.bytes().all(allowed) {
        let detail = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
                      or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        errors.invalid(at, key, detail);
    }
    match key {
        "." => errors.invalid(at, key, "must not be '.'"),
        ".." => errors.invalid(at, key, "must not be '..'"),
        _ if key.starts_with("..") => errors.invalid(at, key, "must not start with '..'"),
        _ => {}
    }
}

/// How many bytes a base64 text stands for.
pub(crate) fn decoded_len(text: &str) -> usize {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count();
    (text.len() / 4 * 3).saturating_sub(padding)
}

/// Text as base64.
pub(crate) fn encode(text: &str) -> String {
    STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use super::{decoded_len, encode};

    #[test]
    fn base64_is_padded() {
        for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(encode(text), expected);
            assert_eq!(decoded_len(expected), text.len());
        }
    }
}
