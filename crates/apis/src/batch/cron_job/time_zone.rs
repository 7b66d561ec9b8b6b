//! Names of time zones.
//!
//! The names are a table of the IANA database, the one that upstream embeds as well. The database of the
//! machine does not count: a schedule that is accepted here must be accepted everywhere.

use keelson_object::{FieldErrors, Path, Value};

use crate::shared::go_form::as_json;

/// All names, sorted by their bytes.
const NAMES: &str = include_str!("time_zones.txt");

/// Parts of names are at most this long.
const PART_LIMIT: usize = 14;

/// Upstream: pkg/apis/batch/validation/validation.go, validateTimeZone (v1.36.4).
pub(super) fn check(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut refuse = |detail: String| errors.invalid_as(at, as_json(&Value::from(name)), detail);
    if name.is_empty() {
        return refuse(String::from("timeZone must be nil or non-empty string"));
    }
    if !name.split('/').all(is_part) {
        return refuse(format!("unknown time zone {name}"));
    }
    if name.eq_ignore_ascii_case("Local") {
        refuse(String::from(
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
        ));
    }
    if let Err(problem) = load(name) {
        refuse(problem);
    }
}

fn is_part(part: &str) -> bool {
    let is_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_+".contains(&byte);
    !matches!(part, "" | "." | "..")
        && part.len() <= PART_LIMIT
        && !part.starts_with('-')
        && part.bytes().all(is_byte)
}

/// Whether the time zone exists; otherwise Go's error message.
///
/// Upstream: Go's time.LoadLocation.
pub(super) fn load(name: &str) -> Result<(), String> {
    match name {
        "" | "UTC" | "Local" => Ok(()),
        _ if name.contains("..") || name.starts_with(['/', '\\']) => {
            Err(String::from("time: invalid location name"))
        }
        _ if is_known(name) => Ok(()),
        _ => Err(format!("unknown time zone {name}")),
    }
}

/// Finds a line by binary search in the text.
fn is_known(name: &str) -> bool {
    let mut rest = NAMES.trim_end();
    while !rest.is_empty() {
        let middle = rest.len() / 2;
        let start = rest[..middle].rfind('\n').map_or(0, |at| at + 1);
        let end = rest[middle..].find('\n').map_or(rest.len(), |at| middle + at);
        match rest[start..end].cmp(name) {
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Less => rest = rest.get(end + 1..).unwrap_or_default(),
            std::cmp::Ordering::Greater => rest = rest[..start].trim_end(),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{NAMES, is_known, load};

    #[test]
    fn every_name_of_the_table_is_found() {
        assert!(NAMES.is_ascii());
        assert!(NAMES.lines().is_sorted());
        assert!(NAMES.lines().all(is_known));
        assert!(NAMES.lines().count() > 500);
    }

    #[test]
    fn other_names_are_refused_as_go_does() {
        let check = |name: &str, expected: Result<(), &str>| {
            assert_eq!(load(name), expected.map_err(str::to_owned), "{name}");
        };
        check("Europe/Berlin", Ok(()));
        check("UTC", Ok(()));
        check("", Ok(()));
        check("europe/berlin", Err("unknown time zone europe/berlin"));
        check("Europe", Err("unknown time zone Europe"));
        check("Europe/Berlin\nEurope/Bratislava", Err("unknown time zone Europe/Berlin\nEurope/Bratislava"));
        check("A..B", Err("time: invalid location name"));
        check("/UTC", Err("time: invalid location name"));
    }
}
