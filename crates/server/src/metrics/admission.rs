//! Admission metrics: the durations of admission, and of each plugin.
//!
//! Upstream: apiserver/pkg/admission/metrics/metrics.go (v1.36.4).

use std::sync::{Arc, OnceLock};

use keelson_registry::admission::{Chain, Measure, Operation, Phase, Took};

use super::{Family, Histogram, Registry, Summary};

const BUCKETS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5];

/// The chain, with its durations recorded in `registry`.
pub fn measured(chain: Chain, registry: &Registry) -> Chain {
    let times = Times::new(&chain, registry);
    chain.measured(Arc::new(times))
}

struct Times {
    step: Arc<Family<Histogram>>,
    summary: Arc<Family<Summary>>,
    controller: Arc<Family<Histogram>>,
    names: Vec<&'static str>,
    /// Metrics that were looked up before: a series exists once it has a value.
    steps: Grid<(Arc<Histogram>, Arc<Summary>)>,
    plugins: Vec<Grid<Arc<Histogram>>>,
}

/// A value for each phase, operation and outcome.
struct Grid<T>([OnceLock<T>; 16]);

impl<T> Default for Grid<T> {
    fn default() -> Grid<T> {
        Grid(std::array::from_fn(|_| OnceLock::new()))
    }
}

impl<T> Grid<T> {
    fn at(&self, took: &Took) -> &OnceLock<T> {
        let phase = match took.phase {
            Phase::Mutate => 0,
            Phase::Validate => 8,
        };
        let operation = match took.operation {
            Operation::Create => 0,
            Operation::Update => 2,
            Operation::Delete => 4,
            Operation::Connect => 6,
        };
        &self.0[phase + operation + usize::from(took.is_rejected)]
    }
}

impl Times {
    fn new(chain: &Chain, registry: &Registry) -> Times {
        let names: Vec<&'static str> = chain.names().collect();
        let step = &["type", "operation", "rejected"];
        Times {
            step: registry.family(Family::with_buckets(
                "apiserver_admission_step_admission_duration_seconds",
                "[STABLE] Seconds that all plugins together took, by type (admit, validate), operation and outcome.",
                step,
                BUCKETS,
            )),
            summary: registry.family(Family::new(
                "apiserver_admission_step_admission_duration_seconds_summary",
                "[ALPHA] Seconds that all plugins together took, by type (admit, validate), operation and outcome.",
                step,
            )),
            controller: registry.family(Family::with_buckets(
                "apiserver_admission_controller_admission_duration_seconds",
                "[STABLE] Seconds that a plugin took, by name, type (admit, validate), operation and outcome.",
                &["name", "type", "operation", "rejected"],
                BUCKETS,
            )),
            steps: Grid::default(),
            plugins: names.iter().map(|_| Grid::default()).collect(),
            names,
        }
    }
}

fn labels(took: &Took) -> [&'static str; 3] {
    let rejected = if took.is_rejected { "true" } else { "false" };
    [took.phase.as_str(), took.operation.as_str(), rejected]
}

impl Measure for Times {
    fn plugin(&self, position: usize, took: &Took) {
        let (Some(grid), Some(name)) = (self.plugins.get(position), self.names.get(position)) else { return };
        let find = || {
            let [phase, operation, rejected] = labels(took);
            self.controller.with(&[name, phase, operation, rejected])
        };
        grid.at(took).get_or_init(find).observe(took.elapsed.as_secs_f64());
    }

    fn step(&self, took: &Took) {
        let find = || (self.step.with(&labels(took)), self.summary.with(&labels(took)));
        let (histogram, summary) = self.steps.at(took).get_or_init(find);
        histogram.observe(took.elapsed.as_secs_f64());
        summary.observe(took.elapsed.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_registry::admission::{Chain, Measure as _, Operation, Phase, Took};

    use super::Times;
    use crate::metrics::Registry;

    #[test]
    fn a_series_is_there_once_something_happened() {
        let registry = Registry::default();
        let times = Times::new(&Chain::default(), &registry);
        assert_eq!(registry.text(), "");
        let mut took = Took {
            phase: Phase::Validate,
            operation: Operation::Connect,
            is_rejected: true,
            elapsed: Duration::from_millis(250),
        };
        times.step(&took);
        took.is_rejected = false;
        times.step(&took);
        times.step(&took);
        let text = registry.text();
        let name = "apiserver_admission_step_admission_duration_seconds";
        for (labels, count) in [("rejected=\"true\"", 1), ("rejected=\"false\"", 2)] {
            let line = format!("{name}_count{{type=\"validate\",operation=\"CONNECT\",{labels}}} {count}\n");
            assert!(text.contains(&line), "{line} in {text}");
        }
        assert!(text.contains(&format!(
            "{name}_summary_sum{{type=\"validate\",operation=\"CONNECT\",rejected=\"false\"}} 0.5"
        )));
    }
}
