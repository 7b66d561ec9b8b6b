//! `Warning: 299 - "…"`: what a client is told besides the answer.
//!
//! Upstream: apiserver/pkg/endpoints/filters/warning.go (v1.36.4).

use http::{HeaderValue, header};
use parking_lot::Mutex;

use crate::response::Response;

/// Above so many characters in all, each warning is cut to [`ITEM_CHARACTERS`].
const TOTAL_CHARACTERS: usize = 4 * 1024;
const ITEM_CHARACTERS: usize = 256;

/// The warnings of a request.
#[derive(Debug, Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Adds some; the same text only once.
    pub(crate) fn extend(&self, texts: impl IntoIterator<Item = String>) {
        let mut known = self.0.lock();
        for text in texts {
            if !text.is_empty() && !known.contains(&text) {
                known.push(text);
            }
        }
    }

    /// Writes them into the answer.
    pub(crate) fn add_to(&self, response: &mut Response) {
        for value in values(&self.0.lock()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

fn values(texts: &[String]) -> Vec<HeaderValue> {
    let total: usize = texts.iter().map(|text| text.chars().count()).sum();
    let is_cut = total > TOTAL_CHARACTERS;
    let mut written = 0;
    let mut values = Vec::new();
    for text in texts {
        if is_cut && written >= TOTAL_CHARACTERS {
            break;
        }
        let kept: String = if is_cut { text.chars().take(ITEM_CHARACTERS).collect() } else { text.clone() };
        written += kept.chars().count();
        values.extend(header_value(&kept));
    }
    values
}

/// `299 - "text"`; `None` for a text that fits in no header.
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
            '\n' | '\r' | '\t' => quoted.push(' '),
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
        assert_eq!(header_value("a\u{1}b"), None);
    }

    #[test]
    fn many_warnings_are_cut() {
        let warnings = Warnings::default();
        warnings.extend((0..100).map(|it| format!("{it:0>300}")));
        let found = texts(&warnings);
        assert_eq!(found.len(), 16);
        assert!(found.iter().all(|it| it.len() == 256 + 8));
    }
}
