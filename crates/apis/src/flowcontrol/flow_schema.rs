//! FlowSchema: which requests belong to which priority level.

use keelson_object::{Cell, Object};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::fill;
use crate::shared::{spec_and_status, status};

pub(crate) struct FlowSchema;

pub(crate) fn columns() -> [Column; 6] {
    [
        Column::name(),
        Column::text("PriorityLevel", "spec.priorityLevelConfiguration.name"),
        Column::computed("MatchingPrecedence", precedence),
        Column::computed("DistinguisherMethod", distinguisher),
        Column::age(),
        Column::computed("MissingPL", missing),
    ]
}

fn precedence(object: &Object) -> Cell {
    Cell::Int(object.fields.map("spec").and_then(|it| it.int("matchingPrecedence")).unwrap_or_default())
}

fn distinguisher(object: &Object) -> Cell {
    match object.fields.map("spec").and_then(|it| it.map("distinguisherMethod")) {
        Some(method) => Cell::from(method.str("type").unwrap_or_default()),
        None => Cell::from("<none>"),
    }
}

/// Whether the priority level is not there; nobody may have looked yet.
fn missing(object: &Object) -> Cell {
    let mut conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let dangling = conditions.find(|it| it.str("type") == Some("Dangling"));
    Cell::from(dangling.map_or("?", |it| it.str("status").unwrap_or_default()))
}

impl Strategy for FlowSchema {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    /// Upstream: pkg/apis/flowcontrol/v1/defaults.go, SetDefaults_FlowSchemaSpec (v1.36.4).
    fn default(&self, object: &mut Object) {
        fill(object.fields.map_mut("spec"), "matchingPrecedence", 1000);
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
    use super::{FlowSchema, columns};
    use crate::shared::testing::{cells, changed, decoded};

    const KIND: &str = "flowcontrol.apiserver.k8s.io/v1 FlowSchema";

    #[track_caller]
    fn check(content: &str, expected: [&str; 6]) {
        let object = decoded(&FlowSchema, KIND, &format!("{{\"metadata\": {{\"name\": \"a\"}}, {content}}}"));
        assert_eq!(cells(&columns(), &object), expected);
    }

    #[test]
    fn a_schema_has_a_precedence() {
        check(r#""spec": {}"#, ["a", "", "1000", "<none>", "-", "?"]);
        check(r#""spec": {"matchingPrecedence": 0}"#, ["a", "", "1000", "<none>", "-", "?"]);
        check(r#""spec": {"matchingPrecedence": 7}"#, ["a", "", "7", "<none>", "-", "?"]);
    }

    #[test]
    fn method_and_level_are_shown() {
        check(
            r#""spec": {"priorityLevelConfiguration": {"name": "l"}, "distinguisherMethod": {"type": "ByUser"}},
               "status": {"conditions": [{"type": "Other", "status": "x"}, {"type": "Dangling", "status": "False"}]}"#,
            ["a", "l", "1000", "ByUser", "-", "False"],
        );
    }

    #[test]
    fn another_spec_is_another_generation() {
        let schema =
            |spec: &str| format!(r#"{{"metadata": {{"name": "a"}}, "spec": {spec}, "status": {{}}}}"#);
        let object = changed(&FlowSchema, KIND, &schema("{}"), &schema(r#"{"matchingPrecedence": 5}"#));
        assert_eq!(object.meta.generation, 2);
        assert!(!object.fields.contains("status"));
        assert_eq!(changed(&FlowSchema, KIND, &schema("{}"), &schema("{}")).meta.generation, 1);
    }
}
