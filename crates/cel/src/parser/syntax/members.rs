//! Rules of cel-go's grammar for members, primary expressions and literals.

use smol_str::SmolStr;

use super::predict::{Member, Primary};
use super::states::{EXPRESSION, FIELD};
use super::{Failure, Parsed, Rule, SyntaxParser};
use crate::ast::{Entry, Expr, ExprId, Field, operators};
use crate::lexer::{Kind, Token};
use crate::parser::primary::{Name, Selected};

/// The arguments of a call and the height of the tallest.
type Arguments = (Vec<ExprId>, u32);

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
    fn field_name(&mut self, name: Option<Token>, error_position: u32) -> Option<SmolStr> {
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
    fn dotted(&mut self, before: u16, dot: u16, name: u16) -> Rule<Name> {
        self.sync(before)?;
        let start = self.current().position;
        let has_dot = self.ahead(0) == Kind::Dot;
        if has_dot {
            self.token(dot, Kind::Dot)?;
        }
        Ok(Name { dot: has_dot, start, token: self.token(name, Kind::Identifier)? })
    }

    fn list(&mut self, found: &mut Option<Parsed>) -> Rule {
        let open = self.token(148, Kind::LeftBracket)?;
        let mut elements = (Vec::new(), 0);
        let ended = self.list_elements(&mut elements);
        let list = Expr::List { elements: elements.0.into_boxed_slice(), optional: Box::default() };
        *found = Some(Parsed { id: self.builder.add(open.position, list), height: elements.1 });
        ended
    }

    fn list_elements(&mut self, elements: &mut Arguments) -> Rule {
        self.sync(150)?;
        if self.begins_element() {
            self.uncounted(149, |p| {
                p.element(194, elements)?;
                p.sync(199)?;
                while p.predict_element() {
                    p.token(195, Kind::Comma)?;
                    p.element(196, elements)?;
                    p.sync(201)?;
                }
                Ok(())
            })?;
        }
        self.trailing_comma(153, 152)?;
        self.token(155, Kind::RightBracket)?;
        Ok(())
    }

    fn element(&mut self, invoking: u16, elements: &mut Arguments) -> Rule {
        let element = self.opt_expr(invoking)?;
        elements.0.push(element.id);
        elements.1 = elements.1.max(element.height);
        Ok(())
    }

    fn map(&mut self, found: &mut Option<Parsed>) -> Rule {
        let open = self.token(156, Kind::LeftBrace)?;
        let mut entries = (Vec::new(), 0);
        let ended = self.map_entries(&mut entries);
        let map = Expr::Map(entries.0.into_boxed_slice());
        *found = Some(Parsed { id: self.builder.add(open.position, map), height: entries.1 });
        ended
    }

    fn map_entries(&mut self, entries: &mut (Vec<Entry>, u32)) -> Rule {
        self.sync(158)?;
        if self.begins_element() {
            self.uncounted(157, |p| {
                p.entry((220, 221, 222), entries)?;
                p.sync(230)?;
                while p.predict_element() {
                    p.token(223, Kind::Comma)?;
                    p.entry((224, 225, 226), entries)?;
                    p.sync(232)?;
                }
                Ok(())
            })?;
        }
        self.trailing_comma(161, 160)?;
        self.token(163, Kind::RightBrace)?;
        Ok(())
    }

    /// Upstream does not look at a key without a colon.
    fn entry(&mut self, (key, colon, value): (u16, u16, u16), entries: &mut (Vec<Entry>, u32)) -> Rule {
        let errors = self.builder.issues.count();
        let key = self.opt_expr(key)?;
        let colon = match self.token(colon, Kind::Colon) {
            Ok(colon) => colon,
            Err(failure) => {
                self.builder.issues.rewind(errors);
                return Err(failure);
            }
        };
        let value = self.expr(value)?;
        entries.0.push(Entry { position: colon.position, key: key.id, value: value.id, optional: false });
        entries.1 = entries.1.max(key.height).max(value.height);
        Ok(())
    }

    fn object(&mut self, found: &mut Option<Parsed>) -> Rule {
        let name = self.dotted(165, 164, 167)?;
        self.sync(172)?;
        while self.ahead(0) == Kind::Dot {
            self.token(168, Kind::Dot)?;
            self.token(169, Kind::Identifier)?;
            self.sync(174)?;
        }
        let open = self.token(175, Kind::LeftBrace)?;
        let mut fields = (Vec::new(), 0);
        let ended = self.object_fields(&mut fields);
        let name = SmolStr::new(self.builder.text_of(name.token));
        let object = Expr::Struct { name, fields: fields.0.into_boxed_slice() };
        *found = Some(Parsed { id: self.builder.add(open.position, object), height: fields.1 });
        ended
    }

    fn object_fields(&mut self, fields: &mut (Vec<Field>, u32)) -> Rule {
        self.sync(177)?;
        if FIELD.contains(self.ahead(0)) {
            let start = self.current().position;
            self.uncounted(176, |p| {
                p.field((202, 203, 204), start, fields)?;
                p.sync(212)?;
                while p.predict_field() {
                    p.token(205, Kind::Comma)?;
                    p.field((206, 207, 208), start, fields)?;
                    p.sync(214)?;
                }
                Ok(())
            })?;
        }
        self.trailing_comma(180, 179)?;
        self.token(182, Kind::RightBrace)?;
        Ok(())
    }

    /// Upstream does not look at the value of a field without a name.
    fn field(
        &mut self,
        (name, colon, value): (u16, u16, u16),
        start: u32,
        fields: &mut (Vec<Field>, u32),
    ) -> Rule {
        let name = self.opt_field(name)?;
        let colon = self.token(colon, Kind::Colon)?;
        let name = self.field_name(name, start);
        let errors = self.builder.issues.count();
        let value = self.expr(value)?;
        match name {
            None => self.builder.issues.rewind(errors),
            Some(name) => {
                let position = colon.position;
                fields.0.push(Field { position, name, value: value.id, optional: false });
                fields.1 = fields.1.max(value.height);
            }
        }
        Ok(())
    }

    fn begins_element(&self) -> bool {
        EXPRESSION.contains(self.ahead(0)) || self.ahead(0) == Kind::Question
    }

    fn trailing_comma(&mut self, before: u16, comma: u16) -> Rule {
        self.sync(before)?;
        if self.ahead(0) == Kind::Comma {
            self.token(comma, Kind::Comma)?;
        }
        Ok(())
    }

    fn opt_field(&mut self, invoking: u16) -> Rule<Option<Token>> {
        let mut name = None;
        self.uncounted(invoking, |p| {
            p.sync(216)?;
            if p.ahead(0) == Kind::Question {
                p.token(215, Kind::Question)?;
            }
            name = p.escape_ident(218)?;
            Ok(())
        })?;
        Ok(name)
    }

    fn opt_expr(&mut self, invoking: u16) -> Rule<Parsed> {
        let mut found = None;
        self.uncounted(invoking, |p| {
            p.sync(238)?;
            if p.ahead(0) == Kind::Question {
                p.token(237, Kind::Question)?;
            }
            found = Some(p.expr(240)?);
            Ok(())
        })?;
        Ok(self.or_missing(found))
    }

    fn escape_ident(&mut self, invoking: u16) -> Rule<Option<Token>> {
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
