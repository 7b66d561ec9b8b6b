//! PodGroup: pods that are scheduled together.

use keelson_object::{Cell, Map, Object, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::{is_set, keep_all_but_status, part};

pub(crate) struct PodGroup(pub(crate) Features);

/// Which features are on; what belongs to the others is dropped unless it was there before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Features {
    /// `TopologyAwareWorkloadScheduling`.
    pub(crate) topology: bool,
    /// `DRAWorkloadResourceClaims`.
    pub(crate) claims: bool,
    /// `WorkloadAwarePreemption`.
    pub(crate) preemption: bool,
}

/// How groups go when they do not say.
const DISRUPTION_MODE: &str = "Pod";

/// Upstream: pkg/printers/internalversion/printers.go, printPodGroup (v1.36.4).
pub(crate) fn columns() -> [Column; 5] {
    [
        Column::name(),
        Column::computed("Policy", policy),
        Column::computed("Workload", workload),
        Column::computed("Status", status),
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

fn status(object: &Object) -> Cell {
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
    /// Upstream: pkg/apis/scheduling/v1alpha2/zz_generated.defaults.go, SetObjectDefaults_PodGroup (v1.36.4).
    fn default(&self, object: &mut Object) {
        object.fields.map_mut("spec").default_to("disruptionMode", DISRUPTION_MODE);
    }

    /// Upstream: pkg/registry/scheduling/podgroup/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.remove("status");
        let spec = object.fields.map_mut("spec");
        self.0.drop_disabled(spec, None);
        // What is dropped from what is stored is filled in again for whoever reads it.
        spec.default_to("disruptionMode", DISRUPTION_MODE);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        self.0.drop_disabled(object.fields.map_mut("spec"), old.fields.map("spec"));
    }

    /// Upstream: pkg/registry/scheduling/podgroup/strategy.go, podGroupStatusStrategy, PrepareForUpdate (v1.36.4).
    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        keep_all_but_status(object, old);
        let (meta, was) = (&mut object.meta, &old.meta);
        meta.deletion_timestamp = was.deletion_timestamp;
        meta.labels = was.labels.clone();
        meta.annotations = was.annotations.clone();
        meta.finalizers = was.finalizers.clone();
        meta.owner_references = was.owner_references.clone();
        let claims = old.fields.map("spec").is_some_and(|it| !it.list("resourceClaims").is_empty());
        if !self.0.claims
            && !claims
            && let Some(status) = part(&mut object.fields, "status")
        {
            status.remove("resourceClaimStatuses");
        }
    }
}

impl Features {
    /// Upstream: pkg/registry/scheduling/podgroup/strategy.go, dropDisabledPodGroupSpecFields (v1.36.4).
    pub(crate) fn drop_disabled(self, spec: &mut Map, old: Option<&Map>) {
        let gated = [
            ("schedulingConstraints", self.topology),
            ("resourceClaims", self.claims),
            ("disruptionMode", self.preemption),
            ("priorityClassName", self.preemption),
            ("priority", self.preemption),
        ];
        for (field, is_on) in gated {
            if !is_on && !old.is_some_and(|old| is_set(old, field)) {
                spec.remove(field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::{Features, PodGroup, policy, status, workload};
    use crate::shared::testing::{context, decoded, tree};

    const OFF: PodGroup = PodGroup(Features { topology: false, claims: false, preemption: false });
    const ON: PodGroup = PodGroup(Features { topology: true, claims: true, preemption: true });

    fn group(spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(&OFF, "scheduling.k8s.io/v1alpha2 PodGroup", &text)
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
        check(&ON, "PodGroup", Some(5));
        check(&OFF, "Pod", None);
        let (mut object, old) = (group(r#"{"priority": 5}"#), group(r#"{"priority": 4}"#));
        OFF.prepare_update(&context(), &mut object, &old);
        assert_eq!(object.fields.at("spec.priority"), Some(&5.into()));
    }

    #[test]
    fn a_status_update_leaves_the_metadata_alone() {
        let (mut object, mut old) = (group("{}"), group("{}"));
        object.meta.labels.set("a", "b");
        old.meta.annotations.set("c", "d");
        object.fields.set("status", tree(r#"{"resourceClaimStatuses": [{"name": "x"}], "conditions": []}"#));
        OFF.prepare_status_update(&context(), &mut object, &old);
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
        let cells = [policy(&object), workload(&object), status(&object)];
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
