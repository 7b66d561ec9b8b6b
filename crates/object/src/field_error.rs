//! Field errors, in upstream's words; validation collects them and never stops at the first.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use crate::path::Path;
use crate::scalar::quote;
use crate::value::Value;

/// The kind of error. The names in the API (`FieldValueInvalid`) are in [`FieldErrorKind::reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// A required value is missing.
    Required,
    /// A value that must be unique occurs twice.
    Duplicate,
    /// A value is malformed or out of range.
    Invalid,
    /// A value is not in a fixed set.
    NotSupported,
    /// A field may not be set, or not now.
    Forbidden,
    /// A text is too long.
    TooLong,
    /// A list has too many items.
    TooMany,
    /// A referenced object does not exist.
    NotFound,
    /// A value has the wrong type.
    TypeInvalid,
    /// An internal error.
    Internal,
}

impl FieldErrorKind {
    /// The `reason` of a cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            FieldErrorKind::Required => "FieldValueRequired",
            FieldErrorKind::Duplicate => "FieldValueDuplicate",
            FieldErrorKind::Invalid => "FieldValueInvalid",
            FieldErrorKind::NotSupported => "FieldValueNotSupported",
            FieldErrorKind::Forbidden => "FieldValueForbidden",
            FieldErrorKind::TooLong => "FieldValueTooLong",
            FieldErrorKind::TooMany => "FieldValueTooMany",
            FieldErrorKind::NotFound => "FieldValueNotFound",
            FieldErrorKind::TypeInvalid => "FieldValueTypeInvalid",
            FieldErrorKind::Internal => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            FieldErrorKind::Required => "Required value",
            FieldErrorKind::Duplicate => "Duplicate value",
            FieldErrorKind::Invalid | FieldErrorKind::TypeInvalid => "Invalid value",
            FieldErrorKind::NotSupported => "Unsupported value",
            FieldErrorKind::Forbidden => "Forbidden",
            FieldErrorKind::TooLong => "Too long",
            FieldErrorKind::TooMany => "Too many",
            FieldErrorKind::NotFound => "Not found",
            FieldErrorKind::Internal => "Internal error",
        }
    }
}

/// One field error.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The kind of error.
    pub kind: FieldErrorKind,
    /// The path of the field.
    pub field: String,
    /// The invalid value as it is shown; empty if none is shown.
    pub shown: String,
    /// The explanation; may be empty.
    pub detail: String,
}

impl FieldError {
    /// The message without the field: the content of `details.causes[].message`.
    pub fn body(&self) -> String {
        let mut body = self.kind.text().to_owned();
        if !self.shown.is_empty() {
            let _ = write!(body, ": {}", self.shown);
        }
        if !self.detail.is_empty() {
            let _ = write!(body, ": {}", self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// The errors found so far, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldErrors(Vec<FieldError>);

/// A value as it is shown in a message.
pub trait Shown {
    /// Text quoted, numbers plain, trees as compact JSON-like text.
    fn shown(self) -> String;
}

impl Shown for &str {
    fn shown(self) -> String {
        quote(self)
    }
}

impl Shown for i64 {
    fn shown(self) -> String {
        self.to_string()
    }
}

impl Shown for bool {
    fn shown(self) -> String {
        self.to_string()
    }
}

impl Shown for f64 {
    fn shown(self) -> String {
        self.to_string()
    }
}

impl Shown for () {
    /// A missing value.
    fn shown(self) -> String {
        String::from("null")
    }
}

impl Shown for &Value {
    fn shown(self) -> String {
        let mut text = String::new();
        show(self, &mut text);
        text
    }
}

/// Go's `json.Marshal` of the value: it is what upstream prints for structs, maps and lists.
fn show(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(truth) => {
            let _ = write!(out, "{truth}");
        }
        Value::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => {
            out.push_str(&quote(text));
        }
        Value::List(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                show(item, out);
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (position, (key, item)) in map.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                out.push_str(&quote(key));
                out.push(':');
                show(item, out);
            }
            out.push('}');
        }
    }
}

impl FieldErrors {
    /// Whether there are no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the errors of another list.
    pub fn append(&mut self, mut others: FieldErrors) {
        self.0.append(&mut others.0);
    }

    /// The errors, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, FieldError> {
        self.0.iter()
    }

    /// All messages, one per line.
    pub fn to_text(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(FieldError::to_string).collect();
        lines.join("\n")
    }

    /// All messages as one: a single one as it is, several as `[a, b]`, without duplicates.
    ///
    /// Upstream: apimachinery/pkg/util/validation/field/errors.go, ToAggregate (v1.36.4).
    pub fn aggregate(&self) -> String {
        let mut seen = HashSet::with_capacity(self.0.len());
        let mut messages: Vec<String> = self.0.iter().map(FieldError::to_string).collect();
        messages.retain(|message| seen.insert(message.clone()));
        if messages.len() == 1 { messages.remove(0) } else { format!("[{}]", messages.join(", ")) }
    }

    /// Adds an error.
    pub fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Adds an error: a required value is missing.
    pub fn required(&mut self, at: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Required, at, String::new(), detail.into());
    }

    /// Adds an error: a value is malformed or out of range.
    pub fn invalid(&mut self, at: &Path<'_>, value: impl Shown, detail: impl Into<String>) {
        self.add(FieldErrorKind::Invalid, at, value.shown(), detail.into());
    }

    /// Adds an error: a value occurs twice.
    pub fn duplicate(&mut self, at: &Path<'_>, value: impl Shown) {
        self.add(FieldErrorKind::Duplicate, at, value.shown(), String::new());
    }

    /// Adds an error: a field may not be set, or not changed.
    pub fn forbidden(&mut self, at: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Forbidden, at, String::new(), detail.into());
    }

    /// Adds an error: a value is not in `supported`.
    pub fn not_supported(&mut self, at: &Path<'_>, value: impl Shown, supported: &[&str]) {
        let quoted: Vec<String> = supported.iter().map(|it| quote(it)).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        self.add(FieldErrorKind::NotSupported, at, value.shown(), detail);
    }

    /// Adds an error: a text has more than `limit` bytes; the text itself is not repeated.
    pub fn too_long(&mut self, at: &Path<'_>, limit: usize) {
        let unit = if limit == 1 { "byte" } else { "bytes" };
        self.add(FieldErrorKind::TooLong, at, String::new(), format!("may not be more than {limit} {unit}"));
    }

    /// Adds an error: a list has more than `limit` items.
    pub fn too_many(&mut self, at: &Path<'_>, actual: usize, limit: usize) {
        let unit = if limit == 1 { "item" } else { "items" };
        let detail = format!("must have at most {limit} {unit}");
        self.add(FieldErrorKind::TooMany, at, format!("{actual}"), detail);
    }

    /// Adds an error: a referenced object does not exist.
    pub fn not_found(&mut self, at: &Path<'_>, value: impl Shown) {
        self.add(FieldErrorKind::NotFound, at, value.shown(), String::new());
    }

    /// Adds an error: a value has the wrong type.
    pub fn type_invalid(&mut self, at: &Path<'_>, value: impl Shown, detail: impl Into<String>) {
        self.add(FieldErrorKind::TypeInvalid, at, value.shown(), detail.into());
    }

    /// Adds an internal error: a check failed to run.
    pub fn internal(&mut self, at: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Internal, at, String::new(), detail.into());
    }

    /// Adds an error about a value that is shown as `shown`: for values that upstream prints in a form of its
    /// own.
    pub fn invalid_as(&mut self, at: &Path<'_>, shown: String, detail: impl Into<String>) {
        self.add(FieldErrorKind::Invalid, at, shown, detail.into());
    }

    /// Adds all of `messages` about one value.
    pub fn invalid_each<M: Into<String>>(
        &mut self,
        at: &Path<'_>,
        value: &str,
        messages: impl IntoIterator<Item = M>,
    ) {
        messages.into_iter().for_each(|message| self.invalid(at, value, message));
    }

    /// Checks that a number is above zero.
    pub fn positive(&mut self, at: &Path<'_>, number: i64) {
        if number <= 0 {
            self.invalid(at, number, "must be greater than 0");
        }
    }

    /// Checks that a number is not negative.
    pub fn non_negative(&mut self, at: &Path<'_>, number: Option<i64>) {
        if let Some(number) = number
            && number < 0
        {
            self.invalid(at, number, "must be greater than or equal to 0");
        }
    }

    fn add(&mut self, kind: FieldErrorKind, at: &Path<'_>, shown: String, detail: String) {
        let shown = cut(shown);
        self.0.push(FieldError { kind, field: at.to_string(), shown, detail });
    }
}

/// Values are repeated in messages up to this many bytes.
const MAX_SHOWN: usize = 64 * 1024;

/// Cuts a value, so that a huge value of a client is not returned several times as large.
fn cut(mut shown: String) -> String {
    if shown.len() > MAX_SHOWN {
        let end = (0..=MAX_SHOWN).rev().find(|at| shown.is_char_boundary(*at)).unwrap_or_default();
        shown.truncate(end);
        shown.push('…');
    }
    shown
}

impl<'e> IntoIterator for &'e FieldErrors {
    type Item = &'e FieldError;
    type IntoIter = std::slice::Iter<'e, FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::FieldErrors;
    use crate::path::Path;

    #[test]
    fn a_huge_value_is_not_repeated_whole() {
        let mut errors = FieldErrors::default();
        errors.invalid(&Path::root("a"), "ä".repeat(1 << 20).as_str(), "too much");
        let text = errors.to_text();
        assert!(text.len() < 66_000, "{}", text.len());
        assert!(text.ends_with("ä…: too much"), "{}", &text[text.len() - 40..]);
    }

    #[test]
    fn the_same_message_is_told_once() {
        let mut errors = FieldErrors::default();
        for _ in 0..3 {
            errors.required(&Path::root("a"), "");
        }
        assert_eq!(errors.aggregate(), "a: Required value");
        errors.required(&Path::root("b"), "");
        assert_eq!(errors.aggregate(), "[a: Required value, b: Required value]");
    }

    #[test]
    fn messages_read_as_upstream_writes_them() {
        let mut errors = FieldErrors::default();
        let at = Path::root("spec.replicas");
        errors.non_negative(&at, Some(-1));
        errors.required(&Path::root("metadata").key("name"), "name or generateName is required");
        errors.not_supported(&Path::root("spec").key("type"), "X", &["A", "B"]);
        errors.forbidden(&at, "may not change");
        errors.duplicate(&at, "a");
        errors.too_long(&at, 63);
        errors.too_many(&at, 3, 1);
        let expected = "spec.replicas: Invalid value: -1: must be greater than or equal to 0\n\
            metadata.name: Required value: name or generateName is required\n\
            spec.type: Unsupported value: \"X\": supported values: \"A\", \"B\"\n\
            spec.replicas: Forbidden: may not change\n\
            spec.replicas: Duplicate value: \"a\"\n\
            spec.replicas: Too long: may not be more than 63 bytes\n\
            spec.replicas: Too many: 3: must have at most 1 item";
        assert_eq!(errors.to_text(), expected);
    }
}
