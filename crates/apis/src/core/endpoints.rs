//! Endpoints: the addresses behind a service, in the old form.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::core::service::rules::check_protocol;
use crate::shared::addresses::{Strictness, address_warning, check_address, check_endpoint_address};
use crate::shared::edit::{fill, parts};

pub(crate) struct Endpoints {
    strictness: Strictness,
}

/// The label that names the manager of endpoints.
const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpoint-controller";

/// More addresses than these are only counted.
const SHOWN: usize = 3;

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("Endpoints", addresses), Column::age()]
}

impl Endpoints {
    pub(crate) fn new(settings: &Settings) -> Endpoints {
        Endpoints { strictness: Strictness::of(settings) }
    }
}

impl Strategy for Endpoints {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Endpoints (v1.36.4).
    fn default(&self, object: &mut Object) {
        for subset in parts(&mut object.fields, "subsets") {
            parts(subset, "ports").for_each(|port| fill(port, "protocol", "TCP"));
        }
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("subsets");
        for (i, subset) in object.fields.maps("subsets").enumerate() {
            check_subset(subset, self.strictness, &at.index(i), errors);
        }
    }

    /// Unchanged subsets are not validated again.
    ///
    /// Upstream: pkg/apis/core/validation/validation.go, ValidateEndpoints (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let subsets = |it: &'_ Object| it.fields.get("subsets").filter(|it| !it.is_empty()).cloned();
        if subsets(object) != subsets(old) {
            self.validate(context, object, errors);
        }
    }

    /// The controller of the cluster writes addresses in their one form; looking at its own would be lost time.
    ///
    /// Upstream: pkg/registry/core/endpoint/strategy.go, endpointsWarnings (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        if object.meta.labels.get(MANAGED_BY) == Some(CONTROLLER) {
            return Vec::new();
        }
        let (at, mut warnings) = (Path::root("subsets"), Vec::new());
        for (i, subset) in object.fields.maps("subsets").enumerate() {
            let at = at.index(i);
            for field in ["addresses", "notReadyAddresses"] {
                let at = at.key(field);
                let odd = |(j, address): (usize, &Map)| {
                    address_warning(&at.index(j).key("ip"), address.str("ip").unwrap_or_default())
                };
                warnings.extend(subset.maps(field).enumerate().filter_map(odd));
            }
        }
        warnings
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateEndpointSubsets (v1.36.4).
fn check_subset(subset: &Map, strictness: Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    if subset.list("addresses").is_empty() && subset.list("notReadyAddresses").is_empty() {
        errors.required(at, "must specify `addresses` or `notReadyAddresses`");
    }
    for field in ["addresses", "notReadyAddresses"] {
        let at = at.key(field);
        for (i, address) in subset.maps(field).enumerate() {
            check_host(address, strictness, &at.index(i), errors);
        }
    }
    let (at, count) = (at.key("ports"), subset.list("ports").len());
    for (i, port) in subset.maps("ports").enumerate() {
        let at = at.index(i);
        match port.str("name").unwrap_or_default() {
            "" if count > 1 => errors.required(&at.key("name"), ""),
            "" => {}
            name => errors.invalid_each(&at.key("name"), name, name_rules::dns1123_label(name)),
        }
        let number = port.int("port").unwrap_or_default();
        for message in name_rules::port_number(number) {
            errors.invalid(&at.key("port"), number, message);
        }
        check_protocol(port.str("protocol").unwrap_or_default(), &at.key("protocol"), errors);
        if let Some(protocol) = port.str("appProtocol") {
            errors.invalid_each(&at.key("appProtocol"), protocol, name_rules::qualified_name(protocol));
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateEndpointAddress (v1.36.4).
fn check_host(address: &Map, strictness: Strictness, at: &Path<'_>, errors: &mut FieldErrors) {
    let (ip, ip_at) = (address.str("ip").unwrap_or_default(), at.key("ip"));
    check_address(ip, strictness, &ip_at, errors);
    if let Some(host) = address.str("hostname").filter(|it| !it.is_empty()) {
        errors.invalid_each(&at.key("hostname"), host, name_rules::dns1123_label(host));
    }
    if let Some(node) = address.str("nodeName") {
        errors.invalid_each(&at.key("nodeName"), node, name_rules::dns1123_subdomain(node));
    }
    check_endpoint_address(ip, &ip_at, errors);
}

/// `10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...`
fn addresses(object: &Object) -> Cell {
    let mut all = Vec::new();
    for subset in object.fields.maps("subsets") {
        let hosts = || subset.maps("addresses").filter_map(|it| it.str("ip"));
        let ports = subset.list("ports");
        if ports.is_empty() {
            all.extend(hosts().map(str::to_owned));
        }
        for port in ports.iter().filter_map(|it| it.as_map()?.int("port")) {
            all.extend(hosts().map(|host| join(host, port)));
        }
    }
    if object.fields.list("subsets").is_empty() {
        return Cell::from("<none>");
    }
    let shown = all[..all.len().min(SHOWN)].join(",");
    if all.len() > SHOWN {
        Cell::from(format!("{shown} + {} more...", all.len() - SHOWN))
    } else {
        Cell::from(shown)
    }
}

fn join(host: &str, port: i64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::{Endpoints, columns};
    use crate::catalog::Settings;
    use crate::shared::testing::{cells, decoded, tree};

    fn endpoints() -> Endpoints {
        Endpoints::new(&Settings::default())
    }

    fn check(subsets: &str, expected: &str) {
        let text = format!("{{\"subsets\": {subsets}}}");
        let object = decoded(&endpoints(), "v1 Endpoints", &text);
        assert_eq!(cells(&columns(), &object)[1], expected, "{subsets}");
    }

    #[test]
    fn ports_are_tcp_unless_they_say() {
        let text = r#"{"subsets": [{"ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]}]}"#;
        let object = decoded(&endpoints(), "v1 Endpoints", text);
        let expected = r#"[{"ports": [{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}]"#;
        assert_eq!(object.fields.get("subsets"), Some(&tree(expected)));
    }

    #[test]
    fn three_addresses_are_shown_and_the_others_counted() {
        check("[]", "<none>");
        check("[{}]", "");
        check(r#"[{"addresses": [{"ip": "10.0.0.1"}]}]"#, "10.0.0.1");
        check(r#"[{"addresses": [{"ip": "::1"}], "ports": [{"port": 80}]}]"#, "[::1]:80");
        let two = r#"[{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]"#;
        check(
            &format!(r#"[{{"addresses": {two}, "ports": [{{"port": 80}}, {{"port": 81}}]}}]"#),
            "10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...",
        );
    }
}
