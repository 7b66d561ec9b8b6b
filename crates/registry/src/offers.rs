//! Offers: objects that are about to be written, so that the writer and the cache do not both freeze the same
//! object.
//!
//! ```text
//! writer   object ─▶ JSON ─▶ message     offers (key, message, JSON), commits the message, wants the frozen object
//! cache    key, message, revision        the same message? then its JSON is known, and perhaps it is frozen already
//! ```
//!
//! The first of the two freezes the JSON and leaves the result for the other one. If the write fails, or
//! another write comes first, the offer stays unused until later ones replace it.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use keelson_object::Frozen;
use keelson_store::Key;
use parking_lot::Mutex;

/// The limit of offers that are kept: more than there are concurrent writes.
const KEPT: usize = 512;

/// The objects that are about to be written to one resource.
#[derive(Debug, Default)]
pub(crate) struct Offers(Mutex<HashMap<Key, Offer>>);

#[derive(Debug)]
struct Offer {
    message: Bytes,
    json: Bytes,
    /// The frozen object, if the first of the two has made it.
    frozen: Option<Arc<Frozen>>,
}

/// The source of a frozen object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Found<'b> {
    /// The JSON that was offered.
    Offer(&'b Bytes),
    /// A message that was not offered: another server wrote it, or it was written long ago.
    Message(&'b Bytes),
}

impl Offers {
    /// `message` is about to be written under `key`, and means `json`.
    pub(crate) fn put(&self, key: &Key, message: &Bytes, json: &Bytes) {
        let mut offers = self.0.lock();
        if offers.len() >= KEPT {
            offers.clear();
        }
        offers.insert(key.clone(), Offer { message: message.clone(), json: json.clone(), frozen: None });
    }

    /// The object of `message`, which was written under `key` at `revision`. `make` freezes the offered JSON,
    /// or the message if it was not offered.
    pub(crate) fn frozen<E>(
        &self,
        key: &Key,
        message: &Bytes,
        revision: u64,
        make: impl FnOnce(Found<'_>) -> Result<Frozen, E>,
    ) -> Result<Arc<Frozen>, E> {
        let offered = {
            let mut offers = self.0.lock();
            match offers.get(key).filter(|it| it.message == *message) {
                Some(Offer { frozen: Some(frozen), .. }) if frozen.revision() == revision => {
                    let frozen = frozen.clone();
                    offers.remove(key);
                    return Ok(frozen);
                }
                offer => offer.map(|it| it.json.clone()),
            }
        };
        let made = Arc::new(make(offered.as_ref().map_or(Found::Message(message), Found::Offer))?);
        let mut offers = self.0.lock();
        if let Some(offer) = offers.get_mut(key).filter(|it| it.message == *message) {
            match offer.frozen {
                None => offer.frozen = Some(made.clone()),
                // The other one has come in the meantime.
                Some(_) => drop(offers.remove(key)),
            }
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use keelson_codec::stored::{self, StoredError};

    use super::*;

    const JSON: &[u8] = br#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}"#;

    /// Whether the object is made out of the JSON, out of the message, or not at all.
    fn take(offers: &Offers, message: &Bytes, revision: u64) -> (&'static str, Arc<Frozen>) {
        let mut how = "left by the other";
        let frozen = offers.frozen(&key(), message, revision, |found| -> Result<Frozen, StoredError> {
            how = if matches!(found, Found::Offer(_)) { "from JSON" } else { "from the message" };
            stored::decode(&Bytes::from_static(JSON), revision, &[])
        });
        (how, frozen.expect("it is JSON"))
    }

    fn key() -> Key {
        Key::from("/registry/pods/a/b")
    }

    #[test]
    fn what_one_has_made_is_left_for_the_other() {
        let (offers, message) = (Offers::default(), Bytes::from_static(b"k8s"));
        offers.put(&key(), &message, &Bytes::from_static(JSON));
        let (how, first) = take(&offers, &message, 7);
        assert_eq!(how, "from JSON");
        let (how, second) = take(&offers, &message, 7);
        assert_eq!(how, "left by the other");
        assert!(Arc::ptr_eq(&first, &second));
        assert_eq!(take(&offers, &message, 7).0, "from the message");
    }

    #[test]
    fn an_offer_is_good_for_its_message_and_its_revision_only() {
        let (offers, message) = (Offers::default(), Bytes::from_static(b"k8s"));
        offers.put(&key(), &message, &Bytes::from_static(JSON));
        assert_eq!(take(&offers, &Bytes::from_static(b"other"), 7).0, "from the message");
        assert_eq!(take(&offers, &message, 7).0, "from JSON");
        let (how, later) = take(&offers, &message, 8);
        assert_eq!((how, later.revision()), ("from JSON", 8));
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
