//! The parser: checks Go's syntax and writes the syntax of the `regex` crate.

use super::{ErrorKind, RegexError, classes};

/// Go's limits.
const MAX_REPEAT: u32 = 1000;
const MAX_HEIGHT: usize = 1000;

type Parsed<T> = Result<T, RegexError>;

fn error<T>(kind: ErrorKind, expression: &str) -> Parsed<T> {
    Err(RegexError { kind, expression: expression.to_owned() })
}

/// Writes `pattern` in the syntax of the `regex` crate.
pub(super) fn translate(pattern: &str) -> Parsed<String> {
    let mut parser = Parser {
        whole: pattern,
        rest: pattern,
        out: String::new(),
        groups: Vec::new(),
        flags: Flags::default(),
        quoted: None,
    };
    parser.run()?;
    Ok(parser.out)
}

#[derive(Clone, Copy, Default)]
struct Flags {
    fold_case: bool,
    multi_line: bool,
    dot_newline: bool,
    non_greedy: bool,
}

struct Parser<'p> {
    whole: &'p str,
    rest: &'p str,
    out: String,
    /// Where each open group begins in the output, its flags from before, and the height of what is in it.
    groups: Vec<Group>,
    flags: Flags,
    /// Where the last character of a quotation begins that was just read; the quotation may be empty.
    quoted: Option<Option<usize>>,
}

struct Group {
    flags: Flags,
}

/// What the last thing was, for repetitions.
#[derive(Clone, Copy)]
struct Last<'p> {
    /// Where its translation begins; `None` if there is nothing to repeat.
    start: Option<usize>,
    /// The text of a repetition that was just read, with what follows: repetitions cannot be nested directly.
    repeat: Option<&'p str>,
    /// How often it is repeated by counts inside of it.
    product: u32,
}

impl<'p> Parser<'p> {
    fn run(&mut self) -> Parsed<()> {
        let nothing = Last { start: None, repeat: None, product: 1 };
        let mut last = nothing;
        // What stood before each open group, and the largest product of counts inside.
        let mut outer: Vec<(usize, u32)> = Vec::new();
        let mut inner_product: u32 = 1;
        while let Some(first) = self.rest.chars().next() {
            let start = self.out.len();
            let before = self.rest;
            match first {
                '(' => {
                    if self.rest.starts_with("(?") {
                        if !self.perl_group()? {
                            // Flags alone are nothing: a repetition after them repeats what was before.
                            last.repeat = None;
                            continue;
                        }
                    } else {
                        self.advance(1);
                        self.groups.push(Group { flags: self.flags });
                        self.out.push('(');
                    }
                    outer.push((start, inner_product));
                    inner_product = 1;
                    if self.groups.len() > MAX_HEIGHT {
                        return error(ErrorKind::NestingDepth, self.whole);
                    }
                    last = nothing;
                    continue;
                }
                '|' => {
                    self.advance(1);
                    self.out.push('|');
                    last = nothing;
                    continue;
                }
                ')' => {
                    let (Some(group), Some((start, product))) = (self.groups.pop(), outer.pop()) else {
                        return error(ErrorKind::UnexpectedParen, self.whole);
                    };
                    self.flags = group.flags;
                    self.advance(1);
                    self.out.push(')');
                    last = Last { start: Some(start), repeat: None, product: inner_product };
                    inner_product = inner_product.max(product);
                    continue;
                }
                '*' | '+' | '?' => {
                    self.advance(1);
                    last = self.repeat(before, first, (0, None), last)?;
                    continue;
                }
                '{' => {
                    if let Some((min, max, length)) = counts(self.rest) {
                        if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT || min > max) {
                            return error(ErrorKind::InvalidRepeatSize, &before[..length]);
                        }
                        self.advance(length);
                        last = self.repeat(before, '{', (min, max), last)?;
                        inner_product = inner_product.max(last.product);
                        continue;
                    }
                    self.literal('{');
                    self.advance(1);
                }
                '[' => self.class()?,
                '.' => {
                    self.advance(1);
                    self.out.push_str(if self.flags.dot_newline { "(?s:.)" } else { "[^\\n]" });
                }
                '^' => {
                    self.advance(1);
                    self.out.push_str(if self.flags.multi_line { "(?m:^)" } else { "\\A" });
                }
                '$' => {
                    self.advance(1);
                    self.out.push_str(if self.flags.multi_line { "(?m:$)" } else { "\\z" });
                }
                '\\' => self.escape()?,
                other => {
                    self.literal(other);
                    self.advance(other.len_utf8());
                }
            }
            // Text between `\Q` and `\E` is as many things as it has characters, or none.
            let start = self.quoted.take().unwrap_or(Some(start)).or(last.start);
            last = Last { start, repeat: None, product: 1 };
        }
        if !self.groups.is_empty() {
            return error(ErrorKind::MissingParen, self.whole);
        }
        Ok(())
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// `before` begins at the operator; what follows it in `rest` has been read up to here.
    fn repeat(
        &mut self,
        before: &'p str,
        operator: char,
        (min, max): (u32, Option<u32>),
        last: Last<'p>,
    ) -> Parsed<Last<'p>> {
        let is_lazy = self.rest.starts_with('?');
        if is_lazy {
            self.advance(1);
        }
        let consumed = before.len() - self.rest.len();
        if let Some(previous) = last.repeat {
            // Both operators are shown.
            let shown = &previous[..previous.len() - self.rest.len()];
            return error(ErrorKind::InvalidRepeatOp, shown);
        }
        let Some(start) = last.start else {
            return error(ErrorKind::MissingRepeatArgument, &before[..consumed]);
        };
        let mut product = last.product;
        if operator == '{' {
            let count = max.unwrap_or(min).max(1);
            product = product.saturating_mul(count);
            if product > MAX_REPEAT {
                return error(ErrorKind::InvalidRepeatSize, &before[..consumed]);
            }
        }
        // A group keeps the operator from joining with what was written before.
        let repeated = format!("(?:{})", &self.out[start..]);
        self.out.truncate(start);
        self.out.push_str(&repeated);
        match (operator, max) {
            ('{', Some(max)) => self.out.push_str(&format!("{{{min},{max}}}")),
            ('{', None) => self.out.push_str(&format!("{{{min},}}")),
            (operator, _) => self.out.push(operator),
        }
        if is_lazy != self.flags.non_greedy {
            self.out.push('?');
        }
        Ok(Last { start: Some(start), repeat: Some(before), product })
    }

    fn literal(&mut self, character: char) {
        let escaped = regex::escape(character.encode_utf8(&mut [0; 4]));
        if self.flags.fold_case {
            self.out.push_str(&format!("(?i:{escaped})"));
        } else {
            self.out.push_str(&escaped);
        }
    }

    /// `(?…`: flags or a group with a name. Says whether a group was opened.
    fn perl_group(&mut self) -> Parsed<bool> {
        let text = self.rest;
        if text.starts_with("(?P<") || text.starts_with("(?<") {
            return self.named_group().map(|()| true);
        }
        let mut flags = self.flags;
        let mut sign = true;
        let mut saw_flag = false;
        let mut position = 2;
        for character in text[2..].chars() {
            position += character.len_utf8();
            match character {
                'i' => flags.fold_case = sign,
                'm' => flags.multi_line = sign,
                's' => flags.dot_newline = sign,
                'U' => flags.non_greedy = sign,
                '-' if sign => {
                    sign = false;
                    saw_flag = false;
                    continue;
                }
                ':' | ')' => {
                    if !sign && !saw_flag {
                        return error(ErrorKind::InvalidPerlOp, &text[..position]);
                    }
                    let opens = character == ':';
                    if opens {
                        self.groups.push(Group { flags: self.flags });
                        self.out.push_str("(?:");
                    }
                    self.flags = flags;
                    self.advance(position);
                    return Ok(opens);
                }
                _ => return error(ErrorKind::InvalidPerlOp, &text[..position]),
            }
            saw_flag = true;
        }
        error(ErrorKind::InvalidPerlOp, text)
    }

    fn named_group(&mut self) -> Parsed<()> {
        let text = self.rest;
        let begin = if text.starts_with("(?P<") { 4 } else { 3 };
        let Some(end) = text.find('>') else { return error(ErrorKind::InvalidNamedCapture, text) };
        let (capture, name) = (&text[..=end], &text[begin..end]);
        let is_name = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        if !is_name {
            return error(ErrorKind::InvalidNamedCapture, capture);
        }
        self.groups.push(Group { flags: self.flags });
        self.out.push('(');
        self.advance(end + 1);
        Ok(())
    }

    fn escape(&mut self) -> Parsed<()> {
        let text = self.rest;
        let Some(second) = text[1..].chars().next() else { return error(ErrorKind::TrailingBackslash, "") };
        let simple = match second {
            'A' => Some("\\A"),
            'b' => Some("(?-u:\\b)"),
            'B' => Some("(?-u:\\B)"),
            'z' => Some("\\z"),
            'C' => return error(ErrorKind::InvalidEscape, &text[..2]),
            _ => None,
        };
        if let Some(simple) = simple {
            self.out.push_str(simple);
            self.advance(2);
            return Ok(());
        }
        if second == 'Q' {
            let (quoted, rest) = text[2..].split_once("\\E").unwrap_or((&text[2..], ""));
            let mut start = None;
            for character in quoted.chars() {
                start = Some(self.out.len());
                self.literal(character);
            }
            self.quoted = Some(start);
            self.rest = rest;
            return Ok(());
        }
        if let Some(class) = classes::perl(second) {
            self.out.push_str(&format!("[{class}]"));
            self.advance(2);
            return Ok(());
        }
        if matches!(second, 'p' | 'P') {
            let class = self.unicode_class()?;
            self.out.push_str(&class);
            return Ok(());
        }
        let character = self.escaped_character()?;
        self.literal(character);
        Ok(())
    }

    /// `\pL`, `\p{Greek}`, `\P{^Greek}`.
    fn unicode_class(&mut self) -> Parsed<String> {
        let text = self.rest;
        let mut negated = text.as_bytes()[1] == b'P';
        let Some(first) = text[2..].chars().next() else { return error(ErrorKind::InvalidCharRange, text) };
        let (name, length) = if first == '{' {
            let Some(end) = text.find('}') else { return error(ErrorKind::InvalidCharRange, text) };
            (&text[3..end], end + 1)
        } else {
            (&text[2..2 + first.len_utf8()], 2 + first.len_utf8())
        };
        let plain = name.strip_prefix('^').inspect(|_| negated = !negated).unwrap_or(name);
        let Some(translated) = classes::unicode(plain) else {
            return error(ErrorKind::InvalidCharRange, &text[..length]);
        };
        self.advance(length);
        Ok(format!("\\{}{{{translated}}}", if negated { 'P' } else { 'p' }))
    }

    /// A character that is written with a backslash.
    fn escaped_character(&mut self) -> Parsed<char> {
        let text = self.rest;
        let Some(second) = text[1..].chars().next() else { return error(ErrorKind::TrailingBackslash, "") };
        let mut length = 1 + second.len_utf8();
        let character = match second {
            '1'..='7' if !matches!(text.as_bytes().get(2), Some(b'0'..=b'7')) => None,
            '0'..='7' => {
                let digits =
                    text[1..].bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                length = 1 + digits;
                u32::from_str_radix(&text[1..length], 8).ok().and_then(char::from_u32)
            }
            'x' => {
                let (character, read) = hexadecimal(text);
                length = read;
                character
            }
            'a' => Some('\x07'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Some(other),
            _ => None,
        };
        let Some(character) = character else { return error(ErrorKind::InvalidEscape, &text[..length]) };
        self.advance(length);
        Ok(character)
    }

    fn class(&mut self) -> Parsed<()> {
        let whole = self.rest;
        self.advance(1);
        let mut out = String::from("[");
        if self.rest.starts_with('^') {
            self.advance(1);
            out.push('^');
        }
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            if self.rest.is_empty() {
                return error(ErrorKind::MissingBracket, whole);
            }
            is_first = false;
            self.class_item(whole, &mut out)?;
        }
        self.advance(1);
        out.push(']');
        if self.flags.fold_case {
            out = format!("(?i:{out})");
        }
        self.out.push_str(&out);
        Ok(())
    }

    fn class_item(&mut self, whole: &str, out: &mut String) -> Parsed<()> {
        if self.rest.starts_with("[:")
            && let Some(end) = self.rest[2..].find(":]")
        {
            let name = &self.rest[..end + 4];
            let Some(class) = classes::posix(name) else { return error(ErrorKind::InvalidCharRange, name) };
            out.push_str(class);
            self.advance(name.len());
            return Ok(());
        }
        if let Some(second) = self.rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) {
            if matches!(second, 'p' | 'P') {
                let class = self.unicode_class()?;
                out.push_str(&class);
                return Ok(());
            }
            if let Some(class) = classes::perl(second) {
                out.push_str(class);
                self.advance(2);
                return Ok(());
            }
        }
        let range = self.rest;
        let low = self.class_character(whole)?;
        let mut high = low;
        if self.rest.len() >= 2 && self.rest.starts_with('-') && !self.rest[1..].starts_with(']') {
            self.advance(1);
            high = self.class_character(whole)?;
            if high < low {
                return error(ErrorKind::InvalidCharRange, &range[..range.len() - self.rest.len()]);
            }
        }
        out.push_str(&format!("\\x{{{:X}}}-\\x{{{:X}}}", u32::from(low), u32::from(high)));
        Ok(())
    }

    fn class_character(&mut self, whole: &str) -> Parsed<char> {
        match self.rest.chars().next() {
            None => error(ErrorKind::MissingBracket, whole),
            Some('\\') => self.escaped_character(),
            Some(character) => {
                self.advance(character.len_utf8());
                Ok(character)
            }
        }
    }
}

/// `\x41` or `\x{1F600}`: the character and the length of the escape; without character it is an error, and the
/// length is that of what Go has read by then.
fn hexadecimal(text: &str) -> (Option<char>, usize) {
    let mut rest = text[2..].chars();
    let consumed = |rest: &std::str::Chars<'_>| text.len() - rest.as_str().len();
    let Some(first) = rest.next() else { return (None, 2) };
    if first != '{' {
        let second = rest.next().and_then(|second| second.to_digit(16));
        let value = first.to_digit(16).zip(second).map(|(high, low)| high << 4 | low);
        return (value.and_then(char::from_u32), consumed(&rest));
    }
    let mut value = None;
    loop {
        match rest.next() {
            Some('}') => return (value.and_then(char::from_u32), consumed(&rest)),
            Some(next) => match next.to_digit(16) {
                Some(digit) => value = Some(value.unwrap_or(0) << 4 | digit),
                None => return (None, consumed(&rest)),
            },
            None => return (None, text.len()),
        }
        if value.is_some_and(|value| value > 0x10_FFFF) {
            return (None, consumed(&rest));
        }
    }
}

/// `{n}`, `{n,}`, `{n,m}`: the counts and the length; `None` if it is no repetition.
fn counts(text: &str) -> Option<(u32, Option<u32>, usize)> {
    let end = text.find('}')?;
    let inside = &text[1..end];
    let number = |digits: &str| -> Option<u32> {
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // Numbers with leading zeros are text.
        if !is_number || digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        Some(digits.parse().unwrap_or(u32::MAX))
    };
    match inside.split_once(',') {
        None => number(inside).map(|count| (count, Some(count), end + 1)),
        Some((min, "")) => number(min).map(|min| (min, None, end + 1)),
        Some((min, max)) => Some((number(min)?, Some(number(max)?), end + 1)),
    }
}
