//! Literals of numbers, strings, bytes, booleans and null.

use super::unescape::unescape;
use super::{Parse, Parser, Stop};
use crate::ast::{Expr, ExprId, Literal};
use crate::lexer::{Kind, Token};

impl Parser<'_> {
    pub(super) fn literal(&mut self) -> Parse<ExprId> {
        let position = self.tokens[self.at].position;
        let negative = self.take(Kind::Minus).is_some();
        let token = self.next();
        if negative && !matches!(token.kind, Kind::Int | Kind::Float) {
            return Err(Stop::Syntax);
        }
        self.literal_of(token, negative, position).ok_or(Stop::Syntax)
    }

    /// The node of a literal; None if the token is no literal.
    pub(super) fn literal_of(&mut self, token: Token, negative: bool, position: u32) -> Option<ExprId> {
        let literal = match token.kind {
            Kind::Int => int(self.text_of(token), negative).map(Literal::Int).ok_or("invalid int literal"),
            Kind::Uint => uint(self.text_of(token)).map(Literal::Uint).ok_or("invalid uint literal"),
            Kind::Float => {
                double(self.text_of(token), negative).map(Literal::Double).ok_or("invalid double literal")
            }
            Kind::String => self.string(token),
            Kind::Bytes => {
                unescape(&self.text_of(token)[1..], true).map(|bytes| Literal::Bytes(bytes.as_ref().into()))
            }
            Kind::True => Ok(Literal::Bool(true)),
            Kind::False => Ok(Literal::Bool(false)),
            Kind::Null => Ok(Literal::Null),
            _ => return None,
        };
        Some(match literal {
            Ok(literal) => self.add(position, Expr::Literal(literal)),
            Err(message) => self.broken(position, String::from(message)),
        })
    }

    fn string(&self, token: Token) -> Result<Literal, &'static str> {
        let bytes = unescape(self.text_of(token), false)?;
        let text = std::str::from_utf8(&bytes).map_err(|_| "unable to unescape string")?;
        Ok(Literal::String(text.into()))
    }
}

fn int(text: &str, negative: bool) -> Option<i64> {
    let magnitude = magnitude(text)?;
    if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

fn uint(text: &str) -> Option<u64> {
    magnitude(&text[..text.len() - 1])
}

fn magnitude(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Go refuses what overflows.
fn double(text: &str, negative: bool) -> Option<f64> {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(if negative { -value } else { value })
}
