//! The server binary: its path; it is built if it does not exist.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

/// The server's binary.
pub struct Binary;

impl Binary {
    /// `KEELSON_BIN`, else `keelson` of the same target folder and profile as the running program.
    ///
    /// A binary that is not there is built once. One that is there is taken as it is: `cargo test` of the
    /// workspace builds it beside the tests.
    pub fn path() -> PathBuf {
        static PATH: OnceLock<PathBuf> = OnceLock::new();
        PATH.get_or_init(|| match find_or_build() {
            Ok(path) => path,
            Err(error) => panic!("the server's binary is not there: {error:#}"),
        })
        .clone()
    }
}

fn find_or_build() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("KEELSON_BIN") {
        return Ok(PathBuf::from(path));
    }
    let folder = profile_folder(&std::env::current_exe().context("this program has no path")?)?;
    let path = folder.join("keelson");
    if !path.exists() {
        build(&folder)?;
    }
    Ok(path)
}

/// `target/debug` for `target/debug/deps/http-0123` and for `target/debug/keelson-bench`.
fn profile_folder(program: &Path) -> Result<PathBuf> {
    let mut folder = program.parent().context("a program is in a folder")?;
    if folder.ends_with("deps") {
        folder = folder.parent().context("deps is in a profile's folder")?;
    }
    Ok(folder.to_owned())
}

fn build(profile_folder: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "keelson"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    if profile_folder.ends_with("release") {
        command.arg("--release");
    }
    let status = command.status().context("cargo does not start")?;
    if !status.success() {
        bail!("cargo build ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_lies_beside_tests_and_benches() {
        for (program, expected) in [
            ("/a/target/debug/deps/http-0123", "/a/target/debug"),
            ("/a/target/release/keelson-bench", "/a/target/release"),
        ] {
            assert_eq!(profile_folder(Path::new(program)).unwrap(), Path::new(expected));
        }
    }
}
