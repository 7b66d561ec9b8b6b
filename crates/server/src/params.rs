//! Query parameters: from query strings to typed options, with upstream's rules and texts.

pub(crate) mod connect;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod table;
pub(crate) mod write;

use keelson_object::FieldErrors;
use keelson_object::scalar::quote;

use crate::error::{Error, Result};
use crate::query::Query;

/// A whole number, as Go's `strconv.ParseInt` reads it.
fn number(query: &Query<'_>, key: &str) -> Result<Option<i64>> {
    query.get(key).map(integer).transpose()
}

fn integer(text: &str) -> Result<i64> {
    text.parse().map_err(|_| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
        let reason = if is_number { "value out of range" } else { "invalid syntax" };
        Error::BadRequest(format!("strconv.ParseInt: parsing {}: {reason}", quote(text)))
    })
}

/// A revision; `None` if there is none. `0` is a number here.
pub(crate) fn revision(text: &str) -> std::result::Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    let is_number = text.bytes().all(|it| it.is_ascii_digit());
    text.parse().map(Some).map_err(|_| {
        let reason = if is_number { "value out of range" } else { "invalid syntax" };
        let text = quote(text);
        format!("resourceVersion: Invalid value: {text}: strconv.ParseUint: parsing {text}: {reason}")
    })
}

fn refuse_if_any(kind: &'static str, errors: FieldErrors) -> Result<()> {
    if errors.is_empty() { Ok(()) } else { Err(Error::InvalidOptions { kind, errors }) }
}

#[cfg(test)]
mod tests {
    use super::{integer, revision};

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        let check = |text: &str, expected: &str| {
            let found = integer(text).map_or_else(|it| it.to_string(), |it| it.to_string());
            assert_eq!(found, expected);
        };
        check("12", "12");
        check("-1", "-1");
        check("+1", "1");
        check("", "strconv.ParseInt: parsing \"\": invalid syntax");
        check("1x", "strconv.ParseInt: parsing \"1x\": invalid syntax");
        check(
            "99999999999999999999",
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range",
        );
    }

    #[test]
    fn revisions_are_unsigned() {
        assert_eq!(revision(""), Ok(None));
        assert_eq!(revision("0"), Ok(Some(0)));
        assert_eq!(
            revision("-1").unwrap_err(),
            "resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": invalid syntax"
        );
    }
}
