//! Durations: `metav1.Duration`, written as Go writes them (`1h0m0s`, `300ms`, `0s`).

use std::fmt;

use super::ScalarError;

/// A duration in nanoseconds; may be negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

const SECOND: u64 = 1_000_000_000;
/// The magnitude of the smallest duration: one more than that of the largest.
const LIMIT: u64 = 1 << 63;

impl Duration {
    /// A duration of `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Duration {
        Duration(nanos)
    }

    /// The number of nanoseconds.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The duration for timers; a negative one is zero.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }

    /// Parses a sequence of decimal numbers with units, as in `-1.5h` or `2h45m`.
    pub fn parse(text: &str) -> Result<Duration, ScalarError> {
        let invalid = || ScalarError::Duration { value: text.to_owned() };
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Duration(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut sum: u64 = 0;
        while !rest.is_empty() {
            let (nanos, next) = read_term(text, rest)?;
            // The term is at most LIMIT and the sum is too, so that this cannot wrap.
            sum += nanos;
            if sum > LIMIT {
                return Err(invalid());
            }
            rest = next;
        }
        if negative {
            return Ok(Duration(0i64.wrapping_sub_unsigned(sum)));
        }
        i64::try_from(sum).map(Duration).map_err(|_| invalid())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        match nanos {
            0 => f.write_str("0s"),
            1..1_000 => write!(f, "{nanos}ns"),
            1_000..1_000_000 => write_decimal(f, nanos, 1_000, "µs"),
            1_000_000..SECOND => write_decimal(f, nanos, 1_000_000, "ms"),
            _ => {
                let (minutes, hours) = (nanos / SECOND / 60, nanos / SECOND / 3600);
                if hours > 0 {
                    write!(f, "{hours}h")?;
                }
                if minutes > 0 {
                    write!(f, "{}m", minutes % 60)?;
                }
                write_decimal(f, nanos % (60 * SECOND), SECOND, "s")
            }
        }
    }
}

/// Writes `nanos / unit` with as many decimals as needed.
fn write_decimal(f: &mut fmt::Formatter<'_>, nanos: u64, unit: u64, name: &str) -> fmt::Result {
    write!(f, "{}", nanos / unit)?;
    if !nanos.is_multiple_of(unit) {
        // The leading one keeps the zeros that follow the point.
        let decimals = format!("{}", unit + nanos % unit);
        write!(f, ".{}", decimals[1..].trim_end_matches('0'))?;
    }
    f.write_str(name)
}

/// Parses one number with its unit: its nanoseconds, and the rest of the text.
fn read_term<'t>(text: &str, term: &'t str) -> Result<(u64, &'t str), ScalarError> {
    let invalid = || ScalarError::Duration { value: text.to_owned() };
    let (whole, rest) = read_whole(term).ok_or_else(invalid)?;
    let (fraction, scale, unit_on) = match rest.strip_prefix('.') {
        Some(decimals) => read_fraction(decimals),
        None => (0, 1.0, rest),
    };
    let digits = term.len() - unit_on.len() - usize::from(rest.starts_with('.'));
    if digits == 0 {
        return Err(invalid());
    }
    let end = unit_on.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(unit_on.len());
    let (name, next) = unit_on.split_at(end);
    if name.is_empty() {
        return Err(ScalarError::DurationUnit { value: text.to_owned() });
    }
    let unit = unit_nanos(name)
        .ok_or_else(|| ScalarError::DurationUnknownUnit { value: text.to_owned(), unit: name.to_owned() })?;
    let mut nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= LIMIT).ok_or_else(invalid)?;
    if fraction > 0 {
        // Go computes the fraction in floating point; the last nanosecond depends on it.
        nanos += (fraction as f64 * (unit as f64 / scale)) as u64;
        if nanos > LIMIT {
            return Err(invalid());
        }
    }
    Ok((nanos, next))
}

fn unit_nanos(name: &str) -> Option<u64> {
    Some(match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        _ => return None,
    })
}

/// The digits at the beginning; `None` if they do not fit.
fn read_whole(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let whole = digits.bytes().try_fold(0u64, |sum, digit| {
        sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|sum| *sum <= LIMIT)
    })?;
    Some((whole, rest))
}

/// The digits after a point as `fraction / scale`; digits that do not fit are dropped.
fn read_fraction(text: &str) -> (u64, f64, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let (mut fraction, mut scale) = (0u64, 1.0);
    for digit in digits.bytes() {
        if fraction > (LIMIT - 1) / 10 {
            break;
        }
        fraction = fraction * 10 + u64::from(digit - b'0');
        scale *= 10.0;
    }
    (fraction, scale, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Duration;

    #[test]
    fn durations_are_printed_as_go_prints_them() {
        let check = |text: &str, expected: &str| {
            let printed = Duration::parse(text).map(|it| it.to_string());
            assert_eq!(printed.as_deref(), Ok(expected), "{text}");
        };
        check("0", "0s");
        check("-0", "0s");
        check("+0s", "0s");
        check("1h", "1h0m0s");
        check("90s", "1m30s");
        check("5m", "5m0s");
        check("300ms", "300ms");
        check("0.3s", "300ms");
        check(".5s", "500ms");
        check("5.s", "5s");
        check("1.5h", "1h30m0s");
        check("-1.5h", "-1h30m0s");
        check("2h45m", "2h45m0s");
        check("2h2h", "4h0m0s");
        check("1us", "1µs");
        check("1.5μs", "1.5µs");
        check("1µs1ns", "1.001µs");
        check("1m0.000000001s", "1m0.000000001s");
        check("100h", "100h0m0s");
        check("0.9223372036854775807h", "55m20.413933267s");
        check("0.1000000000000000000000h", "6m0s");
        check("9223372036854775807ns", "2562047h47m16.854775807s");
        check("-9223372036854775808ns", "-2562047h47m16.854775808s");
    }

    #[test]
    fn errors_are_what_go_says() {
        let check = |text: &str, expected: &str| {
            let message = Duration::parse(text).map_err(|error| error.to_string());
            assert_eq!(message, Err(expected.to_owned()), "{text}");
        };
        check("", r#"time: invalid duration """#);
        check("x", r#"time: invalid duration "x""#);
        check("-", r#"time: invalid duration "-""#);
        check(".s", r#"time: invalid duration ".s""#);
        check("1h-1m", r#"time: unknown unit "h-" in duration "1h-1m""#);
        check("3", r#"time: missing unit in duration "3""#);
        check("1h3", r#"time: missing unit in duration "1h3""#);
        check("1d", r#"time: unknown unit "d" in duration "1d""#);
        check("1 h", r#"time: unknown unit " h" in duration "1 h""#);
        check("ü", r#"time: invalid duration "\xc3\xbc""#);
        check("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#);
        check("99999999999999999999ns", r#"time: invalid duration "99999999999999999999ns""#);
        check("2562048h", r#"time: invalid duration "2562048h""#);
    }

    proptest! {
        #[test]
        fn printed_durations_are_read_back(nanos: i64) {
            let printed = Duration::from_nanos(nanos).to_string();
            prop_assert_eq!(Duration::parse(&printed), Ok(Duration::from_nanos(nanos)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+.0-9a-zµ]{0,12}") {
            let _ = Duration::parse(&text);
        }
    }
}
