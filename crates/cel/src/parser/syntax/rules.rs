//! Rules of cel-go's grammar down to unary expressions, with the numbers of ANTLR's states.
//!
//! A rule that fails keeps what it has seen so far, and what is missing becomes an empty node.

use super::predict::Unary;
use super::states::RuleKind;
use super::{Failure, Parsed, Rule, SyntaxParser};
use crate::ast::{Expr, Literal, operators};
use crate::lexer::{Kind, Token};
use crate::parser::{calc_operator, relation_operator};
use crate::source::BEFORE;

impl SyntaxParser<'_> {
    pub(super) fn start(&mut self) -> Rule<Parsed> {
        let mut tree = None;
        self.uncounted(u16::MAX, |p| {
            tree = Some(p.expr(34)?);
            p.token(35, Kind::Eof)?;
            Ok(())
        })?;
        Ok(self.or_missing(tree))
    }

    #[inline(always)]
    pub(super) fn uncounted(&mut self, invoking: u16, body: impl FnOnce(&mut Self) -> Rule) -> Rule {
        self.rule(invoking, RuleKind::Other, body)
    }

    /// What stands for something that was not found.
    pub(super) fn or_missing(&mut self, found: Option<Parsed>) -> Parsed {
        found.unwrap_or_else(|| self.empty(BEFORE))
    }

    pub(super) fn empty(&mut self, position: u32) -> Parsed {
        Parsed { id: self.builder.add(position, Expr::Literal(Literal::Null)), height: 0 }
    }

    pub(super) fn expr(&mut self, invoking: u16) -> Rule<Parsed> {
        let (mut test, mut operator, mut then, mut otherwise) = (None, None, None, None);
        self.rule(invoking, RuleKind::Expr, |p| {
            test = Some(p.conditional_or(37)?);
            p.sync(43)?;
            if p.ahead(0) == Kind::Question {
                operator = Some(p.token(38, Kind::Question)?);
                then = Some(p.conditional_or(39)?);
                p.token(40, Kind::Colon)?;
                otherwise = Some(p.expr(41)?);
            }
            Ok(())
        })?;
        let test = self.or_missing(test);
        let Some(operator) = operator else { return Ok(test) };
        let (then, otherwise) = (self.or_missing(then), self.or_missing(otherwise));
        Ok(self.builder.conditional(operator, test, then, otherwise))
    }

    fn conditional_or(&mut self, invoking: u16) -> Rule<Parsed> {
        let mut terms = Vec::new();
        let mut positions = Vec::new();
        self.uncounted(invoking, |p| {
            terms.push(p.conditional_and(45)?);
            p.sync(50)?;
            while p.ahead(0) == Kind::Or {
                positions.push(p.token(46, Kind::Or)?.position);
                terms.push(p.conditional_and(47)?);
                p.sync(52)?;
            }
            Ok(())
        })?;
        Ok(self.logical(operators::LOGICAL_OR, &terms, &positions))
    }

    fn conditional_and(&mut self, invoking: u16) -> Rule<Parsed> {
        let mut terms = Vec::new();
        let mut positions = Vec::new();
        self.uncounted(invoking, |p| {
            terms.push(p.relation(53, 0)?);
            p.sync(58)?;
            while p.ahead(0) == Kind::And {
                positions.push(p.token(54, Kind::And)?.position);
                terms.push(p.relation(55, 0)?);
                p.sync(60)?;
            }
            Ok(())
        })?;
        Ok(self.logical(operators::LOGICAL_AND, &terms, &positions))
    }

    fn logical(&mut self, function: &'static str, terms: &[Parsed], positions: &[u32]) -> Parsed {
        let height = terms.iter().map(|term| term.height).max().unwrap_or_default();
        let ids: Vec<_> = terms.iter().map(|term| term.id).collect();
        match ids.as_slice() {
            [] => self.empty(BEFORE),
            ids => Parsed { id: self.builder.balanced(function, ids, &positions[..ids.len() - 1]), height },
        }
    }

    fn relation(&mut self, invoking: u16, precedence: u8) -> Rule<Parsed> {
        let mut left = None;
        self.rule(invoking, RuleKind::Relation, |p| {
            left = Some(p.calc(62, 0)?);
            p.sync(69)?;
            while precedence <= 1
                && let Some(function) = relation_operator(p.ahead(0))
            {
                let operator = p.operator(65);
                let right = p.relation(66, 2)?;
                left = p.binary(operator, function, left, right);
                p.sync(71)?;
            }
            Ok(())
        })?;
        Ok(self.or_missing(left))
    }

    fn calc(&mut self, invoking: u16, precedence: u8) -> Rule<Parsed> {
        let mut left = None;
        self.rule(invoking, RuleKind::Calc, |p| {
            left = Some(p.unary(73)?);
            p.sync(83)?;
            while let Some((function, level)) = calc_operator(p.ahead(0))
                && precedence <= level
            {
                p.sync(81)?;
                let operator = p.operator(if level == 2 { 76 } else { 79 });
                let right = p.calc(if level == 2 { 77 } else { 80 }, level + 1)?;
                left = p.binary(operator, function, left, right);
                p.sync(85)?;
            }
            Ok(())
        })?;
        Ok(self.or_missing(left))
    }

    fn operator(&mut self, state: u16) -> Token {
        self.state = state;
        let token = self.current();
        self.matched();
        self.consume();
        token
    }

    fn binary(
        &mut self,
        operator: Token,
        function: &'static str,
        left: Option<Parsed>,
        right: Parsed,
    ) -> Option<Parsed> {
        let left = self.or_missing(left);
        Some(self.builder.binary(operator, function, left, right))
    }

    fn unary(&mut self, invoking: u16) -> Rule<Parsed> {
        let start = self.current().position;
        let mut kind = None;
        let mut minus_or_not = Vec::new();
        let mut operand = None;
        self.uncounted(invoking, |p| {
            p.sync(99)?;
            let predicted = p.predict_unary()?;
            kind = Some(predicted);
            operand = match predicted {
                Unary::Member => Some(p.member(86)?),
                Unary::Not => p.not(&mut minus_or_not)?,
                Unary::Negate => p.negate(&mut minus_or_not)?,
            };
            Ok(())
        })?;
        let function = match kind {
            None => return Ok(self.empty(start)),
            Some(Unary::Member) => return Ok(self.or_missing(operand)),
            Some(Unary::Not) => operators::LOGICAL_NOT,
            Some(Unary::Negate) => operators::NEGATE,
        };
        let operand = self.or_missing(operand);
        match minus_or_not.first() {
            Some(first) if minus_or_not.len() % 2 == 1 => {
                let id = self.builder.call(*first, function, Box::new([operand.id]));
                Ok(Parsed { id, height: operand.height })
            }
            _ => Ok(operand),
        }
    }

    fn not(&mut self, operators: &mut Vec<u32>) -> Result<Option<Parsed>, Failure> {
        self.sync(88)?;
        loop {
            operators.push(self.token(87, Kind::Exclamation)?.position);
            self.sync(90)?;
            if self.ahead(0) != Kind::Exclamation {
                return self.member(92).map(Some);
            }
        }
    }

    fn negate(&mut self, operators: &mut Vec<u32>) -> Result<Option<Parsed>, Failure> {
        self.sync(94)?;
        loop {
            operators.push(self.token(93, Kind::Minus)?.position);
            self.sync(96)?;
            if !self.predict_minus()? {
                return self.member(98).map(Some);
            }
        }
    }
}
