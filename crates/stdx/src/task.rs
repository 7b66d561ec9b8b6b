//! Named tasks, and scopes that end all of theirs.
//!
//! Raw `tokio::spawn` is banned: a task without a name cannot be found in a log, and a task without
//! an owner cannot be ended.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;

use crate::clock::Clock;

/// Starts a task that runs until it is done. Its log lines carry its name.
#[allow(clippy::disallowed_methods)] // the one place where tasks are spawned
pub fn spawn<F>(name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(future.instrument(tracing::info_span!("task", name)))
}

/// Tasks that are ended together. Cheap to clone; clones are the same scope.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    cancelled: CancellationToken,
}

impl Tasks {
    /// A scope without tasks.
    #[must_use]
    pub fn new() -> Tasks {
        Tasks::default()
    }

    /// Starts a task that is dropped at its next await when the scope is cancelled.
    pub fn spawn<F>(&self, name: &'static str, future: F) -> JoinHandle<Option<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let cancelled = self.cancelled.clone();
        let future = async move { cancelled.run_until_cancelled(future).await };
        spawn(name, self.tracker.track_future(future))
    }

    /// Starts a task that is waited for but never dropped: it looks at [`Tasks::token`] itself.
    pub fn spawn_uncancelled<F>(&self, name: &'static str, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn(name, self.tracker.track_future(future))
    }

    /// Tells a task when the scope is cancelled.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.cancelled.clone()
    }

    /// Asks all tasks to end.
    pub fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Cancels, and waits for all tasks, but not longer than `deadline`. Says whether all have ended.
    pub async fn end(&self, clock: &Clock, deadline: Duration) -> bool {
        self.cancel();
        self.wait(clock, deadline).await
    }

    /// Waits for all tasks, but not longer than `deadline`. Says whether all have ended.
    pub async fn wait(&self, clock: &Clock, deadline: Duration) -> bool {
        self.tracker.close();
        clock.timeout(deadline, self.tracker.wait()).await.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Tasks, spawn};
    use crate::clock::Clock;

    #[tokio::test]
    async fn a_task_gives_its_result() {
        assert_eq!(spawn("seven", async { 7 }).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn ending_a_scope_ends_its_tasks() {
        let tasks = Tasks::new();
        let endless = tasks.spawn("endless", std::future::pending::<()>());
        let patient = tasks.spawn_uncancelled("patient", {
            let cancelled = tasks.token();
            async move {
                cancelled.cancelled().await;
                "tidied up"
            }
        });
        assert!(tasks.end(&Clock::real(), Duration::from_secs(60)).await);
        assert_eq!(endless.await.unwrap(), None);
        assert_eq!(patient.await.unwrap(), "tidied up");
    }

    #[tokio::test]
    async fn waiting_has_a_deadline() {
        let (clock, hand) = Clock::manual();
        let tasks = Tasks::new();
        let _stubborn = tasks.spawn_uncancelled("stubborn", std::future::pending::<()>());
        let ended = spawn("end", {
            let tasks = tasks.clone();
            async move { tasks.end(&clock, Duration::from_secs(1)).await }
        });
        tasks.token().cancelled().await;
        hand.advance(Duration::from_secs(2));
        // The sleeper may have begun before or after the push; a second one covers both.
        tokio::task::yield_now().await;
        hand.advance(Duration::from_secs(2));
        assert!(!ended.await.unwrap());
    }
}
