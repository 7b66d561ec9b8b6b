//! Texts in YAML: plain, quoted and as blocks. Writing can stop at any character and continue later.

use std::fmt::Write as _;

use keelson_object::SmolStr;

use super::super::style::{Place, Style, is_break, is_printable, style_of};
use super::{Blank, Line, WIDTH, Writer};

/// A text, and the position up to which it is written.
#[derive(Debug)]
pub(super) struct Scalar {
    text: SmolStr,
    style: Style,
    /// The indentation of lines after the first.
    indent: usize,
    /// Whether long lines are folded.
    folds: bool,
    /// The position up to which it is written, in bytes; `None` before its beginning.
    at: Option<usize>,
    after_space: bool,
    /// Whether a break was written last: single line ends are doubled between quotes, because readers fold
    /// them.
    after_break: bool,
}

impl Scalar {
    /// A text in the style for its place. `indent` is that of the outer container.
    pub(super) fn new(text: SmolStr, place: Place, indent: Option<usize>) -> Scalar {
        let style = style_of(&text, place);
        Scalar { style, folds: place == Place::Elsewhere, ..Scalar::plain(text, indent) }
    }

    /// A text that is written plain, whatever it looks like.
    pub(super) fn plain(text: SmolStr, indent: Option<usize>) -> Scalar {
        Scalar {
            text,
            style: Style::Plain,
            indent: indent.map_or(2, |it| it + 2),
            folds: true,
            at: None,
            after_space: false,
            after_break: false,
        }
    }

    /// The next character and the one after it.
    fn next(&mut self) -> Option<(char, Option<char>)> {
        let at = self.at.unwrap_or(0);
        let mut characters = self.text[at..].chars();
        let c = characters.next()?;
        self.at = Some(at + c.len_utf8());
        Some((c, characters.next()))
    }

    /// Whether a character before this one was written.
    fn is_first(&self, c: char) -> bool {
        self.at == Some(c.len_utf8())
    }
}

impl Writer {
    /// Writes a text, or as much of it as there is room for.
    pub(super) fn write_scalar(&mut self, mut scalar: Scalar) {
        if scalar.at.is_none() {
            self.begin_scalar(&mut scalar);
            scalar.at = Some(0);
        }
        while let Some((c, next)) = scalar.next() {
            match scalar.style {
                Style::Plain => self.write_plain_character(&mut scalar, c, next),
                Style::SingleQuoted => self.write_single_quoted(&mut scalar, c, next),
                Style::DoubleQuoted => self.write_double_quoted(&mut scalar, c, next),
                Style::Literal => self.write_literal(&mut scalar, c),
            }
            if self.out.len() >= self.room {
                return self.open.push(super::Open::Scalar(scalar));
            }
        }
        self.end_scalar(&scalar);
    }

    fn begin_scalar(&mut self, scalar: &mut Scalar) {
        match scalar.style {
            Style::Plain => {
                if !self.is_blank {
                    self.put(' ');
                }
            }
            Style::SingleQuoted => self.write_indicator("'", Blank::Before, Line::Text),
            Style::DoubleQuoted => self.write_indicator("\"", Blank::Before, Line::Text),
            Style::Literal => {
                self.write_indicator("|", Blank::Before, Line::Text);
                self.write_hints(&scalar.text);
                self.put_break('\n');
                self.is_indented = true;
                self.is_blank = true;
                scalar.after_break = true;
            }
        }
    }

    fn end_scalar(&mut self, scalar: &Scalar) {
        match scalar.style {
            Style::Plain => self.is_blank = false,
            Style::SingleQuoted => self.write_indicator("'", Blank::Not, Line::Text),
            Style::DoubleQuoted => self.write_indicator("\"", Blank::Not, Line::Text),
            Style::Literal => return,
        }
        self.is_indented = false;
    }

    /// Writes the hints after the `|` of a block: whether it begins with white space, and how it ends.
    fn write_hints(&mut self, text: &str) {
        if text.starts_with(|it: char| it == ' ' || is_break(it)) {
            self.write_indicator("2", Blank::Not, Line::Text);
        }
        let mut backwards = text.chars().rev();
        match (backwards.next().is_some_and(is_break), backwards.next().is_none_or(is_break)) {
            (false, _) => self.write_indicator("-", Blank::Not, Line::Text),
            (true, true) => self.write_indicator("+", Blank::Not, Line::Text),
            (true, false) => {}
        }
    }

    fn write_plain_character(&mut self, scalar: &mut Scalar, c: char, next: Option<char>) {
        let may_fold = scalar.folds && c == ' ' && !scalar.after_space && next != Some(' ');
        if may_fold && self.column > WIDTH {
            self.write_indent(scalar.indent);
        } else {
            self.put(c);
        }
        scalar.after_space = c == ' ';
        if c != ' ' {
            self.is_indented = false;
        }
    }

    fn write_single_quoted(&mut self, scalar: &mut Scalar, c: char, next: Option<char>) {
        if c == ' ' {
            let is_inner = !scalar.is_first(c) && next.is_some_and(|it| it != ' ');
            if scalar.folds && is_inner && !scalar.after_space && self.column > WIDTH {
                self.write_indent(scalar.indent);
            } else {
                self.put(c);
            }
            scalar.after_space = true;
        } else if is_break(c) {
            if !scalar.after_break && c == '\n' {
                self.put_break('\n');
            }
            self.put_break(c);
            self.is_indented = true;
            scalar.after_break = true;
        } else {
            if scalar.after_break {
                self.write_indent(if scalar.folds { scalar.indent } else { 0 });
            }
            if c == '\'' {
                self.put(c);
            }
            self.put(c);
            self.is_indented = false;
            scalar.after_space = false;
            scalar.after_break = false;
        }
    }

    fn write_double_quoted(&mut self, scalar: &mut Scalar, c: char, next: Option<char>) {
        // Upstream looks for a byte order mark at the start, at whatever character it is.
        let escapes_all = scalar.text.starts_with('\u{feff}');
        if escapes_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
            self.write_escape(c);
            scalar.after_space = false;
        } else if c == ' ' {
            let is_inner = !scalar.is_first(c) && next.is_some();
            if scalar.folds && is_inner && !scalar.after_space && self.column > WIDTH {
                self.write_indent(scalar.indent);
                if next == Some(' ') {
                    self.put('\\');
                }
            } else {
                self.put(c);
            }
            scalar.after_space = true;
        } else {
            self.put(c);
            scalar.after_space = false;
        }
    }

    fn write_escape(&mut self, c: char) {
        let before = self.out.len();
        self.out.push('\\');
        match c {
            '\0' => self.out.push('0'),
            '\u{07}' => self.out.push('a'),
            '\u{08}' => self.out.push('b'),
            '\t' => self.out.push('t'),
            '\n' => self.out.push('n'),
            '\u{0b}' => self.out.push('v'),
            '\u{0c}' => self.out.push('f'),
            '\r' => self.out.push('r'),
            '\u{1b}' => self.out.push('e'),
            '"' | '\\' => self.out.push(c),
            '\u{85}' => self.out.push('N'),
            '\u{a0}' => self.out.push('_'),
            '\u{2028}' => self.out.push('L'),
            '\u{2029}' => self.out.push('P'),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(self.out, "x{code:02X}"),
                    0x100..=0xffff => write!(self.out, "u{code:04X}"),
                    _ => write!(self.out, "U{code:08X}"),
                };
            }
        }
        // An escape is ASCII: each byte is one column.
        self.column += self.out.len() - before;
    }

    /// Writes a line of a block after `|`.
    fn write_literal(&mut self, scalar: &mut Scalar, c: char) {
        if is_break(c) {
            self.put_break(c);
            self.is_indented = true;
        } else {
            if scalar.after_break {
                self.write_indent(scalar.indent);
            }
            self.put(c);
            self.is_indented = false;
        }
        scalar.after_break = is_break(c);
    }
}
