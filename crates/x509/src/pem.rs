//! PEM as Go's `encoding/pem` reads it: what is no block is skipped.
//!
//! ```text
//! anything                        skipped
//! -----BEGIN CERTIFICATE-----     the label is CERTIFICATE
//! Key: value                      a header; most have none
//!
//! MIIB…                           base64
//! -----END CERTIFICATE-----
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block<'t> {
    /// What it says it is.
    pub label: &'t str,
    /// Whether there are headers before the data.
    pub has_headers: bool,
    /// The data.
    pub bytes: Vec<u8>,
}

/// The blocks of a text, in order.
pub fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (block, after) = next(rest)?;
        rest = after;
        Some(block)
    })
}

/// The next block of a text, and what follows it.
///
/// Upstream: Go's encoding/pem, Decode.
pub fn next(text: &str) -> Option<(Block<'_>, &str)> {
    let mut rest = text;
    loop {
        let start = after_begin(rest)?;
        match read(start) {
            Some(found) => return Some(found),
            None => rest = start,
        }
    }
}

/// What follows the next beginning of a block, which is at the beginning of a line.
fn after_begin(text: &str) -> Option<&str> {
    match text.strip_prefix("-----BEGIN ") {
        Some(rest) => Some(rest),
        None => text.split_once("\n-----BEGIN ").map(|(_, rest)| rest),
    }
}

fn read(text: &str) -> Option<(Block<'_>, &str)> {
    let (first, mut rest) = line(text);
    let label = first.strip_suffix("-----")?;
    let mut has_headers = false;
    while let (header, after) = line(rest)
        && header.contains(':')
    {
        has_headers = true;
        rest = after;
    }
    let (body, end) = match rest.strip_prefix("-----END ") {
        Some(end) if !has_headers => ("", end),
        _ => rest.split_once("\n-----END ")?,
    };
    let end = end.strip_prefix(label)?.strip_prefix("-----")?;
    let (trailer, after) = line(end);
    if !trailer.is_empty() {
        return None;
    }
    let packed: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(packed).ok()?;
    Some((Block { label, has_headers, bytes }, after))
}

/// The first line without what is empty at its end, and the rest.
fn line(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    (first.trim_end_matches(['\r', ' ', '\t']), rest)
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, bool, &str)]) {
        let found: Vec<_> = blocks(text)
            .map(|it| (it.label, it.has_headers, String::from_utf8_lossy(&it.bytes).into_owned()))
            .collect();
        let expected: Vec<_> = expected.iter().map(|(a, b, c)| (*a, *b, (*c).to_owned())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn blocks_are_found_among_other_text() {
        let block = "-----BEGIN A-----\nYW\nJj\n-----END A-----\n";
        check("", &[]);
        check("nothing", &[]);
        check(block, &[("A", false, "abc")]);
        check(&format!("text\n{block}more\n{block}"), &[("A", false, "abc"), ("A", false, "abc")]);
        check("-----BEGIN A-----\nK: v\n\nYWJj\n-----END A-----", &[("A", true, "abc")]);
        check("-----BEGIN A-----\n-----END A-----", &[("A", false, "")]);
    }

    #[test]
    fn what_is_broken_is_skipped() {
        let good = "-----BEGIN B-----\nYWJj\n-----END B-----\n";
        for bad in [
            "-----BEGIN A----\nYWJj\n-----END A-----\n",
            "-----BEGIN A-----\n!!!\n-----END A-----\n",
            "-----BEGIN A-----\nYWJj\n-----END C-----\n",
            "x -----BEGIN A-----\nYWJj\n-----END A-----\n",
        ] {
            check(&format!("{bad}{good}"), &[("B", false, "abc")]);
        }
        check("-----BEGIN A-----\nYWJj\n", &[]);
    }
}
