//! StatefulSet: pods with names and volumes that stay.

mod rules;

use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::catalog::Settings;
use crate::shared::cells::number;
use crate::shared::edit::{fill, part, parts};
use crate::shared::gated::{Feature, Off};
use crate::shared::pod_template::{self, Gates};
use crate::shared::read::sub;
use crate::shared::{claim, claim_rules, spec_and_status, workload_columns, workload_rules};
use rules::Tolerance;

pub(crate) struct StatefulSet {
    /// Whether more than one pod may be unavailable during an update.
    max_unavailable: bool,
    off: Off,
    gates: Gates,
}

const MAX_UNAVAILABLE: &str = "MaxUnavailableStatefulSet";

const FEATURES: [Feature; 1] = [Feature {
    gates: &[MAX_UNAVAILABLE],
    paths: &["spec.updateStrategy.rollingUpdate.maxUnavailable"],
    signs: &[],
}];

pub(crate) fn columns() -> Vec<Column> {
    let [containers, images, _] = workload_columns::wide();
    vec![Column::name(), Column::computed("Ready", ready_of_desired), Column::age(), containers, images]
}

/// `3/5`
fn ready_of_desired(object: &Object) -> Cell {
    Cell::from(format!("{}/{}", number(object, "status.readyReplicas"), number(object, "spec.replicas")))
}

impl Strategy for StatefulSet {
    /// Upstream: pkg/apis/apps/v1/defaults.go, SetDefaults_StatefulSet (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        fill(spec, "podManagementPolicy", "OrderedReady");
        self.default_update(spec.map_mut("updateStrategy"));
        let retention = spec.map_mut("persistentVolumeClaimRetentionPolicy");
        fill(retention, "whenDeleted", "Retain");
        fill(retention, "whenScaled", "Retain");
        spec.default_to("replicas", 1);
        spec.default_to("revisionHistoryLimit", 10);
        pod_template::default(spec.map_mut("template"));
        parts(spec, "volumeClaimTemplates").for_each(default_claim);
    }

    /// Upstream: pkg/registry/apps/statefulset/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
        self.off.drop_new(&mut object.fields, None);
        workload_rules::drop_disabled(&self.gates, object, None);
    }

    /// Upstream: pkg/registry/apps/statefulset/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.off.drop_new(&mut object.fields, Some(&old.fields));
        workload_rules::drop_disabled(&self.gates, object, Some(old));
        spec_and_status::prepare_update(object, old);
    }

    /// Upstream: pkg/registry/apps/statefulset/strategy.go, WarningsOnCreate and WarningsOnUpdate (v1.36.4).
    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = pod_template::warnings::of_template_in(object, old, "spec.template");
        let list_at = Path::root("spec.volumeClaimTemplates");
        for (position, claim) in sub(&object.fields, "spec").maps("volumeClaimTemplates").enumerate() {
            let at = list_at.index(position);
            // The places are upstream's.
            let at = if old.is_some() { at.key("Spec") } else { at };
            warnings.extend(claim_rules::warnings(sub(claim, "spec"), &at));
        }
        if number(object, "spec.revisionHistoryLimit") < 0 {
            let text = "a negative value retains all historical revisions; a value >= 0 is recommended";
            warnings.push(format!("spec.revisionHistoryLimit: {text}"));
        }
        warnings
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let rules = workload_rules::template_rules(&self.gates, None);
        rules::check(sub(&object.fields, "spec"), &rules, Tolerance::default(), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let rules = workload_rules::template_rules(&self.gates, Some(old));
        rules::check_update(sub(&object.fields, "spec"), sub(&old.fields, "spec"), &rules, errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check_status(object, old, errors);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }
}

impl StatefulSet {
    pub(crate) fn new(settings: &Settings) -> StatefulSet {
        StatefulSet {
            max_unavailable: settings.is_on(MAX_UNAVAILABLE),
            off: Off::of(settings, &FEATURES),
            gates: Gates::of(settings),
        }
    }

    /// Parameters of the default strategy are set only if no type is given.
    fn default_update(&self, strategy: &mut Map) {
        if strategy.str("type").is_none_or(str::is_empty) {
            strategy.set("type", "RollingUpdate");
            strategy.default_to("rollingUpdate", Map::new());
        }
        if strategy.str("type") != Some("RollingUpdate") {
            return;
        }
        if let Some(rolling) = part(strategy, "rollingUpdate") {
            rolling.default_to("partition", 0);
            if self.max_unavailable {
                rolling.default_to("maxUnavailable", 1);
            }
        }
    }
}

/// Claims are whole objects, here as everywhere.
///
/// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_PersistentVolumeClaim; pkg/apis/apps/v1/conversion.go,
/// Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec (v1.36.4).
fn default_claim(claim: &mut Map) {
    claim.set("kind", "PersistentVolumeClaim");
    claim.set("apiVersion", "v1");
    claim::default(claim);
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::{MAX_UNAVAILABLE, StatefulSet, ready_of_desired};
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text, tree};

    fn plain() -> StatefulSet {
        StatefulSet::new(&Settings::default())
    }

    fn later() -> StatefulSet {
        StatefulSet::new(&Settings { features: [MAX_UNAVAILABLE.to_owned()].into(), ..Settings::default() })
    }

    fn stateful_set(strategy: &StatefulSet, spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(strategy, "apps/v1 StatefulSet", &text)
    }

    #[track_caller]
    fn check(strategy: &StatefulSet, given: &str, path: &str, expected: &str) {
        let object = stateful_set(strategy, given);
        let found = object.fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{path} is {}", text(&found));
    }

    #[test]
    fn pods_follow_each_other() {
        check(&plain(), "{}", "spec.podManagementPolicy", "\"OrderedReady\"");
        check(&plain(), "{}", "spec.replicas", "1");
        check(&plain(), "{}", "spec.revisionHistoryLimit", "10");
        let retained = r#"{"whenDeleted": "Retain", "whenScaled": "Retain"}"#;
        check(&plain(), "{}", "spec.persistentVolumeClaimRetentionPolicy", retained);
    }

    #[test]
    fn who_names_no_type_gets_a_partition() {
        let path = "spec.updateStrategy";
        check(&plain(), "{}", path, r#"{"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}"#);
        check(
            &later(),
            "{}",
            path,
            r#"{"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}}"#,
        );
        let named = r#"{"updateStrategy": {"type": "RollingUpdate"}}"#;
        check(&plain(), named, path, r#"{"type": "RollingUpdate"}"#);
        let on_delete = r#"{"updateStrategy": {"type": "OnDelete"}}"#;
        check(&plain(), on_delete, path, r#"{"type": "OnDelete"}"#);
    }

    #[test]
    fn claims_are_whole_objects() {
        let given = r#"{"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec":
            {"resources": {"requests": {"storage": "1.0001"}}}}]}"#;
        let expected = r#"[{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": {"name": "data"},
            "spec": {"resources": {"requests": {"storage": "1001m"}}, "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"}}]"#;
        check(&plain(), given, "spec.volumeClaimTemplates", expected);
    }

    #[test]
    fn what_needs_a_feature_is_dropped_without_it() {
        let given = r#"{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}"#;
        let kept = |strategy: &StatefulSet| {
            let mut object = stateful_set(strategy, given);
            strategy.prepare_create(&context(), &mut object);
            object.fields.at("spec.updateStrategy.rollingUpdate.maxUnavailable").is_some()
        };
        assert!(kept(&later()));
        assert!(!kept(&plain()));
        let (mut object, old) = (stateful_set(&plain(), given), stateful_set(&plain(), given));
        plain().prepare_update(&context(), &mut object, &old);
        assert_eq!(object.fields.get("spec"), old.fields.get("spec"));
    }

    #[test]
    fn ready_pods_are_counted() {
        let mut object = stateful_set(&plain(), r#"{"replicas": 5}"#);
        assert_eq!(ready_of_desired(&object), "0/5".into());
        object.fields.map_mut("status").set("readyReplicas", 3);
        assert_eq!(ready_of_desired(&object), "3/5".into());
    }
}
