//! Tags for the expected later encoding of bytes as text.
//!
//! Upstream: RFC 8949, section 3.4.5.2.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use smol_str::SmolStr;

use crate::text::text;

/// The encoding of bytes as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    Base64Url,
    Base64,
    Base16,
}

/// The tag around bytes that JSON shows in base64.
pub(super) const BASE64: u64 = 22;

impl Later {
    pub(super) fn of(tag: u64) -> Option<Later> {
        match tag {
            21 => Some(Later::Base64Url),
            BASE64 => Some(Later::Base64),
            23 => Some(Later::Base16),
            _ => None,
        }
    }
}

/// Bytes as text; without a tag they are text already.
pub(super) fn shown(bytes: &[u8], later: Option<Later>) -> SmolStr {
    match later {
        None => text(bytes),
        Some(Later::Base64Url) => URL_SAFE_NO_PAD.encode(bytes).into(),
        Some(Later::Base64) => STANDARD.encode(bytes).into(),
        Some(Later::Base16) => {
            let mut hex = String::with_capacity(2 * bytes.len());
            for byte in bytes {
                let _ = write!(hex, "{byte:02x}");
            }
            hex.into()
        }
    }
}
