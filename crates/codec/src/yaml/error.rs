//! YAML errors, in the words of go-yaml if it has some.

use keelson_object::Value;
use keelson_object::scalar::quote;
use saphyr_parser::ScanError;

use super::float;

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not YAML.
    #[error("yaml: {}{problem}", line_prefix(*line))]
    Syntax {
        /// The line, counted as upstream does: errors on the first line have none.
        line: Option<usize>,
        /// The problem.
        problem: String,
    },
    /// Not text.
    #[error("yaml: {problem}")]
    Encoding {
        /// The problem.
        problem: &'static str,
    },
    /// The anchor of an alias does not exist.
    #[error("yaml: unknown anchor '{name}' referenced")]
    UnknownAnchor {
        /// The name of the anchor.
        name: String,
    },
    /// An alias within its own value.
    #[error("yaml: anchor '{name}' value contains itself")]
    SelfReference {
        /// The name of the anchor.
        name: String,
    },
    /// Aliases that would expand the document too much.
    #[error("yaml: document contains excessive aliasing")]
    ExcessiveAliasing,
    /// The value of a merge key cannot be merged.
    #[error("yaml: map merge requires map or sequence of maps as the value")]
    Merge,
    /// A list or map as a key.
    #[error("yaml: invalid map key: {shown}")]
    ContainerAsKey {
        /// The key as Go prints it.
        shown: String,
    },
    /// A key that has no text form.
    #[error("unsupported map key of type: {type_name}, key: {shown}, value: {value}")]
    KeyType {
        /// Its type as Go names it.
        type_name: &'static str,
        /// The key as Go prints it.
        shown: String,
        /// Its value as Go prints it.
        value: String,
    },
    /// A scalar does not match its tag.
    #[error("yaml: cannot decode {found} `{text}` as a {wanted}")]
    Tag {
        /// The type of the scalar.
        found: &'static str,
        /// The scalar.
        text: String,
        /// The type in the tag.
        wanted: String,
    },
    /// Binary data that is not base64.
    #[error("yaml: !!binary value contains invalid base64 data")]
    Base64,
    /// A number that JSON cannot express.
    #[error("json: unsupported value: {shown}")]
    NotFinite {
        /// The number as Go prints it.
        shown: &'static str,
    },
}

fn line_prefix(line: Option<usize>) -> String {
    line.map(|it| format!("line {it}: ")).unwrap_or_default()
}

impl Error {
    /// The error of the parser. Its messages are libyaml's, with the context in front: `while parsing a block
    /// mapping, did not find expected key`. go-yaml prints the second half. It counts lines from 0, adds one
    /// for errors of its scanner, and leaves out line 0.
    pub(super) fn from_scan(error: &ScanError, source: &str) -> Error {
        let info = error.info();
        if info.ends_with("found unknown anchor") {
            return Error::UnknownAnchor { name: alias_name(source, error.marker().index()) };
        }
        let problem = match info.split_once(", ") {
            Some((context, problem)) if context.starts_with("while ") => problem,
            _ => info,
        };
        let (problem, is_scanner) = match problem {
            "expected ',' or ']'" => ("did not find expected ',' or ']'", false),
            "unexpected end of plain scalar" | "unexpected eof" => {
                ("did not find expected node content", false)
            }
            "recursion limit exceeded" => ("exceeded max depth of 10000", true),
            "simple key expect ':'" | "simple key expected" => ("could not find expected ':'", true),
            "the handle wasn't declared" => ("found undefined tag handle", false),
            "duplicate version directive" => ("found duplicate %YAML directive", false),
            "tabs disallowed within this context (block indentation)" | "tabs disallowed in this context" => {
                ("found character that cannot start any token", true)
            }
            "misplaced bracket" => ("did not find expected node content", false),
            "found a tab" => ("found a tab character that violates indentation", true),
            "invalid trailing content after double-quoted scalar" => ("did not find expected key", false),
            _ if problem.starts_with("unexpected character: ") => {
                ("found character that cannot start any token", true)
            }
            _ if problem.starts_with("did not find expected ") && !info.starts_with("while scanning") => {
                (problem, false)
            }
            _ => (problem, true),
        };
        let from_zero = match problem {
            "found unexpected end of stream" => {
                source.lines().count().saturating_sub(usize::from(!source.ends_with('\n')))
            }
            _ => error.marker().line().saturating_sub(1),
        };
        let line = (from_zero > 0).then_some(if is_scanner { from_zero + 1 } else { from_zero });
        Error::Syntax { line, problem: problem.to_owned() }
    }
}

/// The name of the alias whose star is the character at `index`.
pub(super) fn alias_name(source: &str, index: usize) -> String {
    let name = source.chars().skip(index).skip_while(|it| *it == '*');
    name.take_while(|it| !it.is_whitespace() && !",[]{}".contains(*it)).take(200).collect()
}

/// A value as Go's `%#v` prints the result of go-yaml.
pub(super) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(truth) => format!("{truth}"),
        Value::Int(number) => format!("{number}"),
        Value::Float(number) => float::general(*number),
        Value::String(text) => quote(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().take(10).map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Map(map) => {
            let pairs = map.iter().take(10);
            let pairs: Vec<String> =
                pairs.map(|(key, value)| format!("{}:{}", quote(key), go_syntax(value))).collect();
            format!("map[interface {{}}]interface {{}}{{{}}}", pairs.join(", "))
        }
    }
}
