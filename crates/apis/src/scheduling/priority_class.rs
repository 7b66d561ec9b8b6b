//! PriorityClass: how important pods are.

use keelson_object::{Cell, Object};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::cells::boolean;

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
