//! JSON errors, in the words of Go's `encoding/json`.

use keelson_object::scalar::quote;

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An unexpected byte.
    #[error("invalid character {} {context}", quote_byte(*found))]
    Character {
        /// Its position.
        offset: usize,
        /// The byte; a space if a word or number is cut off by the end.
        found: u8,
        /// What was being read.
        context: &'static str,
    },
    /// The document ends in the middle.
    #[error("unexpected end of JSON input")]
    End {
        /// The length of the document.
        offset: usize,
    },
    /// A number that a 64-bit float cannot hold.
    #[error("json: cannot unmarshal number {text} into Go value of type float64")]
    Number {
        /// Its position.
        offset: usize,
        /// The number, cut if it is very long.
        text: String,
    },
}

/// A position in a text, both counted from 1; columns count bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Error {
    /// The number of bytes before the error.
    pub fn offset(&self) -> usize {
        match self {
            Error::Character { offset, .. } | Error::End { offset } | Error::Number { offset, .. } => *offset,
        }
    }

    /// Line and column of the error in `document`.
    pub fn position(&self, document: &[u8]) -> Position {
        let before = &document[..self.offset().min(document.len())];
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = before.len() - memchr::memrchr(b'\n', before).map_or(0, |at| at + 1) + 1;
        Position { line, column }
    }
}

/// Go takes the byte for a code point: 0xff prints as `'ÿ'`.
fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = quote(char::from(byte).encode_utf8(&mut [0; 4]));
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Error, Position, quote_byte};

    #[test]
    fn bytes_are_quoted_as_go_quotes_runes() {
        let check = |byte: u8, expected: &str| assert_eq!(quote_byte(byte), expected);
        check(b'x', "'x'");
        check(b'\'', r"'\''");
        check(b'"', "'\"'");
        check(b'\\', r"'\\'");
        check(b'\n', r"'\n'");
        check(0, r"'\x00'");
        check(0x7f, r"'\x7f'");
        check(0x80, r"'\u0080'");
        check(0xff, "'ÿ'");
    }

    #[test]
    fn positions_count_lines_and_columns() {
        let text = b"{\n  \"a\": x\n}";
        let error = Error::Character { offset: 9, found: b'x', context: "looking for beginning of value" };
        assert_eq!(error.position(text), Position { line: 2, column: 8 });
        assert_eq!(Error::End { offset: 0 }.position(b""), Position { line: 1, column: 1 });
        assert_eq!(Error::End { offset: 12 }.position(text), Position { line: 3, column: 2 });
    }
}
