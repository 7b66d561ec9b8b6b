//! Exceptions: the committed list of differences from upstream, each with its reason.
//!
//! A line of `testdata/differential_exceptions.jsonl` has a `reason` and texts that must all occur:
//!
//! | member        | where                                                                           |
//! |---------------|---------------------------------------------------------------------------------|
//! | `"never asked"` | in the expression without white space; such expressions are not asked at all    |
//! | `"expression"`  | in the expression without white space                                           |
//! | `"expected"`    | in cel-go's answer                                                              |
//! | `"found"`       | in our answer                                                                   |

use serde_json::Value;

const LIST: &str = include_str!("../../testdata/differential_exceptions.jsonl");

/// The list.
pub(crate) struct Exceptions(Vec<Value>);

impl Exceptions {
    pub(crate) fn read() -> Self {
        Self(LIST.lines().map(|line| serde_json::from_str(line).expect("the list is JSON")).collect())
    }

    /// Whether an expression may be asked.
    pub(crate) fn may_ask(&self, expression: &str) -> bool {
        let text = without_space(expression);
        !self.0.iter().filter_map(|line| line["never asked"].as_str()).any(|never| text.contains(never))
    }

    /// Why these answers may differ; `None` if they may not.
    pub(crate) fn reason(&self, expression: &str, expected: &Value, found: &Value) -> Option<&str> {
        let texts = [without_space(expression), expected.to_string(), found.to_string()];
        let applies = |line: &&Value| {
            let parts = ["expression", "expected", "found"].map(|member| line[member].as_str());
            parts.iter().zip(&texts).all(|(part, text)| part.is_none_or(|part| text.contains(part)))
                && parts.iter().any(Option::is_some)
        };
        self.0.iter().find(applies).and_then(|line| line["reason"].as_str())
    }
}

fn without_space(expression: &str) -> String {
    expression.split_whitespace().collect()
}
