//! Timestamps: `metav1.Time` with seconds, `metav1.MicroTime` with microseconds.
//!
//! Both are read as Go's `time.Parse` reads them, with its tolerance (a single digit for the hour, a comma before
//! the fraction, `+24:60` as offset) and its messages; both are written in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::SignedDuration;
use jiff::civil::DateTime;

use super::ScalarError;

const MICROS: i64 = 1_000_000;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A point in time with the precision of a second, between the years 0 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// `0000-01-01T00:00:00Z`, the first that RFC 3339 can write.
    pub const MIN: Time = Time(-62_167_219_200);
    /// `9999-12-31T23:59:59Z`, the last that RFC 3339 can write.
    pub const MAX: Time = Time(253_402_300_799);

    /// The time `seconds` after the epoch, limited to [`Time::MIN`] and [`Time::MAX`].
    pub fn from_unix(seconds: i64) -> Time {
        Time(seconds.clamp(Time::MIN.0, Time::MAX.0))
    }

    /// Seconds since the epoch.
    pub fn unix(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339; a fraction of a second is accepted and dropped.
    pub fn parse(text: &str) -> Result<Time, ScalarError> {
        Ok(read(text, Fraction::Optional)?.0)
    }

    /// Whether `text` is surely a time in the form that [`Time`] writes, which almost all are. Other texts
    /// may be times, too.
    pub fn is_plain(text: &str) -> bool {
        let Ok(text) = <&[u8; 20]>::try_from(text.as_bytes()) else { return false };
        let two = |at: usize| match (text[at], text[at + 1]) {
            (tens @ b'0'..=b'9', ones @ b'0'..=b'9') => (tens - b'0') * 10 + (ones - b'0'),
            _ => u8::MAX,
        };
        let has_marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')]
            .iter()
            .all(|(at, mark)| text[*at] == *mark);
        // Only centuries without the zero time, and only days up to 28, which every month has.
        has_marks
            && (19..=20).contains(&two(0))
            && two(2) < 100
            && (1..=12).contains(&two(5))
            && (1..=28).contains(&two(8))
            && two(11) < 24
            && two(14) < 60
            && two(17) < 60
    }

    /// Whether this is `0001-01-01T00:00:00Z`, which means "no time" in Go and is written as `null`.
    pub fn is_zero(self) -> bool {
        self.0 == -62_135_596_800
    }
}

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Time {
        Time::from_unix(unix_micros(time).div_euclid(MICROS))
    }
}

impl From<MicroTime> for Time {
    fn from(time: MicroTime) -> Time {
        Time::from_unix(time.0.div_euclid(MICROS))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(f, self.0)?;
        f.write_str("Z")
    }
}

/// A point in time with the precision of a microsecond, between the years 0 and 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(i64);

impl MicroTime {
    /// The time `micros` microseconds after the epoch, within the years that RFC 3339 can write.
    pub fn from_unix_micros(micros: i64) -> MicroTime {
        MicroTime(micros.clamp(Time::MIN.0 * MICROS, Time::MAX.0 * MICROS + MICROS - 1))
    }

    /// Microseconds since the epoch.
    pub fn unix_micros(self) -> i64 {
        self.0
    }

    /// Reads RFC 3339 with exactly six digits of a second.
    pub fn parse(text: &str) -> Result<MicroTime, ScalarError> {
        let (time, micros) = read(text, Fraction::SixDigits)?;
        Ok(MicroTime(time.0 * MICROS + micros))
    }

    /// Whether this is `0001-01-01T00:00:00Z`, which means "no time" in Go and is written as `null`.
    pub fn is_zero(self) -> bool {
        Time::from(self).is_zero() && self.0 % MICROS == 0
    }
}

impl From<SystemTime> for MicroTime {
    fn from(time: SystemTime) -> MicroTime {
        MicroTime::from_unix_micros(unix_micros(time))
    }
}

impl From<Time> for MicroTime {
    fn from(time: Time) -> MicroTime {
        MicroTime(time.0 * MICROS)
    }
}

impl fmt::Display for MicroTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_seconds(f, self.0.div_euclid(MICROS))?;
        write!(f, ".{:06}Z", self.0.rem_euclid(MICROS))
    }
}

fn unix_micros(time: SystemTime) -> i64 {
    let saturated = |micros: u128| i64::try_from(micros).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => saturated(after.as_micros()),
        // Rounded down, like all fractions.
        Err(before) => -saturated(before.duration().as_nanos().div_ceil(1000)),
    }
}

fn write_seconds(f: &mut fmt::Formatter<'_>, seconds: i64) -> fmt::Result {
    let it = EPOCH
        .checked_add(SignedDuration::from_secs(seconds))
        .expect("the constructors keep times within the years 0 to 9999");
    let mut text = *b"0000-00-00T00:00:00";
    let year = i32::from(it.year());
    for (at, number) in [
        (0, year / 100),
        (2, year % 100),
        (5, it.month().into()),
        (8, it.day().into()),
        (11, it.hour().into()),
        (14, it.minute().into()),
        (17, it.second().into()),
    ] {
        text[at] += (number / 10) as u8;
        text[at + 1] += (number % 10) as u8;
    }
    f.write_str(std::str::from_utf8(&text).expect("digits and marks are ASCII"))
}

/// The fraction of a second in the layout.
#[derive(Clone, Copy)]
enum Fraction {
    Optional,
    SixDigits,
}

/// The time without its fraction, and the microseconds of the fraction.
fn read(text: &str, fraction: Fraction) -> Result<(Time, i64), ScalarError> {
    let mut cursor = Cursor { text, at: 0, fraction };
    let year = cursor.year()?;
    cursor.literal("-")?;
    let month = cursor.number("01")?;
    cursor.within(month, 1..=12, "month")?;
    cursor.literal("-")?;
    let day = cursor.number("02")?;
    cursor.literal("T")?;
    let hour = cursor.hour()?;
    cursor.literal(":")?;
    let minute = cursor.number("04")?;
    cursor.within(minute, 0..=59, "minute")?;
    cursor.literal(":")?;
    let second = cursor.number("05")?;
    cursor.within(second, 0..=59, "second")?;
    let micros = match fraction {
        Fraction::Optional => cursor.skip_fraction(),
        Fraction::SixDigits => cursor.six_digits()?,
    };
    let offset = cursor.offset()?;
    cursor.end()?;
    // The parts have at most four digits, so the narrowing is exact.
    let narrow = |part: i64| part as i8;
    let local = DateTime::new(
        year as i16,
        narrow(month),
        narrow(day),
        narrow(hour),
        narrow(minute),
        narrow(second),
        0,
    )
    .map_err(|_| cursor.out_of_range("day"))?;
    let seconds = local.duration_since(EPOCH).as_secs() - offset;
    Ok((Time::from_unix(seconds), micros))
}

struct Cursor<'t> {
    text: &'t str,
    /// Always at a character boundary: only ASCII is ever consumed.
    at: usize,
    fraction: Fraction,
}

impl Cursor<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// The value of the digits `from..to` ahead, if all of them are digits.
    fn digits(&self, from: usize, to: usize) -> Option<i64> {
        let digits = self.rest().get(from..to)?;
        digits
            .iter()
            .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
    }

    fn literal(&mut self, literal: &'static str) -> Result<(), ScalarError> {
        if !self.rest().starts_with(literal.as_bytes()) {
            return Err(self.mismatch(literal));
        }
        self.at += literal.len();
        Ok(())
    }

    fn year(&mut self) -> Result<i64, ScalarError> {
        let year = self.digits(0, 4).ok_or_else(|| self.mismatch("2006"))?;
        self.at += 4;
        Ok(year)
    }

    fn number(&mut self, element: &'static str) -> Result<i64, ScalarError> {
        let number = self.digits(0, 2).ok_or_else(|| self.mismatch(element))?;
        self.at += 2;
        Ok(number)
    }

    /// The hour is the one part that may have a single digit: Go's `15` has no form without padding.
    fn hour(&mut self) -> Result<i64, ScalarError> {
        let length = if self.digits(0, 2).is_some() { 2 } else { 1 };
        let hour = self.digits(0, length).ok_or_else(|| self.mismatch("15"))?;
        self.at += length;
        self.within(hour, 0..=23, "hour")?;
        Ok(hour)
    }

    fn skip_fraction(&mut self) -> i64 {
        if matches!(self.rest(), [b'.' | b',', b'0'..=b'9', ..]) {
            self.at += 1;
            self.at += self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        }
        0
    }

    fn six_digits(&mut self) -> Result<i64, ScalarError> {
        let separated = matches!(self.rest(), [b'.' | b',', ..]);
        let micros = self.digits(1, 7).filter(|_| separated).ok_or_else(|| self.mismatch(".000000"))?;
        self.at += 7;
        Ok(micros)
    }

    /// Seconds east of UTC. Like Go, this accepts `24` hours and `60` minutes.
    fn offset(&mut self) -> Result<i64, ScalarError> {
        let element = "Z07:00";
        if self.rest().first() == Some(&b'Z') {
            self.at += 1;
            return Ok(0);
        }
        let (Some(&sign), Some(b':')) = (self.rest().first(), self.rest().get(3)) else {
            return Err(self.mismatch(element));
        };
        if self.rest().len() < 6 {
            return Err(self.mismatch(element));
        }
        let (hours, minutes) = (self.digits(1, 3), self.digits(4, 6));
        self.within(hours.and(minutes).unwrap_or(0), 0..=60, "time zone offset minute")?;
        self.within(hours.unwrap_or(0), 0..=24, "time zone offset hour")?;
        let (Some(hours), Some(minutes), b'+' | b'-') = (hours, minutes, sign) else {
            return Err(self.mismatch(element));
        };
        self.at += 6;
        let east = (hours * 60 + minutes) * 60;
        Ok(if sign == b'-' { -east } else { east })
    }

    fn end(&self) -> Result<(), ScalarError> {
        if self.rest().is_empty() {
            return Ok(());
        }
        Err(ScalarError::TimeTrailing { value: self.text.to_owned(), rest: self.text[self.at..].to_owned() })
    }

    fn within(
        &self,
        number: i64,
        range: std::ops::RangeInclusive<i64>,
        part: &'static str,
    ) -> Result<(), ScalarError> {
        if range.contains(&number) { Ok(()) } else { Err(self.out_of_range(part)) }
    }

    fn out_of_range(&self, part: &'static str) -> ScalarError {
        ScalarError::TimeRange { value: self.text.to_owned(), part }
    }

    fn mismatch(&self, element: &'static str) -> ScalarError {
        ScalarError::TimeLayout {
            value: self.text.to_owned(),
            layout: match self.fraction {
                Fraction::Optional => "2006-01-02T15:04:05Z07:00",
                Fraction::SixDigits => "2006-01-02T15:04:05.000000Z07:00",
            },
            rest: self.text[self.at..].to_owned(),
            element,
        }
    }
}

#[cfg(test)]
mod tests;
