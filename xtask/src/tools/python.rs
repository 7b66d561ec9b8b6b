//! Installs programs out of the Python package index, each into a folder of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::KOPF;
use crate::repo::{output, succeed};

/// What kopf needs, in versions that are known to fit.
const PACKAGES: [(&str, &str); 16] = [
    ("aiohappyeyeballs", "2.7.1"),
    ("aiohttp", "3.14.5"),
    ("aiosignal", "1.4.0"),
    ("attrs", "26.1.0"),
    ("click", "8.5.1"),
    ("frozenlist", "1.8.0"),
    ("idna", "3.20"),
    ("iso8601", "2.1.0"),
    ("jsonpatch", "1.46"),
    ("jsonpointer", "3.11"),
    ("multidict", "7.2.1"),
    ("propcache", "0.5.4"),
    ("python-json-logger", "4.2.0"),
    ("PyYAML", "6.0.3"),
    ("typing_extensions", "4.16.0"),
    ("yarl", "1.25.1"),
];

/// Installs kopf so that the file `to` runs it.
pub fn install(to: &Path) -> Result<()> {
    ensure!(output(Command::new("python3").arg("--version")).is_ok(), "Python is not installed");
    let folder = to.parent().expect("tools are in a folder");
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    println!("installing kopf {KOPF}");
    let place = folder.join("python");
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&place))?;
    let wanted = PACKAGES.iter().chain(&[("kopf", KOPF)]).map(|(name, version)| format!("{name}=={version}"));
    let mut pip = Command::new(place.join("bin/pip"));
    succeed(pip.args(["install", "--quiet", "--no-deps"]).args(wanted))?;
    let _ = fs::remove_file(to);
    std::os::unix::fs::symlink("python/bin/kopf", to)
        .with_context(|| format!("cannot write {}", to.display()))
}
