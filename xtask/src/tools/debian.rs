//! Takes a program out of a Debian package, for machines without Go. Nothing is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Tool;
use crate::repo::{Repo, output};

/// Fetches the package of `tool` and copies its program to `to`.
pub fn unpack(repo: &Repo, tool: Tool, to: &Path) -> Result<()> {
    ensure!(tool == Tool::Kubectl, "there is no Debian package of {}", tool.name());
    let folder = repo.tools().join("debian");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    output(Command::new("apt-get").args(["download", "kubectl"]).current_dir(&folder))
        .context("the Debian package kubectl cannot be fetched")?;

    let package = newest_package(&folder)?;
    let unpacked = folder.join("unpacked");
    output(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&unpacked))?;
    let parent = to.parent().expect("tools are in a folder");
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    fs::copy(unpacked.join("usr/bin/kubectl"), to).context("the Debian package has no usr/bin/kubectl")?;
    Ok(())
}

fn newest_package(folder: &Path) -> Result<std::path::PathBuf> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let packages = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let newest = packages.filter(|path| path.extension().is_some_and(|it| it == "deb")).max();
    newest.context("apt-get download left no package")
}
