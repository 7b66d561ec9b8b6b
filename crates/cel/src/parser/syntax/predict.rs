//! Decisions between alternatives, by as many tokens as ANTLR needs to look at.
//!
//! A decision fails only if no alternative can go on and none is complete. An alternative that is complete wins
//! even if the next token does not fit; that token is reported later.

use super::states::{EXPRESSION, FIELD, PRIMARY};
use super::{Failure, SyntaxParser};
use crate::lexer::Kind;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Member,
    Not,
    Negate,
}

pub(super) enum Member {
    Select,
    Call,
    Index,
}

pub(super) enum Primary {
    Ident,
    Call,
    Nested,
    List,
    Map,
    Object,
    Literal,
}

impl SyntaxParser<'_> {
    /// The tokens up to `ahead` fit no alternative.
    fn no_viable<T>(&self, ahead: usize) -> Result<T, Failure> {
        Err(Failure::NoViable { start: self.at.min(self.tokens.len() - 1), offending: self.at + ahead })
    }

    pub(super) fn predict_unary(&self) -> Result<Unary, Failure> {
        match (self.ahead(0), self.ahead(1)) {
            (Kind::Exclamation, _) => Ok(Unary::Not),
            (Kind::Minus, Kind::Int | Kind::Float) => Ok(Unary::Member),
            (Kind::Minus, next) if PRIMARY.contains(next) => Ok(Unary::Negate),
            (Kind::Minus, _) => self.no_viable(1),
            (first, _) if PRIMARY.contains(first) => Ok(Unary::Member),
            _ => self.no_viable(0),
        }
    }

    /// Is there another minus?
    pub(super) fn predict_minus(&self) -> Result<bool, Failure> {
        match (self.ahead(0), self.ahead(1)) {
            (Kind::Minus, next) if PRIMARY.contains(next) => Ok(true),
            (Kind::Minus, _) => self.no_viable(1),
            (first, _) if PRIMARY.contains(first) => Ok(false),
            _ => self.no_viable(0),
        }
    }

    pub(super) fn predict_member(&self) -> Result<Member, Failure> {
        match (self.ahead(0), self.ahead(1), self.ahead(2)) {
            (Kind::LeftBracket, ..) => Ok(Member::Index),
            (Kind::Dot, Kind::Identifier, Kind::LeftParen) => Ok(Member::Call),
            (Kind::Dot, next, _) if FIELD.contains(next) => Ok(Member::Select),
            (Kind::Dot, ..) => self.no_viable(1),
            _ => self.no_viable(0),
        }
    }

    pub(super) fn predict_primary(&self) -> Result<Primary, Failure> {
        match self.ahead(0) {
            Kind::LeftParen => Ok(Primary::Nested),
            Kind::LeftBracket => Ok(Primary::List),
            Kind::LeftBrace => Ok(Primary::Map),
            Kind::Dot if self.ahead(1) != Kind::Identifier => self.no_viable(1),
            Kind::Dot => Ok(self.after_name(2)),
            Kind::Identifier => Ok(self.after_name(1)),
            first if PRIMARY.contains(first) => Ok(Primary::Literal),
            _ => self.no_viable(0),
        }
    }

    fn after_name(&self, ahead: usize) -> Primary {
        if self.ahead(ahead) == Kind::LeftParen {
            return Primary::Call;
        }
        let mut ahead = ahead;
        while self.ahead(ahead) == Kind::Dot && self.ahead(ahead + 1) == Kind::Identifier {
            ahead += 2;
        }
        if self.ahead(ahead) == Kind::LeftBrace { Primary::Object } else { Primary::Ident }
    }

    /// Does a comma with another element follow? A comma before the end belongs to the literal around.
    pub(super) fn predict_element(&self) -> bool {
        let next = self.ahead(1);
        self.ahead(0) == Kind::Comma && (EXPRESSION.contains(next) || next == Kind::Question)
    }

    /// Does a comma with another field follow?
    pub(super) fn predict_field(&self) -> bool {
        self.ahead(0) == Kind::Comma && FIELD.contains(self.ahead(1))
    }

    pub(super) fn predict_literal(&self) -> Result<Kind, Failure> {
        match (self.ahead(0), self.ahead(1)) {
            (Kind::Minus, kind @ (Kind::Int | Kind::Float)) => Ok(kind),
            (Kind::Minus, _) => self.no_viable(1),
            (
                kind @ (Kind::Int
                | Kind::Float
                | Kind::Uint
                | Kind::String
                | Kind::Bytes
                | Kind::True
                | Kind::False
                | Kind::Null),
                _,
            ) => Ok(kind),
            _ => self.no_viable(0),
        }
    }
}
