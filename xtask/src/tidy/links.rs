//! Links between documents, and from documents into the code, lead somewhere.

use std::path::Path;

use super::files::SourceFile;

/// Relative links of a Markdown file whose target is not there. `root` is the repository.
pub fn violations(file: &SourceFile, root: &Path) -> Vec<String> {
    if !file.path.ends_with(".md") {
        return Vec::new();
    }
    let folder = root.join(&file.path).parent().expect("a file is in a folder").to_owned();
    let dead = targets(&file.text).into_iter().filter(|target| !folder.join(target).exists());
    dead.map(|target| format!("{}: the link to {target} leads nowhere", file.path)).collect()
}

/// The paths in `[text](path)` and `[text](path#part)`, without those that leave the repository.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let rest = &text[at + 2..];
        let Some(end) = rest.find([')', '\n', ' ']) else {
            continue;
        };
        let target = rest[..end].split('#').next().unwrap_or_default();
        if !target.is_empty() && !target.contains("://") && rest[end..].starts_with(')') {
            found.push(target);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_the_repository_are_followed() {
        let text = "[a](a.md) [b](https://b.c/d) [c](c/d.md#part), [e](#part), items[0](x y)";
        assert_eq!(targets(text), ["a.md", "c/d.md"]);
    }

    #[test]
    fn a_dead_link_is_named() {
        let root = tempfile::tempdir().expect("a scratch folder");
        std::fs::create_dir(root.path().join("docs")).expect("a folder");
        std::fs::write(root.path().join("docs/a.md"), "").expect("a file");
        let file = SourceFile {
            path: String::from("README.md"),
            text: String::from("[a](docs/a.md) [b](docs/b.md) [docs](docs)"),
        };
        assert_eq!(violations(&file, root.path()), ["README.md: the link to docs/b.md leads nowhere"]);
    }
}
