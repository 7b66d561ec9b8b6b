//! PriorityClass: how important pods are.

use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::cells::boolean;
use crate::shared::immutable;

/// The reserved prefix of names.
const SYSTEM: &str = "system-";

/// The system classes, and their values.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Above this, priorities are for the system.
const HIGHEST: i64 = 1_000_000_000;

/// Whether pods may preempt pods of lower priority.
const PREEMPTION_POLICIES: [&str; 2] = ["PreemptLowerPriority", "Never"];

pub(crate) struct PriorityClass;

pub(crate) fn columns() -> [Column; 5] {
    [
        Column::name(),
        Column::integer("Value", "value"),
        boolean("Global-Default", |object| {
            Cell::Bool(object.fields.bool("globalDefault").unwrap_or_default())
        }),
        Column::age(),
        Column::text("PreemptionPolicy", "preemptionPolicy"),
    ]
}

impl Strategy for PriorityClass {
    /// Upstream: pkg/apis/scheduling/v1/defaults.go, SetDefaults_PriorityClass (v1.36.4).
    fn default(&self, object: &mut Object) {
        object.fields.default_to("preemptionPolicy", "PreemptLowerPriority");
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
    }

    /// Upstream: pkg/apis/scheduling/validation/validation.go, ValidatePriorityClass (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        if object.meta.name.starts_with(SYSTEM) {
            if let Err(problem) = check_system(object) {
                let detail = format!(
                    "priority class names with '{SYSTEM}' prefix are reserved for system use only. error: {problem}"
                );
                errors.forbidden(&Path::root("metadata.name"), detail);
            }
        } else if object.fields.int("value").is_some_and(|it| it > HIGHEST) {
            let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
            errors.forbidden(&Path::root("value"), detail);
        }
        let at = Path::root("preemptionPolicy");
        match object.fields.str("preemptionPolicy") {
            Some("") => errors.required(&at, ""),
            Some(policy) if !PREEMPTION_POLICIES.contains(&policy) => {
                errors.not_supported(&at, policy, &PREEMPTION_POLICIES);
            }
            _ => {}
        }
    }

    /// Upstream: pkg/apis/scheduling/validation/validation.go, ValidatePriorityClassUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let value = |it: &Object| it.fields.int("value").unwrap_or_default();
        if value(object) != value(old) {
            errors.forbidden(&Path::root("value"), "may not be changed in an update.");
        }
        let field = "preemptionPolicy";
        immutable::value(object.fields.get(field), old.fields.get(field), &Path::root(field), errors);
    }

    /// Upstream: pkg/registry/scheduling/priorityclass/storage/storage.go, REST.Delete (v1.36.4).
    fn protects(&self, name: &str) -> Option<&'static str> {
        let is_system = SYSTEM_CLASSES.iter().any(|(class, _)| *class == name);
        is_system.then_some("this is a system priority class and cannot be deleted")
    }
}

/// Upstream: pkg/apis/scheduling/v1/helpers.go, IsKnownSystemPriorityClass (v1.36.4).
fn check_system(object: &Object) -> Result<(), String> {
    let name = object.meta.name.as_str();
    let Some((_, value)) = SYSTEM_CLASSES.iter().find(|(class, _)| *class == name) else {
        return Err(format!("{name} is not a known system priority class"));
    };
    if object.fields.int("value").unwrap_or_default() != *value {
        return Err(format!("value of {name} PriorityClass must be {value}"));
    }
    if object.fields.bool("globalDefault").unwrap_or_default() {
        return Err(format!("globalDefault of {name} PriorityClass must be false"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::PriorityClass;
    use crate::shared::testing::decoded;

    #[track_caller]
    fn check(fields: &str, expected: &str) {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, {fields}}}");
        let object = decoded(&PriorityClass, "scheduling.k8s.io/v1 PriorityClass", &text);
        assert_eq!(object.fields.str("preemptionPolicy"), Some(expected));
    }

    #[test]
    fn the_important_displace_others_unless_they_say_otherwise() {
        check("\"value\": 7", "PreemptLowerPriority");
        check("\"value\": 7, \"preemptionPolicy\": \"Never\"", "Never");
    }
}
