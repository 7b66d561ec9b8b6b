//! EndpointSlice: some of the addresses behind a service.

mod rules;

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::addresses::{Strictness, address_warning};
use crate::shared::cells;
use crate::shared::edit::parts;
use crate::shared::gated::{Feature, Off};

/// The topology key of an endpoint's node, from before there was a field for it.
const HOST: &str = "kubernetes.io/hostname";

/// The label that names the manager of a slice.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

const CONTROLLERS: [&str; 2] =
    ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];

/// Features that v1.36 has for good.
///
/// Upstream: pkg/registry/discovery/endpointslice/strategy.go, dropDisabledFieldsOnCreate (v1.36.4).
const GRADUATED: &[Feature] = &[Feature {
    gates: &["PreferSameTrafficDistribution"],
    paths: &["endpoints.*.hints.forNodes"],
    signs: &[],
}];

pub(crate) struct EndpointSlice {
    strictness: Strictness,
    missing: Off,
}

impl EndpointSlice {
    pub(crate) fn new(settings: &Settings) -> EndpointSlice {
        EndpointSlice {
            strictness: Strictness::of(settings),
            missing: Off::default().and_missing(settings, GRADUATED),
        }
    }
}

pub(crate) fn columns() -> [Column; 5] {
    [
        Column::name(),
        Column::text("AddressType", "addressType"),
        Column::computed("Ports", ports),
        Column::computed("Endpoints", addresses),
        Column::age(),
    ]
}

/// A port without a number is shown by its name.
fn ports(object: &Object) -> Cell {
    let shown = |port: &Map| match (port.int("port"), port.str("name")) {
        (Some(number), _) => number.to_string(),
        (None, name) => String::from(name.unwrap_or("*")),
    };
    cells::few(&object.fields.maps("ports").map(shown).collect::<Vec<_>>())
}

fn addresses(object: &Object) -> Cell {
    let endpoints = object.fields.maps("endpoints");
    let addresses = endpoints.flat_map(|it| it.list("addresses")).filter_map(Value::as_str);
    cells::few(&addresses.map(String::from).collect::<Vec<_>>())
}

impl Strategy for EndpointSlice {
    /// Upstream: pkg/apis/discovery/v1/defaults.go, SetDefaults_EndpointPort (v1.36.4).
    fn default(&self, object: &mut Object) {
        for port in parts(&mut object.fields, "ports") {
            port.default_to("name", "");
            port.default_to("protocol", "TCP");
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
        self.missing.drop_new(&mut object.fields, None);
        drop_topology(object, None);
    }

    /// Changes of labels count as well: they name the service of a slice.
    ///
    /// Upstream: pkg/registry/discovery/endpointslice/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.missing.drop_new(&mut object.fields, Some(&old.fields));
        if object.fields != old.fields || object.meta.labels != old.meta.labels {
            object.meta.generation = old.meta.generation + 1;
        }
        drop_topology(object, Some(old));
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object, None, self.strictness, errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        rules::check(object, Some(old), self.strictness, errors);
    }

    /// The controllers of the cluster write addresses in their one form; looking at theirs would be lost time.
    ///
    /// Upstream: pkg/registry/discovery/endpointslice/strategy.go, warnOnBadIPs (v1.36.4).
    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        if old.is_none() && object.fields.str("addressType") == Some("FQDN") {
            warnings.push(String::from("spec.addressType: FQDN endpoints are deprecated"));
        }
        if object.meta.labels.get(MANAGED_BY).is_some_and(|it| CONTROLLERS.contains(&it)) {
            return warnings;
        }
        for (i, endpoint) in object.fields.maps("endpoints").enumerate() {
            let addresses = endpoint.list("addresses").iter().filter_map(Value::as_str);
            warnings.extend(addresses.enumerate().filter_map(|(j, address)| {
                address_warning(&Path::root("endpoints").index(i).key("addresses").index(j), address)
            }));
        }
        warnings
    }
}

/// Removes the topology of v1beta1. A node that is only in the topology is kept where it was known before.
///
/// Upstream: pkg/registry/discovery/endpointslice/strategy.go, dropTopologyOnV1 (v1.36.4).
fn drop_topology(object: &mut Object, old: Option<&Object>) {
    if old.is_some_and(|old| old.fields.get("endpoints") == object.fields.get("endpoints")) {
        return;
    }
    let endpoints = old.into_iter().flat_map(|it| it.fields.maps("endpoints"));
    let known: Vec<&str> = endpoints.filter_map(host).filter(|it| !it.is_empty()).collect();
    for endpoint in parts(&mut object.fields, "endpoints") {
        let named = endpoint.get("nodeName").is_some_and(|it| !it.is_null());
        let node =
            host(endpoint).filter(|it| known.contains(it) && name_rules::dns1123_subdomain(it).is_empty());
        if let (false, Some(node)) = (named, node.map(String::from)) {
            endpoint.set("nodeName", node);
        }
        endpoint.remove("deprecatedTopology");
    }
}

fn host(endpoint: &Map) -> Option<&str> {
    endpoint.map("deprecatedTopology")?.str(HOST)
}

#[cfg(test)]
mod tests {
    use keelson_object::{Cell, Object};
    use keelson_registry::Strategy;

    use super::{EndpointSlice, addresses, ports};
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text, tree};

    fn strategy() -> EndpointSlice {
        EndpointSlice::new(&Settings::default())
    }

    fn slice(body: &str) -> Object {
        decoded(&strategy(), "discovery.k8s.io/v1 EndpointSlice", body)
    }

    #[test]
    fn hints_for_nodes_came_with_a_feature() {
        let check = |off: &[&str], old: Option<&str>, expected: bool| {
            let off = off.iter().map(|it| (*it).to_owned()).collect();
            let strategy = EndpointSlice::new(&Settings { off, ..Settings::default() });
            let mut object = slice(r#"{"endpoints": [{"hints": {"forNodes": [{"name": "n"}]}}]}"#);
            match old {
                Some(old) => strategy.prepare_update(&context(), &mut object, &slice(old)),
                None => strategy.prepare_create(&context(), &mut object),
            }
            let endpoints = object.fields.get("endpoints").cloned().unwrap_or_default();
            assert_eq!(text(&endpoints).contains("forNodes"), expected, "{old:?}");
        };
        let gate = &["PreferSameTrafficDistribution"];
        check(&[], None, true);
        check(gate, None, false);
        check(gate, Some("{}"), false);
        check(gate, Some(r#"{"endpoints": [{"hints": {"forNodes": [{"name": "m"}]}}]}"#), true);
    }

    #[test]
    fn ports_have_a_name_and_are_tcp() {
        let found = slice(r#"{"ports": [{"port": 80}, {"name": "a", "protocol": "UDP"}]}"#);
        let expected = r#"[{"name": "", "protocol": "TCP", "port": 80}, {"name": "a", "protocol": "UDP"}]"#;
        assert_eq!(found.fields.get("ports"), Some(&tree(expected)));
    }

    #[test]
    fn the_table_tells_the_first_ports_and_addresses() {
        let check = |body: &str, expected: [&str; 2]| {
            let object = slice(body);
            assert_eq!([ports(&object), addresses(&object)], expected.map(Cell::from), "{body}");
        };
        check("{}", ["<unset>", "<unset>"]);
        check(
            r#"{"ports": [{"port": 80}, {"name": "a"}], "endpoints": [{"addresses": ["1"]}]}"#,
            ["80,a", "1"],
        );
        check(
            r#"{"endpoints": [{"addresses": ["1", "2"]}, {"addresses": ["3", "4"]}]}"#,
            ["<unset>", "1,2,3 + 1 more..."],
        );
    }

    #[test]
    fn the_topology_of_old_goes_and_leaves_the_node_it_named() {
        let topology = r#""deprecatedTopology": {"kubernetes.io/hostname": "n"}"#;
        let old = slice(&format!(r#"{{"endpoints": [{{"addresses": ["1"], {topology}}}]}}"#));
        let check = |body: String, expected: &str| {
            let mut object = slice(&body);
            strategy().prepare_update(&context(), &mut object, &old);
            let found = object.fields.get("endpoints").cloned().unwrap_or_default();
            let conditions = slice(&format!(r#"{{"endpoints": {expected}}}"#));
            assert_eq!(Some(&found), conditions.fields.get("endpoints"), "{}", text(&found));
        };
        check(
            format!(r#"{{"endpoints": [{{"addresses": ["2"], {topology}}}]}}"#),
            r#"[{"addresses": ["2"], "nodeName": "n"}]"#,
        );
        check(
            format!(r#"{{"endpoints": [{{"addresses": ["2"], "nodeName": "m", {topology}}}]}}"#),
            r#"[{"addresses": ["2"], "nodeName": "m"}]"#,
        );
        check(
            String::from(
                r#"{"endpoints": [{"addresses": ["2"], "deprecatedTopology": {"kubernetes.io/hostname": "x"}}]}"#,
            ),
            r#"[{"addresses": ["2"]}]"#,
        );
    }

    #[test]
    fn a_label_is_a_new_generation() {
        let old = slice(r#"{"metadata": {"generation": 3}}"#);
        let check = |body: &str, expected: i64| {
            let mut object = slice(body);
            object.meta.generation = 3;
            strategy().prepare_update(&context(), &mut object, &old);
            assert_eq!(object.meta.generation, expected, "{body}");
        };
        check("{}", 3);
        check(r#"{"metadata": {"annotations": {"a": "b"}}}"#, 3);
        check(r#"{"metadata": {"labels": {"a": "b"}}}"#, 4);
        check(r#"{"endpoints": [{"addresses": ["1"]}]}"#, 4);
    }

    #[test]
    fn odd_addresses_are_told_unless_a_controller_wrote_them() {
        let check = |keeper: &str, expected: &[&str]| {
            let labels = format!(r#""labels": {{"endpointslice.kubernetes.io/managed-by": "{keeper}"}}"#);
            let body = format!(
                r#"{{"metadata": {{{labels}}}, "endpoints": [{{"addresses": ["192.0.2.1", "192.0.02.1"]}}]}}"#
            );
            assert_eq!(strategy().warnings(&slice(&body), None), expected, "{keeper}");
        };
        check("endpointslice-controller.k8s.io", &[]);
        let warning =
            r#"endpoints[0].addresses[1]: non-standard IP address "192.0.02.1" is invalid: use "192.0.2.1""#;
        check("somebody", &[warning]);
    }
}
