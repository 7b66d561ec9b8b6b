//! Kine, the store of k3s: a real one on a unix socket, with SQLite in its own folder.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use keelson_stdx::clock::Clock;
use tempfile::TempDir;

use crate::tool::Tool;

/// The time limit of the start on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// One process. Ends when this is dropped.
pub struct Kine {
    folder: TempDir,
    process: Child,
}

impl Kine {
    /// Starts one, or notes that `test` cannot run.
    pub async fn for_test(test: &str) -> Option<Kine> {
        let program = Tool::Kine.path_for(test)?;
        match Kine::start(&program).await {
            Ok(kine) => Some(kine),
            Err(error) => panic!("kine does not start: {error:#}"),
        }
    }

    async fn start(program: &Path) -> Result<Kine> {
        let folder = tempfile::tempdir()?;
        let at = folder.path();
        let log = File::create(at.join("kine.log"))?;
        let process = Command::new(program)
            .current_dir(at)
            .arg(format!("--listen-address=unix://{}", at.join("kine.sock").display()))
            .args(["--metrics-bind-address=0", "--watch-progress-notify-interval=1s"])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let mut kine = Kine { folder, process };
        kine.answers().await?;
        Ok(kine)
    }

    /// The endpoint for clients: `unix:///tmp/x/kine.sock`.
    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.folder.path().join("kine.sock").display())
    }

    async fn answers(&mut self) -> Result<()> {
        let clock = Clock::real();
        let deadline = clock.monotonic() + READY_WITHIN;
        while UnixStream::connect(self.folder.path().join("kine.sock")).is_err() {
            if let Some(status) = self.process.try_wait()? {
                let log = std::fs::read_to_string(self.folder.path().join("kine.log")).unwrap_or_default();
                bail!("ended with {status}:\n{log}");
            }
            if clock.monotonic() > deadline {
                bail!("not ready after {READY_WITHIN:?}");
            }
            clock.sleep(BETWEEN_LOOKS).await;
        }
        Ok(())
    }
}

impl Drop for Kine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
