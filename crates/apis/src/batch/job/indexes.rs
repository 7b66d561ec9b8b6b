//! Sets of indexes as text: `0-2,5,7-9`.

use keelson_object::scalar::quote;

use crate::shared::go_number::atoi;

/// The first and the last index of a part.
type Interval = (i64, i64);

/// The number of indexes in the text, all below `completions`; or the error.
///
/// Upstream: pkg/apis/batch/validation/validation.go, validateIndexesFormat (v1.36.4).
pub(super) fn count(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let (mut last, mut total) = (None, 0);
    for part in text.split(',') {
        let (first, end) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= first) {
            return Err(order(last, first));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// The first index that both texts name. Parts that cannot be read are passed over.
///
/// Upstream: pkg/apis/batch/validation/validation.go, validateFailedIndexesNotOverlapCompleted (v1.36.4).
pub(super) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<i64> {
    if completed.is_empty() || failed.is_empty() {
        return None;
    }
    let intervals = |text| str::split(text, ',').filter_map(|part| interval(part, completions).ok());
    let (mut completed, mut failed) = (intervals(completed), intervals(failed));
    let (mut one, mut other) = (completed.next()?, failed.next()?);
    loop {
        if one.0 <= other.1 && other.0 <= one.1 {
            return Some(one.0.max(other.0));
        }
        if one.0 <= other.0 {
            one = completed.next()?;
        } else {
            other = failed.next()?;
        }
    }
}

/// Upstream: pkg/apis/batch/validation/validation.go, parseIndexInterval (v1.36.4).
fn interval(part: &str, completions: i64) -> Result<Interval, String> {
    let (first, last) = match part.split_once('-') {
        None => (part, None),
        Some((_, rest)) if rest.contains('-') => {
            return Err(format!(
                "the fragment {} violates the requirement that an index interval can have at most two parts \
                 separated by '-'",
                quote(part)
            ));
        }
        Some((first, last)) => (first, Some(last)),
    };
    let first = index(first, completions)?;
    let Some(last) = last else { return Ok((first, first)) };
    let last = index(last, completions)?;
    if first >= last {
        return Err(order(first, last));
    }
    Ok((first, last))
}

fn index(text: &str, completions: i64) -> Result<i64, String> {
    let index =
        atoi(text).map_err(|_| format!("cannot convert string to integer for index: {}", quote(text)))?;
    if index >= completions {
        return Err(format!("too large index: {}", quote(text)));
    }
    Ok(index)
}

fn order(previous: i64, current: i64) -> String {
    format!("non-increasing order, previous: {previous}, current: {current}")
}

#[cfg(test)]
mod tests {
    use super::{count, overlap};

    #[test]
    fn indexes_are_counted_or_refused() {
        let check = |text: &str, expected: Result<i64, &str>| {
            assert_eq!(count(text, 10), expected.map_err(str::to_owned), "{text}");
        };
        check("", Ok(0));
        check("0-2,5,7-9", Ok(7));
        check("+1", Ok(1));
        check("1,1", Err("non-increasing order, previous: 1, current: 1"));
        check("3-2", Err("non-increasing order, previous: 3, current: 2"));
        check("1-10", Err("too large index: \"10\""));
        check("-1", Err("cannot convert string to integer for index: \"\""));
        check("1,", Err("cannot convert string to integer for index: \"\""));
        check(
            "1-2-3",
            Err(
                "the fragment \"1-2-3\" violates the requirement that an index interval can have at most two \
                 parts separated by '-'",
            ),
        );
    }

    #[test]
    fn an_index_is_either_completed_or_failed() {
        let check = |completed: &str, failed: &str, expected: Option<i64>| {
            assert_eq!(overlap(completed, failed, 10), expected, "{completed} and {failed}");
        };
        check("0-2,5", "3,6-9", None);
        check("0-2,5", "1", Some(1));
        check("0-2,5", "3,4-6", Some(5));
        check("x,5", "y,5", Some(5));
        check("", "5", None);
        check("x", "5", None);
    }
}
