//! Signals: the first one asks the server to stop, the second one does not ask.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Done when the process is told to stop. A second signal ends the process at once.
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

/// A signal that cannot be heard is not worth failing for: the server runs until it is killed.
fn listen(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| tracing::warn!(%error, "a signal cannot be heard")).ok()
}
