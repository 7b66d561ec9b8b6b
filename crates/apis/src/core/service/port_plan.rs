//! Node port plan: the ports that a service allocates and releases.
//!
//! Ports with the same number are often one port over several protocols, and share a node port. For
//!
//! ```text
//! 53/UDP, 53/TCP nodePort 30053, 80/TCP
//! ```
//!
//! 30053 is allocated once and set on both of the first two; 80 gets any.

use std::collections::{HashMap, HashSet};

use keelson_object::{Map, Value};

use super::counts::{Asked, Tally};
use super::facts::{has_health_port, has_node_ports, node_ports, text, wants_node_ports};
use super::port_set::{PortRefusal, PortSet};

/// The node ports of a service after a write.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Node ports by the position of the port.
    numbers: Vec<(usize, i64)>,
    health: Option<i64>,
    /// Ports to release if the write fails.
    pub(super) taken: Vec<i64>,
    /// Ports to release if the write succeeds.
    pub(super) released: Vec<i64>,
}

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The node port of the port at a position cannot be had.
    Port(usize, i64, PortRefusal),
    /// No node port is available.
    Any(PortRefusal),
    /// The health check node port cannot be had.
    Health(i64, PortRefusal),
    /// A protocol and a number are there twice.
    Twice(String, i64),
}

/// The source of ports.
pub(super) trait Stock {
    /// Takes this port.
    fn take(&mut self, port: i64) -> Result<(), PortRefusal>;
    /// Takes any.
    fn take_any(&mut self) -> Result<i64, PortRefusal>;
}

/// The real ports, with metrics.
pub(super) struct Counted<'s> {
    pub(super) ports: PortSet,
    pub(super) tally: &'s mut Tally,
}

impl Counted<'_> {
    fn count<T>(&mut self, asked: Asked, outcome: Result<T, PortRefusal>) -> Result<T, PortRefusal> {
        let outcomes = self.tally.entry(asked).or_default();
        match outcome {
            Ok(_) => outcomes.taken += 1,
            Err(_) => outcomes.refused += 1,
        }
        outcome
    }
}

impl Stock for Counted<'_> {
    fn take(&mut self, port: i64) -> Result<(), PortRefusal> {
        let outcome = self.ports.take(port);
        self.count(Asked::Static, outcome)
    }

    fn take_any(&mut self) -> Result<i64, PortRefusal> {
        let outcome = self.ports.take_any();
        self.count(Asked::Dynamic, outcome)
    }
}

/// The ports of a dry run: nothing is allocated, and a port that is not requested by number gets a made-up
/// one.
///
/// Upstream: pkg/registry/core/service/portallocator/operation.go (v1.36.4).
pub(super) struct Pretended<'s> {
    real: &'s PortSet,
    taken: HashSet<i64>,
}

impl<'s> Pretended<'s> {
    pub(super) fn new(real: &'s PortSet) -> Pretended<'s> {
        Pretended { real, taken: HashSet::new() }
    }
}

impl Stock for Pretended<'_> {
    fn take(&mut self, port: i64) -> Result<(), PortRefusal> {
        if self.real.has(port) || !self.taken.insert(port) { Err(PortRefusal::Taken) } else { Ok(()) }
    }

    fn take_any(&mut self) -> Result<i64, PortRefusal> {
        let port = self.taken.iter().max().copied().unwrap_or(32768) + 1;
        self.taken.insert(port);
        Ok(port)
    }
}

impl Plan {
    /// Whether a service, or the one it replaces, uses node ports.
    pub(super) fn is_needed(spec: &Map, old: Option<&Map>) -> bool {
        has_node_ports(spec) || old.is_some_and(has_node_ports)
    }

    /// The plan of a new service, or of one that replaces `old`.
    pub(super) fn new(spec: &Map, old: Option<&Map>, stock: &mut impl Stock) -> Result<Plan, Refusal> {
        let mut plan = Plan::default();
        match old {
            None if has_node_ports(spec) => plan.begin(spec, stock)?,
            None => {}
            Some(old) => {
                if has_node_ports(spec) {
                    plan.change(spec, old, stock)?;
                } else {
                    plan.released.extend(owned(old));
                }
            }
        }
        match (old.is_some_and(has_health_port), has_health_port(spec)) {
            (false, true) => plan.take_health(spec, stock)?,
            (true, false) => plan.released.extend(old.and_then(|it| it.int("healthCheckNodePort"))),
            _ => {}
        }
        Ok(plan)
    }

    /// Upstream: pkg/registry/core/service/storage/alloc.go, initNodePorts (v1.36.4).
    fn begin(&mut self, spec: &Map, stock: &mut impl Stock) -> Result<(), Refusal> {
        let number = |port: &Map| port.int("port").unwrap_or_default();
        let node_port = |port: &Map| port.int("nodePort").unwrap_or_default();
        let mut wanted = HashMap::new();
        for port in spec.maps("ports").filter(|it| node_port(it) != 0) {
            wanted.entry(number(port)).or_insert(node_port(port));
        }
        let mut given = HashMap::new();
        for (i, port) in spec.maps("ports").enumerate() {
            let asked = node_port(port);
            if asked == 0 && !wants_node_ports(spec) {
                continue;
            }
            match given.get(&number(port)).copied() {
                Some(same) if asked == 0 => self.numbers.push((i, same)),
                Some(same) if asked == same => {}
                Some(_) => self.take(i, asked, stock)?,
                None => {
                    let taken = match wanted.get(&number(port)).copied() {
                        Some(asked) => self.take(i, asked, stock).map(|()| asked)?,
                        None => self.take_any(stock)?,
                    };
                    self.numbers.push((i, taken));
                    given.insert(number(port), taken);
                }
            }
        }
        Ok(())
    }

    /// Upstream: pkg/registry/core/service/storage/alloc.go, updateNodePorts (v1.36.4).
    fn change(&mut self, spec: &Map, old: &Map, stock: &mut impl Stock) -> Result<(), Refusal> {
        let before: HashSet<i64> = owned(old).collect();
        let (mut now, mut seen) = (HashSet::new(), HashSet::new());
        for (i, port) in spec.maps("ports").enumerate() {
            let mut number = port.int("nodePort").unwrap_or_default();
            if number == 0 && !wants_node_ports(spec) {
                continue;
            }
            if number == 0 {
                number = self.take_any(stock)?;
                self.numbers.push((i, number));
            } else if !before.contains(&number) && !now.contains(&number) {
                self.take(i, number, stock)?;
            }
            now.insert(number);
            if !seen.insert((text(port, "protocol"), number)) {
                return Err(Refusal::Twice(text(port, "protocol").to_owned(), number));
            }
        }
        self.released.extend(before.difference(&now));
        Ok(())
    }

    /// Upstream: pkg/registry/core/service/storage/alloc.go, allocHealthCheckNodePort (v1.36.4).
    fn take_health(&mut self, spec: &Map, stock: &mut impl Stock) -> Result<(), Refusal> {
        let asked = spec.int("healthCheckNodePort").unwrap_or_default();
        let taken = match asked {
            0 => stock.take_any(),
            asked => stock.take(asked).map(|()| asked),
        };
        let taken = taken.map_err(|refusal| Refusal::Health(asked, refusal))?;
        self.taken.push(taken);
        self.health = Some(taken);
        Ok(())
    }

    fn take(&mut self, i: usize, port: i64, stock: &mut impl Stock) -> Result<(), Refusal> {
        stock.take(port).map_err(|refusal| Refusal::Port(i, port, refusal))?;
        self.taken.push(port);
        Ok(())
    }

    fn take_any(&mut self, stock: &mut impl Stock) -> Result<i64, Refusal> {
        let port = stock.take_any().map_err(Refusal::Any)?;
        self.taken.push(port);
        Ok(port)
    }

    /// Writes the numbers into the service.
    pub(super) fn write(&self, spec: &mut Map) {
        if let Some(Value::List(ports)) = spec.get_mut("ports") {
            for (i, number) in &self.numbers {
                if let Some(port) = ports.get_mut(*i).and_then(Value::as_map_mut) {
                    port.set("nodePort", *number);
                }
            }
        }
        if let Some(number) = self.health {
            spec.set("healthCheckNodePort", number);
        }
    }
}

/// All port numbers of a service.
pub(super) fn numbers(spec: &Map) -> Vec<i64> {
    let health = spec.int("healthCheckNodePort").filter(|it| *it > 0 && has_health_port(spec));
    owned(spec).chain(health).collect()
}

/// The node ports that a service has allocated. An ExternalName service may contain numbers that it never
/// allocated, and must not release the ports of others; upstream does.
fn owned(spec: &Map) -> impl Iterator<Item = i64> {
    node_ports(spec).filter(|_| has_node_ports(spec))
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;

    use super::{Plan, Pretended, Refusal};
    use crate::core::service::port_set::{PortRange, PortSet};
    use crate::shared::testing::tree;

    fn spec(text: &str) -> Map {
        tree(text).as_map().expect("a map").clone()
    }

    /// Checks the node ports of a service after a dry run, and the released ports; another service has 30001.
    fn check(new: &str, old: Option<&str>, expected: &[i64], released: &[i64]) {
        let mut real = PortSet::new(PortRange::DEFAULT);
        real.take(30001).expect("a free port");
        let (mut new, old) = (spec(new), old.map(spec));
        let plan = Plan::new(&new, old.as_ref(), &mut Pretended::new(&real)).expect("a plan");
        plan.write(&mut new);
        assert_eq!(super::numbers(&new), expected, "{new:?}");
        let mut found = plan.released.clone();
        found.sort_unstable();
        assert_eq!(found, released, "{new:?}");
    }

    #[test]
    fn ports_of_one_number_share_a_node_port() {
        let both = r#"{"type": "NodePort", "ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}"#;
        check(both, None, &[32769, 32769], &[]);
        let asked =
            r#"{"type": "NodePort", "ports": [{"port": 53}, {"port": 53, "nodePort": 30053}, {"port": 80}]}"#;
        check(asked, None, &[30053, 30053, 30054], &[]);
        let apart = r#"{"type": "NodePort", "ports": [{"port": 53, "nodePort": 30050}, {"port": 53, "nodePort": 30053}]}"#;
        check(apart, None, &[30050, 30053], &[]);
    }

    #[test]
    fn a_load_balancer_may_do_without() {
        let without = r#"{"type": "LoadBalancer", "allocateLoadBalancerNodePorts": false,
            "ports": [{"port": 80}, {"port": 81, "nodePort": 30081}]}"#;
        check(without, None, &[30081], &[]);
        let local = r#"{"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}"#;
        check(local, None, &[32769, 32770], &[]);
    }

    #[test]
    fn what_is_not_used_any_more_goes_back() {
        let old = r#"{"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}, {"port": 81, "nodePort": 30081}]}"#;
        check(r#"{"type": "ClusterIP", "ports": [{"port": 80}]}"#, Some(old), &[], &[30080, 30081]);
        let one = r#"{"type": "NodePort", "ports": [{"port": 80, "nodePort": 30081}, {"port": 82}]}"#;
        check(one, Some(old), &[30081, 32769], &[30080]);
        let local =
            r#"{"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30099}"#;
        check(r#"{"type": "LoadBalancer"}"#, Some(local), &[], &[30099]);
    }

    #[test]
    fn a_name_outside_has_no_numbers_whatever_it_says() {
        let outside = r#"{"type": "ExternalName", "ports": [{"port": 80, "nodePort": 30080}]}"#;
        assert!(super::numbers(&spec(outside)).is_empty());
        check(r#"{"type": "ClusterIP", "ports": [{"port": 80}]}"#, Some(outside), &[], &[]);
        let real = PortSet::new(PortRange::DEFAULT);
        let inside = spec(r#"{"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}"#);
        let plan = Plan::new(&inside, Some(&spec(outside)), &mut Pretended::new(&real)).expect("a plan");
        assert_eq!(plan.taken, [30080]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let real = PortSet::new(PortRange::DEFAULT);
        let plan = |new: &str, old: Option<&str>| {
            Plan::new(&spec(new), old.map(spec).as_ref(), &mut Pretended::new(&real))
        };
        let twice = r#"{"type": "NodePort", "ports": [{"port": 1, "nodePort": 30001}, {"port": 2, "nodePort": 30001}]}"#;
        assert!(matches!(plan(twice, None), Err(Refusal::Port(1, 30001, _))));
        let same = r#"{"type": "NodePort", "ports": [{"port": 1, "protocol": "TCP", "nodePort": 30001},
            {"port": 2, "protocol": "TCP", "nodePort": 30001}]}"#;
        assert!(matches!(plan(same, Some("{}")), Err(Refusal::Twice(_, 30001))));
    }
}
