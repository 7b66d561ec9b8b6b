//! What is counted about the addresses and ports of services.
//!
//! Upstream: pkg/registry/core/service/{ipallocator,portallocator}/metrics.go and portallocator/controller/metrics.go
//! (v1.36.4).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use keelson_stdx::histogram::Histogram;
use parking_lot::Mutex;

use super::port_set::PortSet;

/// How something is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// By its number.
    Static,
    /// Any will do.
    Dynamic,
}

impl Asked {
    /// As it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Asked::Static => "static",
            Asked::Dynamic => "dynamic",
        }
    }
}

/// How often something was had, and how often not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// It was had.
    pub taken: u64,
    /// It was not.
    pub refused: u64,
}

/// How often, by how it was asked for.
pub type Tally = BTreeMap<Asked, Outcomes>;

/// What is counted about the addresses and ports of services. Services come and go slowly: a lock is good enough.
#[derive(Default)]
pub struct ServiceCounts {
    ranges: Mutex<BTreeMap<IpNet, RangeCounts>>,
    ports: Mutex<PortCounts>,
}

/// What is counted about the addresses of a range.
#[derive(Clone)]
pub struct RangeCounts {
    /// How many were taken.
    pub tally: Tally,
    /// How long that took, in seconds.
    pub durations: Arc<Histogram>,
}

/// What is counted about node ports.
#[derive(Clone, Debug, Default)]
pub struct PortCounts {
    /// How many were taken.
    pub tally: Tally,
    /// How many are taken now, as far as this server has seen.
    pub used: usize,
    /// How many are not.
    pub free: usize,
    /// What was found in need of repair, by what it was.
    pub repairs: BTreeMap<&'static str, u64>,
    /// How often they could not be repaired.
    pub failures: u64,
}

const BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl Default for RangeCounts {
    fn default() -> RangeCounts {
        RangeCounts { tally: Tally::new(), durations: Arc::new(Histogram::new(BUCKETS)) }
    }
}

impl ServiceCounts {
    /// An address of a range was taken.
    pub(super) fn address_taken(&self, range: IpNet, asked: Asked, elapsed: Duration) {
        let mut ranges = self.ranges.lock();
        let counts = ranges.entry(range).or_default();
        counts.tally.entry(asked).or_default().taken += 1;
        counts.durations.observe(elapsed.as_secs_f64());
    }

    /// An address of a range could not be taken.
    pub(super) fn address_refused(&self, range: IpNet, asked: Asked) {
        self.ranges.lock().entry(range).or_default().tally.entry(asked).or_default().refused += 1;
    }

    /// Node ports were asked for.
    pub(super) fn ports_asked(&self, tally: Tally) {
        let mut ports = self.ports.lock();
        for (asked, outcomes) in tally {
            let sum = ports.tally.entry(asked).or_default();
            sum.taken += outcomes.taken;
            sum.refused += outcomes.refused;
        }
    }

    /// These node ports are taken.
    pub(super) fn ports_seen(&self, set: &PortSet) {
        let (used, mut ports) = (set.iter().count(), self.ports.lock());
        ports.used = used;
        ports.free = set.size() - used;
    }

    /// Node ports were compared with services; these things were wrong.
    pub fn ports_repaired(&self, wrong: &[&'static str]) {
        let mut ports = self.ports.lock();
        for what in wrong {
            *ports.repairs.entry(what).or_default() += 1;
        }
    }

    /// Node ports could not be compared with services.
    pub fn ports_not_repaired(&self) {
        self.ports.lock().failures += 1;
    }

    /// The addresses, by range.
    pub fn ranges(&self) -> BTreeMap<IpNet, RangeCounts> {
        self.ranges.lock().clone()
    }

    /// The ports.
    pub fn ports(&self) -> PortCounts {
        self.ports.lock().clone()
    }
}
