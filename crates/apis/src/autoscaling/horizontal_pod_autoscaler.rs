//! HorizontalPodAutoscaler: adjusts the scale of a workload so that its metrics stay near their targets.

mod behavior;
mod columns;
mod conversion;
mod metric_rules;
mod metrics;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use columns::columns;
pub(crate) use conversion::CONVERSION;

use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Context, Strategy};

use crate::catalog::Settings;
use crate::shared::edit::part;
use crate::shared::gated::{Feature, Off};
use crate::shared::read::sub;
use crate::shared::{counts, status};

/// Autoscalers, with feature gates.
pub(crate) struct HorizontalPodAutoscaler {
    off: Off,
    /// Whether zero replicas are allowed.
    may_be_zero: bool,
}

/// Upstream: pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go, dropDisabledFields (v1.36.4).
const FEATURES: [Feature; 1] = [Feature {
    gates: &["HPAConfigurableTolerance"],
    paths: &["spec.behavior.scaleDown.tolerance", "spec.behavior.scaleUp.tolerance"],
    signs: &[],
}];

/// The version with fewer fields.
const V1: &str = "autoscaling/v1";

/// The default target of CPU utilization, in percent.
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
        conversion::drop_annotations(&mut object.meta);
        if spec.list("metrics").is_empty() {
            spec.set("metrics", vec![Value::Map(cpu_metric(CPU_UTILIZATION))]);
        }
        if let Some(behavior) = part(spec, "behavior") {
            behavior::default(behavior);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        status::clear(object);
        self.off.drop_new(&mut object.fields, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
        self.off.drop_new(&mut object.fields, Some(&old.fields));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let spec = sub(&object.fields, "spec");
        rules::check(spec, rules::bounds(spec, None, self.may_be_zero), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let (spec, old) = (sub(&object.fields, "spec"), sub(&old.fields, "spec"));
        rules::check(spec, rules::bounds(spec, Some(old), self.may_be_zero), errors);
    }

    /// Upstream: pkg/apis/autoscaling/validation/validation.go, ValidateHorizontalPodAutoscalerStatusUpdate (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let fields = ["currentReplicas", "desiredReplicas"];
        counts::check_non_negative(sub(&object.fields, "status"), &fields, &Path::root("status"), errors);
    }
}

impl HorizontalPodAutoscaler {
    pub(crate) fn new(settings: &Settings) -> HorizontalPodAutoscaler {
        let may_be_zero = settings.is_on("HPAScaleToZero");
        HorizontalPodAutoscaler { off: Off::of(settings, &FEATURES), may_be_zero }
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
