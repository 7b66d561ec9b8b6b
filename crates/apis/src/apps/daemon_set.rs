//! DaemonSet: a pod on every node.

mod rules;

use keelson_object::{Cell, FieldErrors, Object, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::fill;
use crate::shared::pod_template::{self, Gates};
use crate::shared::{spec_and_status, status, workload_columns, workload_rules};

/// DaemonSets, with feature gates.
pub(crate) struct DaemonSet(pub(crate) Gates);

/// The annotation that counts changes of the template; it was a field once.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(crate) fn columns() -> Vec<Column> {
    let columns = [
        Column::name(),
        Column::integer("Desired", "status.desiredNumberScheduled"),
        Column::integer("Current", "status.currentNumberScheduled"),
        Column::integer("Ready", "status.numberReady"),
        Column::integer("Up-to-date", "status.updatedNumberScheduled"),
        Column::integer("Available", "status.numberAvailable"),
        Column::computed("Node Selector", node_selector),
        Column::age(),
    ];
    columns.into_iter().chain(workload_columns::wide()).collect()
}

fn node_selector(object: &Object) -> Cell {
    let selector = object.fields.at("spec.template.spec.nodeSelector").and_then(Value::as_map);
    Cell::from(workload_columns::labels(selector))
}

impl Strategy for DaemonSet {
    /// Upstream: pkg/registry/apps/daemonset/strategy.go, WarningsOnCreate and WarningsOnUpdate (v1.36.4).
    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        if old.is_some_and(|old| old.fields.at("spec.template") == object.fields.at("spec.template")) {
            return Vec::new();
        }
        pod_template::warnings::of_template_in(object, old, "spec.template")
    }

    /// Upstream: pkg/apis/apps/v1/defaults.go, SetDefaults_DaemonSet (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        spec.default_to("revisionHistoryLimit", 10);
        let strategy = spec.map_mut("updateStrategy");
        fill(strategy, "type", "RollingUpdate");
        if strategy.str("type") == Some("RollingUpdate") {
            let rolling = strategy.map_mut("rollingUpdate");
            rolling.default_to("maxUnavailable", 1);
            rolling.default_to("maxSurge", 0);
        }
        pod_template::default(spec.map_mut("template"));
    }

    /// A client that writes a set owns the annotation too: this version always has it.
    fn fills_owned(&self) -> bool {
        true
    }

    fn fill_owned(&self, object: &mut Object) {
        set_template_generation(object, template_generation(object));
    }

    /// Upstream: pkg/registry/apps/daemonset/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
        workload_rules::drop_disabled(&self.0, object, None);
        let given = template_generation(object);
        set_template_generation(object, given.max(1));
    }

    /// Upstream: pkg/registry/apps/daemonset/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        workload_rules::drop_disabled(&self.0, object, Some(old));
        spec_and_status::prepare_update(object, old);
        let changed = object.fields.at("spec.template") != old.fields.at("spec.template");
        set_template_generation(object, template_generation(old) + i64::from(changed));
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::take(object, old);
        set_template_generation(object, template_generation(old));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object, None, (template_generation(object), &self.0), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check_update(object, old, errors);
        rules::check(object, Some(old), (template_generation(object), &self.0), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check_status(object, old, errors);
    }
}

fn template_generation(object: &Object) -> i64 {
    object.meta.annotations.get(TEMPLATE_GENERATION).and_then(|it| it.parse().ok()).unwrap_or_default()
}

/// Upstream: pkg/apis/apps/v1/conversion.go, Convert_apps_DaemonSet_To_v1_DaemonSet (v1.36.4).
fn set_template_generation(object: &mut Object, generation: i64) {
    object.meta.annotations.set(TEMPLATE_GENERATION, format!("{generation}"));
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::{DaemonSet, TEMPLATE_GENERATION, node_selector};
    use crate::shared::pod_template::Gates;
    use crate::shared::testing::{context, decoded, text};

    fn daemon_set(spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(&DaemonSet(Gates::default()), "apps/v1 DaemonSet", &text)
    }

    #[track_caller]
    fn check_strategy(given: &str, expected: &str) {
        let object = daemon_set(&format!("{{\"updateStrategy\": {given}}}"));
        assert_eq!(text(object.fields.at("spec.updateStrategy").unwrap()), expected);
    }

    #[test]
    fn daemons_are_replaced_one_by_one() {
        check_strategy("{}", r#"{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}"#);
        check_strategy(
            r#"{"rollingUpdate": {"maxSurge": "10%"}}"#,
            r#"{"rollingUpdate":{"maxSurge":"10%","maxUnavailable":1},"type":"RollingUpdate"}"#,
        );
        check_strategy(r#"{"type": "OnDelete"}"#, r#"{"type":"OnDelete"}"#);
        let object = daemon_set("{}");
        assert_eq!(object.fields.at("spec.revisionHistoryLimit"), Some(&10.into()));
        assert_eq!(object.fields.at("spec.template.spec.restartPolicy"), Some(&"Always".into()));
    }

    #[test]
    fn the_annotation_counts_changes_of_the_template() {
        let context = context();
        let mut old = daemon_set("{}");
        old.fields.map_mut("status").set("numberReady", 3);
        DaemonSet(Gates::default()).prepare_create(&context, &mut old);
        let counts = |object: &Object| {
            let annotation = object.meta.annotations.get(TEMPLATE_GENERATION).map(str::to_owned);
            (object.meta.generation, annotation.unwrap_or_default())
        };
        assert_eq!(counts(&old), (1, "1".to_owned()));
        assert!(!old.fields.contains("status"));
        let updated = |spec: &str| {
            let mut object = daemon_set(spec);
            object.meta.generation = old.meta.generation;
            DaemonSet(Gates::default()).prepare_update(&context, &mut object, &old);
            counts(&object)
        };
        assert_eq!(updated("{}"), (1, "1".to_owned()));
        assert_eq!(updated(r#"{"minReadySeconds": 5}"#), (2, "1".to_owned()));
        assert_eq!(updated(r#"{"template": {"spec": {"hostNetwork": true}}}"#), (2, "2".to_owned()));
    }

    #[test]
    fn a_client_that_writes_a_set_owns_the_annotation() {
        let mut object = daemon_set("{}");
        DaemonSet(Gates::default()).fill_owned(&mut object);
        assert_eq!(object.meta.annotations.get(TEMPLATE_GENERATION), Some("0"));
        object.meta.annotations.set(TEMPLATE_GENERATION, "7");
        DaemonSet(Gates::default()).fill_owned(&mut object);
        assert_eq!(object.meta.annotations.get(TEMPLATE_GENERATION), Some("7"));
    }

    #[test]
    fn a_status_update_cannot_move_the_annotation() {
        let (context, mut old) = (context(), daemon_set("{}"));
        DaemonSet(Gates::default()).prepare_create(&context, &mut old);
        let mut object = daemon_set(r#"{"minReadySeconds": 5}"#);
        object.fields.map_mut("status").set("numberReady", 3);
        DaemonSet(Gates::default()).prepare_status_update(&context, &mut object, &old);
        assert_eq!(object.meta.annotations.get(TEMPLATE_GENERATION), Some("1"));
        assert_eq!(object.fields.get("spec"), old.fields.get("spec"));
        assert_eq!(object.fields.at("status.numberReady"), Some(&3.into()));
    }

    #[test]
    fn the_node_selector_is_shown() {
        assert_eq!(node_selector(&daemon_set("{}")), "<none>".into());
        let selective = daemon_set(r#"{"template": {"spec": {"nodeSelector": {"b": "2", "a": "1"}}}}"#);
        assert_eq!(node_selector(&selective), "a=1,b=2".into());
    }
}
