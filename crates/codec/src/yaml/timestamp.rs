//! Timestamps of go-yaml. It reads them as text; the writer quotes text that looks like one.

/// Whether `text` is a date, or a date and a time of day.
///
/// Upstream: go.yaml.in/yaml/v2, parseTimestamp: `2006-1-2`, followed by nothing, by `T15:4:5.9Z07:00` or by blanks
/// and `15:4:5.9`.
pub(super) fn is_timestamp(text: &str) -> bool {
    let mut rest = Rest(text);
    let Some(year) = rest.fixed(4) else { return false };
    if !rest.skip(b'-') {
        return false;
    }
    let Some(month) = rest.short() else { return false };
    if !rest.skip(b'-') {
        return false;
    }
    let Some(day) = rest.short() else { return false };
    if !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return false;
    }
    if rest.0.is_empty() {
        return true;
    }
    if rest.skip(b'T') || rest.skip(b't') {
        return rest.time() && rest.zone() && rest.0.is_empty();
    }
    if !rest.skip(b' ') {
        return false;
    }
    while rest.skip(b' ') {}
    rest.time() && rest.0.is_empty()
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The text that has not been read yet.
struct Rest<'t>(&'t str);

impl Rest<'_> {
    fn skip(&mut self, byte: u8) -> bool {
        let is_there = self.0.as_bytes().first() == Some(&byte);
        if is_there {
            self.0 = &self.0[1..];
        }
        is_there
    }

    /// A number of `count` digits.
    fn fixed(&mut self, count: usize) -> Option<u32> {
        let digits = self.0.as_bytes().get(..count)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let number = self.0[..count].parse().ok();
        self.0 = &self.0[count..];
        number
    }

    /// A number of one or two digits.
    fn short(&mut self) -> Option<u32> {
        self.fixed(2).or_else(|| self.fixed(1))
    }

    /// `15:4:5`, with any fraction.
    fn time(&mut self) -> bool {
        let hour = self.short().is_some_and(|it| it < 24);
        let minute = hour && self.skip(b':') && self.short().is_some_and(|it| it < 60);
        let second = minute && self.skip(b':') && self.short().is_some_and(|it| it < 60);
        if let [b'.' | b',', b'0'..=b'9', ..] = self.0.as_bytes() {
            self.0 = self.0[1..].trim_start_matches(|it: char| it.is_ascii_digit());
        }
        second
    }

    /// `Z`, or `+01:00`.
    fn zone(&mut self) -> bool {
        if self.skip(b'Z') {
            return true;
        }
        (self.skip(b'+') || self.skip(b'-'))
            && self.fixed(2).is_some_and(|it| it <= 24)
            && self.skip(b':')
            && self.fixed(2).is_some_and(|it| it <= 60)
    }
}

#[cfg(test)]
mod tests {
    use super::is_timestamp;

    #[test]
    fn timestamps_are_told_from_other_text() {
        for text in [
            "2026-01-02",
            "2026-1-2",
            "2024-02-29",
            "2026-01-02T03:04:05Z",
            "2026-1-2t3:4:5.25+01:00",
            "2026-01-02 03:04:05",
            "2026-01-02   3:4:5.999",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-",
            "2026-01",
            "2026-13-01",
            "2026-02-29",
            "2026-00-01",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04Z",
            "2026-01-02T24:00:00Z",
            "2026-01-02 03:04:05Z",
            "2026-01-02x",
            "26-01-02",
            "20260-01-02",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
