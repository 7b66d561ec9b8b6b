//! Subset of CEL for shard selectors, and a little more for good error messages.
//!
//! ```text
//! or      = and ("||" and)*
//! and     = unary ("&&" unary)*
//! unary   = "!"* member
//! member  = primary ("." name [ "(" arguments ")" ])*
//! primary = name [ "(" arguments ")" ] | literal | "(" or ")"
//! ```

/// An expression tree.
#[derive(Debug, PartialEq)]
pub(super) enum Expression {
    /// A function or an operator, with CEL's name: `f`, `_||_`. The receiver of a method is ignored here.
    Call(String, Vec<Expression>),
    Name(String),
    Select(Box<Expression>, String),
    Literal(Literal),
}

/// A literal.
#[derive(Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    Int,
    Float,
    Bool,
    Null,
}

impl Expression {
    /// The kind in upstream's tree.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Expression::Call(..) => 1,
            Expression::Name(_) => 3,
            Expression::Literal(_) => 5,
            Expression::Select(..) => 7,
        }
    }
}

impl Literal {
    /// The Go type.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Literal::Text(_) => "string",
            Literal::Int => "int64",
            Literal::Float => "float64",
            Literal::Bool => "bool",
            Literal::Null => "structpb.NullValue",
        }
    }
}

/// The maximum depth: deeper than any selector, but safe for the stack.
const DEPTH: usize = 50;

/// The tokens that upstream's parser expects.
const EXPECTED: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, \
     STRING, BYTES, IDENTIFIER}";

/// Parses a whole text.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut reader = Reader { rest: text, depth: 0 };
    let tree = reader.or()?;
    match reader.word() {
        "" => Ok(tree),
        more => Err(format!("Syntax error: mismatched input '{more}' expecting <EOF>")),
    }
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn or(&mut self) -> Result<Expression, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err("expression recursion limit exceeded: 50".to_owned());
        }
        let tree = self.chain("||", "_||_", |reader| reader.chain("&&", "_&&_", Reader::unary))?;
        self.depth -= 1;
        Ok(tree)
    }

    fn chain(
        &mut self,
        operator: &str,
        name: &str,
        part: fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut tree = part(self)?;
        while self.takes(operator) {
            tree = Expression::Call(name.to_owned(), vec![tree, part(self)?]);
        }
        Ok(tree)
    }

    fn unary(&mut self) -> Result<Expression, String> {
        let mut count = 0;
        while self.takes("!") {
            count += 1;
        }
        let member = self.member()?;
        // Two negations cancel out.
        Ok(if count % 2 == 1 { Expression::Call("!_".to_owned(), vec![member]) } else { member })
    }

    fn member(&mut self) -> Result<Expression, String> {
        let mut tree = self.primary()?;
        while self.takes(".") {
            let name = self.name().ok_or_else(|| self.mismatch("IDENTIFIER"))?;
            tree = if self.takes("(") {
                Expression::Call(name, self.arguments()?)
            } else {
                Expression::Select(Box::new(tree), name)
            };
        }
        Ok(tree)
    }

    fn primary(&mut self) -> Result<Expression, String> {
        if self.takes("(") {
            let tree = self.or()?;
            return if self.takes(")") { Ok(tree) } else { Err(self.missing()) };
        }
        if let Some(literal) = self.literal() {
            return Ok(Expression::Literal(literal));
        }
        let Some(name) = self.name() else { return Err(self.mismatch(EXPECTED)) };
        Ok(match &*name {
            "true" | "false" => Expression::Literal(Literal::Bool),
            "null" => Expression::Literal(Literal::Null),
            _ if self.takes("(") => Expression::Call(name, self.arguments()?),
            _ => Expression::Name(name),
        })
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, String> {
        let mut arguments = Vec::new();
        if self.takes(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.or()?);
            if self.takes(")") {
                return Ok(arguments);
            }
            if !self.takes(",") {
                return Err(self.missing());
            }
        }
    }

    /// A number, or a text in single or double quotes.
    fn literal(&mut self) -> Option<Literal> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        if first == '\'' || first == '"' {
            let (text, after) = rest[1..].split_once(first)?;
            if text.contains(['\\', '\n']) {
                return None;
            }
            self.rest = after;
            return Some(Literal::Text(text.to_owned()));
        }
        if !first.is_ascii_digit() {
            return None;
        }
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        self.rest = after;
        Some(if number.contains('.') { Literal::Float } else { Literal::Int })
    }

    fn name(&mut self) -> Option<String> {
        let word = self.word();
        if !word.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_') {
            return None;
        }
        self.rest = &self.rest.trim_start()[word.len()..];
        Some(word.to_owned())
    }

    fn takes(&mut self, sign: &str) -> bool {
        match self.rest.trim_start().strip_prefix(sign) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The next word or sign, not consumed; empty at the end.
    fn word(&self) -> &'t str {
        let rest = self.rest.trim_start();
        let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_').unwrap_or(rest.len());
        match end {
            0 if rest.starts_with("||") || rest.starts_with("&&") => &rest[..2],
            0 => rest.chars().next().map_or("", |it| &rest[..it.len_utf8()]),
            end => &rest[..end],
        }
    }

    fn mismatch(&self, expected: &str) -> String {
        let found = self.word();
        let found = if found.is_empty() { "<EOF>" } else { found };
        format!("Syntax error: mismatched input '{found}' expecting {expected}")
    }

    fn missing(&self) -> String {
        match self.word() {
            "" => "Syntax error: missing ')' at '<EOF>'".to_owned(),
            found => format!("Syntax error: extraneous input '{found}' expecting ')'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn nonsense_is_refused_and_does_not_hurt() {
        for text in ["", "(", ")", "a(", "a(b,", "a.", "||", "a ||", "a b", "'", "@", "a(1 2)"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"!".repeat(100_001)).is_err());
        assert!(parse(&format!("{}a", "!".repeat(100_001))).is_ok());
    }
}
