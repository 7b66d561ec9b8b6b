//! Format `email`: what Go's `mail.ParseAddress` reads, which is a mailbox of RFC 5322 with or without a name.

use std::net::IpAddr;

/// Whether a text is one address.
pub(super) fn is_address(text: &str) -> bool {
    let mut parser = Parser { rest: text };
    parser.address(true) == Some(1) && parser.skip_comments() && parser.rest.is_empty()
}

struct Parser<'t> {
    rest: &'t str,
}

fn is_visible(c: char) -> bool {
    ('!'..='~').contains(&c) || !c.is_ascii()
}

fn is_atom(c: char) -> bool {
    is_visible(c) && !matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | ':' | ';' | '@' | '\\' | ',' | '"')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t')
}

impl Parser<'_> {
    /// How many mailboxes an address has: a group may have none or several.
    fn address(&mut self, allows_group: bool) -> Option<usize> {
        self.skip_space();
        if self.rest.is_empty() {
            return None;
        }
        let start = self.rest;
        if self.spec().is_some() {
            self.skip_space();
            if self.consume('(') {
                let comment = self.comment()?;
                let mut words = comment.split(is_space).filter(|it| !it.is_empty());
                if words.any(has_unknown_charset) {
                    return None;
                }
            }
            return Some(1);
        }
        self.rest = start;
        if !self.rest.starts_with('<') {
            self.phrase()?;
        }
        self.skip_space();
        if allows_group && self.consume(':') {
            return self.group();
        }
        (self.consume('<') && self.spec().is_some() && self.consume('>')).then_some(1)
    }

    fn group(&mut self) -> Option<usize> {
        self.skip_space();
        if self.consume(';') {
            return self.skip_comments().then_some(0);
        }
        let mut count = 0;
        loop {
            count += self.address(false)?;
            if !self.skip_comments() {
                return None;
            }
            if self.consume(';') {
                return self.skip_comments().then_some(count);
            }
            if !self.consume(',') {
                return None;
            }
        }
    }

    /// `local@domain`
    fn spec(&mut self) -> Option<()> {
        self.skip_space();
        if self.rest.starts_with('"') {
            if self.quoted()? == 0 {
                return None;
            }
        } else {
            self.strict_atom()?;
        }
        if !self.consume('@') {
            return None;
        }
        self.skip_space();
        if self.rest.starts_with('[') { self.domain_literal() } else { self.strict_atom() }
    }

    fn phrase(&mut self) -> Option<()> {
        let mut words = 0;
        loop {
            if words > 0 && !self.skip_comments() {
                return None;
            }
            self.skip_space();
            if self.rest.is_empty() {
                return Some(());
            }
            let is_word = if self.rest.starts_with('"') {
                self.quoted().is_some()
            } else {
                self.atom().is_some_and(|word| !has_unknown_charset(word))
            };
            match (is_word, words) {
                (true, _) => words += 1,
                (false, 0) => return None,
                (false, _) => return Some(()),
            }
        }
    }

    /// A quoted text; gives how many characters are in it.
    fn quoted(&mut self) -> Option<usize> {
        let mut is_escaped = false;
        let mut count = 0;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                c if is_escaped && (is_visible(c) || is_space(c)) => is_escaped = false,
                _ if is_escaped => return None,
                '"' => {
                    self.rest = &self.rest[at + 1..];
                    return Some(count);
                }
                '\\' => {
                    is_escaped = true;
                    continue;
                }
                c if is_visible(c) || is_space(c) => {}
                _ => return None,
            }
            count += 1;
        }
        None
    }

    fn atom(&mut self) -> Option<&str> {
        let end = self.rest.find(|c| !is_atom(c)).unwrap_or(self.rest.len());
        let (atom, rest) = self.rest.split_at(end);
        if atom.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(atom)
    }

    fn strict_atom(&mut self) -> Option<()> {
        let atom = self.atom()?;
        let is_good = !atom.starts_with('.') && !atom.ends_with('.') && !atom.contains("..");
        is_good.then_some(())
    }

    fn domain_literal(&mut self) -> Option<()> {
        let inside = self.rest.strip_prefix('[')?;
        let end = inside.find(']')?;
        let (literal, rest) = (&inside[..end], &inside[end + 1..]);
        self.rest = rest;
        literal.parse::<IpAddr>().ok().map(drop)
    }

    /// What is in a comment whose opening parenthesis was consumed.
    fn comment(&mut self) -> Option<String> {
        let mut depth = 1;
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, mut c)) = chars.next() {
            match c {
                '\\' => c = chars.next().map_or('\\', |(_, next)| next),
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                self.rest = &self.rest[at + 1..];
                return Some(text);
            }
            text.push(c);
        }
        None
    }

    fn skip_comments(&mut self) -> bool {
        self.skip_space();
        while self.consume('(') {
            if self.comment().is_none() {
                return false;
            }
            self.skip_space();
        }
        true
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    fn consume(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// Whether a word is encoded (RFC 2047) in a character set that Go does not decode.
fn has_unknown_charset(word: &str) -> bool {
    let Some(inside) = word.strip_prefix("=?").and_then(|it| it.strip_suffix("?=")) else { return false };
    let mut parts = inside.split('?');
    let (Some(charset), Some(encoding), Some(text), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_known = ["utf-8", "iso-8859-1", "us-ascii"].iter().any(|it| charset.eq_ignore_ascii_case(it));
    let is_decoded = match encoding {
        "b" | "B" => is_base64_text(text),
        "q" | "Q" => is_quoted_printable(text),
        _ => false,
    };
    !charset.is_empty() && !is_known && is_decoded
}

fn is_base64_text(text: &str) -> bool {
    let data = text.trim_end_matches('=');
    let padding = text.len() - data.len();
    let is_alphabet = data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    is_alphabet && text.len().is_multiple_of(4) && padding <= 2
}

fn is_quoted_printable(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'=' => {
                let is_hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
                if !is_hex(at + 1) || !is_hex(at + 2) {
                    return false;
                }
                at += 3;
            }
            b' '..=b'~' => at += 1,
            _ => return false,
        }
    }
    true
}
