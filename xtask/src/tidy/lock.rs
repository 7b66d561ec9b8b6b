//! Rules about dependencies of others that must hold even where cargo-deny is not installed.

use anyhow::Result;

use super::files::SourceFile;
use crate::repo::{Repo, output};

/// One crypto provider (aws-lc-rs), one TLS (rustls).
const BANNED: [&str; 4] = ["native-tls", "openssl", "openssl-sys", "ring"];

/// Git dependencies in the lock file.
pub fn violations(file: &SourceFile) -> Vec<String> {
    if file.path != "Cargo.lock" {
        return Vec::new();
    }
    let sources = file.text.lines().filter(|line| line.starts_with("source = \"git+"));
    sources.map(|line| format!("Cargo.lock: {line} is a git dependency; take a published version")).collect()
}

/// Crates that must not be built. The lock file also lists what no enabled feature asks for, so cargo is asked.
pub fn banned_of(repo: &Repo) -> Result<Vec<String>> {
    let tree = output(&mut repo.cargo(["tree", "--workspace", "--prefix", "none", "--format", "{p}"]))?;
    Ok(banned(&tree))
}

fn banned(tree: &str) -> Vec<String> {
    let built: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let found = BANNED.iter().filter(|name| built.contains(name));
    found
        .map(|name| format!("{name} must not be built in; rustls with aws-lc-rs is the one provider"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_git_dependencies() {
        let text = "source = \"registry+https://example.com\"\nsource = \"git+https://example.com/a#1\"\n";
        let file = SourceFile { path: String::from("Cargo.lock"), text: text.to_owned() };
        assert_eq!(violations(&file).len(), 1);
    }

    #[test]
    fn there_is_one_crypto_provider() {
        let tree = "keelson v0.1.0 (/somewhere)\nring v0.17.14\nringbuffer v1.0.0\nring v0.17.14 (*)\n";
        assert_eq!(banned(tree), ["ring must not be built in; rustls with aws-lc-rs is the one provider"]);
    }
}
