//! Floats as Go's `strconv.FormatFloat(f, 'g', -1, 64)` prints them.

/// Shortest digits; with an exponent of two digits or more below 1e-4 and from 1e6 on.
pub(super) fn general(number: f64) -> String {
    format_general(number, &format!("{number:e}"))
}

/// The same for a number that is rounded to 32 bits first.
pub(super) fn general_32(number: f64) -> String {
    let small = number as f32;
    format_general(f64::from(small), &format!("{small:e}"))
}

/// `scientific` is what Rust prints: `-1.25e-7`.
fn format_general(number: f64, scientific: &str) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf".to_owned() } else { "-.inf".to_owned() };
    }
    let (mantissa, exponent) = scientific.split_once('e').expect("Rust writes an exponent");
    let exponent: i32 = exponent.parse().expect("Rust writes a whole exponent");
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits.replace('.', "")),
        None => ("", mantissa.replace('.', "")),
    };
    let point = exponent + 1;
    let count = digits.len() as i32;
    if point <= 0 {
        format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize))
    } else if point >= count {
        format!("{sign}{digits}{}", "0".repeat((point - count) as usize))
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::{general, general_32};

    #[test]
    fn floats_print_as_go_prints_them() {
        let check = |number: f64, expected: &str| assert_eq!(general(number), expected);
        check(0.0, "0");
        check(-1.5, "-1.5");
        check(100000.5, "100000.5");
        check(1234567.5, "1.2345675e+06");
        check(100000.0, "100000");
        check(1e6, "1e+06");
        check(1e20, "1e+20");
        check(0.0001, "0.0001");
        check(0.000125, "0.000125");
        check(-0.00001, "-1e-05");
        check(1e-7, "1e-07");
        check(1e100, "1e+100");
        check(f64::NEG_INFINITY, "-.inf");
        assert_eq!(general_32(123456789.5), "1.2345679e+08");
        assert_eq!(general_32(0.1), "0.1");
    }
}
