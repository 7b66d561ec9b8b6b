//! Reserve: what an object gets from a stock that it shares with others, as services get addresses and ports.
//!
//! ```text
//! reserve ──> prepare, validate ──> write ──┬─ done ────> kept:   what the object has no use for any more goes back
//!                                           └─ failed ──> undone: what was taken goes back
//! ```
//!
//! It is better to lose a number than to give it to two: what is taken is taken before the write, and what goes back
//! goes back after it. What is lost when a server dies in between is found by a repair loop.

use futures_util::future::BoxFuture;
use keelson_object::Object;

use crate::context::{Context, DryRun};
use crate::error::Result;
use crate::live::Live;
use crate::optimistic_write::Outcome;

/// The stock of a kind.
pub trait Reserve: Send + Sync + 'static {
    /// Takes what a new object needs, or one that replaces `old`, and writes it into the object.
    ///
    /// Who fails has taken nothing, and nobody takes anything in a dry run.
    fn reserve<'r>(
        &'r self,
        context: &'r Context,
        object: &'r mut Object,
        old: Option<&'r Object>,
    ) -> BoxFuture<'r, Result<Held>>;

    /// Gives back what an object had that is gone.
    fn release<'r>(&'r self, context: &'r Context, object: &'r Object) -> BoxFuture<'r, ()>;
}

/// What was taken for an object that is not written yet. One of the two is done.
pub struct Held {
    /// What to do when the object is written.
    pub kept: BoxFuture<'static, ()>,
    /// What to do when it is not.
    pub undone: BoxFuture<'static, ()>,
}

/// Takes what `object` needs, if its kind needs anything.
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

/// Keeps what was taken, or gives it back.
pub(crate) async fn settle(held: Option<Held>, written: bool) {
    match held {
        Some(held) if written => held.kept.await,
        Some(held) => held.undone.await,
        None => {}
    }
}

/// Gives back what an object had, if it is gone.
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
