//! Syntax errors: the messages of the parser that ANTLR makes from cel-go's grammar.

use crate::lexer::{BadText, Token};
use crate::source::Issues;

/// The errors of a text that is not in the grammar.
pub(super) fn issues(text: &str, tokens: &[Token], bad: &[BadText]) -> Issues {
    let mut issues = Issues::new(text);
    for bad in bad {
        let shown = &text[bad.start as usize..bad.end as usize];
        let message = format!("Syntax error: token recognition error at: '{}'", escaped(shown));
        issues.report(Some(bad.position), message);
    }
    let _ = tokens;
    issues
}

fn escaped(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r").replace('\t', "\\t")
}
