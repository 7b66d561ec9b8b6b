//! Borrowing: how the seats of the server are divided among the priority levels, every ten seconds.
//!
//! A level with little demand lends seats to levels with more. Each level gets at least what it needs right now (up to
//! its nominal seats), at most what it may borrow, and between these bounds a share in proportion to its demand.
//!
//! Upstream: apiserver/pkg/util/flowcontrol/apf_controller.go, updateBorrowingLocked, and conc_alloc.go (v1.36.4).

use crate::demand::Demand;
use crate::limits::Limits;

/// Levels without demand still get a share.
const SMALLEST_TARGET: f64 = 0.001;
const TOLERANCE: f64 = 1e-7;

/// A priority level that takes part.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub limits: Limits,
    pub demand: Demand,
    pub is_exempt: bool,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// Seats of each level, in the order of the levels.
    pub seats: Vec<usize>,
    /// The demand of each level that was taken as a basis (metric `target_seats`).
    pub targets: Vec<f64>,
    /// The part of its target that each level gets between its bounds (metric `seat_fair_frac`); 0 if the bounds alone
    /// decide.
    pub fair_fraction: f64,
}

/// Bounds and target of one level.
#[derive(Clone, Copy, Debug)]
struct Claim {
    lower: f64,
    upper: f64,
    target: f64,
}

/// Divides the seats. `None` if the bounds cannot be met: then every level keeps what it has.
pub fn divide(levels: &[Level]) -> Option<Division> {
    let nominal_sum: usize = levels.iter().map(|level| level.limits.nominal).sum();
    let exempt_use: usize = levels.iter().filter(|level| level.is_exempt).map(wanted_now).sum();
    // May be negative: exempt levels take what they need.
    let remaining = nominal_sum as i64 - exempt_use as i64;
    let others = || levels.iter().filter(|level| !level.is_exempt);
    let min_sum = others().map(|level| level.limits.min as i64).sum::<i64>();
    let wanted_sum = others().map(|level| wanted_now(level) as i64).sum::<i64>();

    let (fair_fraction, wanted_fraction) = if remaining <= min_sum {
        (None, 0.0)
    } else if remaining <= wanted_sum {
        (None, (remaining - min_sum) as f64 / (wanted_sum - min_sum) as f64)
    } else {
        let claims: Vec<Claim> = others().map(claim).collect();
        (Some(fair_fraction(nominal_sum as f64, &claims)?), 0.0)
    };
    let seats = |level: &Level| match fair_fraction {
        _ if level.is_exempt => wanted_now(level),
        Some(fraction) => claim(level).seats(fraction).round() as usize,
        None => {
            let more = (wanted_now(level) - level.limits.min) as f64;
            level.limits.min + (more * wanted_fraction).round() as usize
        }
    };
    Some(Division {
        seats: levels.iter().map(seats).collect(),
        targets: levels.iter().map(|level| claim(level).target).collect(),
        fair_fraction: fair_fraction.unwrap_or(0.0),
    })
}

/// Seats that a level gets before anything is shared: its high watermark, within its own limits.
fn wanted_now(level: &Level) -> usize {
    let watermark = level.demand.high_watermark;
    let own = if level.is_exempt { watermark } else { watermark.min(level.limits.nominal) };
    own.max(level.limits.min)
}

fn claim(level: &Level) -> Claim {
    let lower = wanted_now(level) as f64;
    Claim { lower, upper: level.limits.max as f64, target: level.demand.smoothed.max(lower) }
}

impl Claim {
    /// What the level gets if everybody gets this fraction of its target.
    fn seats(&self, fraction: f64) -> f64 {
        (fraction * self.target.max(SMALLEST_TARGET)).min(self.upper).max(self.lower)
    }

    /// The fractions at which the seats leave the lower bound and reach the upper one.
    fn turning_points(&self) -> [f64; 2] {
        let target = self.target.max(SMALLEST_TARGET);
        [self.lower / target, self.upper / target]
    }
}

/// The fraction with which all claims together get `total` seats.
///
/// The sum of the seats grows with the fraction, in straight lines between the turning points of the claims: find the
/// line on which `total` lies.
fn fair_fraction(total: f64, claims: &[Claim]) -> Option<f64> {
    let sum_at = |fraction: f64| claims.iter().map(|claim| claim.seats(fraction)).sum::<f64>();
    let mut points: Vec<f64> = claims.iter().flat_map(Claim::turning_points).collect();
    points.sort_by(f64::total_cmp);
    let (first, last) = (*points.first()?, *points.last()?);
    if sum_at(first) - total > TOLERANCE || total - sum_at(last) > TOLERANCE {
        return None;
    }
    if total - sum_at(first) < TOLERANCE {
        return Some(first);
    }
    if sum_at(last) - total < TOLERANCE {
        return Some(last);
    }
    let right = points.iter().position(|point| sum_at(*point) >= total)?;
    let (left_at, right_at) = (points[right.checked_sub(1)?], points[right]);
    let (left, right) = (sum_at(left_at), sum_at(right_at));
    let slope = (right - left) / (right_at - left_at);
    Some(if slope > 0.0 { left_at + (total - left) / slope } else { right_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `nominal min max watermark smoothed`, with a `!` in front for an exempt level.
    fn level(text: &str) -> Level {
        let numbers: Vec<f64> =
            text.trim_start_matches('!').split_whitespace().map(|it| it.parse().expect("a number")).collect();
        let [nominal, min, max, watermark, smoothed] = numbers[..] else { panic!("five numbers: {text}") };
        let limits = Limits { nominal: nominal as usize, min: min as usize, max: max as usize, initial: 0 };
        let demand = Demand { high_watermark: watermark as usize, smoothed, ..Demand::default() };
        Level { limits, demand, is_exempt: text.starts_with('!') }
    }

    #[track_caller]
    fn check(levels: &[&str], expected: &[usize]) {
        let levels: Vec<Level> = levels.iter().map(|text| level(text)).collect();
        assert_eq!(divide(&levels).expect("the bounds can be met").seats, expected);
    }

    #[test]
    fn without_demand_levels_get_equal_parts_up_to_what_they_may_borrow() {
        check(&["100 50 200 0 0", "100 50 200 0 0"], &[100, 100]);
        check(&["100 0 100 0 0", "100 0 700 0 0"], &[100, 100]);
    }

    #[test]
    fn a_busy_level_borrows_from_an_idle_one() {
        check(&["100 50 700 100 400", "100 50 700 10 10"], &[150, 50]);
        check(&["100 50 110 100 400", "100 50 700 10 10"], &[110, 90]);
    }

    #[test]
    fn an_exempt_level_takes_what_it_needs() {
        check(&["!0 0 600 15 15", "100 90 700 100 100", "100 90 700 0 0"], &[15, 95, 90]);
        check(&["!0 0 600 500 50", "100 90 700 100 100", "100 90 700 0 0"], &[500, 90, 90]);
    }

    #[test]
    fn impossible_bounds_are_refused() {
        assert_eq!(divide(&[level("100 0 40 0 0"), level("100 0 40 0 0")]), None);
    }
}
