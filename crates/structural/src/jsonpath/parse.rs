//! The syntax of JSONPath.
//!
//! Upstream: client-go/util/jsonpath/parser.go (v1.36.4).

use super::{Filter, Node, Slice, SyntaxError, quote};

/// Filters and unions contain paths; deeper ones are refused.
const MAX_DEPTH: usize = 16;

/// Parses what stands between braces. What follows a closing brace inside of `text` must be a template too.
pub(super) fn action(text: &str, depth: usize) -> Result<Vec<Node>, SyntaxError> {
    if depth > MAX_DEPTH {
        return fail("path nests too deeply");
    }
    let template = format!("{{{text}}}");
    let mut parser = Parser { text: &template, at: 1, start: 1, depth };
    let nodes = parser.inside()?;
    // The rest of the template is parsed for its mistakes.
    while let Some(brace) = parser.text[parser.at..].find('{') {
        parser.at += brace + 1;
        parser.start = parser.at;
        parser.inside()?;
    }
    Ok(nodes)
}

fn fail<T>(message: impl Into<String>) -> Result<T, SyntaxError> {
    Err(SyntaxError(message.into()))
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    /// Where the token begins that is being read.
    start: usize,
    depth: usize,
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_ascii_digit()
}

fn is_end(c: Option<char>) -> bool {
    c.is_none_or(|c| " \t\r\n.,[]$@{}".contains(c))
}

impl<'t> Parser<'t> {
    fn next(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// The token that was read.
    fn token(&mut self) -> &'t str {
        let token = &self.text[self.start..self.at];
        self.start = self.at;
        token
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        self.start = self.at;
    }

    /// The nodes up to the closing brace.
    fn inside(&mut self) -> Result<Vec<Node>, SyntaxError> {
        let mut nodes = Vec::new();
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with('}') {
                self.skip(1);
                return Ok(nodes);
            }
            if rest.starts_with("[?(") {
                self.skip(3);
                nodes.push(self.filter()?);
                continue;
            }
            if rest.starts_with("..") {
                if matches!(nodes.last(), Some(Node::Recursive)) {
                    return fail("invalid multiple recursive descent");
                }
                self.skip(2);
                nodes.push(Node::Recursive);
                if self.peek().is_some_and(is_word) {
                    nodes.push(self.field());
                }
                continue;
            }
            self.step(&mut nodes)?;
        }
    }

    fn step(&mut self, nodes: &mut Vec<Node>) -> Result<(), SyntaxError> {
        match self.next() {
            None | Some('\r' | '\n') => return fail("unclosed action"),
            Some(' ' | '@' | '$') => self.start = self.at,
            Some('[') => self.array(nodes)?,
            Some(quote @ ('"' | '\'')) => nodes.push(self.quoted(quote)?),
            Some('.') => {
                self.start = self.at;
                nodes.push(self.field());
            }
            Some(c) if c == '+' || c == '-' || c.is_ascii_digit() => nodes.push(self.number()?),
            Some(c) if is_word(c) => {
                while !is_end(self.peek()) {
                    self.next();
                }
                nodes.push(match self.token() {
                    "true" => Node::Bool(true),
                    "false" => Node::Bool(false),
                    word => Node::Identifier(word.to_owned()),
                });
            }
            Some(c) => return fail(format!("unrecognized character in action: U+{:04X} '{c}'", c as u32)),
        }
        Ok(())
    }

    fn field(&mut self) -> Node {
        loop {
            match self.peek() {
                Some('\\') => {
                    self.next();
                    self.next();
                }
                c if is_end(c) => break,
                _ => drop(self.next()),
            }
        }
        match self.token() {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn number(&mut self) -> Result<Node, SyntaxError> {
        while self.peek().is_some_and(|c| c == '.' || c.is_ascii_digit()) {
            self.next();
        }
        let text = self.token();
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => Ok(Node::Int(number)),
            (_, Ok(number)) => Ok(Node::Float(number)),
            _ => fail(format!("cannot parse number {text}")),
        }
    }

    fn quoted(&mut self, mark: char) -> Result<Node, SyntaxError> {
        loop {
            let before = self.text.as_bytes().get(self.at.wrapping_sub(1)).copied();
            match self.next() {
                None | Some('\n') => return fail("unterminated quoted string"),
                Some(c) if c == mark && before != Some(b'\\') => break,
                Some(_) => {}
            }
        }
        let token = self.token();
        match quote::unquote(token) {
            Some(text) => Ok(Node::Text(text)),
            None => fail(format!("unquote string {token} error invalid syntax")),
        }
    }

    fn array(&mut self, nodes: &mut Vec<Node>) -> Result<(), SyntaxError> {
        loop {
            match self.next() {
                None | Some('\n') => return fail("unterminated array"),
                Some(']') => break,
                Some(_) => {}
            }
        }
        let token = self.token();
        let text = match &token[1..token.len() - 1] {
            "*" => ":",
            text => text,
        };
        if text.contains(',') {
            let parts =
                text.split(',').map(|part| action(&format!("[{}]", part.trim_matches(' ')), self.depth + 1));
            nodes.push(Node::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        if let Some(key) = dictionary_key(text) {
            nodes.extend(action(&format!(".{key}"), self.depth + 1)?);
            return Ok(());
        }
        nodes.push(Node::Slice(slice(text)?));
        Ok(())
    }

    fn filter(&mut self) -> Result<Node, SyntaxError> {
        let mut open: Option<char> = None;
        let mut is_closed = false;
        loop {
            let before = self.text.as_bytes().get(self.at.wrapping_sub(1)).copied();
            match self.next() {
                None | Some('\n') => return fail("unterminated filter"),
                Some(c @ ('"' | '\'')) => match open {
                    None => open = Some(c),
                    Some(mark) => is_closed |= c == mark && before != Some(b'\\'),
                },
                Some(')') if open.is_some() == is_closed => break,
                Some(_) => {}
            }
        }
        if self.next() != Some(']') {
            return fail("unclosed array expect ]");
        }
        let token = self.token();
        let text = &token[..token.len() - 2];
        let (left, operator, right) = match comparison(text) {
            None => (action(text, self.depth + 1)?, "exists", Vec::new()),
            Some((left, operator, right)) => {
                (action(left, self.depth + 1)?, operator, action(right, self.depth + 1)?)
            }
        };
        Ok(Node::Filter(Box::new(Filter { left, operator: operator.to_owned(), right })))
    }
}

/// `'key'`
fn dictionary_key(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('\'')?.strip_suffix('\'')?;
    (!inside.contains('\'')).then_some(inside)
}

/// The sides of a comparison: `^([^!<>=]+)([!<>=]+)(.+?)$`.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    let is_operator = |c: char| "!<>=".contains(c);
    let begin = text.find(is_operator).filter(|begin| *begin > 0)?;
    let end = text[begin..].find(|c| !is_operator(c)).map_or(text.len(), |length| begin + length);
    // The right side has at least one character, be it an operator.
    let end = if end == text.len() && end > begin + 1 { end - 1 } else { end };
    let is_line = !text[end..].contains('\n');
    (end < text.len() && is_line).then(|| (&text[..begin], &text[begin..end], &text[end..]))
}

fn slice(text: &str) -> Result<Slice, SyntaxError> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_number =
        |part: &&str| part.strip_prefix('-').unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit());
    if parts.len() > 3 || !parts.iter().all(is_number) {
        return fail(format!("invalid array index {text}"));
    }
    let number = |at: usize| match parts.get(at).filter(|part| !part.is_empty()) {
        None => Ok(None),
        Some(part) => match part.parse::<i64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => fail(format!("array index {part} is not a number")),
        },
    };
    let (from, step) = (number(0)?, number(2)?);
    let is_index = parts.len() == 1;
    let to = if is_index { Some(from.unwrap_or(0).saturating_add(1)) } else { number(1)? };
    Ok(Slice { from, to, step, is_index })
}
