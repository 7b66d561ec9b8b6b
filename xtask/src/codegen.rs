//! `cargo xtask codegen`: regenerates what is committed in `generated/` folders.
//!
//! The source is the Go modules that define the API; only facts are taken from them: names, numbers, types, keys.
//! `codegen --check` writes nothing and fails with the names of the files that would change.

mod api;
mod lexer;
mod modules;
mod packages;
mod source;
mod tables;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::repo::Repo;

/// Folders that hold generated files and nothing else.
const FOLDERS: &[&str] = &["crates/schema/src/generated"];

/// Writes all generated files, or with `--check` compares them.
pub fn run(args: &[String]) -> Result<()> {
    let repo = Repo::find();
    let files = generate()?;
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => write(repo.root(), &files),
        ["--check"] => {
            let different = differences(repo.root(), &files)?;
            if !different.is_empty() {
                bail!("run `cargo xtask codegen`: these differ: {}", different.join(", "));
            }
            Ok(())
        }
        _ => bail!("cargo xtask codegen [--check]"),
    }
}

/// Generated files by path below the root.
type Files = BTreeMap<String, String>;

fn generate() -> Result<Files> {
    let packages = packages::Packages::new(modules::Modules::find()?);
    let tables = api::tables(&packages)?;
    let mut files = Files::new();
    let folder = "crates/schema/src/generated";
    for table in &tables {
        files.insert(format!("{folder}/{}", tables::file_name(&table.path)), tables::text(table));
    }
    files.insert(format!("{folder}/sources.rs"), formatted(&tables::index(&tables))?);
    Ok(files)
}

/// As `cargo fmt` would leave it.
fn formatted(rust: &str) -> Result<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .current_dir(Repo::find().root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start rustfmt, a component of the toolchain")?;
    let mut stdin = rustfmt.stdin.take().context("rustfmt has no stdin")?;
    stdin.write_all(rust.as_bytes())?;
    drop(stdin);
    let output = rustfmt.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt does not like what was generated:\n{rust}");
    Ok(String::from_utf8(output.stdout)?)
}

fn write(root: &Path, files: &Files) -> Result<()> {
    let different = differences(root, files)?;
    for name in &different {
        let path = root.join(name);
        match files.get(name) {
            Some(text) => {
                std::fs::create_dir_all(path.parent().unwrap_or(root))?;
                std::fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
            }
            None => std::fs::remove_file(&path).with_context(|| format!("cannot remove {name}"))?,
        }
    }
    println!("{} files, {} of them changed", files.len(), different.len());
    Ok(())
}

/// The files that are missing, superfluous or different.
fn differences(root: &Path, files: &Files) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, text) in files {
        if std::fs::read_to_string(root.join(name)).ok().as_ref() != Some(text) {
            found.push(name.clone());
        }
    }
    for folder in FOLDERS {
        for name in present(&root.join(folder))? {
            let name = format!("{folder}/{name}");
            if !files.contains_key(&name) {
                found.push(name);
            }
        }
    }
    Ok(found)
}

fn present(folder: &PathBuf) -> Result<Vec<String>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::{Files, differences, generate, modules, write};
    use crate::repo::Repo;

    #[test]
    fn committed_files_are_what_the_generator_writes() {
        if let Err(error) = modules::Modules::find() {
            return skip(&format!("codegen: {error:#}"));
        }
        let files = generate().expect("the API definitions can be read");
        let different = differences(Repo::find().root(), &files).expect("the repository can be read");
        assert_eq!(different, [""; 0], "run `cargo xtask codegen`");
    }

    #[test]
    fn files_that_nobody_generates_any_more_are_removed() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("crates/schema/src/generated");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("old.table"), "old").expect("a file");
        let new = "crates/schema/src/generated/new.table";
        let files = Files::from([(new.to_owned(), "new".to_owned())]);
        let old = "crates/schema/src/generated/old.table";
        assert_eq!(differences(root.path(), &files).expect("readable"), [new, old]);
        write(root.path(), &files).expect("writable");
        assert!(differences(root.path(), &files).expect("readable").is_empty());
        assert!(!folder.join("old.table").exists());
    }

    /// Tests that cannot run say so in the file that `KEELSON_SKIP_REPORT` names.
    fn skip(line: &str) {
        use std::io::Write as _;
        if let Some(report) = std::env::var_os("KEELSON_SKIP_REPORT") {
            let report = std::fs::OpenOptions::new().create(true).append(true).open(report);
            writeln!(report.expect("the report of skipped tests"), "{line}").expect("a line in the report");
        }
    }
}
