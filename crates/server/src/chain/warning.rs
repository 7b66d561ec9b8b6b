//! Warning headers: `Warning: 299 - "…"`.
//!
//! Upstream: apiserver/pkg/endpoints/filters/warning.go (v1.36.4).

use std::collections::HashSet;

use http::{HeaderValue, header};
use parking_lot::Mutex;

use crate::response::Response;

/// If all warnings together have more characters than this, each one is cut to [`ITEM_CHARACTERS`].
const TOTAL_CHARACTERS: usize = 4 * 1024;
const ITEM_CHARACTERS: usize = 256;

/// The warnings of a request.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Texts>);

#[derive(Debug, Default)]
struct Texts {
    ordered: Vec<String>,
    /// For quick lookup: webhooks may send very many.
    known: HashSet<String>,
}

impl Warnings {
    /// Adds warnings; the same text only once.
    pub(crate) fn extend(&self, texts: impl IntoIterator<Item = String>) {
        let mut told = self.0.lock();
        for text in texts {
            if !text.is_empty() && told.known.insert(text.clone()) {
                told.ordered.push(text);
            }
        }
    }

    /// Adds the warnings to a response.
    pub(crate) fn add_to(&self, response: &mut Response) {
        for value in values(&self.0.lock().ordered) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// All warnings in full, if they are short enough together; otherwise all of them are cut. A text that is not
/// valid in a header does not count.
fn values(texts: &[String]) -> Vec<HeaderValue> {
    let (mut values, mut written) = (Vec::new(), 0);
    for (position, text) in texts.iter().enumerate() {
        let Some(value) = header_value(text) else { continue };
        written += text.chars().count();
        if written > TOTAL_CHARACTERS {
            return cut_values(texts, position + 1);
        }
        values.push(value);
    }
    values
}

/// The first `replayed` texts in any case, the others until the limit is reached.
fn cut_values(texts: &[String], replayed: usize) -> Vec<HeaderValue> {
    let (mut values, mut written) = (Vec::new(), 0);
    for (position, text) in texts.iter().enumerate() {
        if position >= replayed && written >= TOTAL_CHARACTERS {
            break;
        }
        let kept = text.char_indices().nth(ITEM_CHARACTERS).map_or(text.as_str(), |(end, _)| &text[..end]);
        let Some(value) = header_value(kept) else { continue };
        written += kept.chars().count();
        values.push(value);
    }
    values
}

/// `299 - "text"`; `None` for a text that is not valid in a header.
///
/// Upstream: apimachinery/pkg/util/net/http.go, NewWarningHeader (v1.36.4).
fn header_value(text: &str) -> Option<HeaderValue> {
    let mut quoted = String::with_capacity(text.len() + 10);
    quoted.push_str("299 - \"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            control if control.is_control() => return None,
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    HeaderValue::from_bytes(quoted.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::{Warnings, header_value};
    use crate::response::{Body, Response};

    fn texts(warnings: &Warnings) -> Vec<String> {
        let mut response = Response::new(Body::empty());
        warnings.add_to(&mut response);
        let values = response.headers().get_all("warning").iter();
        values.map(|it| String::from_utf8(it.as_bytes().to_vec()).unwrap()).collect()
    }

    #[test]
    fn warnings_are_quoted_and_told_once() {
        let warnings = Warnings::default();
        let text = "unknown field \"spec.foo\"".to_owned();
        warnings.extend([text.clone(), String::new(), text]);
        assert_eq!(texts(&warnings), ["299 - \"unknown field \\\"spec.foo\\\"\""]);
        for control in ["a\u{1}b", "a\nb", "a\tb", "\u{7f}", "\u{85}"] {
            assert_eq!(header_value(control), None, "{control:?}");
        }
    }

    /// The warnings that are sent for `given`: the length of each.
    #[track_caller]
    fn check(given: impl IntoIterator<Item = String>, expected: &[usize]) {
        let warnings = Warnings::default();
        warnings.extend(given);
        let lengths: Vec<usize> = texts(&warnings).iter().map(|it| it.chars().count() - 8).collect();
        assert_eq!(lengths, expected);
    }

    #[test]
    fn many_warnings_are_cut() {
        let numbered = |count: usize, width: usize| (0..count).map(move |it| format!("{it:0>width$}"));
        check(numbered(100, 300), &[256; 16]);
        check(numbered(16, 256), &[256; 16]);
        // The one that exceeds the limit is sent, those after it are not.
        check(numbered(16, 256).chain(["é".to_owned(), "b".to_owned()]), &[&[256; 16][..], &[1]].concat());
        check(numbered(100, 45), &[45; 92]);
        check(["x".repeat(4096)], &[4096]);
        check(["é".repeat(4097), "b".to_owned()], &[256, 1]);
        // A text that cannot be sent does not count, unless it can be sent when it is cut.
        let broken = format!("{}\n", "x".repeat(5000));
        check([broken.clone(), "b".to_owned()], &[1]);
        check([broken, "é".repeat(4097)], &[256, 256]);
    }
}
