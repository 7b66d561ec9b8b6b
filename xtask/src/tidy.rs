//! `cargo xtask tidy`: the rules of the project that no compiler checks. Each is a function over text.

pub mod changes;
mod fields;
pub mod files;
mod kinds;
mod layers;
mod links;
mod lock;
mod phrases;
mod words;

use anyhow::{Result, bail};

use crate::repo::Repo;

/// Fails with every broken rule, one line each.
pub fn run(repo: &Repo) -> Result<()> {
    let found = violations(repo)?;
    if found.is_empty() {
        return Ok(());
    }
    for violation in &found {
        println!("{violation}");
    }
    bail!("tidy found {} violations", found.len())
}

fn violations(repo: &Repo) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let files = files::read_all(repo.root())?;
    let field_names = fields::Names::of(&files);
    for file in &files {
        found.extend(files::violations(file));
        found.extend(fields::violations(file, &field_names));
        found.extend(words::violations(file));
        found.extend(phrases::violations(file));
        found.extend(kinds::violations(file));
        found.extend(changes::violations(file));
        found.extend(lock::violations(file));
        found.extend(links::violations(file, repo.root()));
    }
    found.extend(layers::violations_of(repo)?);
    found.extend(lock::banned_of(repo)?);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let found = violations(&Repo::find()).expect("the repository can be read");
        assert!(found.is_empty(), "\n{}", found.join("\n"));
    }
}
