//! Paths to fields that a schema describes: `.spec.replicas`, `.spec.map['key']`.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath (v1.36.4).

use super::Schema;

/// The notation of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    /// Dots only.
    Dots,
    /// Dots, and quoted names in brackets.
    Brackets,
}

/// The end of a path.
pub(crate) struct Found<'s> {
    /// The names in the path: fields and keys.
    pub steps: Vec<(Step, String)>,
    pub schema: Schema<'s>,
}

/// The kind of a name in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Field,
    Key,
}

impl Found<'_> {
    /// The first field.
    pub(crate) fn root(&self) -> Option<&str> {
        self.steps.first().map(|(_, name)| name.as_str())
    }
}

/// Follows a path through a schema, or returns why it does not resolve.
pub(crate) fn resolve<'s>(path: &str, schema: Schema<'s>, notation: Notation) -> Result<Found<'s>, String> {
    const END: &str = "unexpected end of JSON path";
    let mut found = Found { steps: Vec::new(), schema };
    let mut rest = path;
    while let Some(token) = next_token(&mut rest) {
        match token {
            "[" if notation == Notation::Dots => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = next_token(&mut rest).ok_or(END)?;
                let name = quoted.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
                let Some(name) = name.filter(|_| quoted.len() >= 2) else {
                    return Err(format!("expected single quoted string but got {quoted}"));
                };
                step(&mut found, unescape(name)?)?;
                match next_token(&mut rest).ok_or(END)? {
                    "]" => {}
                    other => return Err(format!("expected ] but got {other}")),
                }
            }
            "." => {
                let name = next_token(&mut rest).ok_or(END)?;
                step(&mut found, name.to_owned())?;
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

fn step(found: &mut Found<'_>, name: String) -> Result<(), String> {
    const NOWHERE: &str = "does not refer to a valid field";
    let schema = found.schema;
    if schema.has_properties() {
        found.schema = schema.property(&name).ok_or(NOWHERE)?;
        found.steps.push((Step::Field, name));
    } else {
        found.schema = schema.additional_schema().ok_or(NOWHERE)?;
        found.steps.push((Step::Key, name));
    }
    Ok(())
}

/// `.`, `[`, `]`, quoted text, or the text between these.
fn next_token<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let text = *rest;
    let first = text.chars().next()?;
    let end = match first {
        '.' | '[' | ']' => 1,
        '\'' => closing_quote(text).map_or(text.len(), |position| position + 1),
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

/// `\'` is a quote; others escapes are as in text.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('\'') => '\'',
            Some('\\') => '\\',
            Some('"') => '"',
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            _ => return Err("invalid string literal: invalid syntax".to_owned()),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{Notation, resolve};
    use crate::apiextensions::custom_resource_definition::schema::Schema;
    use crate::shared::testing::tree;

    #[test]
    fn a_path_leads_through_the_schema() {
        let schema = tree(
            r#"{"properties": {"spec": {"properties": {"a.b": {"type": "string"}, "n": {"type": "integer"},
                "labels": {"additionalProperties": {"type": "boolean"}}}}}}"#,
        );
        let check = |path: &str, notation, expected: &str| {
            let found = match resolve(path, Schema(schema.as_map().unwrap()), notation) {
                Ok(found) => found.schema.kind().to_owned(),
                Err(problem) => problem,
            };
            assert_eq!(found, expected, "{path}");
        };
        check(".spec.n", Notation::Dots, "integer");
        check(".spec['a.b']", Notation::Brackets, "string");
        check(".spec.labels.x", Notation::Dots, "boolean");
        check(".spec.labels['x']", Notation::Brackets, "boolean");
        check(".spec['n']", Notation::Dots, "array notation is not allowed");
        check(".spec.x", Notation::Dots, "does not refer to a valid field");
        check(".spec.n.x", Notation::Dots, "does not refer to a valid field");
        check(".spec.", Notation::Dots, "unexpected end of JSON path");
        check("spec", Notation::Dots, "expected [ or . but got: spec");
        check(".spec[n]", Notation::Brackets, "expected single quoted string but got n");
        check(".spec['n'", Notation::Brackets, "unexpected end of JSON path");
    }
}
