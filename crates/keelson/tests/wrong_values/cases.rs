//! The recorded cases and the listed differences.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A command line, and the result of the real kube-apiserver.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Separated by ` --`; `$DIR` is the folder of the fixture.
    pub(crate) arguments: String,
    /// The result.
    pub(crate) outcome: Outcome,
}

/// The result of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The server starts.
    Starts,
    /// The server exits.
    Ends {
        /// The exit code.
        code: i32,
        /// The error line, or the first line of the requested output.
        text: String,
    },
}

impl Case {
    /// The words of the command line.
    pub(crate) fn words(&self, folder: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (index, part) in self.arguments.split(" --").enumerate() {
            let dashes = if index == 0 { "" } else { "--" };
            words.push(format!("{dashes}{}", part.replace("$DIR", folder)));
        }
        words
    }
}

impl Outcome {
    /// Whether Keelson's result counts as equal to upstream's. Upstream exits with 255 and the stacks of all
    /// goroutines if it finds an error late, and with 2 if it panics; Keelson always exits with 1.
    pub(crate) fn same_as(&self, upstream: &Outcome) -> bool {
        match (self, upstream) {
            (Outcome::Ends { code, text }, Outcome::Ends { code: theirs, text: their_text }) => {
                let is_failure = *code == 1 && matches!(theirs, 1 | 2 | 255);
                (code == theirs || is_failure) && text == their_text
            }
            (one, other) => one == other,
        }
    }

    fn read(code: &str, text: &str) -> Outcome {
        match code.parse() {
            Ok(code) => Outcome::Ends { code, text: text.replace("\\n", "\n") },
            Err(_) => Outcome::Starts,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Starts => f.write_str("-\t"),
            Outcome::Ends { code, text } => write!(f, "{code}\t{}", text.replace('\n', "\\n")),
        }
    }
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// All cases.
pub(crate) fn recorded() -> Vec<Case> {
    let text = std::fs::read_to_string(path("wrong-values.tsv")).expect("the recorded cases");
    let case = |line: &str| {
        let mut columns = line.splitn(3, '\t');
        let mut column = || columns.next().unwrap_or_default();
        let arguments = column().to_owned();
        Case { arguments, outcome: Outcome::read(column(), column()) }
    };
    text.lines().map(case).collect()
}

/// The cases in which Keelson differs: `arguments`, code, text, reason.
pub(crate) fn differences() -> BTreeMap<String, Outcome> {
    let text = std::fs::read_to_string(path("wrong-values-differences.tsv")).expect("the differences");
    let difference = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [arguments, code, text, reason] = columns[..] else { panic!("four columns, not {line}") };
        assert!(!reason.is_empty(), "a difference has a reason: {line}");
        (arguments.to_owned(), Outcome::read(code, text))
    };
    text.lines().map(difference).collect()
}

/// Writes the outcomes after their cases.
pub(crate) fn record(cases: &[Case], outcomes: &[Outcome]) {
    assert_eq!(cases.len(), outcomes.len());
    let line = |(case, outcome): (&Case, &Outcome)| format!("{}\t{outcome}\n", case.arguments);
    let text: String = cases.iter().zip(outcomes).map(line).collect();
    std::fs::write(path("wrong-values.tsv"), text).expect("it can be written");
}
