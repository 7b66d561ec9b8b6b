//! Styles of text: plain, quoted or as a block.
//!
//! Upstream: go.yaml.in/yaml/v2, stringv, yaml_emitter_analyze_scalar and yaml_emitter_select_scalar_style.

use super::resolve::{Scalar, resolve};

/// The style of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// The position of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A key on one line with its value.
    SimpleKey,
    Elsewhere,
}

/// The style of `text` at `place`.
pub(super) fn style_of(text: &str, place: Place) -> Style {
    let traits = Traits::of(text);
    let wanted = if text.contains('\n') {
        Style::Literal
    } else if resolve(text) == Scalar::Text && !is_sexagesimal(text) {
        Style::Plain
    } else {
        Style::DoubleQuoted
    };
    if place == Place::SimpleKey && traits.is_multiline {
        return Style::DoubleQuoted;
    }
    match wanted {
        Style::Plain if traits.allows_plain => Style::Plain,
        Style::Plain if traits.allows_single_quotes => Style::SingleQuoted,
        Style::Literal if traits.allows_block && place == Place::Elsewhere => Style::Literal,
        _ => Style::DoubleQuoted,
    }
}

/// Whether `text` can be a key without a `?`.
pub(super) fn is_simple_key(text: &str) -> bool {
    text.len() <= 128 && !text.chars().any(is_break)
}

/// Line ends of YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The characters that go-yaml does not escape: none beyond the basic plane, and no tabs.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

/// The properties of a text that rule styles out.
struct Traits {
    is_multiline: bool,
    allows_plain: bool,
    allows_single_quotes: bool,
    allows_block: bool,
}

impl Traits {
    fn of(text: &str) -> Traits {
        let is_edge = |c: Option<char>| c.is_some_and(|it| it == ' ' || is_break(it));
        let has_edge = is_edge(text.chars().next()) || is_edge(text.chars().next_back());
        let is_multiline = text.chars().any(is_break);
        let is_special = text.chars().any(|c| !is_printable(c));
        let pairs = || text.chars().zip(text.chars().skip(1));
        let has_break_space = pairs().any(|(a, b)| is_break(a) && b == ' ');
        let has_space_break = pairs().any(|(a, b)| a == ' ' && is_break(b));
        let hard = has_space_break || is_special;
        Traits {
            is_multiline,
            allows_plain: !(has_edge || has_break_space || hard || is_multiline || has_indicator(text)),
            allows_single_quotes: !(has_break_space || hard),
            allows_block: !(text.is_empty() || text.ends_with(' ') || hard),
        }
    }
}

/// Whether there are characters with a special meaning in plain text.
fn has_indicator(text: &str) -> bool {
    let is_blank = |c: Option<char>| c.is_none_or(|it| it == ' ' || it == '\t');
    let mut characters = text.chars().peekable();
    let first = match characters.next() {
        None => return false,
        Some(
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
        ) => {
            return true;
        }
        Some('?' | ':' | '-') if is_blank(characters.peek().copied()) => return true,
        Some(first) => first,
    };
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let mut previous = first;
    while let Some(c) = characters.next() {
        let is_one = match c {
            ':' => is_blank(characters.peek().copied()),
            '#' => matches!(previous, ' ' | '\t' | '\0') || is_break(previous),
            _ => false,
        };
        if is_one {
            return true;
        }
        previous = c;
    }
    false
}

/// Numbers to the base of 60, which other readers may accept: `1:30`.
fn is_sexagesimal(text: &str) -> bool {
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = rest.split(':');
    let first = parts.next().unwrap_or_default();
    let is_number = first.starts_with(|it: char| it.is_ascii_digit())
        && first.bytes().all(|it| it.is_ascii_digit() || it == b'_');
    let mut count = 0;
    let mut all_fit = true;
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        count += 1;
        let part = match part.split_once('.') {
            Some((part, fraction)) if parts.peek().is_none() => {
                all_fit &= fraction.bytes().all(|it| it.is_ascii_digit() || it == b'_');
                part
            }
            _ => part,
        };
        all_fit &= matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    }
    is_number && count > 0 && all_fit
}
