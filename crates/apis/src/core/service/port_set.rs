//! Port set: the allocated ports of a range, one bit each.
//!
//! For the range `30000-30009` with 30000 and 30009 taken:
//!
//! ```text
//! bit      9 8 7 6 5 4 3 2 1 0      port = 30000 + bit
//!          1 0 0 0 0 0 0 0 0 1
//! stored   02 01                    the number, big-endian, without leading zeros: what Go's big.Int writes
//! ```
//!
//! The first ports of a range are reserved for explicit requests, as long as other ports are free.

use std::fmt;

use rand::RngExt as _;

/// The range of node ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first of them.
    pub first: u16,
    /// The last of them.
    pub last: u16,
}

impl PortRange {
    /// Upstream's default.
    pub const DEFAULT: PortRange = PortRange { first: 30000, last: 32767 };

    /// Reads what [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Option<PortRange> {
        let (first, last) = text.split_once('-')?;
        let range = PortRange { first: first.parse().ok()?, last: last.parse().ok()? };
        (range.first <= range.last).then_some(range)
    }

    fn size(self) -> usize {
        usize::from(self.last) - usize::from(self.first) + 1
    }

    fn offset(self, port: i64) -> Option<usize> {
        let offset = usize::try_from(port.checked_sub(i64::from(self.first))?).ok()?;
        (offset < self.size()).then_some(offset)
    }

    /// The number of ports at the beginning that are reserved for explicit requests.
    ///
    /// Upstream: pkg/registry/core/service/portallocator/allocator.go, calculateRangeOffset (v1.36.4).
    fn band(self) -> usize {
        if self.size() <= 16 { 0 } else { (self.size() / 32).clamp(16, 128) }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Why a port cannot be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRefusal {
    /// The port is allocated already.
    Taken,
    /// The port is not in the range.
    Outside(PortRange),
    /// All ports are allocated.
    Full,
}

impl fmt::Display for PortRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortRefusal::Taken => f.write_str("provided port is already allocated"),
            PortRefusal::Outside(range) => {
                write!(f, "provided port is not in the valid range. The range of valid ports is {range}")
            }
            PortRefusal::Full => f.write_str("range is full"),
        }
    }
}

/// The ports of a range, and which of them are allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSet {
    range: PortRange,
    bits: Vec<u8>,
}

impl PortSet {
    /// An empty set.
    pub fn new(range: PortRange) -> PortSet {
        PortSet { range, bits: vec![0; range.size().div_ceil(8)] }
    }

    /// Reads the output of [`PortSet::to_bytes`]. Bits beyond the range are ignored.
    pub fn from_bytes(range: PortRange, bytes: &[u8]) -> PortSet {
        let mut set = PortSet::new(range);
        for (to, from) in set.bits.iter_mut().zip(bytes.iter().rev()) {
            *to = *from;
        }
        for offset in range.size()..set.bits.len() * 8 {
            set.bits[offset / 8] &= !(1 << (offset % 8));
        }
        set
    }

    /// The stored form, the same as upstream's.
    pub fn to_bytes(&self) -> Vec<u8> {
        let used = self.bits.iter().rposition(|it| *it != 0).map_or(0, |it| it + 1);
        self.bits[..used].iter().rev().copied().collect()
    }

    /// Whether this port is allocated.
    pub fn has(&self, port: i64) -> bool {
        self.range.offset(port).is_some_and(|it| self.bit(it))
    }

    /// Takes this port.
    pub fn take(&mut self, port: i64) -> Result<(), PortRefusal> {
        let offset = self.range.offset(port).ok_or(PortRefusal::Outside(self.range))?;
        if self.bit(offset) {
            return Err(PortRefusal::Taken);
        }
        self.bits[offset / 8] |= 1 << (offset % 8);
        Ok(())
    }

    /// Allocates any port: one behind the reserved band at the beginning if there is one.
    pub fn take_any(&mut self) -> Result<i64, PortRefusal> {
        let (band, size) = (self.range.band(), self.range.size());
        let offset = self.free_in(band, size).or_else(|| self.free_in(0, band)).ok_or(PortRefusal::Full)?;
        self.bits[offset / 8] |= 1 << (offset % 8);
        Ok(self.port(offset))
    }

    /// Releases a port; nothing happens if it is free.
    pub fn give_back(&mut self, port: i64) {
        if let Some(offset) = self.range.offset(port) {
            self.bits[offset / 8] &= !(1 << (offset % 8));
        }
    }

    /// The allocated ports.
    pub fn iter(&self) -> impl Iterator<Item = i64> {
        (0..self.range.size()).filter(|offset| self.bit(*offset)).map(|offset| self.port(offset))
    }

    /// The number of ports, allocated or not.
    pub fn size(&self) -> usize {
        self.range.size()
    }

    fn bit(&self, offset: usize) -> bool {
        self.bits[offset / 8] & (1 << (offset % 8)) != 0
    }

    fn port(&self, offset: usize) -> i64 {
        i64::from(self.range.first) + i64::try_from(offset).unwrap_or_default()
    }

    /// A free offset between two offsets, searched from a random start.
    fn free_in(&self, from: usize, to: usize) -> Option<usize> {
        let count = to.checked_sub(from).filter(|it| *it > 0)?;
        let start = rand::rng().random_range(0..count);
        (0..count).map(|step| from + (start + step) % count).find(|offset| !self.bit(*offset))
    }
}

#[cfg(test)]
mod tests {
    use super::{PortRange, PortRefusal, PortSet};

    const TEN: PortRange = PortRange { first: 30000, last: 30009 };

    #[test]
    fn a_set_is_stored_as_one_large_number() {
        let check = |ports: &[i64], expected: &[u8]| {
            let mut set = PortSet::new(TEN);
            ports.iter().for_each(|port| set.take(*port).expect("a free port"));
            assert_eq!(set.to_bytes(), expected, "{ports:?}");
            assert_eq!(PortSet::from_bytes(TEN, expected), set, "{ports:?}");
        };
        check(&[], &[]);
        check(&[30000], &[1]);
        check(&[30000, 30009], &[2, 1]);
        check(&[30008], &[1, 0]);
    }

    #[test]
    fn bits_beyond_the_range_count_for_nothing() {
        let set = PortSet::from_bytes(TEN, &[0xff, 0xff, 0xff]);
        assert_eq!(set.iter().count(), 10);
        assert_eq!(set.to_bytes(), [3, 0xff]);
    }

    #[test]
    fn a_port_is_taken_once() {
        let mut set = PortSet::new(TEN);
        assert_eq!(set.take(30001), Ok(()));
        assert_eq!(set.take(30001), Err(PortRefusal::Taken));
        for port in [i64::MIN, -1, 0, 29999, 30010, i64::MAX] {
            assert_eq!(set.take(port), Err(PortRefusal::Outside(TEN)), "{port}");
            assert!(!set.has(port), "{port}");
            set.give_back(port);
        }
        set.give_back(30001);
        assert_eq!(set.take(30001), Ok(()));
    }

    #[test]
    fn the_beginning_of_a_range_is_given_last() {
        let range = PortRange { first: 30000, last: 30031 };
        let mut set = PortSet::new(range);
        let given: Vec<i64> = (0..32).map(|_| set.take_any().expect("a free port")).collect();
        assert!(given[..16].iter().all(|port| *port >= 30016), "{given:?}");
        assert!(given[16..].iter().all(|port| *port < 30016), "{given:?}");
        assert_eq!(set.take_any(), Err(PortRefusal::Full));
    }

    #[test]
    fn the_band_grows_with_the_range() {
        let check = |last: u16, expected: usize| {
            assert_eq!(PortRange { first: 0, last }.band(), expected, "{last}");
        };
        check(0, 0);
        check(15, 0);
        check(16, 16);
        check(2767, 86);
        check(65535, 128);
    }
}
