//! Counters, gauges and histograms: atomics that can be printed.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use keelson_stdx::histogram::Histogram;

use super::family::{Kind, Line};

/// A member of a family.
pub trait Metric: Send + Sync + 'static {
    /// The Prometheus type.
    const KIND: Kind;

    /// Zero.
    fn new(buckets: &'static [f64]) -> Self;

    /// Prints it; `line` writes name and labels.
    fn write(&self, line: &Line<'_>, out: &mut String);
}

/// Only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// The current value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Metric for Counter {
    const KIND: Kind = Kind::Counter;

    fn new(_: &'static [f64]) -> Counter {
        Counter::default()
    }

    fn write(&self, line: &Line<'_>, out: &mut String) {
        line.write(out, "", None, self.get() as f64);
    }
}

/// Goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    /// Adds one.
    pub fn inc(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Subtracts one.
    pub fn dec(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// Sets the value.
    pub fn set(&self, value: i64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The current value.
    pub fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Metric for Gauge {
    const KIND: Kind = Kind::Gauge;

    fn new(_: &'static [f64]) -> Gauge {
        Gauge::default()
    }

    fn write(&self, line: &Line<'_>, out: &mut String) {
        line.write(out, "", None, self.get() as f64);
    }
}

impl Metric for Histogram {
    const KIND: Kind = Kind::Histogram;

    fn new(bounds: &'static [f64]) -> Histogram {
        Histogram::new(bounds)
    }

    fn write(&self, line: &Line<'_>, out: &mut String) {
        let mut bound_text = String::new();
        for (bound, count) in self.buckets() {
            bound_text.clear();
            let _ = match bound {
                f64::INFINITY => write!(bound_text, "+Inf"),
                bound => write!(bound_text, "{}", Number(bound)),
            };
            line.write(out, "_bucket", Some(&bound_text), count as f64);
        }
        line.write(out, "_sum", None, self.sum());
        line.write(out, "_count", None, self.count() as f64);
    }
}

/// The count and the sum of values: what upstream prints of a summary without quantiles.
#[derive(Debug)]
pub struct Summary(Histogram);

impl Summary {
    /// Adds a value.
    pub fn observe(&self, value: f64) {
        self.0.observe(value);
    }
}

impl Metric for Summary {
    const KIND: Kind = Kind::Summary;

    fn new(_: &'static [f64]) -> Summary {
        Summary(Histogram::new(&[]))
    }

    fn write(&self, line: &Line<'_>, out: &mut String) {
        line.write(out, "_sum", None, self.0.sum());
        line.write(out, "_count", None, self.0.count() as f64);
    }
}

/// A number as Go's `strconv.FormatFloat(…, 'g', -1, 64)` prints it: exponents from 10^6 on and below 10^-4.
/// The bounds of buckets are labels, and the queries of dashboards contain `1e+06`.
pub(super) struct Number(pub(super) f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.0;
        let magnitude = number.abs();
        if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
            let text = format!("{number:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or_default();
            let sign = if exponent < 0 { '-' } else { '+' };
            return write!(f, "{mantissa}e{sign}{:02}", exponent.abs());
        }
        write!(f, "{number}")
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn numbers_print_as_go_prints_them() {
        let check = |number: f64, expected: &str| assert_eq!(Number(number).to_string(), expected);
        check(0.0, "0");
        check(1.0, "1");
        check(0.005, "0.005");
        check(999_999.5, "999999.5");
        check(1e6, "1e+06");
        check(1_050_000.0, "1.05e+06");
        check(1.5e21, "1.5e+21");
        check(1e-5, "1e-05");
    }
}
