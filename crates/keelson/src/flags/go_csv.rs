//! CSV: one line of comma-separated values, as Go parses it.

/// Splits at commas; a field in double quotes may hold commas, and `""` is a quote in it.
pub(super) fn read_record(text: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    if text.is_empty() {
        return Ok(fields);
    }
    let mut at = 0;
    loop {
        let (field, end) = if text[at..].starts_with('"') { quoted(text, at + 1)? } else { plain(text, at)? };
        fields.push(field);
        if end == text.len() {
            return Ok(fields);
        }
        at = end + 1;
    }
}

/// A field without quotes that begins at `start`, and its end.
fn plain(text: &str, start: usize) -> Result<(String, usize), String> {
    let end = text[start..].find(',').map_or(text.len(), |length| start + length);
    match text[start..end].find('"') {
        Some(place) => Err(failure(start + place + 1, "bare \" in non-quoted-field")),
        None => Ok((text[start..end].to_owned(), end)),
    }
}

/// A field whose opening quote is before `start`, and its end.
fn quoted(text: &str, start: usize) -> Result<(String, usize), String> {
    const BAD: &str = "extraneous or missing \" in quoted-field";
    let mut field = String::new();
    let mut at = start;
    loop {
        let Some(length) = text[at..].find('"') else {
            return Err(failure(text.len() + 1, BAD));
        };
        field.push_str(&text[at..at + length]);
        let after = at + length + 1;
        match text[after..].chars().next() {
            None | Some(',') => return Ok((field, after)),
            Some('"') => {
                field.push('"');
                at = after + 1;
            }
            Some(_) => return Err(failure(after, BAD)),
        }
    }
}

fn failure(column: usize, what: &str) -> String {
    format!("parse error on line 1, column {column}: {what}")
}

#[cfg(test)]
mod tests {
    use super::read_record;

    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], &str>) {
        let found = read_record(text);
        match expected {
            Ok(fields) => assert_eq!(found.as_deref().expect("good"), fields),
            Err(error) => assert_eq!(found.expect_err("bad"), error),
        }
    }

    #[test]
    fn fields_are_split_at_commas() {
        check("", Ok(&[]));
        check("a", Ok(&["a"]));
        check("a,b,", Ok(&["a", "b", ""]));
        check(" a , b", Ok(&[" a ", " b"]));
    }

    #[test]
    fn quoted_fields_may_hold_commas_and_quotes() {
        check(r#""a,b",c"#, Ok(&["a,b", "c"]));
        check(r#""a""b""#, Ok(&["a\"b"]));
        check(r#""""#, Ok(&[""]));
    }

    #[test]
    fn stray_quotes_are_errors() {
        check("a\"b", Err("parse error on line 1, column 2: bare \" in non-quoted-field"));
        check("\"a", Err("parse error on line 1, column 3: extraneous or missing \" in quoted-field"));
    }
}
