//! Quantities as upstream reads, prints and adds them; the expectations were taken from upstream's package.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{Format, Quantity};
use crate::value::Value;

fn quantity(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn quantities_are_printed_as_upstream_prints_them() {
    let check = |text: &str, expected: &str| assert_eq!(quantity(text).to_string(), expected, "{text}");
    check("0", "0");
    check("00", "0");
    check("-0", "0");
    check("0Ki", "0");
    check(".", "0");
    check("-", "0");
    check("1", "1");
    check("+1", "+1");
    check("007", "007");
    check("0.5", "500m");
    check(".5", "500m");
    check(".500", "500m");
    check("1.0", "1");
    check("1.500", "1.500");
    check("1.", "1.");
    check("1500m", "1500m");
    check("1000m", "1");
    check("1000k", "1M");
    check("100Mi", "100Mi");
    check("1024Mi", "1Gi");
    check("2048Ki", "2Mi");
    check("1.5Gi", "1536Mi");
    check("1.Gi", "1.Gi");
    check("08Ki", "8Ki");
    check("+7Ki", "+7Ki");
    check("0.1Gi", "107374182400m");
    check("0.0001Ki", "102400u");
    check("-0.5Ki", "-512");
    check("1Ei", "1Ei");
    check("1e3", "1e3");
    check("1E3", "1E3");
    check("1e+3", "1e+3");
    check("1e2", "100");
    check("1e1000", "10e999");
    check("1e4294967296", "1e4294967296");
    check("-1.5", "-1500m");
    check("12345678901234567890123", "12345678901234567890123");
}

#[test]
fn finer_than_nano_is_rounded_away_from_zero() {
    let check = |text: &str, expected: &str| assert_eq!(quantity(text).to_string(), expected, "{text}");
    check("1n", "1n");
    check("0.1n", "1n");
    check("-0.1n", "-1n");
    check("1e-20", "1e-9");
    check("1e-2000000000", "1e-9");
    check("1.0000000001", "1000000001n");
}

#[test]
fn binary_quantities_are_bounded() {
    let check = |text: &str, expected: &str| assert_eq!(quantity(text).to_string(), expected, "{text}");
    check("100Ei", "9223372036854775807");
    check("-100Ei", "-9223372036854775807");
    check("9223372036854775808", "9223372036854775808");
}

/// Upstream prints `1` for both of these.
#[test]
fn amounts_above_the_largest_suffix_keep_their_value() {
    let check = |text: &str, expected: &str| assert_eq!(quantity(text).to_string(), expected, "{text}");
    check("1000E", "1e21");
    check("1000000000000000000000", "1e21");
    check("100E", "100E");
}

#[test]
fn texts_that_are_no_quantities_are_refused() {
    let check = |text: &str, expected: &str| {
        let message = Quantity::parse(text).map(|it| it.to_string()).map_err(|error| error.to_string());
        assert_eq!(message, Err(expected.to_owned()), "{text}");
    };
    let format =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let suffix = "unable to parse quantity's suffix";
    let number = "unable to parse numeric part of quantity";
    check("", format);
    check(" 1", format);
    check("1 ", format);
    check("1_0", format);
    check("1.5.5", format);
    check("--1", suffix);
    check("ü", format);
    check("1.1i", suffix);
    check("1Gii", suffix);
    check("1GiB", format);
    check("1K", suffix);
    check("5e", suffix);
    check("1ee3", suffix);
    check("1m5", suffix);
    check(".e-10", number);
    check("+e-10", number);
    check(&"9".repeat(5000), number);
}

#[test]
fn values_are_rounded_away_from_zero_and_saturate() {
    let check = |text: &str, value: i64, milli: i64| {
        let it = quantity(text);
        assert_eq!((it.value(), it.milli_value()), (value, milli), "{text}");
    };
    check("0", 0, 0);
    check("1", 1, 1000);
    check("100m", 1, 100);
    check("1500m", 2, 1500);
    check("1n", 1, 1);
    check("-1.5", -2, -1500);
    check("1Ki", 1024, 1_024_000);
    check("9223372036854775807", i64::MAX, i64::MAX);
    check("-9223372036854775808", i64::MIN, i64::MIN);
    check("1e2000000000", i64::MAX, i64::MAX);
    check("-1e30", i64::MIN, i64::MIN);
}

#[test]
fn rounding_keeps_what_needs_none() {
    let check = |text: &str, expected: &str, exact: bool| {
        let mut it = quantity(text);
        assert_eq!(it.round_up(-3), exact, "{text}");
        assert_eq!(it.to_string(), expected);
    };
    check("0", "0", true);
    check("1.500", "1.500", true);
    check("1n", "1m", false);
    check("-0.1n", "-1m", false);
    check("3.14159Mi", "3294195876m", false);
    check("0.0001Ki", "103m", false);
    check("1e-20", "1e-3", false);
}

#[test]
fn sums_keep_the_format_of_the_first() {
    let check = |a: &str, b: &str, sum: &str, difference: &str| {
        let (mut added, mut subtracted) = (quantity(a), quantity(a));
        added.add(&quantity(b));
        subtracted.sub(&quantity(b));
        assert_eq!(
            (added.to_string(), subtracted.to_string()),
            (sum.to_owned(), difference.to_owned()),
            "{a} {b}"
        );
    };
    check("1", "500m", "1500m", "500m");
    check("1Gi", "1G", "2073741824", "73741824");
    check("1Gi", "512Mi", "1536Mi", "512Mi");
    check("0", "1Ki", "1Ki", "-1Ki");
    check("0", "1000Ki", "1000Ki", "-1000Ki");
    check("0", "2Ki", "2Ki", "-2Ki");
    check("1.500", "0", "1500m", "1500m");
    check("1e3", "1k", "2e3", "0");
    check("9223372036854775807", "1", "9223372036854775808", "9223372036854775806");
    check("1", "1e2000000000", "100e1999999998", "-100e1999999998");
}

#[test]
fn quantities_are_compared_by_value() {
    let check = |a: &str, b: &str, expected: Ordering| {
        assert_eq!(quantity(a).cmp(&quantity(b)), expected, "{a} {b}");
        assert_eq!(quantity(b).cmp(&quantity(a)), expected.reverse(), "{b} {a}");
        assert_eq!(quantity(a) == quantity(b), expected == Ordering::Equal);
    };
    check("1", "1000m", Ordering::Equal);
    check("1Ki", "1024", Ordering::Equal);
    check("0", "-0", Ordering::Equal);
    check("0", "1n", Ordering::Less);
    check("-1", "1n", Ordering::Less);
    check("-2", "-1", Ordering::Less);
    check("1G", "1Gi", Ordering::Less);
    check("1e2000000000", "1e1999999999", Ordering::Greater);
    check("-1e2000000000", "1n", Ordering::Less);
}

#[test]
fn built_quantities_print_in_their_format() {
    assert_eq!(Quantity::from_int(1 << 30, Format::BinarySi).to_string(), "1Gi");
    assert_eq!(Quantity::from_milli(1500, Format::DecimalSi).to_string(), "1500m");
    assert_eq!(Quantity::from_int(2000, Format::DecimalExponent).negated().to_string(), "-2e3");
    assert_eq!(quantity("1500m").times(2).to_string(), "3");
    assert_eq!(Quantity::default().to_string(), "0");
}

#[test]
fn quantities_come_from_the_tree() {
    let check = |value: Value, expected: Option<&str>| {
        let printed = Quantity::from_value(&value).ok().map(|it| it.to_string());
        assert_eq!(printed.as_deref(), expected, "{value:?}");
    };
    check(Value::from(" 1024Mi "), Some("1Gi"));
    check(Value::Int(2000), Some("2k"));
    check(Value::Float(0.5), Some("500m"));
    check(Value::Null, Some("0"));
    check(Value::Bool(true), None);
    check(Value::List(Vec::new()), None);
}

proptest! {
    #[test]
    fn printed_quantities_are_read_back(
        text in r"[-+]?[0-9]{1,25}(\.[0-9]{0,12})?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,3})?",
    ) {
        let it = quantity(&text);
        let printed = it.to_string();
        prop_assert_eq!(&quantity(&printed), &it);
        let mut canonical = it.clone();
        canonical.add(&Quantity::default());
        let canonical = canonical.to_string();
        prop_assert_eq!(&quantity(&canonical).to_string(), &canonical);
    }

    #[test]
    fn sums_can_be_taken_apart(
        a in r"-?[0-9]{1,20}(\.[0-9]{0,12})?([numkMGTPE]|[KMGTP]i)?",
        b in r"-?[0-9]{1,20}(\.[0-9]{0,12})?([numkMGTPE]|[KMGTP]i|e[0-9]{1,3})?",
    ) {
        let (a, b) = (quantity(&a), quantity(&b));
        let mut sum = a.clone();
        sum.add(&b);
        prop_assert_eq!(sum.cmp(&a), b.sign());
        sum.sub(&b);
        prop_assert_eq!(sum, a);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+.0-9eEinumkKMGTPxü]{0,12}") {
        if let Ok(it) = Quantity::parse(&text) {
            let _ = (it.to_string(), it.value(), it.milli_value());
        }
    }
}

#[test]
fn plain_texts_are_printed_as_they_are() {
    for suffix in ["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "Ti"] {
        for number in 1..1000 {
            let text = format!("{number}{suffix}");
            assert!(Quantity::is_plain(&text), "{text}");
            assert_eq!(quantity(&text).to_string(), text);
        }
    }
    for text in ["", "0", "01", "1000", "m", "1.5", "-1", "+1", " 1", "1 ", "1i", "1KI", "1e3", "1E", "1Mi "]
    {
        assert!(!Quantity::is_plain(text), "{text}");
    }
}
