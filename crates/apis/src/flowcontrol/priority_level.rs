//! PriorityLevelConfiguration: how many requests of a level run at once, and how the others wait.

use keelson_object::{Cell, Map, Object};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::{fill, part};
use crate::shared::{spec_and_status, status};

pub(crate) struct PriorityLevel;

pub(crate) fn columns() -> [Column; 7] {
    [
        Column::name(),
        Column::text("Type", "spec.type"),
        Column::computed("NominalConcurrencyShares", |object| {
            number(limited(object), "nominalConcurrencyShares")
        }),
        Column::computed("Queues", |object| number(queuing(object), "queues")),
        Column::computed("HandSize", |object| number(queuing(object), "handSize")),
        Column::computed("QueueLengthLimit", |object| number(queuing(object), "queueLengthLimit")),
        Column::age(),
    ]
}

fn limited(object: &Object) -> Option<&Map> {
    object.fields.map("spec")?.map("limited")
}

fn queuing(object: &Object) -> Option<&Map> {
    limited(object)?.map("limitResponse")?.map("queuing")
}

fn number(map: Option<&Map>, field: &str) -> Cell {
    map.map_or(Cell::from("<none>"), |map| Cell::Int(map.int(field).unwrap_or_default()))
}

impl Strategy for PriorityLevel {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    /// Upstream: pkg/apis/flowcontrol/v1/defaults.go, SetDefaults_LimitedPriorityLevelConfiguration,
    /// SetDefaults_ExemptPriorityLevelConfiguration, SetDefaults_QueuingConfiguration (v1.36.4).
    fn default(&self, object: &mut Object) {
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        if let Some(limited) = part(spec, "limited") {
            limited.default_to("nominalConcurrencyShares", 30);
            limited.default_to("lendablePercent", 0);
            if let Some(queuing) = part(limited, "limitResponse").and_then(|it| part(it, "queuing")) {
                fill(queuing, "queues", 64);
                fill(queuing, "handSize", 8);
                fill(queuing, "queueLengthLimit", 50);
            }
        }
        if let Some(exempt) = part(spec, "exempt") {
            exempt.default_to("nominalConcurrencyShares", 0);
            exempt.default_to("lendablePercent", 0);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        spec_and_status::prepare_create(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        spec_and_status::prepare_update(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }
}

#[cfg(test)]
mod tests {
    use super::{PriorityLevel, columns};
    use crate::shared::testing::{cells, decoded, text, tree};

    #[track_caller]
    fn check(spec: &str, expected: &str, shown: [&str; 7]) {
        let body = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        let kind = "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration";
        let object = decoded(&PriorityLevel, kind, &body);
        let spec = object.fields.get("spec").cloned().unwrap_or_default();
        assert_eq!(spec, tree(expected), "{}", text(&spec));
        assert_eq!(cells(&columns(), &object), shown);
    }

    #[test]
    fn a_limited_level_has_shares_and_queues() {
        check(
            r#"{"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 0}}}}"#,
            r#"{"type": "Limited", "limited": {"nominalConcurrencyShares": 30, "lendablePercent": 0,
                "limitResponse": {"type": "Queue", "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50}}}}"#,
            ["a", "Limited", "30", "64", "8", "50", "-"],
        );
        check(
            r#"{"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 9,
                "limitResponse": {"type": "Reject"}}}"#,
            r#"{"type": "Limited", "limited": {"nominalConcurrencyShares": 0, "lendablePercent": 9,
                "limitResponse": {"type": "Reject"}}}"#,
            ["a", "Limited", "0", "<none>", "<none>", "<none>", "-"],
        );
    }

    #[test]
    fn an_exempt_level_has_none() {
        check(
            r#"{"type": "Exempt", "exempt": {}}"#,
            r#"{"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}"#,
            ["a", "Exempt", "<none>", "<none>", "<none>", "<none>", "-"],
        );
        check(
            r#"{"type": "Exempt"}"#,
            r#"{"type": "Exempt"}"#,
            ["a", "Exempt", "<none>", "<none>", "<none>", "<none>", "-"],
        );
    }
}
