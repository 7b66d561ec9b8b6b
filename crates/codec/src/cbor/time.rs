//! Times with tags 0 and 1: converted to RFC 3339 text with as many digits as needed.

use keelson_object::scalar::Time;

use super::error::{Error, Kind};
use super::head::Head;

const YEAR: &str = "year outside of range [0,9999]";
const HOUR: &str = "timezone hour outside of range [0,23]";

/// Tag 0: a text, in the form that Go writes. The offset is kept.
pub(super) fn of_text(text: &str) -> Result<String, Error> {
    Time::parse(text).map_err(|error| Error::Time { text: text.to_owned(), problem: error.to_string() })?;
    // Times that Go accepts begin with a date of ten characters and end with `Z` or `+hh:mm`; the hour may be
    // short.
    let (date, clock) = text.split_at(11);
    let offset_at = clock.len() - if clock.ends_with('Z') { 1 } else { 6 };
    let (clock, offset) = clock.split_at(offset_at);
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, ""));
    let fraction = fraction[..fraction.len().min(9)].trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    Ok(format!("{date}{clock:0>8}{dot}{fraction}{}", one_offset(offset)?))
}

fn one_offset(offset: &str) -> Result<String, Error> {
    let digits = |range: std::ops::Range<usize>| offset.get(range).and_then(|it| it.parse::<u32>().ok());
    let (Some(hours), Some(minutes)) = (digits(1..3), digits(4..6)) else { return Ok("Z".to_owned()) };
    match hours * 60 + minutes {
        0 => Ok("Z".to_owned()),
        all if all >= 24 * 60 => Err(Error::TimeRange(HOUR)),
        all => Ok(format!("{}{:02}:{:02}", &offset[..1], all / 60, all % 60)),
    }
}

/// Tag 1: whole seconds since the epoch.
pub(super) fn of_seconds(head: Head) -> Result<String, Error> {
    let number = head.kind.number(head);
    let seconds = i64::try_from(number)
        .map_err(|_| Error::mismatch(head.kind, "time.Time", format!("{number} overflows Go's int64")))?;
    written(seconds, 0)
}

/// Tag 1: seconds since the epoch, with a fraction.
pub(super) fn of_float(number: f64) -> Result<String, Error> {
    let nanos = (number.fract() * 1e9) as i64;
    let seconds = (number.trunc() as i64).saturating_add(nanos.div_euclid(1_000_000_000));
    written(seconds, nanos.rem_euclid(1_000_000_000))
}

fn written(seconds: i64, nanos: i64) -> Result<String, Error> {
    let time = Time::from_unix(seconds);
    if time.unix() != seconds {
        return Err(Error::TimeRange(YEAR));
    }
    let mut text = time.to_string();
    if nanos != 0 {
        text.pop();
        let fraction = format!("{nanos:09}");
        text = format!("{text}.{}Z", fraction.trim_end_matches('0'));
    }
    Ok(text)
}

/// Checks that a tag may contain the item after it.
///
/// Upstream: github.com/fxamacker/cbor/v2, common.go, validBuiltinTag.
pub(super) fn check_content(tag: u64, first: u8) -> Result<(), Error> {
    let found = Kind::of(first);
    let is_number = matches!(found, Kind::Positive | Kind::Negative) || matches!(first, 0xf9..=0xfb);
    match tag {
        0 if found != Kind::Text => Err(Error::TagContent { tag, expected: "text string", found }),
        1 if !is_number => {
            Err(Error::TagContent { tag, expected: "integer or floating-point number", found })
        }
        _ => Ok(()),
    }
}
