//! Rules of cel-go's grammar for literals of lists, maps and objects.

use smol_str::SmolStr;

use super::members::Arguments;
use super::states::{EXPRESSION, FIELD};
use super::{Parsed, Rule, SyntaxParser};
use crate::ast::{Entry, Expr, Field};
use crate::lexer::{Kind, Token};

impl SyntaxParser<'_> {
    pub(super) fn list(&mut self, found: &mut Option<Parsed>) -> Rule {
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

    pub(super) fn map(&mut self, found: &mut Option<Parsed>) -> Rule {
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

    pub(super) fn object(&mut self, found: &mut Option<Parsed>) -> Rule {
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
}
