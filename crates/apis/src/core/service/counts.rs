//! Metrics of the allocation of addresses and ports.
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

/// How an address or port is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// A specific number.
    Static,
    /// Any will do.
    Dynamic,
}

impl Asked {
    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Asked::Static => "static",
            Asked::Dynamic => "dynamic",
        }
    }
}

/// The number of successful and failed allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Successful allocations.
    pub taken: u64,
    /// Failed allocations.
    pub refused: u64,
}

/// The outcomes by the kind of request.
pub type Tally = BTreeMap<Asked, Outcomes>;

/// The metrics of addresses and ports of services. Services change rarely: a lock is good enough.
#[derive(Default)]
pub struct ServiceCounts {
    ranges: Mutex<BTreeMap<IpNet, RangeCounts>>,
    ports: Mutex<PortCounts>,
}

/// The metrics of a range of addresses.
#[derive(Clone)]
pub struct RangeCounts {
    /// The number of allocations.
    pub tally: Tally,
    /// The duration of allocations, in seconds.
    pub durations: Arc<Histogram>,
}

/// The metrics of node ports.
#[derive(Clone, Debug, Default)]
pub struct PortCounts {
    /// The number of allocations.
    pub tally: Tally,
    /// The number of ports that are allocated now, as this server has seen it.
    pub used: usize,
    /// The number of free ports.
    pub free: usize,
    /// The number of repairs, by the kind of error.
    pub repairs: BTreeMap<&'static str, u64>,
    /// The number of failed repairs.
    pub failures: u64,
}

const BUCKETS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl Default for RangeCounts {
    fn default() -> RangeCounts {
        RangeCounts { tally: Tally::new(), durations: Arc::new(Histogram::new(BUCKETS)) }
    }
}

impl ServiceCounts {
    /// An address of a range was allocated.
    pub(super) fn address_taken(&self, range: IpNet, asked: Asked, elapsed: Duration) {
        let mut ranges = self.ranges.lock();
        let counts = ranges.entry(range).or_default();
        counts.tally.entry(asked).or_default().taken += 1;
        counts.durations.observe(elapsed.as_secs_f64());
    }

    /// An address of a range could not be allocated.
    pub(super) fn address_refused(&self, range: IpNet, asked: Asked) {
        self.ranges.lock().entry(range).or_default().tally.entry(asked).or_default().refused += 1;
    }

    /// Node ports were requested.
    pub(super) fn ports_asked(&self, tally: Tally) {
        let mut ports = self.ports.lock();
        for (asked, outcomes) in tally {
            let sum = ports.tally.entry(asked).or_default();
            sum.taken += outcomes.taken;
            sum.refused += outcomes.refused;
        }
    }

    /// These node ports are allocated.
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
