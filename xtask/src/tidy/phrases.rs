//! Phrases that readers have to translate, with what to write instead. They are banned from comments, names and documents.

use super::files::SourceFile;

/// A phrase, in lower case, and plain words for it.
const PHRASES: &[(&str, &str)] = &[
    ("whoever", "name the client, the user, the plugin or the request"),
    ("nought", "zero"),
    ("anew", "again"),
    ("nobody's", "say what it does not belong to"),
    ("anybody's", "say what it belongs to"),
    ("told to go", "terminating, or: deleted"),
];

/// This file spells all of them.
const THIS_FILE: &str = "xtask/src/tidy/phrases.rs";

/// The banned phrases of a Rust source or a document, with their lines.
pub fn violations(file: &SourceFile) -> Vec<String> {
    let is_text = file.is_rust() || file.path.ends_with(".md");
    if file.path == THIS_FILE || !is_text || file.is_generated() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.to_lowercase().replace('_', " ");
        for (phrase, instead) in PHRASES {
            if contains(&line, phrase) {
                found.push(format!(
                    "{}:{number}: write something plainer than {phrase:?}: {instead}",
                    file.path
                ));
            }
        }
    }
    found
}

/// Whether the phrase occurs as whole words.
fn contains(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + phrase.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !behind.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: usize) {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(violations(&file).len(), expected, "{text}");
    }

    #[test]
    fn phrases_are_found_as_whole_words() {
        check("a.rs", "/// Whoever writes is told to go.", 2);
        check("a.md", "made anew", 1);
        check("a.rs", "fn whoever_writes() {}", 1);
        check("a.rs", "let renewed = 1; // the lanewidth", 0);
        check("a.yaml", "nought", 0);
    }
}
