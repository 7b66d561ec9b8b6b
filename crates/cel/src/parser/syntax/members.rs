//! Rules of cel-go's grammar for members, primary expressions and literals.

use smol_str::SmolStr;

use super::predict::{Member, Primary};
use super::states::EXPRESSION;
use super::{Failure, Parsed, Rule, SyntaxParser};
use crate::ast::{ExprId, operators};
use crate::lexer::{Kind, Token};
use crate::parser::primary::{Name, Selected};

/// The arguments of a call and the height of the tallest.
pub(super) type Arguments = (Vec<ExprId>, u32);

impl SyntaxParser<'_> {
    pub(super) fn member(&mut self, invoking: u16) -> Rule<Parsed> {
        let mut operand = None;
        self.uncounted(invoking, |p| {
            operand = Some(p.primary(102)?);
            p.sync(128)?;
            while matches!(p.ahead(0), Kind::Dot | Kind::LeftBracket) {
                p.sync(126)?;
                match p.predict_member()? {
                    Member::Select => p.select(&mut operand)?,
                    Member::Call => p.receiver_call(&mut operand)?,
                    Member::Index => p.index(&mut operand)?,
                }
                p.sync(130)?;
            }
            Ok(())
        })?;
        Ok(self.or_missing(operand))
    }

    fn select(&mut self, operand: &mut Option<Parsed>) -> Rule {
        let dot = self.token(105, Kind::Dot)?;
        self.sync(107)?;
        let optional = self.ahead(0) == Kind::Question;
        if optional {
            self.token(106, Kind::Question)?;
        }
        let start = self.current().position;
        let name = self.escape_ident(109)?;
        let name = self.field_name(name, start).unwrap_or_default();
        let target = self.or_missing(*operand);
        *operand = Some(self.builder.select(dot, target, Selected { name, position: start, optional }));
        Ok(())
    }

    /// The name of a field; None if there is an error, which is reported.
    pub(super) fn field_name(&mut self, name: Option<Token>, error_position: u32) -> Option<SmolStr> {
        match name {
            Some(name) => {
                let field = self.builder.field_name(name, error_position);
                (name.kind == Kind::Identifier).then_some(field)
            }
            None => {
                self.builder.issues.report(Some(error_position), "unsupported ident kind");
                None
            }
        }
    }

    fn receiver_call(&mut self, operand: &mut Option<Parsed>) -> Rule {
        self.token(111, Kind::Dot)?;
        let name = self.token(112, Kind::Identifier)?;
        let open = self.token(113, Kind::LeftParen)?;
        let mut arguments = (Vec::new(), 0);
        let ended = self.arguments((115, 114, 117), &mut arguments);
        if matches!(ended, Err(Failure::Abort)) {
            return ended;
        }
        let (args, height) = arguments;
        let target = self.or_missing(*operand);
        let name = SmolStr::new(self.builder.text_of(name));
        let id = self.builder.receiver_call(open, name, target.id, args);
        *operand = Some(Parsed { id, height: 1 + target.height.max(height) });
        ended
    }

    fn index(&mut self, operand: &mut Option<Parsed>) -> Rule {
        let open = self.token(119, Kind::LeftBracket)?;
        let target = self.or_missing(*operand);
        let mut function = operators::INDEX;
        let mut index = None;
        let ended = self.index_value(&mut function, &mut index);
        if matches!(ended, Err(Failure::Abort)) {
            return ended;
        }
        let index = self.or_missing(index);
        let id = self.builder.call(open.position, function, Box::new([target.id, index.id]));
        *operand = Some(Parsed { id, height: 1 + target.height.max(index.height) });
        ended
    }

    fn index_value(&mut self, function: &mut &'static str, index: &mut Option<Parsed>) -> Rule {
        self.sync(121)?;
        if self.ahead(0) == Kind::Question {
            self.token(120, Kind::Question)?;
            *function = operators::OPT_INDEX;
        }
        *index = Some(self.expr(123)?);
        self.token(124, Kind::RightBracket)?;
        Ok(())
    }

    /// The arguments and the parenthesis behind them; the states are those before, in and behind the list.
    fn arguments(&mut self, (before, list, close): (u16, u16, u16), arguments: &mut Arguments) -> Rule {
        self.sync(before)?;
        if EXPRESSION.contains(self.ahead(0)) {
            self.expr_list(list, arguments)?;
        }
        self.token(close, Kind::RightParen)?;
        Ok(())
    }

    fn expr_list(&mut self, invoking: u16, arguments: &mut Arguments) -> Rule {
        self.uncounted(invoking, |p| {
            p.argument(186, arguments)?;
            p.sync(191)?;
            while p.ahead(0) == Kind::Comma {
                p.token(187, Kind::Comma)?;
                p.argument(188, arguments)?;
                p.sync(193)?;
            }
            Ok(())
        })
    }

    fn argument(&mut self, invoking: u16, arguments: &mut Arguments) -> Rule {
        let argument = self.expr(invoking)?;
        arguments.0.push(argument.id);
        arguments.1 = arguments.1.max(argument.height);
        Ok(())
    }

    fn primary(&mut self, invoking: u16) -> Rule<Parsed> {
        let mut found = None;
        self.uncounted(invoking, |p| {
            p.sync(184)?;
            match p.predict_primary()? {
                Primary::Ident => {
                    let name = p.dotted(132, 131, 134)?;
                    found = Some(Parsed { id: p.builder.ident(name), height: 0 });
                }
                Primary::Call => {
                    let name = p.dotted(136, 135, 138)?;
                    let open = p.token(139, Kind::LeftParen)?;
                    let errors = p.builder.issues.count();
                    let mut arguments = (Vec::new(), 0);
                    let ended = p.arguments((141, 140, 143), &mut arguments);
                    found = Some(p.builder.named_call(name, open, arguments.0, (arguments.1, errors)));
                    ended?;
                }
                Primary::Nested => {
                    p.token(144, Kind::LeftParen)?;
                    found = Some(p.expr(145)?);
                    p.token(146, Kind::RightParen)?;
                }
                Primary::List => return p.list(&mut found),
                Primary::Map => return p.map(&mut found),
                Primary::Object => return p.object(&mut found),
                Primary::Literal => {
                    let literal = p.literal(183)?;
                    found = literal.map(|id| Parsed { id, height: 0 });
                }
            }
            Ok(())
        })?;
        Ok(self.or_missing(found))
    }

    /// A name with an optional dot before it.
    pub(super) fn dotted(&mut self, before: u16, dot: u16, name: u16) -> Rule<Name> {
        self.sync(before)?;
        let start = self.current().position;
        let has_dot = self.ahead(0) == Kind::Dot;
        if has_dot {
            self.token(dot, Kind::Dot)?;
        }
        Ok(Name { dot: has_dot, start, token: self.token(name, Kind::Identifier)? })
    }

    pub(super) fn escape_ident(&mut self, invoking: u16) -> Rule<Option<Token>> {
        let mut name = None;
        self.uncounted(invoking, |p| {
            p.sync(235)?;
            name = Some(match p.ahead(0) {
                Kind::Identifier => p.token(233, Kind::Identifier)?,
                Kind::EscapedIdentifier => p.token(234, Kind::EscapedIdentifier)?,
                _ => return Err(Failure::NoViable { start: p.at, offending: p.at }),
            });
            Ok(())
        })?;
        Ok(name)
    }

    fn literal(&mut self, invoking: u16) -> Rule<Option<ExprId>> {
        let mut found = None;
        self.uncounted(invoking, |p| {
            p.sync(256)?;
            let kind = p.predict_literal()?;
            let start = p.current().position;
            let (before, minus, state) = match kind {
                Kind::Int => (243, 242, 245),
                Kind::Float => (248, 247, 250),
                _ => {
                    let token = p.token(251, kind)?;
                    found = p.builder.literal_of(token, false, start);
                    return Ok(());
                }
            };
            p.sync(before)?;
            let negative = p.ahead(0) == Kind::Minus;
            if negative {
                p.token(minus, Kind::Minus)?;
            }
            let token = p.token(state, kind)?;
            found = p.builder.literal_of(token, negative, start);
            Ok(())
        })?;
        Ok(found)
    }
}
