//! External programs that run beside a test.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result};

/// Processes that end when this is dropped, the last one first.
#[derive(Default)]
pub struct Processes(Vec<Child>);

impl Processes {
    /// Starts a process; its output goes to the file `log`.
    pub fn spawn(&mut self, program: &Path, arguments: &[String], log: &Path) -> Result<()> {
        let log = File::create(log)?;
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        self.0.push(child);
        Ok(())
    }

    /// The id of the process that was started first.
    pub fn first(&self) -> Option<u32> {
        self.0.first().map(Child::id)
    }

    /// The exit status of the first process that has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        for process in &mut self.0 {
            if let Some(status) = process.try_wait()? {
                return Ok(Some(status));
            }
        }
        Ok(None)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for process in self.0.iter_mut().rev() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
