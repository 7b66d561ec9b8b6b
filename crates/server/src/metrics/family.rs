//! Metric families: metrics of one name that differ in their labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use parking_lot::RwLock;

use super::value::{Metric, Number};

/// Something that `/metrics` prints.
pub trait Collect: Send + Sync {
    /// The name of the family.
    fn name(&self) -> &'static str;

    /// The help text; begins with the stability level, as in `[ALPHA]`.
    fn help(&self) -> &'static str;

    /// Prints help, type and all samples.
    fn write(&self, out: &mut String);
}

/// The Prometheus type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
    /// Count and sum.
    Summary,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Summary => "summary",
        }
    }
}

/// Metrics of one name that differ in their labels.
pub struct Family<M> {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    buckets: &'static [f64],
    members: RwLock<BTreeMap<Vec<String>, Arc<M>>>,
}

impl<M: Metric> Family<M> {
    /// A family without members.
    pub fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Family<M> {
        Family::with_buckets(name, help, labels, &[])
    }

    /// A family of histograms without members.
    pub fn with_buckets(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        buckets: &'static [f64],
    ) -> Family<M> {
        Family { name, help, labels, buckets, members: RwLock::default() }
    }

    /// The member with these label values, in the order of the labels. Keep it: this is a lookup under a lock.
    pub fn with(&self, values: &[&str]) -> Arc<M> {
        debug_assert_eq!(values.len(), self.labels.len(), "{} has other labels", self.name);
        let key: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        if let Some(member) = self.members.read().get(&key) {
            return Arc::clone(member);
        }
        Arc::clone(self.members.write().entry(key).or_insert_with(|| Arc::new(M::new(self.buckets))))
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members.read().len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.members.read().is_empty()
    }
}

impl<M: Metric> Collect for Family<M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn write(&self, out: &mut String) {
        let members = self.members.read();
        write_members(out, (self.name, self.help, self.labels), members.iter());
    }
}

type Gather<M> = Box<dyn Fn() -> Vec<(Vec<String>, Arc<M>)> + Send + Sync>;

/// A family whose members are kept elsewhere and gathered when they are printed.
pub struct Gathered<M> {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    gather: Gather<M>,
}

impl<M: Metric> Gathered<M> {
    /// `gather` returns the members with their label values.
    pub fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        gather: impl Fn() -> Vec<(Vec<String>, Arc<M>)> + Send + Sync + 'static,
    ) -> Gathered<M> {
        Gathered { name, help, labels, gather: Box::new(gather) }
    }
}

impl<M: Metric> Collect for Gathered<M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn write(&self, out: &mut String) {
        let members = (self.gather)();
        let members = members.iter().map(|(values, member)| (values, member));
        write_members(out, (self.name, self.help, self.labels), members);
    }
}

/// One sample of a family that is computed when it is printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The values of the labels.
    pub labels: Vec<String>,
    /// The number.
    pub value: f64,
}

type Compute = Box<dyn Fn() -> Vec<Sample> + Send + Sync>;

/// A family that is computed when it is printed.
pub struct Computed {
    name: &'static str,
    help: &'static str,
    kind: Kind,
    labels: &'static [&'static str],
    compute: Compute,
}

impl Computed {
    /// A family without labels.
    pub fn new(
        name: &'static str,
        help: &'static str,
        kind: Kind,
        compute: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
    ) -> Computed {
        Computed { name, help, kind, labels: &[], compute: Box::new(compute) }
    }

    /// One number without labels; `None` is not printed.
    pub fn number(
        name: &'static str,
        help: &'static str,
        kind: Kind,
        compute: impl Fn() -> Option<f64> + Send + Sync + 'static,
    ) -> Computed {
        Computed::new(name, help, kind, move || {
            compute().map(|value| Sample { labels: Vec::new(), value }).into_iter().collect()
        })
    }

    /// The names of the labels.
    #[must_use]
    pub fn labels(mut self, labels: &'static [&'static str]) -> Computed {
        self.labels = labels;
        self
    }
}

impl Collect for Computed {
    fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn write(&self, out: &mut String) {
        let samples = (self.compute)();
        if samples.is_empty() {
            return;
        }
        write_head(out, self.name, self.help, self.kind);
        for sample in samples {
            Line { name: self.name, labels: self.labels, values: &sample.labels }.write(
                out,
                "",
                None,
                sample.value,
            );
        }
    }
}

/// Name and labels of a sample.
pub struct Line<'l> {
    name: &'static str,
    labels: &'static [&'static str],
    values: &'l [String],
}

impl Line<'_> {
    /// `name_suffix{label="value",le="bound"} number`
    pub(super) fn write(&self, out: &mut String, suffix: &str, bound: Option<&str>, number: f64) {
        out.push_str(self.name);
        out.push_str(suffix);
        let labels = self.labels.iter().copied().zip(self.values.iter().map(String::as_str));
        let mut separator = '{';
        for (label, value) in labels.chain(bound.map(|bound| ("le", bound))) {
            out.push(separator);
            separator = ',';
            out.push_str(label);
            out.push_str("=\"");
            for character in value.chars() {
                match character {
                    '\\' => out.push_str("\\\\"),
                    '"' => out.push_str("\\\""),
                    '\n' => out.push_str("\\n"),
                    other => out.push(other),
                }
            }
            out.push('"');
        }
        if separator == ',' {
            out.push('}');
        }
        let _ = writeln!(out, " {}", Number(number));
    }
}

/// The name and the help text of a family, and the names of its labels.
type Head = (&'static str, &'static str, &'static [&'static str]);

/// Prints a family that has members.
fn write_members<'m, M: Metric>(
    out: &mut String,
    (name, help, labels): Head,
    members: impl ExactSizeIterator<Item = (&'m Vec<String>, &'m Arc<M>)>,
) {
    if members.len() == 0 {
        return;
    }
    write_head(out, name, help, M::KIND);
    for (values, member) in members {
        member.write(&Line { name, labels, values }, out);
    }
}

fn write_head(out: &mut String, name: &str, help: &str, kind: Kind) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {}", kind.as_str());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Collect, Computed, Family, Gathered, Kind};
    use crate::metrics::{Counter, Histogram, Summary};

    #[track_caller]
    fn check(collector: &dyn Collect, expected: &str) {
        let mut out = String::new();
        collector.write(&mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn counters_print_their_labels() {
        let family = Family::<Counter>::new("a_total", "Help.", &["x", "y"]);
        check(&family, "");
        family.with(&["1", "q\"uo\\te\n"]).inc();
        family.with(&["1", "q\"uo\\te\n"]).add(2);
        check(
            &family,
            "# HELP a_total Help.\n# TYPE a_total counter\na_total{x=\"1\",y=\"q\\\"uo\\\\te\\n\"} 3\n",
        );
    }

    #[test]
    fn histograms_print_cumulative_buckets() {
        let family = Family::<Histogram>::with_buckets("h", "Help.", &["x"], &[0.5, 1.0]);
        let histogram = family.with(&["1"]);
        [0.25, 0.5, 0.75, 2.0].into_iter().for_each(|value| histogram.observe(value));
        check(
            &family,
            "# HELP h Help.\n# TYPE h histogram\nh_bucket{x=\"1\",le=\"0.5\"} 2\nh_bucket{x=\"1\",le=\"1\"} 3\n\
             h_bucket{x=\"1\",le=\"+Inf\"} 4\nh_sum{x=\"1\"} 3.5\nh_count{x=\"1\"} 4\n",
        );
    }

    #[test]
    fn what_is_kept_elsewhere_is_gathered() {
        let counter = Arc::new(Counter::default());
        let kept = counter.clone();
        let family = Gathered::new("a_total", "Help.", &["x"], move || match kept.get() {
            0 => Vec::new(),
            _ => vec![(vec![String::from("1")], kept.clone())],
        });
        check(&family, "");
        counter.inc();
        check(&family, "# HELP a_total Help.\n# TYPE a_total counter\na_total{x=\"1\"} 1\n");
    }

    #[test]
    fn summaries_print_how_many_and_how_much() {
        let family = Family::<Summary>::new("s", "Help.", &["x"]);
        [0.25, 0.5].into_iter().for_each(|value| family.with(&["1"]).observe(value));
        check(&family, "# HELP s Help.\n# TYPE s summary\ns_sum{x=\"1\"} 0.75\ns_count{x=\"1\"} 2\n");
    }

    #[test]
    fn computed_numbers_are_asked_for_when_printed() {
        check(
            &Computed::number("n", "Help.", Kind::Gauge, || Some(2.5)),
            "# HELP n Help.\n# TYPE n gauge\nn 2.5\n",
        );
        check(&Computed::number("n", "Help.", Kind::Gauge, || None), "");
    }
}
