//! Parser of CEL expressions, with the expansion of macros.
//!
//! Recursive descent in the shape of cel-go's grammar, because the limits count how often a rule of the grammar
//! is entered. If the text has a syntax error, this parser gives up, and [`syntax`] finds the messages.

mod literals;
mod macros;
mod primary;
pub(crate) mod syntax;
mod unescape;

use smol_str::SmolStr;

use crate::ast::{Ast, Expr, ExprId, Literal, operators};
use crate::lexer::{self, Kind, Token};
use crate::source::Issues;

pub use macros::Macros;

/// Longer expressions are refused, in code points.
const MAX_CODE_POINTS: usize = 100_000;

/// How often a rule of the grammar may contain itself, and how deep the tree may be.
const MAX_DEPTH: u32 = 250;

/// More nodes are refused. Upstream has no such limit, but `optMap` copies its target, so that a chain of
/// `optMap` doubles with every link. Without it 100,000 characters make at most 150,000 nodes.
const MAX_NODES: usize = 200_000;

/// Parses an expression with these macros.
pub fn parse(text: &str, macros: Macros) -> Result<Ast, Issues> {
    let mut issues = Issues::new(text);
    let size = if text.len() > MAX_CODE_POINTS { text.chars().count() } else { text.len() };
    if size > MAX_CODE_POINTS {
        issues.report(
            None,
            format!("expression code point size exceeds limit: size: {size}, limit {MAX_CODE_POINTS}"),
        );
        return Err(issues);
    }
    let (tokens, bad) = lexer::tokens(text);
    if !bad.is_empty() {
        return Err(syntax::issues(text, &tokens, &bad, macros));
    }
    let mut parser = Parser::new(text, &tokens, macros, issues);
    match parser.start() {
        Ok(root) => {
            parser.ast.root = Some(root);
            parser.issues.or_ok(parser.ast)
        }
        Err(Stop::Syntax) => Err(syntax::issues(text, &tokens, &bad, macros)),
        Err(Stop::Limit(message)) => {
            parser.issues.report(None, message);
            Err(parser.issues)
        }
    }
}

/// Why the parser gives up.
enum Stop {
    /// The text is not in the grammar.
    Syntax,
    /// The expression is too large.
    Limit(String),
}

type Parse<T> = Result<T, Stop>;

/// A node and the height of the tree below it, as cel-go counts it.
#[derive(Clone, Copy)]
struct Parsed {
    id: ExprId,
    height: u32,
}

/// The rules of the grammar whose depth can reach the limit.
#[derive(Clone, Copy)]
enum Rule {
    Expr,
    Relation,
    Calc,
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    macros: Macros,
    ast: Ast,
    issues: Issues,
    depths: [u32; 3],
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, tokens: &'a [Token], macros: Macros, issues: Issues) -> Self {
        let ast = Ast { nodes: Vec::with_capacity(tokens.len() + tokens.len() / 2), root: None };
        Self { text, tokens, at: 0, macros, ast, issues, depths: [0; 3] }
    }

    fn start(&mut self) -> Parse<ExprId> {
        let parsed = self.expr()?;
        self.expect(Kind::Eof)?;
        if parsed.height > MAX_DEPTH {
            self.issues.rewind(0);
            return Err(Stop::Limit(String::from("max recursion depth exceeded")));
        }
        Ok(parsed.id)
    }

    fn peek(&self) -> Kind {
        self.tokens[self.at].kind
    }

    fn kind_after(&self, ahead: usize) -> Kind {
        self.tokens.get(self.at + ahead).map_or(Kind::Eof, |token| token.kind)
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        if token.kind != Kind::Eof {
            self.at += 1;
        }
        token
    }

    fn take(&mut self, kind: Kind) -> Option<Token> {
        (self.peek() == kind).then(|| self.next())
    }

    fn expect(&mut self, kind: Kind) -> Parse<Token> {
        if self.peek() == kind { Ok(self.next()) } else { Err(Stop::Syntax) }
    }

    fn text_of(&self, token: Token) -> &'a str {
        &self.text[token.start as usize..token.end as usize]
    }

    fn enter(&mut self, rule: Rule) -> Parse<()> {
        let depth = &mut self.depths[rule as usize];
        *depth += 1;
        if *depth > MAX_DEPTH {
            return Err(Stop::Limit(format!("expression recursion limit exceeded: {MAX_DEPTH}")));
        }
        Ok(())
    }

    fn leave(&mut self, rule: Rule) {
        self.depths[rule as usize] -= 1;
    }

    fn add(&mut self, position: u32, expr: Expr) -> ExprId {
        self.ast.add(position, expr)
    }

    /// A node in the place of something that has an error.
    fn broken(&mut self, position: u32, message: String) -> ExprId {
        self.issues.report(Some(position), message);
        self.add(position, Expr::Literal(Literal::Null))
    }

    fn call(&mut self, position: u32, function: &'static str, args: Box<[ExprId]>) -> ExprId {
        self.add(position, Expr::Call { function: SmolStr::new_static(function), target: None, args })
    }

    /// `a`, `a ? b : c`
    fn expr(&mut self) -> Parse<Parsed> {
        self.enter(Rule::Expr)?;
        let mut parsed = self.conditional_or()?;
        if let Some(operator) = self.take(Kind::Question) {
            let then = self.conditional_or()?;
            self.expect(Kind::Colon)?;
            let otherwise = self.expr()?;
            parsed = self.conditional(operator, parsed, then, otherwise);
        }
        self.leave(Rule::Expr);
        Ok(parsed)
    }

    fn conditional(&mut self, operator: Token, test: Parsed, then: Parsed, otherwise: Parsed) -> Parsed {
        let args = Box::new([test.id, then.id, otherwise.id]);
        let height = 1 + test.height.max(then.height).max(otherwise.height);
        Parsed { id: self.call(operator.position, operators::CONDITIONAL, args), height }
    }

    fn conditional_or(&mut self) -> Parse<Parsed> {
        let first = self.conditional_and()?;
        self.logical(first, Kind::Or, operators::LOGICAL_OR, Self::conditional_and)
    }

    fn conditional_and(&mut self) -> Parse<Parsed> {
        let first = self.relation(0)?;
        self.logical(first, Kind::And, operators::LOGICAL_AND, |parser| parser.relation(0))
    }

    fn logical(
        &mut self,
        first: Parsed,
        kind: Kind,
        function: &'static str,
        term: impl Fn(&mut Self) -> Parse<Parsed>,
    ) -> Parse<Parsed> {
        if self.peek() != kind {
            return Ok(first);
        }
        let mut terms = vec![first.id];
        let mut positions = Vec::new();
        let mut height = first.height;
        while let Some(operator) = self.take(kind) {
            let next = term(self)?;
            terms.push(next.id);
            positions.push(operator.position);
            height = height.max(next.height);
        }
        Ok(Parsed { id: self.balanced(function, &terms, &positions), height })
    }

    /// `a && b && c && d` becomes `(a && b) && (c && d)`.
    fn balanced(&mut self, function: &'static str, terms: &[ExprId], operators: &[u32]) -> ExprId {
        if operators.is_empty() {
            return terms[0];
        }
        let middle = operators.len() / 2;
        let left = self.balanced(function, &terms[..=middle], &operators[..middle]);
        let right = self.balanced(function, &terms[middle + 1..], &operators[middle + 1..]);
        self.call(operators[middle], function, Box::new([left, right]))
    }

    fn relation(&mut self, precedence: u8) -> Parse<Parsed> {
        self.enter(Rule::Relation)?;
        let mut left = self.calc(0)?;
        while precedence <= 1
            && let Some(function) = relation_operator(self.peek())
        {
            let operator = self.next();
            let right = self.relation(2)?;
            left = self.binary(operator, function, left, right);
        }
        self.leave(Rule::Relation);
        Ok(left)
    }

    fn calc(&mut self, precedence: u8) -> Parse<Parsed> {
        self.enter(Rule::Calc)?;
        let mut left = self.unary()?;
        while let Some((function, level)) = calc_operator(self.peek())
            && precedence <= level
        {
            let operator = self.next();
            let right = self.calc(level + 1)?;
            left = self.binary(operator, function, left, right);
        }
        self.leave(Rule::Calc);
        Ok(left)
    }

    fn binary(&mut self, operator: Token, function: &'static str, left: Parsed, right: Parsed) -> Parsed {
        let height = 1 + left.height.max(right.height);
        Parsed { id: self.call(operator.position, function, Box::new([left.id, right.id])), height }
    }

    fn unary(&mut self) -> Parse<Parsed> {
        let (kind, function) = match self.peek() {
            Kind::Exclamation => (Kind::Exclamation, operators::LOGICAL_NOT),
            // A minus before a number belongs to the number.
            Kind::Minus if !matches!(self.kind_after(1), Kind::Int | Kind::Float) => {
                (Kind::Minus, operators::NEGATE)
            }
            _ => return self.member(),
        };
        let first = self.tokens[self.at].position;
        let mut count = 0;
        while self.take(kind).is_some() {
            count += 1;
        }
        let operand = self.member()?;
        if count % 2 == 0 {
            return Ok(operand);
        }
        Ok(Parsed { id: self.call(first, function, Box::new([operand.id])), height: operand.height })
    }
}

fn relation_operator(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Less => operators::LESS,
        Kind::LessEquals => operators::LESS_EQUALS,
        Kind::GreaterEquals => operators::GREATER_EQUALS,
        Kind::Greater => operators::GREATER,
        Kind::Equals => operators::EQUALS,
        Kind::NotEquals => operators::NOT_EQUALS,
        Kind::In => operators::IN,
        _ => return None,
    })
}

/// The function and how tightly it binds.
fn calc_operator(kind: Kind) -> Option<(&'static str, u8)> {
    Some(match kind {
        Kind::Star => (operators::MULTIPLY, 2),
        Kind::Slash => (operators::DIVIDE, 2),
        Kind::Percent => (operators::MODULO, 2),
        Kind::Plus => (operators::ADD, 1),
        Kind::Minus => (operators::SUBTRACT, 1),
        _ => return None,
    })
}
