//! Node: a machine of the cluster.

mod annotations;
mod rules;

use keelson_object::{Cell, FieldErrors, Map, Object, Path, SelectableField, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::edit::part;
use crate::shared::gated::{Feature, Off};
use crate::shared::{addresses, resource_list};

pub(crate) struct Node(Off);

/// Upstream: pkg/registry/core/node/strategy.go, dropDisabledFields (v1.36.4).
const FEATURES: [Feature; 1] =
    [Feature { gates: &["NodeDeclaredFeatures"], paths: &["status.declaredFeatures"], signs: &[] }];

impl Node {
    pub(crate) fn new(settings: &Settings) -> Node {
        Node(Off::of(settings, &FEATURES))
    }
}

/// The prefix of labels that name a role.
const ROLE: &str = "node-role.kubernetes.io/";

pub(crate) fn columns() -> [Column; 10] {
    [
        Column::name(),
        Column::computed("Status", status),
        Column::computed("Roles", roles),
        Column::age(),
        Column::text("Version", "status.nodeInfo.kubeletVersion"),
        Column::computed("Internal-IP", |object| address(object, "InternalIP")).wide(),
        Column::computed("External-IP", |object| address(object, "ExternalIP")).wide(),
        Column::computed("OS-Image", |object| known(info(object).and_then(|it| it.str("osImage")))).wide(),
        Column::computed("Kernel-Version", kernel).wide(),
        Column::computed("Container-Runtime", |object| {
            known(info(object).and_then(|it| it.str("containerRuntimeVersion")))
        })
        .wide(),
    ]
}

pub(crate) fn unschedulable() -> SelectableField {
    SelectableField { default: "false".into(), ..SelectableField::plain("spec.unschedulable") }
}

impl Strategy for Node {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_NodeStatus, and conversion.go for the ranges (v1.36.4).
    fn default(&self, object: &mut Object) {
        if let Some(spec) = part(&mut object.fields, "spec") {
            tell_ranges_twice(spec);
        }
        let Some(status) = part(&mut object.fields, "status") else { return };
        if let Some(capacity) = status.map("capacity").cloned()
            && status.map("allocatable").is_none()
        {
            status.set("allocatable", capacity);
        }
        resource_list::round_up(part(status, "capacity"));
        resource_list::round_up(part(status, "allocatable"));
    }

    /// A node may be created with its status, but without removed fields.
    ///
    /// Upstream: pkg/registry/core/node/strategy.go, dropDisabledFields (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        remove(object, "spec", "configSource");
        remove(object, "status", "config");
        self.0.drop_new(&mut object.fields, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        if old.fields.at("spec.configSource").is_none_or(Value::is_null) {
            remove(object, "spec", "configSource");
        }
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("spec", &old.fields);
        if old.fields.at("status.config").is_none_or(Value::is_null) {
            remove(object, "status", "config");
        }
    }

    /// Upstream: pkg/registry/core/node/strategy.go, nodeWarnings (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let said = |path| object.fields.at(path).is_some_and(|it| !it.is_empty());
        let mut warnings = Vec::new();
        if said("spec.configSource") {
            warnings.push("spec.configSource: the feature is removed".to_owned());
        }
        if said("spec.externalID") {
            let text = "spec.externalID: this field is deprecated, and is unused by Kubernetes";
            warnings.push(text.to_owned());
        }
        let ranges = object.fields.map("spec").into_iter().flat_map(|it| it.list("podCIDRs"));
        for (position, range) in ranges.filter_map(Value::as_str).enumerate() {
            warnings.extend(addresses::range_warnings(&Path::root("spec.podCIDRs").index(position), range));
        }
        warnings
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check(object, errors);
        rules::check_update(object, old, errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check_update(object, old, errors);
    }
}

fn remove(object: &mut Object, holder: &str, field: &str) {
    if let Some(holder) = part(&mut object.fields, holder) {
        holder.remove(field);
    }
}

/// `podCIDR` is the first of `podCIDRs`; where they differ, the old field counts.
///
/// Upstream: pkg/apis/core/v1/conversion.go, Convert_v1_NodeSpec_To_core_NodeSpec and back (v1.36.4).
fn tell_ranges_twice(spec: &mut Map) {
    let first = spec.list("podCIDRs").first().cloned();
    match spec.get("podCIDR").filter(|it| !it.is_empty()).cloned() {
        Some(range) if first.as_ref() != Some(&range) => spec.set("podCIDRs", vec![range]),
        Some(_) => {}
        None => {
            if let Some(first) = first {
                spec.set("podCIDR", first);
            }
        }
    }
}

fn status(object: &Object) -> Cell {
    let conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let ready = conditions.filter(|it| it.str("type") == Some("Ready")).last();
    let mut words = vec![match ready.and_then(|it| it.str("status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }];
    if object.fields.map("spec").and_then(|it| it.bool("unschedulable")) == Some(true) {
        words.push("SchedulingDisabled");
    }
    Cell::from(words.join(","))
}

fn roles(object: &Object) -> Cell {
    let mut roles: Vec<&str> = Vec::new();
    for (key, value) in object.meta.labels.iter() {
        match key.strip_prefix(ROLE) {
            Some(role) if !role.is_empty() => roles.push(role),
            _ if key == "kubernetes.io/role" && !value.is_empty() => roles.push(value),
            _ => {}
        }
    }
    roles.sort_unstable();
    roles.dedup();
    if roles.is_empty() { Cell::from("<none>") } else { Cell::from(roles.join(",")) }
}

fn address(object: &Object, kind: &str) -> Cell {
    let mut addresses = object.fields.map("status").into_iter().flat_map(|it| it.maps("addresses"));
    let found = addresses.find(|it| it.str("type") == Some(kind)).and_then(|it| it.str("address"));
    Cell::from(found.unwrap_or("<none>"))
}

fn kernel(object: &Object) -> Cell {
    let text = |field| info(object).and_then(|it| it.str(field)).filter(|it| !it.is_empty());
    let version = text("kernelVersion").unwrap_or("<unknown>");
    match text("architecture") {
        Some(architecture) => Cell::from(format!("{version} ({architecture})")),
        None => Cell::from(version),
    }
}

fn info(object: &Object) -> Option<&Map> {
    object.fields.map("status")?.map("nodeInfo")
}

fn known(text: Option<&str>) -> Cell {
    Cell::from(text.filter(|it| !it.is_empty()).unwrap_or("<unknown>"))
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy as _;

    use super::{Node, columns};
    use crate::catalog::Settings;
    use crate::shared::testing::{cells, context, decoded, text, tree};

    fn node(fields: &str) -> Object {
        decoded(&Node::new(&Settings::default()), "v1 Node", fields)
    }

    fn check(fields: &str, path: &str, expected: &str) {
        let found = node(fields).fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{path} of {fields} is {}", text(&found));
    }

    #[test]
    fn all_of_a_node_can_be_used_unless_it_says_otherwise() {
        let capacity = r#"{"status": {"capacity": {"cpu": "1500100u"}}}"#;
        check(capacity, "status.allocatable", r#"{"cpu": "1501m"}"#);
        check(capacity, "status.capacity", r#"{"cpu": "1501m"}"#);
        let less = r#"{"status": {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "1"}}}"#;
        check(less, "status.allocatable", r#"{"cpu": "1"}"#);
    }

    #[test]
    fn both_fields_tell_the_range_of_pods() {
        check(r#"{"spec": {"podCIDR": "10.0.0.0/24"}}"#, "spec.podCIDRs", r#"["10.0.0.0/24"]"#);
        check(r#"{"spec": {"podCIDRs": ["10.0.0.0/24", "fd00::/64"]}}"#, "spec.podCIDR", "\"10.0.0.0/24\"");
        let differ = r#"{"spec": {"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"]}}"#;
        check(differ, "spec.podCIDRs", r#"["10.0.1.0/24"]"#);
    }

    #[test]
    fn configuration_sources_are_dropped_unless_they_were_there() {
        let source = r#"{"spec": {"configSource": {}}, "status": {"config": {}, "phase": "Running"}}"#;
        let mut new = node(source);
        Node::new(&Settings::default()).prepare_create(&context(), &mut new);
        let said =
            |node: &Object| ["spec.configSource", "status.config"].map(|it| node.fields.at(it).is_some());
        assert_eq!(said(&new), [false, false]);
        assert_eq!(new.fields.at("status.phase"), Some(&"Running".into()));
        let mut kept = node(source);
        Node::new(&Settings::default()).prepare_update(&context(), &mut kept, &node(source));
        Node::new(&Settings::default()).prepare_status_update(&context(), &mut kept, &node(source));
        assert_eq!(kept.fields, node(source).fields);
    }

    #[test]
    fn a_row_tells_state_and_roles() {
        let row = |fields: &str| cells(&columns(), &node(fields));
        let bare = row("{}");
        assert_eq!(bare[1..3], ["Unknown", "<none>"]);
        assert_eq!(bare[5..], ["<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"]);
        let full =
            row(r#"{"metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
                "spec": {"unschedulable": true},
                "status": {"conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                    "nodeInfo": {"kernelVersion": "6", "architecture": "amd64", "kubeletVersion": "v1"}}}"#);
        assert_eq!(full[1..3], ["Ready,SchedulingDisabled", "a,b"]);
        assert_eq!(full[4..], ["v1", "10.0.0.1", "<none>", "<unknown>", "6 (amd64)", "<unknown>"]);
    }
}
