//! Timestamps: points in time between the years 1 and 9999 with the offset that they were written with.

use std::fmt;

use jiff::tz::TimeZone;

use crate::fail::Failure;
use crate::gotext;

/// Seconds of 0001-01-01T00:00:00Z.
pub const MIN_UNIX: i64 = -62_135_596_800;
/// Seconds of 9999-12-31T23:59:59Z.
pub const MAX_UNIX: i64 = 253_402_300_799;
const DAY: i64 = 86_400;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds, below one second.
    pub nanos: u32,
    /// Seconds east of UTC, for printing only.
    pub offset: i32,
}

/// Date and time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// The year.
    pub year: i64,
    /// From 1.
    pub month: u32,
    /// From 1.
    pub day: u32,
    /// Seconds since midnight.
    pub second_of_day: u32,
    /// From 0.
    pub day_of_year: u32,
    /// 0 is Sunday.
    pub weekday: u32,
}

impl Timestamp {
    /// So many seconds after 1970, if that is in range.
    pub fn from_unix(seconds: i64) -> Result<Timestamp, Failure> {
        Timestamp::new(seconds, 0, 0)
    }

    /// The point in time, if it is in range.
    pub fn new(seconds: i64, nanos: u32, offset: i32) -> Result<Timestamp, Failure> {
        if !(MIN_UNIX..=MAX_UNIX).contains(&seconds) {
            return Err(Failure::new("timestamp overflow"));
        }
        Ok(Timestamp { seconds, nanos, offset })
    }

    /// What Go prints for a time: `2021-02-03 04:05:06.7 +0000 UTC`.
    pub(super) fn go_text(&self) -> String {
        let rfc3339 =
            Timestamp { offset: 0, seconds: self.seconds + i64::from(self.offset), ..*self }.to_string();
        let clock = rfc3339.trim_end_matches('Z').replacen('T', " ", 1);
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = format!("{sign}{:02}{:02}", minutes / 60, minutes % 60);
        format!("{clock} {offset} {}", if self.offset == 0 { "UTC" } else { &offset })
    }

    /// What is compared: the offset does not count.
    pub fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    /// Whether this is Go's zero time, the first second of year 1.
    pub fn is_zero(&self) -> bool {
        self.seconds == MIN_UNIX && self.nanos == 0
    }

    /// `self + nanoseconds`
    pub fn add(&self, duration: i64) -> Result<Timestamp, Failure> {
        let total = i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos) + i128::from(duration);
        let seconds = total.div_euclid(1_000_000_000);
        let nanos = total.rem_euclid(1_000_000_000) as u32;
        Timestamp::new(i64::try_from(seconds).unwrap_or(i64::MAX), nanos, self.offset)
    }

    /// `self - other` in nanoseconds.
    pub fn since(&self, other: &Timestamp) -> Result<i64, Failure> {
        let overflow = || Failure::new("integer overflow");
        let seconds = self.seconds.checked_sub(other.seconds).ok_or_else(overflow)?;
        let nanos = seconds.checked_mul(1_000_000_000).ok_or_else(overflow)?;
        nanos.checked_add(i64::from(self.nanos) - i64::from(other.nanos)).ok_or_else(overflow)
    }

    /// Date and time of day at an offset.
    pub fn civil(&self, offset: i32) -> Civil {
        let local = self.seconds + i64::from(offset);
        let days = local.div_euclid(DAY);
        let (year, month, day) = civil_from_days(days);
        Civil {
            year,
            month,
            day,
            second_of_day: local.rem_euclid(DAY) as u32,
            day_of_year: (days - days_from_civil(year, 1, 1)) as u32,
            weekday: (days + 4).rem_euclid(7) as u32,
        }
    }

    /// The offset of a time zone at this point in time.
    ///
    /// Upstream: CG/common/stdlib/standard.go, inTimeZone (cel-go v0.26.0).
    pub fn offset_in(&self, zone: &str) -> Result<i32, Failure> {
        let Some((hours, minutes)) = zone.split_once(':') else { return self.offset_of_location(zone) };
        let hours = gotext::atoi(hours).map_err(Failure::new)?;
        let minutes = gotext::atoi(minutes).map_err(Failure::new)?;
        let hours = hours.wrapping_mul(60);
        let offset =
            if zone.starts_with('-') { hours.wrapping_sub(minutes) } else { hours.wrapping_add(minutes) };
        // Go multiplies in nanoseconds and wraps; anything sane is far from there.
        let nanos = offset.wrapping_mul(60_000_000_000);
        Ok((nanos / 1_000_000_000)
            .clamp(-100 * DAY * 365, 100 * DAY * 365)
            .clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    }

    /// Upstream: Go's time.LoadLocation with the embedded database.
    fn offset_of_location(&self, name: &str) -> Result<i32, Failure> {
        if matches!(name, "" | "UTC" | "Local") {
            return Ok(0);
        }
        if name.contains("..") || name.starts_with(['/', '\\']) {
            return Err(Failure::new("time: invalid location name"));
        }
        let unknown = || Failure::new(format!("unknown time zone {name}"));
        let zone = TimeZone::get(name).map_err(|_| unknown())?;
        // Names are looked up with their case.
        if zone.iana_name() != Some(name) {
            return Err(unknown());
        }
        // The range of the database's points in time ends some hours before ours; zones do not change in between.
        let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
        let at = jiff::Timestamp::from_second(self.seconds.clamp(first, last)).map_err(|_| unknown())?;
        Ok(zone.to_offset(at).seconds())
    }

    /// Reads RFC 3339 as Go's `time.Parse` does.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let mut rest = Scan(text.as_bytes());
        let year = i64::from(rest.digits(4)?);
        rest.expect(b'-')?;
        let month = rest.digits(2)?;
        rest.expect(b'-')?;
        let day = rest.digits(2)?;
        rest.expect(b'T')?;
        // Go takes one digit for the hour.
        let hour = rest.digits(2).or_else(|| rest.digits(1))?;
        rest.expect(b':')?;
        let minute = rest.digits(2)?;
        rest.expect(b':')?;
        let second = rest.digits(2)?;
        let nanos = rest.fraction();
        let offset = rest.offset()?;
        if !rest.0.is_empty() || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = days_from_civil(year, month, day) * DAY + i64::from(hour * 3600 + minute * 60 + second);
        Some(Timestamp { seconds: seconds - i64::from(offset), nanos, offset })
    }

    /// Reads `2006-01-02`.
    pub fn parse_date(text: &str) -> Option<Timestamp> {
        let mut rest = Scan(text.as_bytes());
        let year = i64::from(rest.digits(4)?);
        rest.expect(b'-')?;
        let month = rest.digits(2)?;
        rest.expect(b'-')?;
        let day = rest.digits(2)?;
        let is_whole = rest.0.is_empty() && is_date(year, month, day);
        is_whole.then(|| Timestamp { seconds: days_from_civil(year, month, day) * DAY, nanos: 0, offset: 0 })
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 with as many decimals as are needed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = self.civil(self.offset);
        let (hour, minute, second) =
            (civil.second_of_day / 3600, civil.second_of_day / 60 % 60, civil.second_of_day % 60);
        write!(f, "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}", civil.year, civil.month, civil.day)?;
        if self.nanos > 0 {
            write!(f, ".{}", format!("{:09}", self.nanos).trim_end_matches('0'))?;
        }
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset.abs() / 60;
        write!(f, "{}{:02}:{:02}", if self.offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
    }
}

/// What is left to read.
struct Scan<'t>(&'t [u8]);

impl Scan<'_> {
    fn digits(&mut self, count: usize) -> Option<u32> {
        let digits = self.0.get(..count)?;
        let number = digits
            .iter()
            .try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))?;
        self.0 = &self.0[count..];
        Some(number)
    }

    fn expect(&mut self, wanted: u8) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        (*first == wanted).then_some(())
    }

    /// Decimals after a point or comma; those after the ninth are dropped.
    fn fraction(&mut self) -> u32 {
        let Some((b'.' | b',', decimals)) = self.0.split_first() else { return 0 };
        let count = decimals.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        let nanos = (0..9)
            .fold(0, |sum, at| sum * 10 + decimals[..count].get(at).map_or(0, |byte| u32::from(byte - b'0')));
        self.0 = &decimals[count..];
        nanos
    }

    fn offset(&mut self) -> Option<i32> {
        let (sign, rest) = self.0.split_first()?;
        self.0 = rest;
        let sign = match sign {
            b'Z' => return Some(0),
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let hours = self.digits(2)?;
        self.expect(b':')?;
        let minutes = self.digits(2)?;
        (hours <= 24 && minutes <= 60).then(|| sign * (hours * 3600 + minutes * 60) as i32)
    }
}

fn is_date(year: i64, month: u32, day: u32) -> bool {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day comes last.
fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year =
        (153 * (i64::from(month) + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn timestamps_keep_the_offset_they_were_written_with() {
        for (text, printed) in [
            ("2023-01-01T00:00:00Z", "2023-01-01T00:00:00Z"),
            ("2023-01-01T00:00:00+02:00", "2023-01-01T00:00:00+02:00"),
            ("2023-01-01T00:00:00.120Z", "2023-01-01T00:00:00.12Z"),
            ("2000-02-29T1:02:03-00:30", "2000-02-29T01:02:03-00:30"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ] {
            assert_eq!(
                Timestamp::parse(text).map(|time| time.to_string()).as_deref(),
                Some(printed),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_that_are_no_timestamps() {
        for text in [
            "",
            "2023-01-01",
            "2023-02-29T00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:00:60Z",
            "2023-01-01 00:00:00Z",
            "2023-01-01T00:00:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn time_zones_have_names_or_offsets() {
        let time = Timestamp::parse("2009-02-13T23:31:30Z").expect("a timestamp");
        assert_eq!(time.civil(time.offset_in("Europe/Berlin").expect("a zone")).second_of_day / 3600, 0);
        assert_eq!(time.offset_in("-08:30"), Ok(-30600));
        assert_eq!(time.offset_in("02:30"), Ok(9000));
        let error = |zone| time.offset_in(zone).map_err(|error| error.to_string());
        assert_eq!(error("Europe/Nowhere"), Err("unknown time zone Europe/Nowhere".to_owned()));
        assert_eq!(error("europe/berlin"), Err("unknown time zone europe/berlin".to_owned()));
        assert_eq!(error("a:00"), Err("strconv.Atoi: parsing \"a\": invalid syntax".to_owned()));
    }
}
