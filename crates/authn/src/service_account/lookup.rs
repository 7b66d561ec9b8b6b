//! Lookup of the objects that a token is bound to.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use keelson_codec::{json, stored};
use keelson_object::meta::ObjectMeta;
use keelson_object::{Frozen, Map, Value};

use super::claims::Ref;
use crate::AuthError;

/// The tolerated clock skew.
///
/// Upstream: go-jose/jwt/jwt.go, DefaultLeeway.
pub(super) const LEEWAY: Duration = Duration::from_secs(60);

/// The objects of the core group that tokens are bound to.
pub trait Objects: Send + Sync {
    /// The object as it is now; `namespace` is empty for nodes.
    fn find<'a>(
        &'a self,
        plural: &'static str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Arc<Frozen>>>;
}

/// An object that was found.
pub(super) struct Known {
    pub(super) meta: ObjectMeta,
    frozen: Arc<Frozen>,
}

impl Known {
    pub(super) async fn find(
        objects: &dyn Objects,
        plural: &'static str,
        namespace: &str,
        name: &str,
    ) -> Option<Known> {
        let frozen = objects.find(plural, namespace, name).await?;
        let Value::Map(meta) = json::read(frozen.metadata_json()).ok()?.value else { return None };
        Some(Known { meta: ObjectMeta::from_map(meta).ok()?, frozen })
    }

    /// Everything in it.
    pub(super) fn fields(&self) -> Map {
        stored::thaw(&self.frozen, "v1", "").map(|it| it.fields).unwrap_or_default()
    }

    /// Whether it has been terminating for longer than the tolerated clock skew.
    pub(super) fn is_long_deleted(&self, now: Duration) -> bool {
        self.meta.deletion_timestamp.is_some_and(|it| is_before(it.unix(), now, LEEWAY))
    }
}

/// Whether `seconds` is earlier than `now - leeway`.
pub(super) fn is_before(seconds: i64, now: Duration, leeway: Duration) -> bool {
    nanos(seconds) < nanos_of(now) - nanos_of(leeway)
}

/// Whether `seconds` is later than `now + leeway`.
pub(super) fn is_after(seconds: i64, now: Duration, leeway: Duration) -> bool {
    nanos(seconds) > nanos_of(now) + nanos_of(leeway)
}

fn nanos(seconds: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000
}

fn nanos_of(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

/// An object that a token may be bound to besides its account.
pub(super) struct Anchor<'a> {
    pub(super) plural: &'static str,
    /// The name of the claim in errors.
    pub(super) claim: &'static str,
    pub(super) namespace: &'a str,
    pub(super) reference: &'a Ref,
}

impl Anchor<'_> {
    /// The object must exist, have the same uid, and not be terminating.
    pub(super) async fn check(&self, objects: &dyn Objects, now: Duration) -> Result<(), AuthError> {
        let invalidated = || refused("service account token has been invalidated");
        let found = Known::find(objects, self.plural, self.namespace, &self.reference.name).await;
        let found = found.ok_or_else(invalidated)?;
        if found.meta.uid != self.reference.uid {
            return Err(refused(format!(
                "{claim} UID ({}) does not match service account {claim} ref claim ({})",
                found.meta.uid,
                self.reference.uid,
                claim = self.claim
            )));
        }
        if found.is_long_deleted(now) { Err(invalidated()) } else { Ok(()) }
    }
}

pub(super) fn refused(reason: impl Into<String>) -> AuthError {
    AuthError::RefusedToken { reason: reason.into() }
}
