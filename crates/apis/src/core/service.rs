//! Service: a name for a set of pods.

mod rules;

use keelson_object::{Cell, FieldErrors, Map, Object, Value};
use keelson_registry::{Column, Context, NameRule, Strategy};

use crate::shared::workload_columns::labels;

pub(crate) struct Service;

/// What load balancers are shown in.
const LOAD_BALANCER_WIDTH: usize = 16;

pub(crate) fn columns() -> [Column; 7] {
    [
        Column::name(),
        Column::text("Type", "spec.type"),
        Column::computed("Cluster-IP", cluster_ip),
        Column::computed("External-IP", external_ip),
        Column::computed("Port(s)", ports),
        Column::age(),
        Column::computed("Selector", |object| {
            Cell::from(labels(spec(object).and_then(|it| it.map("selector"))))
        })
        .wide(),
    ]
}

impl Strategy for Service {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Service (v1.36.4): what needs no allocator.
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        for (field, value) in [("sessionAffinity", "None"), ("type", "ClusterIP")] {
            if spec.str(field).is_none_or(str::is_empty) {
                spec.set(field, value);
            }
        }
        let Some(Value::List(ports)) = spec.get_mut("ports") else { return };
        for port in ports.iter_mut().filter_map(Value::as_map_mut) {
            if port.str("protocol").is_none_or(str::is_empty) {
                port.set("protocol", "TCP");
            }
            if port.get("targetPort").is_none_or(Value::is_empty) {
                let number = port.int("port").unwrap_or_default();
                port.set("targetPort", number);
            }
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.set("status", Map::new());
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object, errors);
    }

    /// Names may begin with a digit since v1.36 (RelaxedServiceNameValidation).
    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }
}

fn spec(object: &Object) -> Option<&Map> {
    object.fields.map("spec")
}

fn cluster_ip(object: &Object) -> Cell {
    let first = spec(object).and_then(|it| it.list("clusterIPs").first()).and_then(Value::as_str);
    Cell::from(first.unwrap_or("<none>"))
}

fn external_ip(object: &Object) -> Cell {
    let Some(spec) = spec(object) else { return Cell::from("<unknown>") };
    let mut addresses: Vec<&str> = spec.list("externalIPs").iter().filter_map(Value::as_str).collect();
    let (kind, empty) = match spec.str("type").unwrap_or_default() {
        kind @ ("ClusterIP" | "NodePort") => (kind, "<none>"),
        kind @ "LoadBalancer" => (kind, "<pending>"),
        "ExternalName" => return Cell::from(spec.str("externalName").unwrap_or_default()),
        _ => return Cell::from("<unknown>"),
    };
    let balancers = if kind == "LoadBalancer" { load_balancers(object) } else { String::new() };
    if !balancers.is_empty() {
        addresses.splice(0..0, balancers.split(','));
    }
    if addresses.is_empty() { Cell::from(empty) } else { Cell::from(addresses.join(",")) }
}

fn load_balancers(object: &Object) -> String {
    let ingress = object.fields.at("status.loadBalancer").and_then(Value::as_map);
    let mut names: Vec<&str> = ingress
        .into_iter()
        .flat_map(|it| it.maps("ingress"))
        .filter_map(|it| it.str("ip").or(it.str("hostname")))
        .collect();
    names.sort_unstable();
    names.dedup();
    let text = names.join(",");
    if text.len() > LOAD_BALANCER_WIDTH { format!("{}...", &text[..LOAD_BALANCER_WIDTH - 3]) } else { text }
}

/// `80:30080/TCP,443/TCP`
fn ports(object: &Object) -> Cell {
    let texts: Vec<String> = spec(object)
        .into_iter()
        .flat_map(|it| it.maps("ports"))
        .map(|port| {
            let (number, protocol) =
                (port.int("port").unwrap_or_default(), port.str("protocol").unwrap_or_default());
            match port.int("nodePort").filter(|it| *it > 0) {
                Some(node) => format!("{number}:{node}/{protocol}"),
                None => format!("{number}/{protocol}"),
            }
        })
        .collect();
    if texts.is_empty() { Cell::from("<none>") } else { Cell::from(texts.join(",")) }
}
