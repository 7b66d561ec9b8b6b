//! Reserve: values that an object takes from a shared range, such as the IP addresses and ports of services.
//!
//! ```text
//! reserve ──> prepare, validate ──> write ──┬─ done ────> kept:   what the object has no use for any more goes back
//!                                           └─ failed ──> undone: what was taken goes back
//! ```
//!
//! It is better to lose a value than to give it to two objects: values are taken before the write, and
//! returned after it. Values that are lost when a server dies in between are found by a repair loop.

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::context::{Context, DryRun};
use crate::error::Result;
use crate::live::Live;
use crate::optimistic_write::Outcome;

/// The shared range of a kind.
pub trait Reserve: Send + Sync + 'static {
    /// Takes the values that a new object needs, or one that replaces `old`, and writes them into the object.
    ///
    /// If this fails, nothing is taken. A dry run takes nothing.
    fn reserve<'r>(
        &'r self,
        context: &'r Context,
        object: &'r mut Object,
        old: Option<&'r Object>,
    ) -> BoxFuture<'r, Result<Held>>;

    /// Returns the values of a removed object.
    fn release<'r>(&'r self, context: &'r Context, object: &'r Object) -> BoxFuture<'r, ()>;
}

/// Values that were taken for an object that is not written yet. Exactly one of the two futures is run.
pub struct Held {
    /// To be run after the object was written.
    pub kept: BoxFuture<'static, ()>,
    /// To be run if the object was not written.
    pub undone: BoxFuture<'static, ()>,
}

/// Takes the values that `object` needs, if its kind needs any.
pub(crate) async fn take(
    live: &Live,
    context: &Context,
    object: &mut Object,
    old: Option<&Object>,
) -> Result<Option<Held>> {
    match &live.resource.reserve {
        Some(reserve) => reserve.reserve(context, object, old).await.map(Some),
        None => Ok(None),
    }
}

/// Keeps the values that were taken, or returns them.
pub(crate) async fn settle(held: Option<Held>, written: bool) {
    match held {
        Some(held) if written => held.kept.await,
        Some(held) => held.undone.await,
        None => {}
    }
}

/// Returns the values of an object, if it was removed.
pub(crate) async fn release_removed(live: &Live, context: &Context, outcome: &Outcome) {
    let Some(reserve) = live.resource.reserve.as_ref().filter(|_| outcome.removed) else { return };
    if context.dry_run == DryRun::All {
        return;
    }
    match live.thaw(&outcome.object) {
        Ok(object) => reserve.release(context, &object).await,
        Err(error) => tracing::warn!(%error, "what an object had reserved is lost"),
    }
}
