//! Members and primary expressions: selections, calls, indices, literals of lists, maps and objects.

use smol_str::{SmolStr, SmolStrBuilder};

use super::{MAX_NODES, Parse, Parsed, Parser, Stop};
use crate::ast::{Entry, Expr, ExprId, Field, Literal, operators};
use crate::lexer::{Kind, Token};

/// Not allowed as names of variables and functions.
const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// A field that is selected.
pub(super) struct Selected {
    pub(super) name: SmolStr,
    pub(super) position: u32,
    /// `operand.?field`
    pub(super) optional: bool,
}

/// A name with an optional dot before it, and where the two begin.
#[derive(Clone, Copy)]
pub(super) struct Name {
    pub(super) dot: bool,
    pub(super) start: u32,
    pub(super) token: Token,
}

impl Parser<'_> {
    pub(super) fn member(&mut self) -> Parse<Parsed> {
        let mut operand = self.primary()?;
        loop {
            operand = match self.peek() {
                Kind::Dot => self.select_or_call(operand)?,
                Kind::LeftBracket => self.index(operand)?,
                _ => return Ok(operand),
            };
            if self.ast.nodes.len() > MAX_NODES {
                return Err(Stop::Limit(format!("expression has more than {MAX_NODES} nodes")));
            }
        }
    }

    fn select_or_call(&mut self, operand: Parsed) -> Parse<Parsed> {
        let dot = self.expect(Kind::Dot)?;
        let optional = self.take(Kind::Question).is_some();
        let name = match self.peek() {
            Kind::Identifier | Kind::EscapedIdentifier => self.next(),
            _ => return Err(Stop::Syntax),
        };
        if !optional && name.kind == Kind::Identifier && self.peek() == Kind::LeftParen {
            let open = self.next();
            let (args, height) = self.arguments()?;
            let id = self.receiver_call(open, SmolStr::new(self.text_of(name)), operand.id, args);
            return Ok(Parsed { id, height: 1 + operand.height.max(height) });
        }
        let field = self.field_name(name, name.position);
        Ok(self.select(dot, operand, Selected { name: field, position: name.position, optional }))
    }

    /// `operand.field` or `operand.?field`
    pub(super) fn select(&mut self, dot: Token, operand: Parsed, field: Selected) -> Parsed {
        let id = if field.optional {
            let name = self.add(field.position, Expr::Literal(Literal::String(field.name.as_str().into())));
            self.call(dot.position, operators::OPT_SELECT, Box::new([operand.id, name]))
        } else {
            self.add(dot.position, Expr::Select { operand: operand.id, field: field.name, test_only: false })
        };
        Parsed { id, height: operand.height + 1 }
    }

    pub(super) fn field_name(&mut self, token: Token, error_position: u32) -> SmolStr {
        if token.kind == Kind::EscapedIdentifier {
            self.issues.report(Some(error_position), "unsupported syntax: '`'");
            return SmolStr::default();
        }
        SmolStr::new(self.text_of(token))
    }

    fn index(&mut self, operand: Parsed) -> Parse<Parsed> {
        let open = self.expect(Kind::LeftBracket)?;
        let function =
            if self.take(Kind::Question).is_some() { operators::OPT_INDEX } else { operators::INDEX };
        let index = self.expr()?;
        self.expect(Kind::RightBracket)?;
        let height = 1 + operand.height.max(index.height);
        Ok(Parsed { id: self.call(open.position, function, Box::new([operand.id, index.id])), height })
    }

    /// The arguments after an open parenthesis, and the parenthesis that closes them.
    fn arguments(&mut self) -> Parse<(Vec<ExprId>, u32)> {
        let mut args = Vec::new();
        let mut height = 0;
        if self.take(Kind::RightParen).is_some() {
            return Ok((args, height));
        }
        loop {
            let arg = self.expr()?;
            args.push(arg.id);
            height = height.max(arg.height);
            if self.take(Kind::Comma).is_none() {
                self.expect(Kind::RightParen)?;
                return Ok((args, height));
            }
        }
    }

    fn primary(&mut self) -> Parse<Parsed> {
        match self.peek() {
            Kind::LeftParen => {
                self.next();
                let inner = self.expr()?;
                self.expect(Kind::RightParen)?;
                Ok(inner)
            }
            Kind::LeftBracket => self.list(),
            Kind::LeftBrace => self.map(),
            Kind::Identifier | Kind::Dot => self.name(),
            _ => Ok(Parsed { id: self.literal()?, height: 0 }),
        }
    }

    /// `x`, `.x`, `f(…)`, `Type{…}`
    fn name(&mut self) -> Parse<Parsed> {
        let start = self.tokens[self.at].position;
        let dot = self.take(Kind::Dot).is_some();
        let token = self.expect(Kind::Identifier)?;
        if self.peek() != Kind::LeftParen && self.is_object() {
            return self.object(dot, token);
        }
        let name = Name { dot, start, token };
        let Some(open) = self.take(Kind::LeftParen) else {
            return Ok(Parsed { id: self.ident(name), height: 0 });
        };
        let before = self.issues.count();
        let (args, height) = self.arguments()?;
        Ok(self.named_call(name, open, args, (height, before)))
    }

    pub(super) fn ident(&mut self, name: Name) -> ExprId {
        match self.refused_name(name) {
            Some(id) => id,
            None => self.add(name.token.position, Expr::Ident(self.full_name(name))),
        }
    }

    /// A call of a global function or macro. Upstream does not look at the arguments of a reserved name, so the
    /// errors in them are forgotten.
    pub(super) fn named_call(
        &mut self,
        name: Name,
        open: Token,
        args: Vec<ExprId>,
        (height, errors): (u32, usize),
    ) -> Parsed {
        if RESERVED.contains(&self.text_of(name.token)) {
            self.issues.rewind(errors);
        }
        match self.refused_name(name) {
            Some(id) => Parsed { id, height: 0 },
            None => Parsed { id: self.global_call(open, self.full_name(name), args), height },
        }
    }

    fn refused_name(&mut self, name: Name) -> Option<ExprId> {
        let text = self.text_of(name.token);
        RESERVED.contains(&text).then(|| self.broken(name.start, format!("reserved identifier: {text}")))
    }

    fn full_name(&self, name: Name) -> SmolStr {
        let text = self.text_of(name.token);
        if name.dot { smol_str::format_smolstr!(".{text}") } else { SmolStr::new(text) }
    }

    /// Do `.name` pairs and an open brace follow?
    fn is_object(&self) -> bool {
        let mut ahead = 0;
        while self.kind_after(ahead) == Kind::Dot && self.kind_after(ahead + 1) == Kind::Identifier {
            ahead += 2;
        }
        self.kind_after(ahead) == Kind::LeftBrace
    }

    fn object(&mut self, dot: bool, first: Token) -> Parse<Parsed> {
        let mut name = SmolStrBuilder::new();
        if dot {
            name.push('.');
        }
        name.push_str(self.text_of(first));
        while self.take(Kind::Dot).is_some() {
            name.push('.');
            let part = self.expect(Kind::Identifier)?;
            name.push_str(self.text_of(part));
        }
        let open = self.expect(Kind::LeftBrace)?;
        let list_start = self.tokens[self.at].position;
        let mut fields = Vec::new();
        let mut height = 0;
        while !matches!(self.peek(), Kind::RightBrace | Kind::Comma) {
            let optional = self.take(Kind::Question).is_some();
            let token = match self.peek() {
                Kind::Identifier | Kind::EscapedIdentifier => self.next(),
                _ => return Err(Stop::Syntax),
            };
            let colon = self.expect(Kind::Colon)?;
            let name = self.field_name(token, list_start);
            let errors = self.issues.count();
            let value = self.expr()?;
            if token.kind == Kind::EscapedIdentifier {
                self.issues.rewind(errors);
            }
            height = height.max(value.height);
            fields.push(Field { position: colon.position, name, value: value.id, optional });
            if self.take(Kind::Comma).is_none() || self.peek() == Kind::RightBrace {
                break;
            }
        }
        self.closing_brace(fields.is_empty())?;
        let fields = fields.into_boxed_slice();
        Ok(Parsed { id: self.add(open.position, Expr::Struct { name: name.finish(), fields }), height })
    }

    /// An empty literal may contain a comma.
    fn closing_brace(&mut self, empty: bool) -> Parse<()> {
        if empty {
            self.take(Kind::Comma);
        }
        self.expect(Kind::RightBrace)?;
        Ok(())
    }

    fn map(&mut self) -> Parse<Parsed> {
        let open = self.expect(Kind::LeftBrace)?;
        let mut entries = Vec::new();
        let mut height = 0;
        while !matches!(self.peek(), Kind::RightBrace | Kind::Comma) {
            let optional = self.take(Kind::Question).is_some();
            let key = self.expr()?;
            let colon = self.expect(Kind::Colon)?;
            let value = self.expr()?;
            height = height.max(key.height).max(value.height);
            entries.push(Entry { position: colon.position, key: key.id, value: value.id, optional });
            if self.take(Kind::Comma).is_none() || self.peek() == Kind::RightBrace {
                break;
            }
        }
        self.closing_brace(entries.is_empty())?;
        Ok(Parsed { id: self.add(open.position, Expr::Map(entries.into_boxed_slice())), height })
    }

    fn list(&mut self) -> Parse<Parsed> {
        let open = self.expect(Kind::LeftBracket)?;
        let mut elements = Vec::new();
        let mut optional = Vec::new();
        let mut height = 0;
        while !matches!(self.peek(), Kind::RightBracket | Kind::Comma) {
            if self.take(Kind::Question).is_some() {
                optional.push(elements.len() as u32);
            }
            let element = self.expr()?;
            height = height.max(element.height);
            elements.push(element.id);
            if self.take(Kind::Comma).is_none() || self.peek() == Kind::RightBracket {
                break;
            }
        }
        if elements.is_empty() {
            self.take(Kind::Comma);
        }
        self.expect(Kind::RightBracket)?;
        let list =
            Expr::List { elements: elements.into_boxed_slice(), optional: optional.into_boxed_slice() };
        Ok(Parsed { id: self.add(open.position, list), height })
    }
}
