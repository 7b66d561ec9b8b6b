//! Leases: entries with a TTL. Once a second the store deletes the expired ones.
//!
//! Expiry uses wall-clock time, because it must mean the same after a restart.

use std::sync::Weak;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::shared::Shared;
use crate::writer::{Request, ask};

const TICK: Duration = Duration::from_secs(1);

/// Asks the writer to delete expired entries, as long as the store exists.
pub(crate) async fn expire_by_time(shared: Weak<Shared>, requests: mpsc::Sender<Request>) {
    let Some(clock) = shared.upgrade().map(|shared| shared.options.clock.clone()) else {
        return;
    };
    loop {
        // The tick is counted from before the check, so that the time of the check is not lost.
        let tick = clock.monotonic() + TICK;
        let now = clock.unix_millis();
        let Some(next) = shared.upgrade().map(|shared| shared.state.read().index.next_expiry()) else {
            return;
        };
        if next.is_some_and(|next| next <= now) {
            match ask(&requests, Request::Expire).await {
                // One transaction full of entries is deleted, and there are more.
                Some(true) => continue,
                None if requests.is_closed() => return,
                Some(false) | None => (),
            }
        }
        clock.sleep_until(tick).await;
    }
}
