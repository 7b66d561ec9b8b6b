//! Warnings about duplicate ports.

use std::collections::HashMap;

use keelson_object::scalar::quote;
use keelson_object::{Map, Path};

use super::super::rules::visit;

/// The largest number of warnings: the header has room for fewer.
const MOST: usize = 256;

/// Upstream: pkg/api/pod/warnings.go, warningsForPodSpecAndMeta (v1.36.4), ports.
pub(super) fn warn(spec: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    let ports: Vec<Port<'_>> = ports(spec).collect();
    if ports.is_empty() {
        return;
    }
    let most = warnings.len() + MOST;
    let mut seen = Seen::default();
    for (index, port) in ports.iter().enumerate() {
        let shown = port.shown(at);
        if !port.host_ip.is_empty() && port.host_port == 0 {
            warnings.push(format!("{shown}: hostIP set without hostPort: {}", port.as_go()));
        }
        for other in seen.before(port) {
            if warnings.len() >= most {
                return;
            }
            let how = how_alike(port, &ports[other]);
            warnings.push(format!("{shown}: {how} port definition with {}", ports[other].shown(at)));
        }
        seen.add(index, port);
    }
    warn_of_names(&ports, at, warnings);
}

fn warn_of_names(ports: &[Port<'_>], at: &Path<'_>, warnings: &mut Vec<String>) {
    let mut names: HashMap<&str, &Port<'_>> = HashMap::new();
    for port in ports.iter().filter(|it| !it.name.is_empty()) {
        let Some(other) = names.get(port.name) else {
            names.insert(port.name, port);
            continue;
        };
        let other = other.shown(at);
        warnings.push(format!(
            "{}: duplicate port name {} with {other}, services and probes that select ports by name will use {other}",
            port.shown(at),
            quote(port.name)
        ));
    }
}

struct Port<'s> {
    place: (&'static str, usize, usize),
    name: &'s str,
    number: i64,
    protocol: &'s str,
    host_port: i64,
    host_ip: &'s str,
}

fn ports(spec: &Map) -> impl Iterator<Item = Port<'_>> {
    visit::placed(spec).flat_map(|place| {
        place.container.maps("ports").enumerate().map(move |(position, port)| {
            let text = |field| port.str(field).unwrap_or_default();
            Port {
                place: (place.list, place.position, position),
                name: text("name"),
                number: port.int("containerPort").unwrap_or_default(),
                protocol: text("protocol"),
                host_port: port.int("hostPort").unwrap_or_default(),
                host_ip: text("hostIP"),
            }
        })
    })
}

impl Port<'_> {
    fn shown(&self, at: &Path<'_>) -> String {
        let (list, container, position) = self.place;
        at.key(list).index(container).key("ports").index(position).to_string()
    }

    /// The form that Go prints for the struct.
    fn as_go(&self) -> String {
        format!(
            "{{Name:{} HostPort:{} ContainerPort:{} Protocol:{} HostIP:{}}}",
            self.name, self.host_port, self.number, self.protocol, self.host_ip
        )
    }
}

fn how_alike(port: &Port<'_>, other: &Port<'_>) -> &'static str {
    if port.host_ip == other.host_ip && port.host_port == other.host_port {
        "duplicate"
    } else if port.host_port == 0 || other.host_port == 0 {
        "overlapping"
    } else {
        "dangerously ambiguous"
    }
}

/// The ports so far, indexed by what makes them duplicates, so that not every pair has to be compared.
///
/// Ports with the same number and protocol are duplicates if one of them has no host port; if both have the
/// same host port and the same host IP; if both have the same host port and one of them has no host IP.
#[derive(Default)]
struct Seen<'s> {
    all: HashMap<(i64, &'s str), Vec<usize>>,
    on_port: HashMap<(i64, &'s str, i64), Vec<usize>>,
    on_address: HashMap<(i64, &'s str, i64, &'s str), Vec<usize>>,
}

impl<'s> Seen<'s> {
    fn add(&mut self, index: usize, port: &Port<'s>) {
        let (number, protocol) = (port.number, port.protocol);
        self.all.entry((number, protocol)).or_default().push(index);
        self.on_port.entry((number, protocol, port.host_port)).or_default().push(index);
        let address = (number, protocol, port.host_port, port.host_ip);
        self.on_address.entry(address).or_default().push(index);
    }

    /// The ports that are like `port`, in their order.
    fn before(&self, port: &Port<'s>) -> Vec<usize> {
        let (number, protocol) = (port.number, port.protocol);
        let Some(all) = self.all.get(&(number, protocol)) else { return Vec::new() };
        if port.host_port == 0 {
            return all.clone();
        }
        let on = |address| self.on_address.get(&(number, protocol, port.host_port, address));
        let without_host = self.on_port.get(&(number, protocol, 0));
        let lists = if port.host_ip.is_empty() {
            [without_host, self.on_port.get(&(number, protocol, port.host_port)), None]
        } else {
            [without_host, on(""), on(port.host_ip)]
        };
        let mut found: Vec<usize> = lists.into_iter().flatten().flatten().copied().collect();
        found.sort_unstable();
        found
    }
}
