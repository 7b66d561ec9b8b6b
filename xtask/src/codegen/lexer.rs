//! Go source as tokens: enough of the language to read type declarations.

/// A token, with the comments that stand before it.
#[derive(Debug)]
pub struct Token {
    pub kind: Kind,
    pub line: usize,
    pub comments: Vec<Comment>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A name, a keyword or a number.
    Word(String),
    /// A string literal, without its quotes; escapes stay as they are.
    Text(String),
    Sign(char),
}

/// One `//` line or one `/* … */`.
#[derive(Clone, Debug)]
pub struct Comment {
    pub line: usize,
    pub text: String,
}

/// Splits `source`. Comments at the end of a line belong to nobody and are dropped.
pub fn tokens(source: &str) -> Vec<Token> {
    let mut lexer = Lexer { source, at: 0, line: 1, pending: Vec::new(), found: Vec::new() };
    while lexer.step() {}
    lexer.found
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: usize,
    pending: Vec<Comment>,
    found: Vec<Token>,
}

impl Lexer<'_> {
    /// Reads one token, one comment or one blank; says whether there was anything left.
    fn step(&mut self) -> bool {
        let rest = &self.source[self.at..];
        let Some(first) = rest.chars().next() else {
            return false;
        };
        if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            self.comment(&rest[2..length]);
            self.at += length;
        } else if rest.starts_with("/*") {
            let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
            self.comment("");
            self.advance(length);
        } else if first.is_whitespace() {
            self.advance(first.len_utf8());
        } else if first == '"' || first == '\'' {
            let length = quoted_length(rest, first);
            self.push(Kind::Text(rest[1..length - 1].to_owned()), length);
        } else if first == '`' {
            let length = rest[1..].find('`').map_or(rest.len(), |end| end + 2);
            self.push(Kind::Text(rest[1..length - 1].to_owned()), length);
        } else if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.push(Kind::Word(rest[..length].to_owned()), length);
        } else {
            self.push(Kind::Sign(first), first.len_utf8());
        }
        true
    }

    fn comment(&mut self, text: &str) {
        let trails = self.found.last().is_some_and(|token| token.line == self.line);
        if !trails {
            self.pending.push(Comment { line: self.line, text: text.trim().to_owned() });
        }
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let comments = std::mem::take(&mut self.pending);
        self.found.push(Token { kind, line: self.line, comments });
        self.advance(length);
    }

    fn advance(&mut self, length: usize) {
        let passed = &self.source[self.at..self.at + length];
        self.line += passed.matches('\n').count();
        self.at += length;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The length of the literal that `rest` begins with, both quotes included.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::{Kind, tokens};

    #[test]
    fn comments_go_to_the_token_after_them() {
        let found = tokens("// +a\ntype X struct { // trailing\n\t// +b\n\tY string `json:\"y\"`\n}");
        let words: Vec<_> = found.iter().map(|it| (&it.kind, it.comments.len(), it.line)).collect();
        let word = |text: &str| Kind::Word(text.to_owned());
        assert_eq!(
            words,
            [
                (&word("type"), 1, 2),
                (&word("X"), 0, 2),
                (&word("struct"), 0, 2),
                (&Kind::Sign('{'), 0, 2),
                (&word("Y"), 1, 4),
                (&word("string"), 0, 4),
                (&Kind::Text("json:\"y\"".to_owned()), 0, 4),
                (&Kind::Sign('}'), 0, 5),
            ]
        );
    }

    #[test]
    fn literals_hide_what_looks_like_code() {
        let found = tokens(r#"'}' "a\"}" `}`"#);
        assert!(found.iter().all(|it| matches!(it.kind, Kind::Text(_))), "{found:?}");
        assert_eq!(found.len(), 3);
    }
}
