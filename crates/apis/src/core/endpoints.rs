//! Endpoints: the addresses behind a service, in the old form.

use keelson_object::{Cell, Object};
use keelson_registry::Column;

/// More addresses than these are only counted.
const SHOWN: usize = 3;

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("Endpoints", addresses), Column::age()]
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
