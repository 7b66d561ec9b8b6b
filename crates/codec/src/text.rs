//! Repair of invalid UTF-8: every byte that is not part of a character becomes a separate U+FFFD, as when Go
//! writes it in JSON.

use smol_str::SmolStr;

/// The text of `bytes`.
pub(crate) fn text(bytes: &[u8]) -> SmolStr {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let mut repaired = String::with_capacity(bytes.len());
            push_repaired(&mut repaired, bytes);
            repaired.into()
        }
    }
}

/// Appends the text of `raw`.
pub(crate) fn push_repaired(out: &mut String, raw: &[u8]) {
    for chunk in raw.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
}
