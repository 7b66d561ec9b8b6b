//! Shuffle sharding: which few queues of a level one flow may use.
//!
//! Each flow gets a hand of queues, dealt by its hash like cards from a deck. Two flows rarely share a whole hand, so a
//! flow that fills its queues leaves every other flow at least one queue that is free.

/// Largest deck (number of queues).
const LARGEST_DECK: usize = 1 << 26;
/// More bits of the hash would deal the last cards unevenly.
const HASH_BITS: f64 = 60.0;
/// No hand is larger: two cards need at least one bit each, and 16 cards of 16 need 64 bits.
pub const LARGEST_HAND: usize = 15;

/// Deals hands of `hand_size` queues out of `deck_size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealer {
    deck_size: usize,
    hand_size: usize,
}

/// A hand of distinct queue indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hand {
    cards: [u32; LARGEST_HAND],
    size: usize,
}

impl Hand {
    pub fn cards(&self) -> &[u32] {
        &self.cards[..self.size]
    }
}

impl Dealer {
    /// `None` if the hash has too few bits for these sizes, or a size is out of range.
    ///
    /// Upstream: apiserver/pkg/util/shufflesharding/shufflesharding.go, NewDealer (v1.36.4).
    pub fn new(deck_size: usize, hand_size: usize) -> Option<Dealer> {
        let in_range = 0 < hand_size && hand_size <= deck_size && deck_size <= LARGEST_DECK;
        let bits = ((deck_size as f64).log2() * hand_size as f64).ceil();
        (in_range && hand_size <= LARGEST_HAND && bits <= HASH_BITS)
            .then_some(Dealer { deck_size, hand_size })
    }

    /// The hand of a flow. Each card takes the remainder of the hash by the cards that are left in the deck.
    pub fn deal(&self, hash: u64) -> Hand {
        let mut rest = hash;
        let mut remainders = [0_u32; LARGEST_HAND];
        let mut hand = Hand { cards: [0; LARGEST_HAND], size: self.hand_size };
        for drawn in 0..self.hand_size {
            let left = (self.deck_size - drawn) as u64;
            remainders[drawn] = (rest % left) as u32;
            rest /= left;
            // The remainder counts only the cards that are still in the deck: step over those that were drawn before.
            let step_over = |card: u32, earlier: &u32| if card >= *earlier { card + 1 } else { card };
            hand.cards[drawn] = remainders[..drawn].iter().rev().fold(remainders[drawn], step_over);
        }
        hand
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_has_no_card_twice() {
        let dealer = Dealer::new(16, 4).expect("valid sizes");
        for hash in (0..100_000_u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            let mut cards = dealer.deal(hash).cards().to_vec();
            cards.sort_unstable();
            cards.dedup();
            assert_eq!(cards.len(), 4, "{hash}");
            assert!(cards.iter().all(|card| *card < 16), "{hash}");
        }
    }

    #[test]
    fn sizes_are_checked() {
        assert!(Dealer::new(0, 1).is_none());
        assert!(Dealer::new(4, 5).is_none());
        assert!(Dealer::new(LARGEST_DECK + 1, 1).is_none());
        assert!(Dealer::new(512, 6).is_some());
        assert!(Dealer::new(1024, 7).is_none());
        assert!(Dealer::new(1, 1).is_some());
    }
}
