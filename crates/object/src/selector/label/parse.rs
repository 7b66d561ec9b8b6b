//! The grammar of label selectors.
//!
//! ```text
//! selector    = [ requirement { "," requirement } ]
//! requirement = "!" KEY | KEY | KEY ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | KEY ( "in" | "notin" ) set
//! set         = "(" [ VALUE ] { "," [ VALUE ] } ")"
//! ```
//!
//! `in` and `notin` are words like any other wherever no operator is expected. Rules for keys and values are not
//! part of the grammar: a word is everything up to a space or one of `=!(),><`.

use smol_str::SmolStr;

use super::{Operator, Requirement, check_key};
use crate::field_error::FieldErrors;
use crate::path::Path;
use crate::selector::{RequirementError, SelectorError};

pub(super) fn parse(text: &str) -> Result<Vec<Requirement>, SelectorError> {
    let mut tokens = Tokens { text, at: 0 };
    let mut requirements = Vec::new();
    loop {
        match tokens.peek() {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {}
            other => return Err(unexpected(other, "!, identifier, or 'end of string'")),
        }
        requirements.push(parse_requirement(&mut tokens).map_err(SelectorError::Requirement)?);
        match tokens.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => match tokens.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return Err(unexpected(other, "identifier after ','")),
            },
            other => return Err(unexpected(other, "',' or 'end of string'")),
        }
    }
}

fn unexpected(token: Token<'_>, expected: &'static str) -> SelectorError {
    SelectorError::Token { found: token.text().to_owned(), expected }
}

fn misplaced(token: Token<'_>, expected: &'static str) -> RequirementError {
    RequirementError::Token { found: token.text().to_owned(), expected }
}

fn parse_requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, RequirementError> {
    let mut first = tokens.next();
    let is_negated = first == Token::Symbol("!");
    if is_negated {
        first = tokens.next();
    }
    let Token::Word(key) = first else {
        return Err(misplaced(first, "identifier"));
    };
    let mut errors = FieldErrors::default();
    check_key(key, &Path::empty(), &mut errors);
    if !errors.is_empty() {
        return Err(RequirementError::Rules(errors));
    }
    if is_negated {
        return Requirement::new(key, Operator::DoesNotExist, Vec::new());
    }
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Requirement::new(key, Operator::Exists, Vec::new());
    }
    let operator = parse_operator(tokens)?;
    let mut values = match operator {
        Operator::In | Operator::NotIn => parse_set(tokens)?,
        _ => vec![parse_value(tokens)?],
    };
    values.sort_unstable();
    values.dedup();
    Requirement::new(key, operator, values)
}

fn parse_operator(tokens: &mut Tokens<'_>) -> Result<Operator, RequirementError> {
    Ok(match tokens.next() {
        Token::Word("in") => Operator::In,
        Token::Word("notin") => Operator::NotIn,
        Token::Symbol("=") => Operator::Equals,
        Token::Symbol("==") => Operator::DoubleEquals,
        Token::Symbol("!=") => Operator::NotEquals,
        Token::Symbol(">") => Operator::GreaterThan,
        Token::Symbol("<") => Operator::LessThan,
        other => return Err(misplaced(other, "in, notin, =, ==, !=, gt, lt")),
    })
}

fn parse_value(tokens: &mut Tokens<'_>) -> Result<SmolStr, RequirementError> {
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return Ok(SmolStr::default());
    }
    match tokens.next() {
        Token::Word(value) => Ok(value.into()),
        other => Err(misplaced(other, "identifier")),
    }
}

/// Every comma without a word on one of its sides is next to an empty value.
fn parse_set(tokens: &mut Tokens<'_>) -> Result<Vec<SmolStr>, RequirementError> {
    let first = tokens.next();
    if first != Token::Symbol("(") {
        return Err(RequirementError::Parenthesis { found: first.text().to_owned() });
    }
    match tokens.peek() {
        Token::Symbol(")") => {
            tokens.next();
            return Ok(vec![SmolStr::default()]);
        }
        Token::Word(_) | Token::Symbol(",") => {}
        other => return Err(misplaced(other, "',', ')' or identifier")),
    }
    let mut values = Vec::new();
    loop {
        match tokens.next() {
            Token::Word(value) => {
                values.push(value.into());
                match tokens.peek() {
                    Token::Symbol(",") => {}
                    Token::Symbol(")") => break,
                    other => return Err(misplaced(other, "',' or ')'")),
                }
            }
            Token::Symbol(",") => {
                let next = tokens.peek();
                if values.is_empty() || next == Token::Symbol(",") || next == Token::Symbol(")") {
                    values.push(SmolStr::default());
                }
                if next == Token::Symbol(")") {
                    break;
                }
            }
            other => return Err(misplaced(other, "',', or identifier")),
        }
    }
    tokens.next();
    Ok(values)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Symbol(&'t str),
    End,
}

impl<'t> Token<'t> {
    fn text(self) -> &'t str {
        match self {
            Token::Word(text) | Token::Symbol(text) => text,
            Token::End => "",
        }
    }
}

struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Tokens<'t> {
    fn peek(&self) -> Token<'t> {
        self.read().0
    }

    fn next(&mut self) -> Token<'t> {
        let (token, end) = self.read();
        self.at = end;
        token
    }

    /// The next token and its end. As in upstream, a zero byte ends the text where a token could begin, and
    /// is skipped after a token: dropping the rest of the selector there would widen it.
    fn read(&self) -> (Token<'t>, usize) {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n']);
        let start = self.text.len() - rest.len();
        let is_end_of_word = |c: char| "=!(),>< \t\r\n\0".contains(c);
        let token = match rest.as_bytes() {
            [] | [0, ..] => return (Token::End, start),
            [b'=' | b'!', b'=', ..] => Token::Symbol(&rest[..2]),
            [b'=' | b'!' | b'(' | b')' | b',' | b'>' | b'<', ..] => Token::Symbol(&rest[..1]),
            _ => Token::Word(&rest[..rest.find(is_end_of_word).unwrap_or(rest.len())]),
        };
        let length = token.text().len();
        (token, start + length + usize::from(rest[length..].starts_with('\0')))
    }
}
