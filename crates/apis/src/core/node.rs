//! Node: a machine of the cluster.

use keelson_object::{Cell, Map, Object, SelectableField};
use keelson_registry::{Column, Context, Strategy};

pub(crate) struct Node;

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
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
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
