//! Schedules of CronJobs: validation with the messages of the parser that upstream uses.
//!
//! ```text
//! */15 0-6,18-23 1 jan-mar mon    minute, hour, day of month, month, day of week
//! @hourly                         a descriptor
//! @every 1h30m                    an interval
//! TZ=UTC 0 0 * * *                any of these in a time zone
//! ```
//!
//! Upstream: github.com/robfig/cron/v3, parser.go, ParseStandard; pkg/util/parsers, ParseCronScheduleWithPanicRecovery
//! (v1.36.4).

use keelson_object::scalar::Duration;

use super::time_zone;
use crate::shared::go_number::atoi;

/// The allowed values of a field of a schedule.
struct Bounds {
    min: i64,
    max: i64,
    /// Names of the numbers from `min` on.
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { min: 0, max: 59, names: &[] },
    Bounds { min: 0, max: 23, names: &[] },
    Bounds { min: 1, max: 31, names: &[] },
    Bounds {
        min: 1,
        max: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Bounds { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

const DESCRIPTORS: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// Checks that `text` is a schedule, or returns the error.
pub(super) fn check(text: &str) -> Result<(), String> {
    let zoned = text.strip_prefix("TZ=").or_else(|| text.strip_prefix("CRON_TZ="));
    let text = match zoned {
        None => text,
        Some(zoned) => {
            // Upstream's parser takes what is before the first space, and panics if there is none.
            let (zone, rest) = zoned
                .split_once(' ')
                .ok_or("invalid schedule format: runtime error: slice bounds out of range [:-1]")?;
            time_zone::load(zone).map_err(|problem| format!("provided bad location {zone}: {problem}"))?;
            rest.trim()
        }
    };
    if text.starts_with('@') {
        return check_descriptor(text);
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly {} fields, found {}: [{}]",
            FIELDS.len(),
            fields.len(),
            fields.join(" ")
        ));
    }
    let mut parts = fields
        .iter()
        .zip(&FIELDS)
        .flat_map(|(field, bounds)| field.split(',').map(move |part| (part, bounds)));
    parts.try_for_each(|(part, bounds)| if part.is_empty() { Ok(()) } else { check_range(part, bounds) })
}

fn check_descriptor(text: &str) -> Result<(), String> {
    if DESCRIPTORS.contains(&text) {
        return Ok(());
    }
    let Some(interval) = text.strip_prefix("@every ") else {
        return Err(format!("unrecognized descriptor: {text}"));
    };
    match Duration::parse(interval) {
        Ok(_) => Ok(()),
        Err(problem) => Err(format!("failed to parse duration {text}: {problem}")),
    }
}

/// `5`, `1-5`, `*`, each with or without a step.
fn check_range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let mut steps = text.split('/');
    let range = steps.next().unwrap_or_default();
    let mut ends = range.split('-');
    let first = ends.next().unwrap_or_default();
    let single = ends.clone().next().is_none();
    let (start, mut end) = if matches!(first, "*" | "?") {
        (bounds.min, bounds.max)
    } else {
        let start = number_or_name(first, bounds)?;
        match (ends.next(), ends.next()) {
            (None, _) => (start, start),
            (Some(last), None) => (start, number_or_name(last, bounds)?),
            (Some(_), Some(_)) => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match (steps.next(), steps.next()) {
        (None, _) => 1,
        (Some(step), None) => {
            let step = number(step)?;
            if single {
                end = bounds.max;
            }
            step
        }
        (Some(_), Some(_)) => return Err(format!("too many slashes: {text}")),
    };
    if start < bounds.min {
        return Err(format!("beginning of range ({start}) below minimum ({}): {text}", bounds.min));
    }
    if end > bounds.max {
        return Err(format!("end of range ({end}) above maximum ({}): {text}", bounds.max));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<i64, String> {
    let named = bounds.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    match named.and_then(|at| i64::try_from(at).ok()) {
        Some(at) => Ok(bounds.min + at),
        None => number(text),
    }
}

fn number(text: &str) -> Result<i64, String> {
    let number = atoi(text).map_err(|it| format!("failed to parse int from {text}: {}", it.about(text)))?;
    if number < 0 {
        return Err(format!("negative number ({number}) not allowed: {text}"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_are_taken() {
        let all = [
            "* * * * *",
            "*/15 0-6,18-23 1 jan-MAR mon",
            "? ? ? ? ?",
            "0 0 1-31/2 */3 0-6",
            " 5   4\t* * sun ",
            "5/10 * * * *",
            "*-9 * * * *",
            ", * * * *",
            "@hourly",
            "@every 1h30m",
            "@every -1s",
            "TZ=UTC 0 0 * * *",
            "CRON_TZ=Europe/Berlin @daily",
            "TZ= 0 0 * * *",
        ];
        for text in all {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused_in_the_words_of_the_parser() {
        let refused =
            |text: &str, expected: &str| assert_eq!(check(text), Err(expected.to_owned()), "{text}");
        refused("", "expected exactly 5 fields, found 0: []");
        refused("* * * *", "expected exactly 5 fields, found 4: [* * * *]");
        refused("60 * * * *", "end of range (60) above maximum (59): 60");
        refused("* * 0 * *", "beginning of range (0) below minimum (1): 0");
        refused("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1");
        refused("*/0 * * * *", "step of range should be a positive number: */0");
        refused("1-2-3 * * * *", "too many hyphens: 1-2-3");
        refused("1/2/3 * * * *", "too many slashes: 1/2/3");
        refused("*/-5 * * * *", "negative number (-5) not allowed: -5");
        refused("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
        refused(
            "99999999999999999999 * * * *",
            "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": \
             value out of range",
        );
        refused("@nope", "unrecognized descriptor: @nope");
        refused("@every", "unrecognized descriptor: @every");
        refused("@every 5", "failed to parse duration @every 5: time: missing unit in duration \"5\"");
        refused("TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]");
        refused("TZ=Nope * * * * *", "provided bad location Nope: unknown time zone Nope");
    }

    #[test]
    fn long_texts_take_time_that_grows_with_their_length() {
        let commas = format!("{} * * * *", ",".repeat(1 << 20));
        assert_eq!(check(&commas), Ok(()));
        let hyphens = format!("{} * * * *", "1-".repeat(1 << 19));
        assert!(check(&hyphens).is_err());
    }
}
