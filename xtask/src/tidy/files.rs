//! Rules about files as a whole: size, opening line, name.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const LONGEST: usize = 800;
const FOLDERS_OF_OTHERS: [&str; 4] = [".git", ".tools", "target", "node_modules"];
const GENERATED_MARK: &str = "cargo xtask codegen";

/// A text file of the repository.
pub struct SourceFile {
    /// From the root, with forward slashes.
    pub path: String,
    pub text: String,
}

impl SourceFile {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether a generator wrote it: everything in a `generated/` folder.
    pub fn is_generated(&self) -> bool {
        self.path.split('/').any(|part| part == "generated")
    }
}

/// Every text file below `root`, in the order of the paths.
pub fn read_all(root: &Path) -> Result<Vec<SourceFile>> {
    let mut found = Vec::new();
    read_folder(root, root, &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn read_folder(root: &Path, folder: &Path, found: &mut Vec<SourceFile>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let path = entry.path();
        let kind = entry.file_type().with_context(|| format!("cannot look at {}", path.display()))?;
        if kind.is_dir() {
            if !FOLDERS_OF_OTHERS.iter().any(|name| path.ends_with(name)) {
                read_folder(root, &path, found)?;
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root).expect("the walk starts at the root");
            found.push(SourceFile { path: relative.to_string_lossy().replace('\\', "/"), text });
        }
    }
    Ok(())
}

/// What is wrong with the file as a whole.
pub fn violations(file: &SourceFile) -> Vec<String> {
    let mut found = Vec::new();
    if !file.is_rust() {
        return found;
    }
    let path = &file.path;
    if !file.text.starts_with("//! ") {
        found.push(format!("{path}: does not begin with a `//!` line that says what it is for"));
    }
    if path.ends_with("/mod.rs") {
        found.push(format!("{path}: a module is foo.rs and foo/, not foo/mod.rs"));
    }
    let lines = file.text.lines().count();
    if file.is_generated() {
        let mut top = file.text.lines().take(5);
        if !top.any(|line| line.contains(GENERATED_MARK)) {
            found.push(format!(
                "{path}: is in generated/ and does not name `{GENERATED_MARK}` in its first lines"
            ));
        }
    } else if lines > LONGEST {
        found.push(format!("{path}: {lines} lines, {LONGEST} are the most"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(violations(&file), expected);
    }

    #[test]
    fn a_file_says_what_it_is_for() {
        check("a.rs", "//! Time as a value.\n", &[]);
        check("a.rs", "use x;\n", &["a.rs: does not begin with a `//!` line that says what it is for"]);
        check("a.rs", "", &["a.rs: does not begin with a `//!` line that says what it is for"]);
        check("a.md", "", &[]);
    }

    #[test]
    fn a_file_is_not_long() {
        check("a.rs", &format!("//! A.\n{}", "\n".repeat(799)), &[]);
        check("a.rs", &format!("//! A.\n{}", "\n".repeat(800)), &["a.rs: 801 lines, 800 are the most"]);
    }

    #[test]
    fn generated_files_may_be_long_and_name_their_generator() {
        let long = "\n".repeat(900);
        check("a/generated/b.rs", &format!("//! B. Written by `cargo xtask codegen`.\n{long}"), &[]);
        let file = SourceFile { path: String::from("a/generated/b.rs"), text: format!("//! B.\n{long}") };
        assert_eq!(violations(&file).len(), 1);
    }

    #[test]
    fn there_is_no_mod_rs() {
        check("a/mod.rs", "//! A.\n", &["a/mod.rs: a module is foo.rs and foo/, not foo/mod.rs"]);
    }
}
