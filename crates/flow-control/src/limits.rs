//! Limits of a priority level: how many seats it has nominally, how many it lends and how many it may borrow.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/apf_controller.go, finishQueueSetReconfigsLocked (v1.36.4).

/// What a PriorityLevelConfiguration says about seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// `nominalConcurrencyShares`.
    pub shares: u32,
    /// `lendablePercent`.
    pub lendable_percent: u32,
    /// `borrowingLimitPercent`; `None` means no limit.
    pub borrowing_limit_percent: Option<u32>,
}

/// The seats of a priority level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub nominal: usize,
    /// What it keeps when it lends all that it may.
    pub min: usize,
    /// What it has when it borrows all that it may.
    pub max: usize,
    /// What it starts with.
    pub initial: usize,
}

impl Limits {
    /// `share_sum` is the sum of the shares of all levels; `server_limit` is the number of seats of the server.
    pub fn of(shares: Shares, share_sum: f64, server_limit: usize) -> Limits {
        let part = server_limit as f64 * f64::from(shares.shares) / share_sum;
        let nominal = if share_sum > 0.0 { part.ceil() as usize } else { 0 };
        let percent = |percent: u32| (nominal as f64 * f64::from(percent) / 100.0).round() as usize;
        let lendable = percent(shares.lendable_percent).min(nominal);
        let borrowing = shares.borrowing_limit_percent.map_or(server_limit, percent);
        Limits { nominal, min: nominal - lendable, max: nominal + borrowing, initial: nominal - lendable / 2 }
    }

    /// The most seats that one request of a level with queues may take.
    pub fn max_seats_per_request(&self, hand_size: usize) -> u64 {
        let share = (self.nominal as f64 * 0.15).ceil() as u64;
        let spread = (self.nominal / hand_size.max(1)) as u64;
        share.min(spread).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_levels_have_upstreams_seats() {
        // exempt 0, catch-all 5, system 30, node-high 40, leader-election 10, workload-high 40, workload-low 100,
        // global-default 20: together 245.
        for (shares, lendable_percent, nominal, min, initial) in [
            (5, 0, 13, 13, 13),
            (30, 33, 74, 50, 62),
            (40, 25, 98, 73, 86),
            (10, 0, 25, 25, 25),
            (100, 90, 245, 24, 135),
        ] {
            let shares = Shares { shares, lendable_percent, borrowing_limit_percent: None };
            let limits = Limits::of(shares, 245.0, 600);
            assert_eq!((limits.nominal, limits.min, limits.initial), (nominal, min, initial), "{shares:?}");
            assert_eq!(limits.max, nominal + 600);
        }
    }

    #[test]
    fn one_request_takes_a_part_of_a_level() {
        let limits = |nominal| Limits { nominal, min: 0, max: 0, initial: 0 };
        assert_eq!(limits(245).max_seats_per_request(6), 37);
        assert_eq!(limits(98).max_seats_per_request(6), 15);
        assert_eq!(limits(3).max_seats_per_request(6), 1);
    }
}
