//! Tests of Go regular expressions.

use super::Regex;

#[track_caller]
fn refused(pattern: &str, expected: &str) {
    let error = Regex::new(pattern).map(|regex| regex.to_string()).map_err(|error| error.to_string());
    assert_eq!(error, Err(format!("error parsing regexp: {expected}")), "{pattern}");
}

#[track_caller]
fn matches(pattern: &str, text: &str, expected: bool) {
    let regex = Regex::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
    assert_eq!(regex.is_match(text), expected, "{pattern} {text}");
}

#[test]
fn errors_have_gos_texts() {
    refused("[a", "missing closing ]: `[a`");
    refused("(", "missing closing ): `(`");
    refused(")", "unexpected ): `)`");
    refused("a)", "unexpected ): `a)`");
    refused("*", "missing argument to repetition operator: `*`");
    refused("(*)", "missing argument to repetition operator: `*`");
    refused("a**", "invalid nested repetition operator: `**`");
    refused("a*+", "invalid nested repetition operator: `*+`");
    refused("a{1}{2}", "invalid nested repetition operator: `{1}{2}`");
    refused("a{1001}", "invalid repeat count: `{1001}`");
    refused("a{2,1}", "invalid repeat count: `{2,1}`");
    refused("(a{100}){11}", "invalid repeat count: `{11}`");
    refused("[b-a]", "invalid character class range: `b-a`");
    refused("[a-\\d]", "invalid escape sequence: `\\d`");
    refused("\\", "trailing backslash at end of expression: ``");
    refused("\\8", "invalid escape sequence: `\\8`");
    refused("\\1", "invalid escape sequence: `\\1`");
    refused("\\pX", "invalid character class range: `\\pX`");
    refused("\\p{Foo}", "invalid character class range: `\\p{Foo}`");
    refused("[[:foo:]]", "invalid character class range: `[:foo:]`");
    refused("(?=a)", "invalid or unsupported Perl syntax: `(?=`");
    refused("(?<=a)", "invalid named capture: `(?<=a)`");
    refused("(?P<n", "invalid named capture: `(?P<n`");
    refused("(?P<>a)", "invalid named capture: `(?P<>`");
    refused("(?i", "invalid or unsupported Perl syntax: `(?i`");
    refused("\\xg+", "invalid escape sequence: `\\xg+`");
}

#[test]
fn classes_are_ascii_as_in_go() {
    matches("^\\d$", "٣", false);
    matches("^\\w$", "ä", false);
    matches("^\\s$", "\u{a0}", false);
    matches("^\\D$", "٣", true);
    matches("^[\\w-]+$", "a-b", true);
    matches("^[a&&b]$", "&", true);
    matches("^[^a]$", "ä", true);
    matches("\\bä", "xä", true);
    matches("a\\Bb", "ab", true);
    matches("a\\B", "a", false);
    matches("\\B{2}", "KſK", false);
    matches("(?P<n>a)(?P<n>b)", "ab", true);
    matches("^.$", "\n", false);
    matches("(?s)^.$", "\n", true);
    matches("(?i)ABC", "abc", true);
    matches("^\\p{Greek}$", "α", true);
    matches("^[[:alpha:]]+$", "abc", true);
    matches("^\\Q.*\\E$", ".*", true);
    matches("a{,2}", "a{,2}", true);
    matches("^a{2}$", "aa", true);
    matches("x$", "x\n", false);
    matches("^(?:a|b)*c$", "ababc", true);
}

#[test]
fn an_escaped_character_that_is_no_letter_or_digit_means_itself() {
    for (pattern, text) in [("a\\ b", "a b"), ("\\_", "_"), ("\\\u{7}", "\u{7}"), ("\\.", ".")] {
        assert!(Regex::new(pattern).is_ok_and(|regex| regex.is_match(text)), "{pattern:?}");
    }
    assert!(Regex::new("\\é").is_err());
}
