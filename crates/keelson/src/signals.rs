//! Signals: the first one shuts the server down gracefully, the second one ends it at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Returns when the process should stop. A second signal ends the process at once.
pub async fn stop() {
    let (Some(mut terminate), Some(mut interrupt)) =
        (listen(SignalKind::terminate()), listen(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    either(&mut terminate, &mut interrupt).await;
    keelson_stdx::task::spawn("second signal", async move {
        either(&mut terminate, &mut interrupt).await;
        tracing::warn!("second signal: ending at once");
        std::process::exit(1);
    });
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}

/// A failure to register a signal handler is ignored: the server then runs until it is killed.
fn listen(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| tracing::warn!(%error, "a signal cannot be heard")).ok()
}
