//! Offers: what is about to be written, in both its forms, so that the cache need not make the one of the other.
//!
//! ```text
//! writer   object ─▶ JSON ─▶ message        offers (key, message, JSON), commits the message
//! cache    key, message, revision           the same message? then its JSON is known: a scan instead of a decode
//! ```
//!
//! An offer that nobody takes, because the write failed or another one came before it, gives way to later ones.

use std::collections::HashMap;

use bytes::Bytes;
use keelson_store::Key;
use parking_lot::Mutex;

/// How many offers are kept at most: more than are ever under way.
const KEPT: usize = 512;

/// What is about to be written to one resource.
#[derive(Debug, Default)]
pub(crate) struct Offers(Mutex<HashMap<Key, Offer>>);

#[derive(Debug)]
struct Offer {
    message: Bytes,
    json: Bytes,
}

impl Offers {
    /// `message` is about to be written under `key`, and means `json`.
    pub(crate) fn put(&self, key: &Key, message: &Bytes, json: &Bytes) {
        let mut offers = self.0.lock();
        if offers.len() >= KEPT {
            offers.clear();
        }
        offers.insert(key.clone(), Offer { message: message.clone(), json: json.clone() });
    }

    /// The JSON of what was written under `key`, if it was on offer.
    pub(crate) fn take(&self, key: &Key, message: &Bytes) -> Option<Bytes> {
        let offer = self.0.lock().remove(key)?;
        (offer.message == message).then_some(offer.json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_taken_once_and_only_for_the_same_message() {
        let offers = Offers::default();
        let (key, json) = (Key::from("/registry/pods/a/b"), Bytes::from_static(b"{}"));
        let (message, other) = (Bytes::from_static(b"k8s"), Bytes::from_static(b"k8s2"));
        offers.put(&key, &message, &json);
        assert_eq!(offers.take(&key, &message), Some(json.clone()));
        assert_eq!(offers.take(&key, &message), None);
        offers.put(&key, &message, &json);
        assert_eq!(offers.take(&key, &other), None);
    }

    #[test]
    fn offers_that_nobody_takes_do_not_pile_up() {
        let offers = Offers::default();
        for number in 0..KEPT * 3 {
            offers.put(&Key::from(format!("/{number}").as_str()), &Bytes::new(), &Bytes::new());
        }
        assert!(offers.0.lock().len() <= KEPT);
    }
}
