//! Line breaks and blanks for compact JSON, without reading it into a tree: `?pretty=true`.

use bytes::BufMut;

use super::scan::text_stop;

/// Appends `compact`, which must be JSON without white space, indented by two blanks per level. Empty lists and maps
/// stay on one line. There is no line end behind the last byte, as with Go's `json.MarshalIndent`.
pub fn indent(compact: &[u8], out: &mut impl BufMut) {
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = compact.get(at) {
        let end = match byte {
            b'"' => text_end(compact, at + 1),
            _ => at + 1,
        };
        match byte {
            b'{' | b'[' => {
                out.put_u8(byte);
                if let Some(close @ (b'}' | b']')) = compact.get(end) {
                    out.put_u8(*close);
                    at = end + 1;
                    continue;
                }
                depth += 1;
                new_line(depth, out);
            }
            b'}' | b']' => {
                depth = usize::saturating_sub(depth, 1);
                new_line(depth, out);
                out.put_u8(byte);
            }
            b',' => {
                out.put_u8(byte);
                new_line(depth, out);
            }
            b':' => out.put_slice(b": "),
            _ => out.put_slice(&compact[at..end]),
        }
        at = end;
    }
}

/// Where text ends whose opening quote stands before `at`: behind the closing one.
fn text_end(compact: &[u8], mut at: usize) -> usize {
    loop {
        at = text_stop(compact, at);
        match compact.get(at) {
            None => return compact.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at = compact.len().min(at + 2),
            Some(_) => at += 1,
        }
    }
}

fn new_line(depth: usize, out: &mut impl BufMut) {
    out.put_u8(b'\n');
    for _ in 0..depth {
        out.put_slice(b"  ");
    }
}

#[cfg(test)]
mod tests {
    use super::indent;

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
}
