//! Times as Go reads and writes them; the expectations were taken from Go's `time` package.

use std::time::{Duration, UNIX_EPOCH};

use proptest::prelude::*;

use super::{MicroTime, Time};

#[test]
fn times_are_read_as_go_reads_them() {
    let check = |text: &str, expected: &str| {
        assert_eq!(Time::parse(text).map(|it| it.to_string()).as_deref(), Ok(expected), "{text}");
    };
    check("2006-01-02T15:04:05Z", "2006-01-02T15:04:05Z");
    check("2006-01-02T15:04:05.999999999Z", "2006-01-02T15:04:05Z");
    check("2006-01-02T15:04:05,5Z", "2006-01-02T15:04:05Z");
    check("2006-01-02T15:04:05+07:00", "2006-01-02T08:04:05Z");
    check("2006-01-02T15:04:05.1-00:30", "2006-01-02T15:34:05Z");
    check("2006-01-02T15:04:05+24:60", "2006-01-01T14:04:05Z");
    check("2006-01-02T5:04:05Z", "2006-01-02T05:04:05Z");
    check("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z");
    check("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z");
    check("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z");
    check("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z");
    check("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z");
}

#[test]
fn mistakes_are_reported_as_go_reports_them() {
    let check = |text: &str, expected: &str| {
        let message = Time::parse(text).map_err(|error| error.to_string());
        assert_eq!(message, Err(expected.to_owned()));
    };
    let layout = |text: &str, rest: &str, element: &str| {
        let layout = "2006-01-02T15:04:05Z07:00";
        check(text, &format!("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}"));
    };
    layout("", "", "2006");
    layout("x", "x", "2006");
    layout("20x6-01-02T15:04:05Z", "20x6-01-02T15:04:05Z", "2006");
    layout("2006", "", "-");
    layout("2006-1-02T15:04:05Z", "1-02T15:04:05Z", "01");
    layout("2006-01-02", "", "T");
    layout("2006-01-02 15:04:05Z", " 15:04:05Z", "T");
    layout("2006-01-02T15:04", "", ":");
    layout("2006-01-02T15:04:05", "", "Z07:00");
    layout("2006-01-02T15:04:05.Z", ".Z", "Z07:00");
    layout("2006-01-02T15:04:05+0700", "+0700", "Z07:00");
    layout("2006-01-02T15:04:05z", "z", "Z07:00");
    check("2006-13-02T15:04:05Z", r#"parsing time "2006-13-02T15:04:05Z": month out of range"#);
    check("2006-02-30T15:04:05Z", r#"parsing time "2006-02-30T15:04:05Z": day out of range"#);
    check("2006-02-00T15:04:05Z", r#"parsing time "2006-02-00T15:04:05Z": day out of range"#);
    check("2006-01-02T24:04:05Z", r#"parsing time "2006-01-02T24:04:05Z": hour out of range"#);
    check("2006-01-02T23:60:05Z", r#"parsing time "2006-01-02T23:60:05Z": minute out of range"#);
    check("2006-01-02T23:59:60Z", r#"parsing time "2006-01-02T23:59:60Z": second out of range"#);
    check(
        "2006-01-02T23:59:59+25:00",
        r#"parsing time "2006-01-02T23:59:59+25:00": time zone offset hour out of range"#,
    );
    check("2006-01-02T15:04:05Zü", r#"parsing time "2006-01-02T15:04:05Z\xc3\xbc": extra text: "\xc3\xbc""#);
}

#[test]
fn micro_times_have_six_digits() {
    let check = |text: &str, expected: Result<&str, &str>| {
        let result = MicroTime::parse(text).map(|it| it.to_string()).map_err(|error| error.to_string());
        assert_eq!(result.as_deref().map_err(String::as_str), expected, "{text}");
    };
    check("2006-01-02T15:04:05.000000Z", Ok("2006-01-02T15:04:05.000000Z"));
    check("2006-01-02T15:04:05.123456+01:00", Ok("2006-01-02T14:04:05.123456Z"));
    check("1969-12-31T23:59:59.999999Z", Ok("1969-12-31T23:59:59.999999Z"));
    check(
        "2006-01-02T15:04:05Z",
        Err("parsing time \"2006-01-02T15:04:05Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""),
    );
    check(
        "2006-01-02T15:04:05.1234567Z",
        Err("parsing time \"2006-01-02T15:04:05.1234567Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"7Z\" as \"Z07:00\""),
    );
}

#[test]
fn times_come_from_the_system_clock() {
    let time = UNIX_EPOCH + Duration::from_nanos(1_500_000_999);
    assert_eq!(Time::from(time).to_string(), "1970-01-01T00:00:01Z");
    assert_eq!(MicroTime::from(time).to_string(), "1970-01-01T00:00:01.500000Z");
    let before = UNIX_EPOCH - Duration::from_nanos(1);
    assert_eq!(Time::from(before).to_string(), "1969-12-31T23:59:59Z");
    assert_eq!(MicroTime::from(before).to_string(), "1969-12-31T23:59:59.999999Z");
}

#[test]
fn only_the_first_second_of_year_one_is_no_time() {
    assert_eq!(Time::parse("0001-01-01T00:00:00Z").map(Time::is_zero), Ok(true));
    assert_eq!(MicroTime::parse("0001-01-01T00:00:00.000000Z").map(MicroTime::is_zero), Ok(true));
    assert_eq!(MicroTime::parse("0001-01-01T00:00:00.000001Z").map(MicroTime::is_zero), Ok(false));
    assert!(!Time::from_unix(0).is_zero());
}

#[test]
fn times_that_cannot_be_written_are_bounded() {
    assert_eq!(Time::from_unix(i64::MAX), Time::MAX);
    assert_eq!(Time::MIN.to_string(), "0000-01-01T00:00:00Z");
    assert_eq!(Time::MAX.to_string(), "9999-12-31T23:59:59Z");
    assert_eq!(MicroTime::from_unix_micros(i64::MAX).to_string(), "9999-12-31T23:59:59.999999Z");
}

proptest! {
    #[test]
    fn written_times_are_read_back(seconds in Time::MIN.unix()..=Time::MAX.unix(), micros in 0..1_000_000i64) {
        let time = Time::from_unix(seconds);
        prop_assert_eq!(Time::parse(&time.to_string()), Ok(time));
        let micro_time = MicroTime::from_unix_micros(seconds * 1_000_000 + micros);
        prop_assert_eq!(MicroTime::parse(&micro_time.to_string()), Ok(micro_time));
        prop_assert_eq!(Time::from(micro_time), time);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(2006-01-02T15:04:05)?[-+.,0-9TZ:ü]{0,10}") {
        let _ = (Time::parse(&text), MicroTime::parse(&text));
    }
}

#[test]
fn plain_texts_are_written_as_they_are() {
    for text in
        ["1970-01-01T00:00:00Z", "2026-03-04T09:12:31Z", "1999-12-28T23:59:59Z", "2000-02-28T12:00:00Z"]
    {
        assert!(Time::is_plain(text), "{text}");
        assert_eq!(Time::parse(text).map(|time| time.to_string()).as_deref(), Ok(text));
    }
    for text in [
        "",
        "0001-01-01T00:00:00Z",
        "2026-03-04T09:12:31z",
        "2026-03-04t09:12:31Z",
        "2026-13-04T09:12:31Z",
        "2026-00-04T09:12:31Z",
        "2026-03-00T09:12:31Z",
        "2026-03-29T09:12:31Z",
        "2026-03-04T24:12:31Z",
        "2026-03-04T09:60:31Z",
        "2026-03-04T09:12:60Z",
        "2026-03-04T09:12:3:Z",
        "20a6-03-04T09:12:31Z",
        "2026-03-04T9:12:31Z",
        "2026-03-04T09:12:31+01:00",
    ] {
        assert!(!Time::is_plain(text), "{text}");
    }
}
