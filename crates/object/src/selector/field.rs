//! Field selectors: `metadata.name=web,status.phase!=Running`.

use std::fmt;

use smol_str::SmolStr;

use super::SelectorError;

/// Selects objects by the values of a few fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Term>);

/// One condition on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The name of the field, such as `spec.nodeName`.
    pub field: SmolStr,
    /// The operator.
    pub operator: Operator,
    /// The value; the empty value also matches an absent field.
    pub value: SmolStr,
}

/// The comparison of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `field=value` or `field==value`
    Equals,
    /// `field!=value`
    NotEquals,
}

impl Selector {
    /// Selects all objects.
    pub const fn everything() -> Selector {
        Selector(Vec::new())
    }

    /// Selects the objects whose `field` is `value`.
    pub fn equals(field: &str, value: &str) -> Selector {
        Selector(vec![Term { field: field.into(), operator: Operator::Equals, value: value.into() }])
    }

    /// Parses terms separated by commas; empty terms are skipped, the others are sorted.
    ///
    /// Upstream: apimachinery/pkg/fields/selector.go, ParseSelector (v1.36.4).
    pub fn parse(text: &str) -> Result<Selector, SelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let mut terms = parts.map(|part| parse_term(text, part)).collect::<Result<Vec<_>, _>>()?;
        // A bare operator is ignored.
        terms.retain(|term| !term.field.is_empty() || !term.value.is_empty());
        Ok(Selector(terms))
    }

    /// The conditions; all of them must hold.
    pub fn terms(&self) -> &[Term] {
        &self.0
    }

    /// Whether all objects are selected.
    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object is selected; `lookup` returns its fields.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.0.iter().all(|term| {
            let is_equal = lookup(&term.field).unwrap_or("") == term.value;
            is_equal == (term.operator == Operator::Equals)
        })
    }

    /// The value that `field` must have, if there is exactly one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let requires = |term: &&Term| term.operator == Operator::Equals && term.field == field;
        self.0.iter().find(requires).map(|term| term.value.as_str())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, term) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            term.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.operator == Operator::Equals { "=" } else { "!=" };
        write!(f, "{}{operator}", self.field)?;
        for c in self.value.chars() {
            if matches!(c, '\\' | ',' | '=') {
                f.write_str("\\")?;
            }
            write!(f, "{c}")?;
        }
        Ok(())
    }
}

/// The terms between commas that have no backslash before them, backslashes kept.
fn split_terms(text: &str) -> Vec<&str> {
    let mut escaped = false;
    let is_separator = |c: char| {
        let is_data = std::mem::take(&mut escaped);
        escaped = c == '\\' && !is_data;
        c == ',' && !is_data
    };
    text.split(is_separator).collect()
}

fn parse_term(selector: &str, term: &str) -> Result<Term, SelectorError> {
    // There are no escapes on the left side, so the first operator is the right one.
    let is_operator = |at: usize| term[at..].starts_with("!=") || term[at..].starts_with('=');
    let operator = term.char_indices().map(|(at, _)| at).find(|at| is_operator(*at));
    let at = operator
        .ok_or_else(|| SelectorError::Term { selector: selector.to_owned(), term: term.to_owned() })?;
    let (field, rest) = (term[..at].into(), &term[at..]);
    if let Some(value) = rest.strip_prefix("!=") {
        return Ok(Term { field, operator: Operator::NotEquals, value: unescape(value)? });
    }
    let value = rest.strip_prefix("==").unwrap_or(&rest[1..]);
    Ok(Term { field, operator: Operator::Equals, value: unescape(value)? })
}

fn unescape(value: &str) -> Result<SmolStr, SelectorError> {
    if !value.contains(['\\', ',', '=']) {
        return Ok(value.into());
    }
    let mut plain = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some(c @ ('\\' | ',' | '=')) => plain.push(c),
                Some(c) => {
                    return Err(SelectorError::Escape { sequence: format!("\\{c}") });
                }
                None => {
                    return Err(SelectorError::Escape { sequence: "\\".to_owned() });
                }
            },
            ',' | '=' => return Err(SelectorError::Unescaped { character: c }),
            _ => plain.push(c),
        }
    }
    Ok(plain.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Selector, Term};

    #[test]
    fn selectors_are_printed_sorted_and_escaped() {
        let check = |text: &str, expected: &str| {
            let printed = Selector::parse(text).map(|it| it.to_string());
            assert_eq!(printed.as_deref(), Ok(expected), "{text}");
        };
        check("", "");
        check(",,", "");
        check("a=b", "a=b");
        check("a==b", "a=b");
        check("a!=b", "a!=b");
        check("b=1,a=2,", "a=2,b=1");
        check("a=", "a=");
        check("a!=", "a!=");
        check("=a", "=a");
        check("=,!=,==", "");
        check(" a = b ", " a = b ");
        check("a!b=c", "a!b=c");
        check(r"a=b\,c\=d\\e", r"a=b\,c\=d\\e");
        check("metadata.name=web,spec.nodeName!=node-1", "metadata.name=web,spec.nodeName!=node-1");
    }

    #[test]
    fn mistakes_are_reported_as_upstream_reports_them() {
        let check = |text: &str, expected: &str| {
            let message = Selector::parse(text).map_err(|error| error.to_string());
            assert_eq!(message, Err(expected.to_owned()), "{text}");
        };
        check("x", "invalid selector: 'x'; can't understand 'x'");
        check("a=b,x", "invalid selector: 'a=b,x'; can't understand 'x'");
        check("x!", "invalid selector: 'x!'; can't understand 'x!'");
        check("a=b=c", "invalid field selector: unescaped character in value: 61");
        check("a===c", "invalid field selector: unescaped character in value: 61");
        check(r"a=\x", r"invalid field selector: invalid escape sequence: \x");
        check("a=b\\", "invalid field selector: invalid escape sequence: \\");
    }

    #[test]
    fn all_terms_must_hold() {
        let lookup = |field: &str| match field {
            "metadata.name" => Some("web"),
            "status.phase" => Some("Running"),
            _ => None,
        };
        let check = |text: &str, expected: bool| {
            assert_eq!(Selector::parse(text).unwrap().matches(lookup), expected, "{text}");
        };
        check("", true);
        check("metadata.name=web", true);
        check("metadata.name=db", false);
        check("metadata.name!=db,status.phase=Running", true);
        check("metadata.name=web,status.phase!=Running", false);
        check("spec.nodeName=", true);
        check("spec.nodeName!=", false);
    }

    #[test]
    fn the_required_value_of_a_field_is_known() {
        let selector = Selector::parse("metadata.name=web,spec.nodeName!=x").unwrap();
        assert_eq!(selector.exact("metadata.name"), Some("web"));
        assert_eq!(selector.exact("spec.nodeName"), None);
        assert_eq!(selector.terms()[1].field, "spec.nodeName");
        assert!(!selector.is_everything());
        assert!(Selector::everything().is_everything());
        assert_eq!(Selector::equals("a", "b,c").to_string(), r"a=b\,c");
    }

    proptest! {
        #[test]
        fn any_value_survives_printing(value in r"[ab\\,=!ü]{0,8}") {
            let selector = Selector::equals("metadata.name", &value);
            prop_assert_eq!(Selector::parse(&selector.to_string()), Ok(selector));
        }

        #[test]
        fn what_can_be_read_can_be_printed_and_read_again(text in r"[ab\\,=!ü]{0,12}") {
            if let Ok(selector) = Selector::parse(&text) {
                let again = Selector::parse(&selector.to_string()).unwrap();
                let sorted = |it: &Selector| {
                    let mut terms: Vec<String> = it.terms().iter().map(Term::to_string).collect();
                    terms.sort();
                    terms
                };
                prop_assert_eq!(sorted(&again), sorted(&selector));
            }
        }
    }
}
