//! The keys of an external signer, as they were fetched last.

use std::time::Duration;

use keelson_object::scalar::quote;

use super::messages::{FetchKeysResponse, Key, Timestamp};
use crate::jws::PublicKey;

/// Longer identifiers of keys are refused.
pub(super) const MAX_KEY_ID: usize = 1024;
/// So many keys are read at most.
const MAX_KEYS: usize = 1024;

/// The result of one fetch.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub(super) keys: Vec<ExternalKey>,
    timestamp: Timestamp,
    /// When to fetch again, on the monotonic clock.
    pub(super) refresh_at: Duration,
}

#[derive(Debug)]
pub(super) struct ExternalKey {
    pub(super) key: PublicKey,
    /// The key is left out of OpenID discovery and does not sign new tokens.
    pub(super) is_hidden: bool,
}

impl Fetched {
    /// Upstream: pkg/serviceaccount/externaljwt/plugin/keycache.go, getTokenVerificationKeys (v1.36.4).
    pub(super) fn read(answer: &FetchKeysResponse, now: Duration) -> Result<Fetched, String> {
        let hint = answer.refresh_hint_seconds;
        let seconds = u64::try_from(hint).ok().filter(|it| *it > 0);
        let seconds = seconds.ok_or_else(|| format!("found invalid refresh hint ({hint}s)"))?;
        if answer.keys.is_empty() {
            return Err("found no keys".to_owned());
        }
        if answer.keys.len() > MAX_KEYS {
            return Err(format!("found more than {MAX_KEYS} keys"));
        }
        let timestamp =
            answer.data_timestamp.ok_or("invalid data timestamp: proto: invalid nil Timestamp")?;
        check(timestamp).map_err(|why| format!("invalid data timestamp: proto: timestamp {why}"))?;
        let keys = answer.keys.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Fetched { keys, timestamp, refresh_at: now.saturating_add(Duration::from_secs(seconds)) })
    }

    /// The keys with this id, or all keys.
    pub(super) fn called<'f>(&'f self, id: Option<&'f str>) -> impl Iterator<Item = &'f ExternalKey> {
        self.keys.iter().filter(move |it| id.is_none_or(|id| it.key.id() == id))
    }

    pub(super) fn timestamp_seconds(&self) -> f64 {
        self.timestamp.seconds as f64 + f64::from(self.timestamp.nanos) / 1e9
    }

    /// Upstream: pkg/serviceaccount/externaljwt/plugin/keycache.go, keysChanged (v1.36.4).
    pub(super) fn differs_from(&self, old: &Fetched) -> bool {
        let shown = |it: &Fetched| -> Vec<(String, bool)> {
            it.keys.iter().map(|it| (it.key.id().to_owned(), it.is_hidden)).collect()
        };
        self.timestamp != old.timestamp || shown(self) != shown(old)
    }
}

fn read(key: &Key) -> Result<ExternalKey, String> {
    if key.key_id.is_empty() || key.key_id.len() > MAX_KEY_ID {
        return Err(format!("found invalid public key id {}", quote(&key.key_id)));
    }
    if key.key.is_empty() {
        return Err("found empty public key".to_owned());
    }
    let public = PublicKey::from_spki_as(&key.key_id, &key.key)
        .map_err(|error| format!("while parsing external public keys: {error}"))?;
    Ok(ExternalKey { key: public, is_hidden: key.exclude_from_oidc_discovery })
}

/// Accepts the years 1 to 9999.
fn check(timestamp: Timestamp) -> Result<(), &'static str> {
    const YEAR_1: i64 = -62_135_596_800;
    const YEAR_9999: i64 = 253_402_300_799;
    match (timestamp.seconds, timestamp.nanos) {
        (..YEAR_1, _) => Err("before 0001-01-01"),
        (seconds, _) if seconds > YEAR_9999 => Err("after 9999-12-31"),
        (_, 0..=999_999_999) => Ok(()),
        _ => Err("has out-of-range nanos"),
    }
}
