//! Reload of files that change while the server runs. (The server itself reloads serving certificates.)

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use keelson_server::Reload;
use keelson_stdx::clock::Clock;

use crate::access::{self, Authn};
use crate::error::Error;

/// How often files are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// Follows the CAs of client certificates; an invalid file changes nothing. `told` is called with the result
/// of each change.
pub fn client_authorities<F>(authn: &Authn, clock: Clock, told: F) -> impl Future<Output = ()> + Send + use<F>
where
    F: Fn(Reload) + Send,
{
    let (x509, files) = (authn.x509.clone(), authn.client_ca_files.clone());
    async move {
        let Some(x509) = x509 else { return };
        let mut seen = contents(files.clone()).await;
        loop {
            clock.sleep(INTERVAL).await;
            let now = contents(files.clone()).await;
            if now == seen {
                continue;
            }
            match access::client_authorities(&files) {
                Ok(bundle) => {
                    x509.replace_bundle(bundle);
                    tracing::info!("client authorities were read again");
                    told(Reload::Done);
                }
                Err(error) => {
                    tracing::warn!(%error, "client authorities stay as they were");
                    told(Reload::Failed);
                }
            }
            seen = now;
        }
    }
}

/// Calls `replace` whenever one of the files changes; if that fails, everything stays as it was.
pub async fn follow(
    what: &'static str,
    files: Vec<PathBuf>,
    clock: Clock,
    replace: impl Fn() -> Result<(), Error> + Send,
) {
    let mut seen = contents(files.clone()).await;
    loop {
        clock.sleep(INTERVAL).await;
        let now = contents(files.clone()).await;
        if now == seen {
            continue;
        }
        match replace() {
            Ok(()) => tracing::info!("{what} were read again"),
            Err(error) => tracing::warn!(%error, "{what} stay as they were"),
        }
        seen = now;
    }
}

/// The contents of the files; they are small, and read outside of the runtime's threads.
async fn contents(files: Vec<PathBuf>) -> Vec<Option<Vec<u8>>> {
    let read = move || files.iter().map(|path| std::fs::read(path).ok()).collect();
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}
