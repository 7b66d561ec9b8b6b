//! JSON paths to fields (`fieldPath` of a rule): `.spec.replicas`, `.labels['a.b']`.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath (v1.36.4).

use std::fmt::Write as _;

use keelson_structural::Schema;

const NOWHERE: &str = "does not refer to a valid field";
const END: &str = "unexpected end of JSON path";

/// The path as errors name it, `labels[a.b]`; an error if it does not lead to a field of `schema`.
pub fn normalize(path: &str, schema: &Schema) -> Result<String, String> {
    let mut found = String::new();
    let mut schema = Some(schema);
    let mut rest = path;
    while let Some(token) = next_token(&mut rest) {
        match token {
            "[" => {
                let quoted = next_token(&mut rest).ok_or(END)?;
                let name = quoted.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
                let Some(name) = name else {
                    return Err(format!("expected single quoted string but got {quoted}"));
                };
                schema = step(&mut found, schema, &unescape(name)?)?;
                match next_token(&mut rest).ok_or(END)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => {
                let name = next_token(&mut rest).ok_or(END)?;
                schema = step(&mut found, schema, name)?;
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

/// Follows one name. Values of `additionalProperties: true` have no schema, so that nothing may follow.
fn step<'s>(
    found: &mut String,
    schema: Option<&'s Schema>,
    name: &str,
) -> Result<Option<&'s Schema>, &'static str> {
    let schema = schema.ok_or(NOWHERE)?;
    if !schema.properties.is_empty() {
        let property = schema.property(name).ok_or(NOWHERE)?;
        if !found.is_empty() {
            found.push('.');
        }
        found.push_str(name);
        return Ok(Some(property));
    }
    if !schema.says_additional() {
        return Err(NOWHERE);
    }
    let _ = write!(found, "[{name}]");
    Ok(schema.additional_schema().map(|it| &**it))
}

/// `.`, `[`, `]`, text in quotes, or what is between these.
fn next_token<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let text = *rest;
    let end = match text.as_bytes().first()? {
        b'.' | b'[' | b']' => 1,
        b'\'' => closing_quote(text).map_or(text.len(), |position| position + 1),
        _ => text.find(['.', '[', ']']).unwrap_or(text.len()),
    };
    let (token, after) = text.split_at(end);
    *rest = after;
    Some(token)
}

fn closing_quote(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    (1..bytes.len()).find(|&position| bytes[position] == b'\'' && bytes[position - 1] != b'\\')
}

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(c @ ('\'' | '\\')) => out.push(c),
            // What is no escape for Go's pattern stays.
            Some('\n') => out.push_str("\\\n"),
            None => out.push('\\'),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use keelson_structural::{Additional, Kind, Schema};

    use super::normalize;

    #[track_caller]
    fn check(path: &str, expected: Result<&str, &str>) {
        let text = Schema { kind: Kind::String, ..Schema::default() };
        let labels = Schema {
            kind: Kind::Object,
            additional: Additional::Of(text.clone().into()),
            ..Schema::default()
        };
        let any = Schema { kind: Kind::Object, additional: Additional::Allowed, ..Schema::default() };
        let properties =
            [("a.b".into(), text.into()), ("any".into(), any.into()), ("labels".into(), labels.into())];
        let schema = Schema { kind: Kind::Object, properties: properties.into(), ..Schema::default() };
        assert_eq!(normalize(path, &schema).as_deref().map_err(String::as_str), expected, "{path}");
    }

    #[test]
    fn a_path_is_written_as_errors_write_it() {
        check("['a.b']", Ok("a.b"));
        check(".labels", Ok("labels"));
        check(".labels.x", Ok("labels[x]"));
        check(".labels['it\\'s']", Ok("labels[it's]"));
        check(".any.x", Ok("any[x]"));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        check(".absent", Err("does not refer to a valid field"));
        check(".labels.x.y", Err("does not refer to a valid field"));
        check(".any.x.y", Err("does not refer to a valid field"));
        check(".labels[", Err("unexpected end of JSON path"));
        check(".labels['x'", Err("unexpected end of JSON path"));
        check(".labels['x'.", Err("expected ] but got ."));
        check(".labels[0]", Err("expected single quoted string but got 0"));
        check(".labels[']", Err("expected single quoted string but got ']"));
        check(".labels['\\x']", Err("invalid string literal: invalid escape char \\x"));
        check("labels", Err("expected [ or . but got: labels"));
    }
}
