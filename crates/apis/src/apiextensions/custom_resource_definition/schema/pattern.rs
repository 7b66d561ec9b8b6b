//! Regular expressions, and what Go says of those that are none.

use regex::{Error, Regex, RegexBuilder};

/// Whether a pattern is one shows before it is compiled; so little of it is compiled that many cost little.
const SYNTAX_BYTES: usize = 32 * 1024;
/// Larger patterns are not tried out.
const MATCHER_BYTES: usize = 1024 * 1024;

/// What is wrong with a pattern; `None` if it is one, or empty.
pub(crate) fn problem(pattern: &str) -> Option<String> {
    if pattern.is_empty() {
        return None;
    }
    match RegexBuilder::new(pattern).size_limit(SYNTAX_BYTES).build() {
        Ok(_) | Err(Error::CompiledTooBig(_)) => None,
        Err(error) => Some(format!("error parsing regexp: {}", in_go(pattern, &error.to_string()))),
    }
}

/// A pattern to try out.
pub(crate) fn matcher(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(MATCHER_BYTES).build().ok()
}

/// Go's words for the mistakes that people make.
fn in_go(pattern: &str, error: &str) -> String {
    let from = |c: char| pattern.rfind(c).map_or(pattern, |position| &pattern[position..]);
    if error.contains("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if error.contains("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if error.contains("unclosed character class") {
        format!("missing closing ]: `{}`", from('['))
    } else if error.contains("repetition operator missing expression") {
        let operator = pattern.chars().find(|c| matches!(c, '*' | '+' | '?')).unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else if error.contains("look-around") {
        let position = ["(?=", "(?!", "(?<"].iter().filter_map(|it| pattern.find(it)).min().unwrap_or(0);
        let shown: String = pattern[position..].chars().take(3).collect();
        format!("invalid or unsupported Perl syntax: `{shown}`")
    } else if error.contains("incomplete escape sequence") {
        String::from("trailing backslash at end of expression: ``")
    } else if error.contains("unrecognized escape sequence") {
        let shown: String = from('\\').chars().take(2).collect();
        format!("invalid escape sequence: `{shown}`")
    } else {
        format!("invalid regular expression: `{pattern}`")
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn mistakes_are_told_in_the_words_of_go() {
        let check = |pattern: &str, expected: &str| {
            let found = problem(pattern);
            assert_eq!(
                found.as_deref().and_then(|it| it.strip_prefix("error parsing regexp: ")),
                Some(expected)
            );
        };
        check("(a", "missing closing ): `(a`");
        check("a)", "unexpected ): `a)`");
        check("a[b", "missing closing ]: `[b`");
        check("*", "missing argument to repetition operator: `*`");
        check("a(?!b)", "invalid or unsupported Perl syntax: `(?!`");
        check("a\\", "trailing backslash at end of expression: ``");
        check("\\y", "invalid escape sequence: `\\y`");
    }

    #[test]
    fn patterns_are_fine() {
        for pattern in ["", "^[a-z]+$", r"\d{3}-\d", "a|b", "(?i)x", r"(\w{0,253}){0,253}"] {
            assert_eq!(problem(pattern), None, "{pattern}");
        }
    }
}
