//! DeviceTaintRule: keeps pods away from devices.

use keelson_object::scalar::Time;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::taint_rules;
use crate::shared::edit::part;
use crate::shared::{cells, conditions, spec_and_status, status};

const MAX_CONDITIONS: usize = 8;

pub(crate) struct DeviceTaintRule;

pub(crate) fn columns() -> [Column; 6] {
    [
        Column::name(),
        Column::text("Key", "spec.taint.key"),
        Column::text("Value", "spec.taint.value"),
        Column::text("Effect", "spec.taint.effect"),
        Column::computed("TimeAdded", added),
        Column::age(),
    ]
}

fn added(object: &Object) -> Cell {
    match cells::text(object, "spec.taint.timeAdded") {
        "" => Cell::from(""),
        time => Cell::Age(Time::parse(time).ok()),
    }
}

impl Strategy for DeviceTaintRule {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    fn prepare_create(&self, context: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
        taint(object).into_iter().for_each(|taint| date(context, taint));
    }

    /// A changed effect begins now, unless the client sets the time.
    ///
    /// Upstream: pkg/registry/resource/devicetaintrule/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, context: &Context, object: &mut Object, old: &Object) {
        if let Some(taint) = taint(object) {
            date(context, taint);
            let before = old.fields.at("spec.taint").and_then(Value::as_map);
            let differs = |key: &str| taint.get(key) != before.and_then(|it| it.get(key));
            if differs("effect") && !differs("timeAdded") {
                taint.set("timeAdded", context.now().to_string());
            }
        }
        spec_and_status::prepare_update(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(object, None, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(object, Some(old), errors);
    }

    /// Upstream: pkg/apis/resource/validation/validation.go, ValidateDeviceTaintRuleStatusUpdate (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let at = Path::root("status.conditions");
        let list = object.fields.map("status").map_or(&[][..], |it| it.list("conditions"));
        conditions::check(list, &at, errors);
        if list.len() > MAX_CONDITIONS {
            errors.too_many(&at, list.len(), MAX_CONDITIONS);
        }
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceTaintRuleSpec (v1.36.4).
fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let spec = object.fields.map("spec");
    if let Some(selector) = spec.and_then(|it| it.map("deviceSelector")) {
        taint_rules::check_selector(selector, &at.key("deviceSelector"), errors);
    }
    let empty = Map::new();
    let taint = spec.and_then(|it| it.map("taint")).unwrap_or(&empty);
    let before = old.and_then(|it| it.fields.at("spec.taint")).and_then(Value::as_map);
    taint_rules::check(taint, before, &at.key("taint"), errors);
}

/// Sets the time of a taint without one to now.
///
/// Upstream: pkg/apis/resource/v1/defaults.go, SetDefaults_DeviceTaint (v1.36.4). There it happens on every
/// decode; stored taints have their time, so setting it on writes is enough.
pub(crate) fn date(context: &Context, taint: &mut Map) {
    taint.default_to("timeAdded", context.now().to_string());
}

fn taint(object: &mut Object) -> Option<&mut Map> {
    part(part(&mut object.fields, "spec")?, "taint")
}

#[cfg(test)]
mod tests {
    use keelson_object::{Cell, Object};
    use keelson_registry::Strategy;

    use super::{DeviceTaintRule, added};
    use crate::shared::cells::text;
    use crate::shared::testing::{context, decoded};

    fn rule(taint: &str) -> Object {
        let body = format!(r#"{{"spec": {{"taint": {taint}}}}}"#);
        decoded(&DeviceTaintRule, "resource.k8s.io/v1alpha3 DeviceTaintRule", &body)
    }

    #[test]
    fn a_taint_is_added_now_unless_somebody_says_when() {
        let check = |taint: &str, expected: &str| {
            let mut object = rule(taint);
            DeviceTaintRule.prepare_create(&context(), &mut object);
            assert_eq!(text(&object, "spec.taint.timeAdded"), expected, "{taint}");
        };
        check(r#"{"effect": "NoSchedule"}"#, "2026-01-01T00:00:00Z");
        check(r#"{"effect": "NoSchedule", "timeAdded": "2025-05-05T05:05:05Z"}"#, "2025-05-05T05:05:05Z");
    }

    #[test]
    fn another_effect_begins_now() {
        let old = rule(r#"{"effect": "NoSchedule", "timeAdded": "2025-05-05T05:05:05Z"}"#);
        let check = |taint: &str, time: &str, generation: i64| {
            let mut object = rule(taint);
            DeviceTaintRule.prepare_update(&context(), &mut object, &old);
            assert_eq!(text(&object, "spec.taint.timeAdded"), time, "{taint}");
            assert_eq!(object.meta.generation, generation, "{taint}");
        };
        check(r#"{"effect": "NoSchedule", "timeAdded": "2025-05-05T05:05:05Z"}"#, "2025-05-05T05:05:05Z", 0);
        check(r#"{"effect": "NoExecute", "timeAdded": "2025-05-05T05:05:05Z"}"#, "2026-01-01T00:00:00Z", 1);
        check(r#"{"effect": "NoExecute", "timeAdded": "2025-06-06T06:06:06Z"}"#, "2025-06-06T06:06:06Z", 1);
        check(r#"{"effect": "NoExecute"}"#, "2026-01-01T00:00:00Z", 1);
    }

    #[test]
    fn the_table_tells_since_when() {
        assert_eq!(added(&rule("{}")), Cell::from(""));
        let dated = added(&rule(r#"{"timeAdded": "1970-01-01T00:00:07Z"}"#));
        assert!(matches!(dated, Cell::Age(Some(time)) if time.unix() == 7), "{dated:?}");
    }
}
