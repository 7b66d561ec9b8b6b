//! Where things are, and how cargo is called.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The checkout this program was built from.
pub struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The folder above `xtask/`.
    pub fn find() -> Repo {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = xtask.parent().expect("xtask is a folder of the workspace");
        Repo { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `path` is relative to the root.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Downloads and builds of others; git ignores it.
    pub fn tools(&self) -> PathBuf {
        self.root.join(".tools")
    }

    pub fn target(&self) -> PathBuf {
        match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => self.root.join(folder),
            None => self.root.join("target"),
        }
    }

    /// A folder for logs and reports of ours, below `target/`.
    pub fn scratch(&self) -> Result<PathBuf> {
        let folder = self.target().join("xtask");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// Cargo, in the root, as if a user had called it.
    pub fn cargo<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Command {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let mut command = Command::new(program);
        command.args(args).current_dir(&self.root);
        // `cargo run` describes xtask to us. Build scripts that look at these variables would run again.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(describes_xtask) {
                command.env_remove(name);
            }
        }
        command
    }
}

fn describes_xtask(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

/// Runs `command` to its end with our own output.
pub fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    ensure!(status.success(), "`{}` failed: {status}", shown(command));
    Ok(())
}

/// Runs `command` to its end and gives what it wrote to stdout.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", shown(command)))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{}` failed: {}", shown(command), errors.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
