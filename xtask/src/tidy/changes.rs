//! `changes/`: one small file per user-visible change, from which the changelog is assembled.
//!
//! ```text
//! area: store
//! kind: fixed
//!
//! A watch that starts at a compacted revision ends with 410 instead of waiting.
//! ```

use anyhow::{Result, bail};

use super::files::{self, SourceFile};
use crate::repo::Repo;

const KINDS: [&str; 3] = ["added", "changed", "fixed"];

/// One note.
#[derive(Debug, PartialEq, Eq)]
struct Change<'t> {
    area: &'t str,
    kind: &'t str,
    text: &'t str,
}

/// What is wrong with a file of `changes/`.
pub fn violations(file: &SourceFile) -> Vec<String> {
    match note(file).map(|_| ()) {
        Err(reason) => vec![format!("{}: {reason}", file.path)],
        Ok(()) => Vec::new(),
    }
}

/// Prints all notes by kind and area, as they go into CHANGELOG.md.
pub fn print(repo: &Repo) -> Result<()> {
    let files = files::read_all(repo.root())?;
    let mut changes = Vec::new();
    for file in &files {
        match note(file) {
            Ok(change) => changes.extend(change),
            Err(reason) => bail!("{}: {reason}", file.path),
        }
    }
    print!("{}", assemble(changes));
    Ok(())
}

fn assemble(mut changes: Vec<Change<'_>>) -> String {
    changes.sort_by_key(|change| change.area);
    let mut text = String::new();
    for kind in KINDS {
        let of_kind: Vec<_> = changes.iter().filter(|change| change.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let (first, rest) = kind.split_at(1);
        text += &format!("### {}{rest}\n\n", first.to_uppercase());
        for change in of_kind {
            text += &format!("- **{}**: {}\n", change.area, change.text.replace('\n', "\n  "));
        }
        text.push('\n');
    }
    text
}

/// `None` for files that are no notes.
fn note(file: &SourceFile) -> std::result::Result<Option<Change<'_>>, String> {
    let is_note =
        file.path.strip_prefix("changes/").is_some_and(|name| name.ends_with(".md") && name != "README.md");
    if is_note { parse(&file.text).map(Some) } else { Ok(None) }
}

fn parse(text: &str) -> std::result::Result<Change<'_>, String> {
    let shape = || String::from("the form is `area: …`, `kind: …`, an empty line, then the text");
    let (area, rest) = text.strip_prefix("area: ").and_then(|it| it.split_once('\n')).ok_or_else(shape)?;
    let (kind, rest) = rest.strip_prefix("kind: ").and_then(|it| it.split_once('\n')).ok_or_else(shape)?;
    let text = rest.strip_prefix('\n').ok_or_else(shape)?.trim_end();
    if !KINDS.contains(&kind) {
        return Err(format!("kind is {kind:?}, not one of {}", KINDS.join(", ")));
    }
    if area.trim().is_empty() || text.is_empty() {
        return Err(String::from("area and text must say something"));
    }
    Ok(Change { area, kind, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: std::result::Result<Change<'_>, &str>) {
        assert_eq!(parse(text), expected.map_err(String::from));
    }

    #[test]
    fn a_note_has_area_kind_and_text() {
        const FORM: &str = "the form is `area: …`, `kind: …`, an empty line, then the text";
        let text = "area: store\nkind: added\n\nIt stores.\nA lot.\n";
        check(text, Ok(Change { area: "store", kind: "added", text: "It stores.\nA lot." }));
        check(
            "area: store\nkind: broken\n\nText.\n",
            Err("kind is \"broken\", not one of added, changed, fixed"),
        );
        check("area: store\nkind: fixed\nText.\n", Err(FORM));
        check("Text.\n", Err(FORM));
        check("area: store\nkind: fixed\n\n\n", Err("area and text must say something"));
    }

    #[test]
    fn the_changelog_is_sorted_by_kind_and_area() {
        let change = |area, kind, text| Change { area, kind, text };
        let changes = vec![
            change("server", "fixed", "No leak."),
            change("watch", "added", "Bookmarks."),
            change("apis", "added", "Pods\nand more."),
        ];
        assert_eq!(
            assemble(changes),
            "### Added\n\n- **apis**: Pods\n  and more.\n- **watch**: Bookmarks.\n\n### Fixed\n\n- **server**: No leak.\n\n"
        );
    }
}
