//! PodGroup: pods that are scheduled together.

use std::collections::HashSet;

use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::rules::{self, Gates};
use crate::catalog::Settings;
use crate::shared::edit::part;
use crate::shared::gated::{Feature, Off};
use crate::shared::{conditions, status};

pub(crate) struct PodGroup {
    gates: Gates,
    off: Off,
    off_in_status: Off,
}

/// Fields of a PodGroup or its template that belong to feature gates; each field on its own.
///
/// Upstream: pkg/registry/scheduling/podgroup/strategy.go, dropDisabledPodGroupSpecFields (v1.36.4).
pub(super) const FEATURES: [Feature; 5] = [
    Feature { gates: &["TopologyAwareWorkloadScheduling"], paths: &["schedulingConstraints"], signs: &[] },
    Feature { gates: &["DRAWorkloadResourceClaims"], paths: &["resourceClaims"], signs: &[] },
    Feature { gates: &["WorkloadAwarePreemption"], paths: &["disruptionMode"], signs: &[] },
    Feature { gates: &["WorkloadAwarePreemption"], paths: &["priorityClassName"], signs: &[] },
    Feature { gates: &["WorkloadAwarePreemption"], paths: &["priority"], signs: &[] },
];

/// The same for its status.
const STATUS_FEATURES: [Feature; 1] = [Feature {
    gates: &["DRAWorkloadResourceClaims"],
    paths: &["status.resourceClaimStatuses"],
    signs: &["spec.resourceClaims"],
}];

/// The default disruption mode.
const DISRUPTION_MODE: &str = "Pod";

/// Upstream: pkg/printers/internalversion/printers.go, printPodGroup (v1.36.4).
pub(crate) fn columns() -> [Column; 5] {
    [
        Column::name(),
        Column::computed("Policy", policy),
        Column::computed("Workload", workload),
        Column::computed("Status", state),
        Column::age(),
    ]
}

fn policy(object: &Object) -> Cell {
    let gang = object.fields.at("spec.schedulingPolicy.gang").is_some_and(|it| !it.is_null());
    Cell::from(if gang { "Gang" } else { "Basic" })
}

fn workload(object: &Object) -> Cell {
    let reference = object.fields.at("spec.podGroupTemplateRef").and_then(Value::as_map);
    match reference {
        Some(map) => Cell::from(map.at("workload.workloadName").and_then(Value::as_str).unwrap_or_default()),
        None => Cell::from("<none>"),
    }
}

fn state(object: &Object) -> Cell {
    let conditions = || object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let last = |kind: &str| conditions().filter(|it| it.str("type") == Some(kind)).last();
    if let Some(condition) = last("DisruptionTarget") {
        return Cell::from(condition.str("reason").unwrap_or_default());
    }
    Cell::from(match last("PodGroupScheduled").map(|it| it.str("status")) {
        Some(Some("True")) => "Scheduled",
        Some(_) => "Unschedulable",
        None => "Pending",
    })
}

impl Strategy for PodGroup {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        match part {
            // The plain store of upstream has forgotten to say so.
            Part::Main => Some(&[]),
            _ => status::reset_alone(part),
        }
    }

    /// Upstream: pkg/apis/scheduling/v1alpha2/zz_generated.defaults.go, SetObjectDefaults_PodGroup (v1.36.4).
    fn default(&self, object: &mut Object) {
        object.fields.map_mut("spec").default_to("disruptionMode", DISRUPTION_MODE);
    }

    /// Upstream: pkg/registry/scheduling/podgroup/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        status::clear(object);
        let spec = object.fields.map_mut("spec");
        self.off.drop_new(spec, None);
        // Fields that are not stored are filled in again on read.
        spec.default_to("disruptionMode", DISRUPTION_MODE);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
        if let Some(spec) = part(&mut object.fields, "spec") {
            self.off.drop_new(spec, old.fields.map("spec"));
        }
    }

    /// Upstream: pkg/registry/scheduling/podgroup/strategy.go, podGroupStatusStrategy, PrepareForUpdate (v1.36.4).
    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
        // Only claims in the spec keep them; that they were in the status before does not.
        let spec_alone = [("spec".into(), old.fields.get("spec").cloned().unwrap_or_default())];
        self.off_in_status.drop_new(&mut object.fields, Some(&spec_alone.into_iter().collect()));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let (at, empty) = (Path::root("spec"), Map::new());
        let spec = object.fields.map("spec").unwrap_or(&empty);
        if let Some(reference) = spec.map("podGroupTemplateRef") {
            rules::check_reference(reference, &at.key("podGroupTemplateRef"), errors);
        }
        rules::check_group(spec, self.gates, &at, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let empty = Map::new();
        let (new, old) =
            (object.fields.map("spec").unwrap_or(&empty), old.fields.map("spec").unwrap_or(&empty));
        rules::check_kept(new, old, self.gates, errors);
    }

    /// Upstream: pkg/apis/scheduling/validation/validation.go, ValidatePodGroupStatusUpdate (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let (at, empty) = (Path::root("status"), Map::new());
        let status = object.fields.map("status").unwrap_or(&empty);
        conditions::check(status.list("conditions"), &at.key("conditions"), errors);
        let spec = object.fields.map("spec").unwrap_or(&empty);
        let claims: HashSet<&str> = spec.maps("resourceClaims").filter_map(|it| it.str("name")).collect();
        let at = at.key("resourceClaimStatuses");
        for (position, claim) in status.maps("resourceClaimStatuses").enumerate() {
            let name = claim.str("name").unwrap_or_default();
            if !claims.contains(name) {
                let detail = "must match the name of an entry in `spec.resourceClaims`";
                errors.invalid(&at.index(position).key("name"), name, detail);
            }
        }
        rules::check_claim_statuses(status, &at, errors);
    }
}

impl PodGroup {
    pub(crate) fn new(settings: &Settings) -> PodGroup {
        PodGroup {
            gates: Gates::of(settings),
            off: Off::of(settings, &FEATURES),
            off_in_status: Off::of(settings, &STATUS_FEATURES),
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::{PodGroup, policy, state, workload};
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, tree};

    fn off() -> PodGroup {
        PodGroup::new(&Settings::default())
    }

    fn on() -> PodGroup {
        let features = [String::from("WorkloadAwarePreemption")].into();
        PodGroup::new(&Settings { features, ..Settings::default() })
    }

    fn group(spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(&off(), "scheduling.k8s.io/v1alpha2 PodGroup", &text)
    }

    #[track_caller]
    fn check(strategy: &PodGroup, mode: &str, priority: Option<i64>) {
        let mut object =
            group(r#"{"schedulingPolicy": {"basic": {}}, "disruptionMode": "PodGroup", "priority": 5}"#);
        strategy.prepare_create(&context(), &mut object);
        assert_eq!(object.fields.at("spec.disruptionMode"), Some(&mode.into()));
        assert_eq!(object.fields.map("spec").unwrap().int("priority"), priority);
    }

    #[test]
    fn what_needs_a_feature_is_dropped_without_it() {
        check(&on(), "PodGroup", Some(5));
        check(&off(), "Pod", None);
        let (mut object, old) = (group(r#"{"priority": 5}"#), group(r#"{"priority": 4}"#));
        off().prepare_update(&context(), &mut object, &old);
        assert_eq!(object.fields.at("spec.priority"), Some(&5.into()));
    }

    #[test]
    fn a_status_update_leaves_the_metadata_alone() {
        let (mut object, mut old) = (group("{}"), group("{}"));
        object.meta.labels.set("a", "b");
        old.meta.annotations.set("c", "d");
        object.fields.set("status", tree(r#"{"resourceClaimStatuses": [{"name": "x"}], "conditions": []}"#));
        off().prepare_status_update(&context(), &mut object, &old);
        assert_eq!(
            (&object.meta.labels, &object.meta.annotations),
            (&old.meta.labels, &old.meta.annotations)
        );
        assert_eq!(object.fields.get("status"), Some(&tree(r#"{"conditions": []}"#)));
    }

    #[track_caller]
    fn check_cells(spec: &str, conditions: &str, expected: [&str; 3]) {
        let mut object = group(spec);
        object.fields.set("status", tree(&format!("{{\"conditions\": {conditions}}}")));
        let cells = [policy(&object), workload(&object), state(&object)];
        assert_eq!(cells, expected.map(Into::into));
    }

    #[test]
    fn policy_workload_and_status_are_shown() {
        check_cells(r#"{"schedulingPolicy": {"basic": {}}}"#, "[]", ["Basic", "<none>", "Pending"]);
        let gang = r#"{"schedulingPolicy": {"gang": {"minCount": 2}},
            "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}}"#;
        let scheduled = r#"[{"type": "PodGroupScheduled", "status": "True"}]"#;
        check_cells(gang, scheduled, ["Gang", "w", "Scheduled"]);
        check_cells(
            gang,
            r#"[{"type": "PodGroupScheduled", "status": "False"}]"#,
            ["Gang", "w", "Unschedulable"],
        );
        let disturbed = r#"[{"type": "PodGroupScheduled", "status": "True"},
            {"type": "DisruptionTarget", "status": "True", "reason": "Preempted"}]"#;
        check_cells(gang, disturbed, ["Gang", "w", "Preempted"]);
    }
}
