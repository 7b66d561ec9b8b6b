//! Words that must not occur, and where they may.

use super::files::SourceFile;

/// A word that is banned from Rust sources.
struct Ban {
    word: &'static str,
    /// Paths that begin or, with `/` on both sides, contain this are exempt.
    allowed: &'static [&'static str],
    place: Place,
    instead: &'static str,
}

/// Where in a line a banned word counts.
#[derive(PartialEq, Eq)]
enum Place {
    Code,
    CodeAndComments,
}

/// This file spells all of them.
const THIS_FILE: &str = "xtask/src/tidy/words.rs";
const CLOCK: &[&str] = &["crates/stdx/src/clock", "xtask/src/steps.rs", "bench/"];
const TERMINAL: &[&str] = &[
    "crates/keelson/",
    "crates/testkit/",
    "xtask/",
    "bench/",
    "/benches/",
    "/examples/",
    "tests/",
    "/tests/",
    "/build.rs",
];

const BANS: &[Ban] = &[
    ban("tokio::spawn", &["crates/stdx/src/task"], "tasks have names: keelson_stdx::task::spawn"),
    ban("tokio::task::spawn", &["crates/stdx/src/task"], "tasks have names: keelson_stdx::task::spawn"),
    ban("Instant::now", CLOCK, "time is a value: keelson_stdx::clock"),
    ban("SystemTime::now", CLOCK, "time is a value: keelson_stdx::clock"),
    ban("println!", TERMINAL, "libraries log with tracing"),
    ban("eprintln!", TERMINAL, "libraries log with tracing"),
    ban("#[should_panic", &[], "return an error and check it"),
    ban("#[ignore", &[], "a test runs, or reports why it cannot"),
    ban("todo!", &[], "finish it or leave it out"),
    Ban {
        word: "TODO",
        allowed: &[],
        place: Place::CodeAndComments,
        instead: "known gaps are in docs/parity.md",
    },
    Ban {
        word: "FIXME",
        allowed: &[],
        place: Place::CodeAndComments,
        instead: "known gaps are in docs/parity.md",
    },
];

/// Paths of the machine somebody works on; in every file.
const MACHINE_PATHS: &[&str] = &["/home/", "/root/", "/Users/"];

const fn ban(word: &'static str, allowed: &'static [&'static str], instead: &'static str) -> Ban {
    Ban { word, allowed, place: Place::Code, instead }
}

/// The banned words of a file, with their lines.
pub fn violations(file: &SourceFile) -> Vec<String> {
    let mut found = Vec::new();
    if file.path == THIS_FILE || file.path == "Cargo.lock" {
        return found;
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        let at = format!("{}:{number}", file.path);
        for path in MACHINE_PATHS.iter().filter(|path| begins_a_path(line, path)) {
            found.push(format!("{at}: {path} is a path of somebody's machine"));
        }
        if !file.is_rust() || file.is_generated() {
            continue;
        }
        for ban in BANS.iter().filter(|ban| !is_allowed(&file.path, ban.allowed)) {
            let text = if ban.place == Place::Code { code(line) } else { line };
            if has_word(text, ban.word) {
                found.push(format!("{at}: {} is banned; {}", ban.word, ban.instead));
            }
        }
    }
    found
}

/// `/home/` in `cd /home/jane`, not in `docs/home/`.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | '}' | '>' | ']')
        })
    })
}

fn is_allowed(path: &str, allowed: &[&str]) -> bool {
    allowed.iter().any(|part| path.starts_with(part) || (part.starts_with('/') && path.contains(part)))
}

/// The line up to a comment that is not inside a string.
pub fn code(line: &str) -> &str {
    let mut in_string = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' if !is_quoted_char(line, at) => in_string = !in_string,
            '/' if !in_string && line[at..].starts_with("//") => return &line[..at],
            _ => (),
        }
    }
    line
}

/// `'"'` is a character, not the begin of a string.
fn is_quoted_char(line: &str, at: usize) -> bool {
    line[..at].ends_with('\'') && line[at + 1..].starts_with('\'')
}

/// Whether `word` occurs in `text` with no letter, digit or underscore before and behind it.
pub fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_wordy = |at: Option<char>| at.is_some_and(is_part);
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + word.len()..].chars().next();
        let starts = !is_wordy(before) || !is_wordy(word.chars().next());
        let ends = !is_wordy(behind) || !is_wordy(word.chars().next_back());
        starts && ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is what is found, without path and advice.
    #[track_caller]
    fn check(path: &str, line: &str, expected: &[&str]) {
        let file = SourceFile { path: path.to_owned(), text: line.to_owned() };
        let found: Vec<String> = violations(&file)
            .iter()
            .map(|it| {
                it.split_once(": ").map_or("", |(_, text)| text).split(" is ").next().unwrap_or("").to_owned()
            })
            .collect();
        assert_eq!(found, expected, "{path}: {line}");
    }

    #[test]
    fn tasks_and_time_have_one_home() {
        check("crates/server/src/a.rs", "tokio::spawn(work);", &["tokio::spawn"]);
        check("crates/server/src/a.rs", "tokio::task::spawn_blocking(work);", &[]);
        check("crates/stdx/src/task.rs", "tokio::spawn(work);", &[]);
        check("crates/server/src/a.rs", "let now = Instant::now();", &["Instant::now"]);
        check("crates/server/src/a.rs", "let now = std::time::SystemTime::now();", &["SystemTime::now"]);
        check("crates/stdx/src/clock/real.rs", "let now = Instant::now();", &[]);
        check("crates/server/src/a.rs", "// `Instant::now` would be wrong here", &[]);
    }

    #[test]
    fn libraries_do_not_print() {
        check("crates/store/src/a.rs", "println!(\"a\");", &["println!"]);
        check("crates/store/src/a.rs", "eprintln!(\"a\");", &["eprintln!"]);
        check("crates/store/tests/a.rs", "println!(\"a\");", &[]);
        check("crates/keelson/src/main.rs", "println!(\"a\");", &[]);
    }

    #[test]
    fn unfinished_work_is_not_committed() {
        check("a.rs", "todo!()", &["todo!"]);
        check("a.rs", "// TODO: later", &["TODO"]);
        check("a.rs", "// FIXME", &["FIXME"]);
        check("a.rs", "#[ignore]", &["#[ignore"]);
        check("a.rs", "#[should_panic(expected = \"x\")]", &["#[should_panic"]);
        check("a.md", "TODO", &[]);
    }

    #[test]
    fn machines_are_not_named() {
        check("README.md", "cd /home/jane", &["/home/"]);
        check("README.md", "see `/home/me/x`", &["/home/"]);
        check("README.md", "docs/home/a.md and https://a.b/home/x", &[]);
    }

    #[test]
    fn comments_begin_outside_strings() {
        for (line, expected) in [
            ("a // b", "a "),
            ("let a = \"http://b\"; // c", "let a = \"http://b\"; "),
            ("let a = '\"'; // c", "let a = '\"'; "),
            ("let a = \"\\\"//\";", "let a = \"\\\"//\";"),
            ("/// doc", ""),
        ] {
            assert_eq!(code(line), expected);
        }
    }
}
