//! Indented JSON: adds line breaks and spaces to compact JSON, without parsing it into a tree
//! (`?pretty=true`).
//!
//! The [`Indenter`] takes compact JSON in parts that may be cut anywhere, and writes no more than a limit.
//! Both matter: a list of a hundred thousand objects never exists as one text, and one byte may become a line
//! that begins with thousands of spaces.

use bytes::BufMut;

use super::scan::text_stop;

/// Appends `compact`, which must be JSON without white space, indented by two spaces per level. Empty lists
/// and maps stay on one line. There is no line end after the last byte, as with Go's `json.MarshalIndent`.
pub fn indent(compact: &[u8], out: &mut impl BufMut) {
    Indenter::default().indent(compact, usize::MAX, out);
}

/// Indents JSON that comes in parts.
#[derive(Debug, Default)]
pub struct Indenter {
    depth: usize,
    place: Place,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Structure,
    /// A list or map was opened; it is not known yet whether it is empty.
    Opened,
    Text,
    /// The byte after a backslash.
    Escape,
}

impl Indenter {
    /// Appends the next part of a document. Stops after the byte with which `room` bytes are written, and
    /// returns how many bytes of `compact` were consumed.
    pub fn indent(&mut self, compact: &[u8], room: usize, out: &mut impl BufMut) -> usize {
        let mut at = 0;
        let mut written = 0;
        while written < room
            && let Some(&byte) = compact.get(at)
        {
            let is_structure = matches!(self.place, Place::Structure | Place::Opened);
            let end = match self.place {
                Place::Text => self.text_end(compact, at),
                Place::Escape => {
                    self.place = Place::Text;
                    at + 1
                }
                Place::Structure | Place::Opened => {
                    written += self.before(byte, out);
                    at + 1
                }
            };
            out.put_slice(&compact[at..end]);
            written += end - at;
            at = end;
            match byte {
                b',' if is_structure => written += self.new_line(out),
                b':' if is_structure => {
                    out.put_u8(b' ');
                    written += 1;
                }
                _ => {}
            }
        }
        at
    }

    /// Writes the white space before a byte outside of texts, and updates the state.
    fn before(&mut self, byte: u8, out: &mut impl BufMut) -> usize {
        let is_first = self.place == Place::Opened;
        let is_close = matches!(byte, b'}' | b']');
        self.place = match byte {
            b'"' => Place::Text,
            b'{' | b'[' => Place::Opened,
            _ => Place::Structure,
        };
        match (is_first, is_close) {
            (true, true) | (false, false) => 0,
            (true, false) => {
                self.depth += 1;
                self.new_line(out)
            }
            (false, true) => {
                self.depth = self.depth.saturating_sub(1);
                self.new_line(out)
            }
        }
    }

    /// The end of the text that contains `at`: after its closing quote or a backslash.
    fn text_end(&mut self, compact: &[u8], at: usize) -> usize {
        let stop = text_stop(compact, at);
        match compact.get(stop) {
            None => return stop,
            Some(b'"') => self.place = Place::Structure,
            Some(b'\\') => self.place = Place::Escape,
            Some(_) => {}
        }
        stop + 1
    }

    fn new_line(&self, out: &mut impl BufMut) -> usize {
        out.put_u8(b'\n');
        out.put_bytes(b' ', 2 * self.depth);
        1 + 2 * self.depth
    }
}

#[cfg(test)]
mod tests {
    use super::{Indenter, indent};

    fn check(compact: &str, expected: &str) {
        let mut out = Vec::new();
        indent(compact.as_bytes(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn members_stand_on_lines_of_their_own() {
        check(
            r#"{"a":1,"b":[true,{"c":null}]}"#,
            "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    {\n      \"c\": null\n    }\n  ]\n}",
        );
    }

    #[test]
    fn empty_containers_and_scalars_stay_as_they_are() {
        check("{}", "{}");
        check("[]", "[]");
        check(r#"{"a":{},"b":[]}"#, "{\n  \"a\": {},\n  \"b\": []\n}");
        check("12.5", "12.5");
        check("", "");
    }

    #[test]
    fn text_is_not_touched() {
        check(r#"["a,b:{}[]\"\\",""]"#, "[\n  \"a,b:{}[]\\\"\\\\\",\n  \"\"\n]");
    }

    #[test]
    fn cut_off_input_does_not_panic() {
        for cut in [r#"{"a"#, r#"{"a\"#, "}", "[", "]]]", r#"{"a":["#] {
            indent(cut.as_bytes(), &mut Vec::new());
        }
    }

    #[test]
    fn no_more_is_written_than_there_is_room_for() {
        let depth = 1000;
        let compact = format!("{}{}{}", "[".repeat(depth), "1,".repeat(100) + "1", "]".repeat(depth));
        let (mut indenter, mut at, mut out) = (Indenter::default(), 0, Vec::new());
        while at < compact.len() {
            let mut part = Vec::new();
            at += indenter.indent(&compact.as_bytes()[at..], 4096, &mut part);
            assert!(part.len() < 4096 + 2 * depth + 3, "{} bytes", part.len());
            out.extend_from_slice(&part);
        }
        let mut whole = Vec::new();
        indent(compact.as_bytes(), &mut whole);
        assert!(out == whole);
    }
}
