//! Lexer: splits an expression into tokens.
//!
//! The longest match wins, as in the lexer that ANTLR makes from cel-go's grammar. Text that is no token is
//! reported with the characters that the lexer had read when no rule could match any more.

/// The kinds of tokens, with the numbers and names of cel-go's grammar: messages list expected tokens in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    Eof = 0,
    Equals = 1,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Exclamation,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Whitespace,
    Comment,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
}

/// A piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// In bytes.
    pub(crate) start: u32,
    /// In bytes, exclusive.
    pub(crate) end: u32,
    /// In code points.
    pub(crate) position: u32,
}

/// Text that is no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadText {
    /// In bytes, with the character at which the lexer gave up.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) position: u32,
}

/// The tokens without white space and comments; the last one is [`Kind::Eof`].
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Vec<BadText>) {
    let mut tokens = Vec::with_capacity(text.len() / 3 + 2);
    let mut bad = Vec::new();
    let mut at = 0;
    let mut position = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (kind, length) = match scan(rest.as_bytes()) {
            Scan::Token(kind, length) => (Some(kind), length),
            Scan::Failed(read) => (None, read + rest[read..].chars().next().map_or(0, char::len_utf8)),
        };
        let (start, end) = (at as u32, (at + length) as u32);
        match kind {
            Some(Kind::Whitespace | Kind::Comment) => {}
            Some(kind) => tokens.push(Token { kind, start, end, position }),
            None => bad.push(BadText { start, end, position }),
        }
        position += code_points(&rest.as_bytes()[..length]);
        at += length;
    }
    let end = text.len() as u32;
    tokens.push(Token { kind: Kind::Eof, start: end, end, position });
    (tokens, bad)
}

fn code_points(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count() as u32
}

enum Scan {
    /// Its kind and length.
    Token(Kind, usize),
    /// So many bytes could be the beginning of a token; the next character cannot.
    Failed(usize),
}

fn scan(s: &[u8]) -> Scan {
    use Kind::*;
    let next = s.get(1).copied();
    let one = |kind| Scan::Token(kind, 1);
    let pair = |second: u8, long, short: Option<Kind>| match (next == Some(second), short) {
        (true, _) => Scan::Token(long, 2),
        (false, Some(kind)) => Scan::Token(kind, 1),
        (false, None) => Scan::Failed(1),
    };
    match s[0] {
        b'=' => pair(b'=', Equals, None),
        b'!' => pair(b'=', NotEquals, Some(Exclamation)),
        b'<' => pair(b'=', LessEquals, Some(Less)),
        b'>' => pair(b'=', GreaterEquals, Some(Greater)),
        b'&' => pair(b'&', And, None),
        b'|' => pair(b'|', Or, None),
        b'[' => one(LeftBracket),
        b']' => one(RightBracket),
        b'{' => one(LeftBrace),
        b'}' => one(RightBrace),
        b'(' => one(LeftParen),
        b')' => one(RightParen),
        b'.' if next.is_some_and(|next| next.is_ascii_digit()) => {
            let end = digits(s, 1);
            Scan::Token(Float, exponent(s, end).unwrap_or(end))
        }
        b'.' => one(Dot),
        b',' => one(Comma),
        b'-' => one(Minus),
        b'?' => one(Question),
        b':' => one(Colon),
        b'+' => one(Plus),
        b'*' => one(Star),
        b'/' if next == Some(b'/') => Scan::Token(Comment, memchr::memchr(b'\n', s).unwrap_or(s.len())),
        b'/' => one(Slash),
        b'%' => one(Percent),
        b' ' | b'\t' | b'\r' | b'\n' | 0x0C => {
            Scan::Token(Whitespace, while_in(s, 1, |c| matches!(c, b' ' | b'\t' | b'\r' | b'\n' | 0x0C)))
        }
        b'0'..=b'9' => number(s),
        b'"' | b'\'' => string(s, 0, String),
        b'`' => escaped_identifier(s),
        c if c.is_ascii_alphabetic() || c == b'_' => word(s),
        _ => Scan::Failed(0),
    }
}

fn while_in(s: &[u8], from: usize, accept: impl Fn(u8) -> bool) -> usize {
    from + s[from..].iter().take_while(|c| accept(**c)).count()
}

fn digits(s: &[u8], from: usize) -> usize {
    while_in(s, from, |c| c.is_ascii_digit())
}

/// The end of an exponent that begins at `from`.
fn exponent(s: &[u8], from: usize) -> Option<usize> {
    if !matches!(s.get(from), Some(b'e' | b'E')) {
        return None;
    }
    let sign = usize::from(matches!(s.get(from + 1), Some(b'+' | b'-')));
    let start = from + 1 + sign;
    let end = if start < s.len() { digits(s, start) } else { start };
    (end > start).then_some(end)
}

fn number(s: &[u8]) -> Scan {
    let hex = if s.starts_with(b"0x") { while_in(s, 2, |c| c.is_ascii_hexdigit()) } else { 0 };
    let end = if hex > 2 { hex } else { digits(s, 0) };
    if matches!(s.get(end), Some(b'u' | b'U')) {
        return Scan::Token(Kind::Uint, end + 1);
    }
    if hex > 2 {
        return Scan::Token(Kind::Int, end);
    }
    let fraction = match s.get(end) {
        Some(b'.') => digits(s, end + 1),
        _ => end,
    };
    if fraction > end + 1 {
        return Scan::Token(Kind::Float, exponent(s, fraction).unwrap_or(fraction));
    }
    match exponent(s, end) {
        Some(end) => Scan::Token(Kind::Float, end),
        None => Scan::Token(Kind::Int, end),
    }
}

fn word(s: &[u8]) -> Scan {
    let quote = |at: usize| matches!(s.get(at), Some(b'"' | b'\''));
    let raw = |at: usize| matches!(s.get(at), Some(b'r' | b'R'));
    let bytes = matches!(s[0], b'b' | b'B');
    let end = while_in(s, 1, |c| c.is_ascii_alphanumeric() || c == b'_');
    let literal = if (bytes || raw(0)) && quote(1) {
        Some(string(s, 1, if bytes { Kind::Bytes } else { Kind::String }))
    } else if bytes && raw(1) && quote(2) {
        Some(string(s, 2, Kind::Bytes))
    } else {
        None
    };
    // `r'` without an end is the identifier `r`, then bad text.
    if let Some(token @ Scan::Token(..)) = literal {
        return token;
    }
    let kind = match &s[..end] {
        b"in" => Kind::In,
        b"true" => Kind::True,
        b"false" => Kind::False,
        b"null" => Kind::Null,
        _ => Kind::Identifier,
    };
    Scan::Token(kind, end)
}

/// A string whose first quote is at `at`; what stands before are its prefixes.
fn string(s: &[u8], at: usize, kind: Kind) -> Scan {
    let raw = at > 0 && matches!(s[at - 1], b'r' | b'R');
    let quote = s[at];
    if s[at..].starts_with(&[quote; 3]) {
        // Without an end it is an empty string, then more.
        return match long_string(s, at + 3, quote, raw) {
            Some(end) => Scan::Token(kind, end),
            None => Scan::Token(kind, at + 2),
        };
    }
    let mut i = at + 1;
    loop {
        match s.get(i) {
            Some(c) if *c == quote => return Scan::Token(kind, i + 1),
            None | Some(b'\n' | b'\r') => return Scan::Failed(i),
            Some(b'\\') if !raw => match escape(s, i) {
                Ok(end) => i = end,
                Err(failed) => return Scan::Failed(failed),
            },
            Some(_) => i += 1,
        }
    }
}

fn long_string(s: &[u8], from: usize, quote: u8, raw: bool) -> Option<usize> {
    let mut i = from;
    while i < s.len() {
        if s[i..].starts_with(&[quote; 3]) {
            return Some(i + 3);
        }
        i = if s[i] == b'\\' && !raw { escape(s, i).ok()? } else { i + 1 };
    }
    None
}

/// The end of the escape sequence at `at`, or where it fails.
fn escape(s: &[u8], at: usize) -> Result<usize, usize> {
    let hex = |count| run(s, at + 2, count, |c| c.is_ascii_hexdigit());
    match s.get(at + 1) {
        Some(b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`') => {
            Ok(at + 2)
        }
        Some(b'x' | b'X') => hex(2),
        Some(b'u') => hex(4),
        Some(b'U') => hex(8),
        Some(b'0'..=b'3') => run(s, at + 2, 2, |c| (b'0'..=b'7').contains(&c)),
        _ => Err(at + 1),
    }
}

fn run(s: &[u8], from: usize, count: usize, accept: impl Fn(u8) -> bool) -> Result<usize, usize> {
    (from..from + count).find(|at| !s.get(*at).is_some_and(|c| accept(*c))).map_or(Ok(from + count), Err)
}

fn escaped_identifier(s: &[u8]) -> Scan {
    let end = while_in(s, 1, |c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-' | b'/' | b' '));
    if end > 1 && s.get(end) == Some(&b'`') {
        Scan::Token(Kind::EscapedIdentifier, end + 1)
    } else {
        Scan::Failed(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let (tokens, bad) = tokens(text);
        let mut found: Vec<(u32, std::string::String)> = tokens
            .iter()
            .map(|t| (t.start, format!("{:?} {}", t.kind, &text[t.start as usize..t.end as usize])))
            .collect();
        found.extend(
            bad.iter().map(|b| (b.start, format!("bad {}", &text[b.start as usize..b.end as usize]))),
        );
        found.sort();
        found.pop();
        assert_eq!(found.into_iter().map(|(_, text)| text).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn numbers() {
        check(
            "1.5e3 1e2 .5 0x1F 1u 0xfU",
            &["Float 1.5e3", "Float 1e2", "Float .5", "Int 0x1F", "Uint 1u", "Uint 0xfU"],
        );
        check(
            "1.e 0xg 1e+",
            &["Int 1", "Dot .", "Identifier e", "Int 0", "Identifier xg", "Int 1", "Identifier e", "Plus +"],
        );
    }

    #[test]
    fn strings() {
        check(
            r#"'a' "b\"" '''c'd''' r'\' bR"x" b'y'"#,
            &[
                "String 'a'",
                r#"String "b\"""#,
                "String '''c'd'''",
                r"String r'\'",
                r#"Bytes bR"x""#,
                "Bytes b'y'",
            ],
        );
        check(r#""""a""#, &[r#"String """#, r#"String "a""#]);
    }

    #[test]
    fn bad_text_ends_with_the_character_that_does_not_fit() {
        check("a = b", &["Identifier a", "bad = ", "Identifier b"]);
        check("'abc", &["bad 'abc"]);
        check("'a\\qb'", &["bad 'a\\q", "Identifier b", "bad '"]);
        check("a@b", &["Identifier a", "bad @", "Identifier b"]);
    }
}
