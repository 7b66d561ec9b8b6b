//! HorizontalPodAutoscaler: turns the scale of something so that its metrics stay near their targets.

mod behavior;
mod columns;
mod conversion;
mod metrics;
#[cfg(test)]
mod tests;

pub(crate) use columns::columns;
pub(crate) use conversion::CONVERSION;

use keelson_object::{Map, Object, Value};
use keelson_registry::{Context, Strategy};

use crate::shared::edit::{is_set, part};

pub(crate) struct HorizontalPodAutoscaler {
    /// Whether rules have a tolerance of their own: the feature `HPAConfigurableTolerance`.
    pub(crate) tolerance: bool,
}

/// The version that says less.
const V1: &str = "autoscaling/v1";

/// How busy processors should be if nobody says, in percent.
const CPU_UTILIZATION: i64 = 80;

impl Strategy for HorizontalPodAutoscaler {
    /// Upstream: pkg/apis/autoscaling/v2/defaults.go, SetDefaults_HorizontalPodAutoscaler, and the same for v1
    /// (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("minReplicas", 1);
        if object.api_version == V1 {
            return;
        }
        if spec.list("metrics").is_empty() {
            spec.set("metrics", vec![Value::Map(cpu_metric(CPU_UTILIZATION))]);
        }
        if let Some(behavior) = part(spec, "behavior") {
            behavior::default(behavior);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.remove("status");
        self.drop_disabled(object, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        self.drop_disabled(object, Some(old));
    }
}

impl HorizontalPodAutoscaler {
    /// Upstream: pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go, dropDisabledFields (v1.36.4).
    fn drop_disabled(&self, object: &mut Object, old: Option<&Object>) {
        let old = old.and_then(|old| old.fields.at("spec.behavior")).and_then(Value::as_map);
        let in_use = |rules: &Map| is_set(rules, "tolerance");
        let was = old.is_some_and(|it| behavior::RULES.iter().any(|rules| it.map(rules).is_some_and(in_use)));
        if self.tolerance || was {
            return;
        }
        let Some(behavior) = part(object.fields.map_mut("spec"), "behavior") else { return };
        for rules in behavior::RULES {
            if let Some(rules) = part(behavior, rules) {
                rules.remove("tolerance");
            }
        }
    }
}

/// Processors should be busy to this part.
fn cpu_metric(utilization: i64) -> Map {
    let mut target = Map::new();
    target.push_new("type", "Utilization");
    target.push_new("averageUtilization", utilization);
    let mut resource = Map::new();
    resource.push_new("name", "cpu");
    resource.push_new("target", target);
    let mut metric = Map::new();
    metric.push_new("type", "Resource");
    metric.push_new("resource", resource);
    metric
}
