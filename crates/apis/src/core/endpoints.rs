//! Endpoints: the addresses behind a service, in the old form.

use keelson_object::{Cell, Object};
use keelson_registry::{Column, Strategy};

use crate::shared::edit::{fill, parts};

pub(crate) struct Endpoints;

/// More addresses than these are only counted.
const SHOWN: usize = 3;

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("Endpoints", addresses), Column::age()]
}

impl Strategy for Endpoints {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Endpoints (v1.36.4).
    fn default(&self, object: &mut Object) {
        for subset in parts(&mut object.fields, "subsets") {
            parts(subset, "ports").for_each(|port| fill(port, "protocol", "TCP"));
        }
    }
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
    use crate::shared::testing::{cells, decoded, tree};

    fn check(subsets: &str, expected: &str) {
        let text = format!("{{\"subsets\": {subsets}}}");
        let object = decoded(&Endpoints, "v1 Endpoints", &text);
        assert_eq!(cells(&columns(), &object)[1], expected, "{subsets}");
    }

    #[test]
    fn ports_are_tcp_unless_they_say() {
        let text = r#"{"subsets": [{"ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]}]}"#;
        let object = decoded(&Endpoints, "v1 Endpoints", text);
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
