//! Metric restrictions: metrics that an operator disables, and labels that may have certain values only.
//!
//! They are applied when metrics are printed: values that are not allowed are added up as `unexpected`.
//!
//! Upstream: staging/src/k8s.io/component-base/metrics/options.go (v1.36.4).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::value::Number;

/// The flags `--disabled-metrics` and `--allow-metric-labels`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrictions {
    /// Families that are not printed.
    pub disabled: BTreeSet<String>,
    /// The allowed values, by family and label.
    pub allowed: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

const UNEXPECTED: &str = "unexpected";

/// The allowed values, by label.
type Allowed = BTreeMap<String, BTreeSet<String>>;

/// One family with its labels restricted.
pub(super) struct Limited {
    pub(super) text: String,
    /// The number of observations with a value that is not allowed.
    pub(super) unexpected: f64,
}

impl Restrictions {
    /// The restricted form of the family `name`; `None` if there is nothing to restrict.
    pub(super) fn limit(&self, name: &str, printed: &str) -> Option<Limited> {
        self.allowed.get(name).map(|allowed| limit(allowed, printed))
    }
}

fn limit(allowed: &Allowed, printed: &str) -> Limited {
    let mut head = String::new();
    let mut kind = "";
    let mut samples: Vec<(String, f64)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut unexpected = 0.0;
    for line in printed.lines() {
        if line.starts_with('#') {
            head.push_str(line);
            head.push('\n');
            if line.starts_with("# TYPE ") {
                kind = line.rsplit(' ').next().unwrap_or_default();
            }
            continue;
        }
        let Some((series, number)) = line.rsplit_once(' ') else { continue };
        let number: f64 = number.parse().unwrap_or(f64::NAN);
        let (series, is_changed) = restricted(series, allowed);
        if is_changed {
            unexpected += match kind {
                "counter" => number,
                "histogram" | "summary" if is_count(&series) => number,
                "histogram" | "summary" => 0.0,
                _ => 1.0,
            };
        }
        match places.get(&series) {
            Some(place) => samples[*place].1 += number,
            None => {
                places.insert(series.clone(), samples.len());
                samples.push((series, number));
            }
        }
    }
    let mut text = head;
    for (series, number) in samples {
        text.push_str(&format!("{series} {}\n", Number(number)));
    }
    Limited { text, unexpected }
}

fn is_count(series: &str) -> bool {
    series.split('{').next().is_some_and(|name| name.ends_with("_count"))
}

/// `name{label="value"}` with allowed values, and whether a value had to be replaced.
fn restricted(series: &str, allowed: &Allowed) -> (String, bool) {
    let Some((name, labels)) = series.strip_suffix('}').and_then(|it| it.split_once('{')) else {
        return (series.to_owned(), false);
    };
    let mut out = format!("{name}{{");
    let mut is_changed = false;
    for (at, (label, value)) in pairs(labels).into_iter().enumerate() {
        let is_allowed = allowed.get(label).is_none_or(|values| values.contains(value));
        is_changed |= !is_allowed;
        let value = if is_allowed { value } else { UNEXPECTED };
        let comma = if at == 0 { "" } else { "," };
        out.push_str(&format!("{comma}{label}=\"{value}\""));
    }
    out.push('}');
    (out, is_changed)
}

/// `a="1",b="2"` as pairs. Values stay escaped, as they are printed.
fn pairs(mut labels: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    while let Some((label, rest)) = labels.split_once("=\"") {
        let mut is_escaped = false;
        let end = rest.find(|it: char| {
            let is_end = it == '"' && !is_escaped;
            is_escaped = it == '\\' && !is_escaped;
            is_end
        });
        let Some(end) = end else { break };
        found.push((label, &rest[..end]));
        labels = rest[end + 1..].trim_start_matches(',');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Restrictions;
    use crate::metrics::{Counter, Family, Histogram, Registry, registered};

    fn restrictions(disabled: &[&str], allowed: &[(&str, &str, &str)]) -> Restrictions {
        let mut restrictions = Restrictions::default();
        restrictions.disabled.extend(disabled.iter().map(|&it| it.to_owned()));
        for (family, label, values) in allowed {
            let labels = restrictions.allowed.entry((*family).to_owned()).or_default();
            labels.insert((*label).to_owned(), values.split(',').map(str::to_owned).collect());
        }
        restrictions
    }

    #[test]
    fn what_is_disabled_is_not_printed_and_counted() {
        let registry = Registry::default();
        registered::add_to(&registry);
        registry.family(Family::<Counter>::new("a_total", "[ALPHA] A.", &[])).with(&[]).inc();
        registry.restrict(restrictions(&["a_total", "nope"], &[]));
        let text = registry.text();
        assert!(!text.contains("a_total"), "{text}");
        assert!(text.contains("\ndisabled_metrics_total 2\n"), "{text}");
    }

    #[test]
    fn values_that_are_not_allowed_are_added_up() {
        let registry = Registry::default();
        registered::add_to(&registry);
        let counter = registry.family(Family::<Counter>::new("a_total", "[ALPHA] A.", &["x", "y"]));
        counter.with(&["1", "p"]).inc();
        counter.with(&["2", "q\"},"]).add(2);
        counter.with(&["3", "q\"},"]).add(3);
        let histogram = registry.family(Family::<Histogram>::with_buckets("h", "[ALPHA] H.", &["x"], &[1.0]));
        histogram.with(&["2"]).observe(0.5);
        histogram.with(&["3"]).observe(2.0);
        registry.restrict(restrictions(&[], &[("a_total", "x", "1,5"), ("h", "x", "1")]));
        let text = registry.text();
        for line in [
            "a_total{x=\"1\",y=\"p\"} 1",
            "a_total{x=\"unexpected\",y=\"q\\\"},\"} 5",
            "h_bucket{x=\"unexpected\",le=\"1\"} 1",
            "h_bucket{x=\"unexpected\",le=\"+Inf\"} 2",
            "h_sum{x=\"unexpected\"} 2.5",
            "h_count{x=\"unexpected\"} 2",
            "cardinality_enforcement_unexpected_categorizations_total 7",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line} in {text}");
        }
    }
}
