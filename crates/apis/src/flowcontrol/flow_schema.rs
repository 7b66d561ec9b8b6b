//! FlowSchema: which requests belong to which priority level.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::{mandatory, rules};
use crate::shared::edit::fill;
use crate::shared::go_form::{Field, Form, shown};
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

/// Whether the priority level is missing; unknown if that was not checked yet.
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

    /// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateFlowSchema (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec");
        let name = object.meta.name.as_str();
        let spec = object.fields.get("spec");
        check_spec(name, spec.and_then(Value::as_map).unwrap_or(&Map::new()), &at, errors);
        if let (Some(fixed), Some(spec)) = (mandatory::flow_schema(name), spec)
            && !mandatory::is_same(spec, &fixed)
        {
            let shown = shown(spec.as_map().unwrap_or(&Map::new()), &SPEC);
            errors.invalid_as(&at, shown, format!("spec of '{name}' must equal the fixed value"));
        }
        rules::check_status(object.fields.map("status"), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        rules::check_status(object.fields.map("status"), errors);
    }
}

/// The spec as messages show it.
const SPEC: [Field; 4] = [
    Field("PriorityLevelConfiguration", "priorityLevelConfiguration", Form::Struct(&NAMED)),
    Field("MatchingPrecedence", "matchingPrecedence", Form::Number),
    Field("DistinguisherMethod", "distinguisherMethod", Form::Maybe(&[Field("Type", "type", Form::Text)])),
    Field("Rules", "rules", Form::Many(&RULE)),
];
const NAMED: [Field; 1] = [Field("Name", "name", Form::Text)];
const RULE: [Field; 3] = [
    Field("Subjects", "subjects", Form::Many(&SUBJECT)),
    Field("ResourceRules", "resourceRules", Form::Many(&RESOURCES)),
    Field("NonResourceRules", "nonResourceRules", Form::Many(&PATHS)),
];
const SUBJECT: [Field; 4] = [
    Field("Kind", "kind", Form::Text),
    Field("User", "user", Form::Maybe(&NAMED)),
    Field("Group", "group", Form::Maybe(&NAMED)),
    Field("ServiceAccount", "serviceAccount", Form::Maybe(&ACCOUNT)),
];
const ACCOUNT: [Field; 2] = [Field("Namespace", "namespace", Form::Text), Field("Name", "name", Form::Text)];
const RESOURCES: [Field; 5] = [
    Field("Verbs", "verbs", Form::AsIs),
    Field("APIGroups", "apiGroups", Form::AsIs),
    Field("Resources", "resources", Form::AsIs),
    Field("ClusterScope", "clusterScope", Form::Truth),
    Field("Namespaces", "namespaces", Form::AsIs),
];
const PATHS: [Field; 2] =
    [Field("Verbs", "verbs", Form::AsIs), Field("NonResourceURLs", "nonResourceURLs", Form::AsIs)];

const METHODS: [&str; 2] = ["ByNamespace", "ByUser"];
const MAX_PRECEDENCE: i64 = 10000;

/// Upstream: pkg/apis/flowcontrol/validation/validation.go, ValidateFlowSchemaSpec (v1.36.4).
fn check_spec(name: &str, spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let precedence = spec.int("matchingPrecedence").unwrap_or_default();
    let precedence_at = at.key("matchingPrecedence");
    if precedence <= 0 {
        errors.invalid(&precedence_at, precedence, "must be a positive value");
    }
    if precedence > MAX_PRECEDENCE {
        errors.invalid(&precedence_at, precedence, format!("must not be greater than {MAX_PRECEDENCE}"));
    }
    if precedence == 1 && name != "exempt" {
        let detail = "only the schema named 'exempt' may have matchingPrecedence 1";
        errors.invalid(&precedence_at, precedence, detail);
    }
    if let Some(method) = spec.map("distinguisherMethod") {
        let kind = method.str("type").unwrap_or_default();
        if !METHODS.contains(&kind) {
            let shown: Map = [("Type".into(), kind.into())].into_iter().collect();
            errors.not_supported(&at.key("distinguisherMethod.type"), &Value::Map(shown), &METHODS);
        }
    }
    let level = spec.map("priorityLevelConfiguration").and_then(|it| it.str("name")).unwrap_or_default();
    let level_at = at.key("priorityLevelConfiguration.name");
    match level {
        "" => errors.required(&level_at, "must reference a priority level"),
        _ => errors.invalid_each(&level_at, level, name_rules::dns1123_subdomain(level)),
    }
    let rules_at = at.key("rules");
    for (index, rule) in spec.maps("rules").enumerate() {
        rules::check(rule, &rules_at.index(index), errors);
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
