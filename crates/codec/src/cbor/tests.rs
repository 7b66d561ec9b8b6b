//! Tests against upstream's reader and writer, from a table that they wrote.
//!
//! Each line of the table is a case, its parts separated by tabs; `!` marks an error, `?` an error that only
//! strict clients get:
//!
//! ```text
//! any           bytes → JSON, or what is wrong
//! encode        JSON → bytes
//! typed         apiVersion, kind, bytes → JSON, or what is wrong; `!!` if not even the kind could be read
//! typed-encode  JSON of an object → bytes
//! ```

use keelson_object::Value;
use keelson_schema::Schema;

use super::{SELF_DESCRIBED, identify, read, read_object, write, write_as};
use crate::json;

const TABLE: &str = include_str!("../../testdata/cbor.tsv");

/// JSON with sorted keys.
fn shown(mut value: Value) -> String {
    fn sort(value: &mut Value) {
        match value {
            Value::Map(map) => {
                map.sort_keys();
                map.iter_mut().for_each(|(_, value)| sort(value));
            }
            Value::List(items) => items.iter_mut().for_each(sort),
            _ => {}
        }
    }
    sort(&mut value);
    String::from_utf8(json::to_bytes(&value).to_vec()).expect("JSON is text")
}

fn again(text: &str) -> String {
    json::read(text.as_bytes()).map_or_else(|_| text.to_owned(), |document| shown(document.value))
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).map(|it| std::str::from_utf8(it).expect("ASCII"));
    pairs.map(|it| u8::from_str_radix(it, 16).expect("hex")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

fn schema(api_version: &str, kind: &str) -> Schema {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Schema::builtin(group, version, kind).unwrap_or_else(|| panic!("no {api_version} {kind}"))
}

fn tree(text: &str) -> Value {
    json::read(text.as_bytes()).expect("JSON").value
}

/// Our result for an object of a kind, in the form of the table.
fn typed(schema: &Schema, data: &[u8]) -> Vec<String> {
    if let Err(error) = identify(data) {
        return vec![format!("!!unable to determine group/version/kind: {error}")];
    }
    let document = match read_object(data, Some(schema.root())) {
        Ok(document) => document,
        Err(error) => return vec![format!("!{error}")],
    };
    let mut value = document.value;
    match (schema.conform(&mut value), document.unknown) {
        (Err(error), _) => vec![format!("!{error}")],
        (Ok(left), _) if !left.is_empty() => vec![format!("{left:?} are unknown and still there")],
        (Ok(_), None) => vec![shown(value)],
        (Ok(_), Some(index)) => {
            let complaint =
                format!("?strict decoding error: cbor: found unknown field at map element index {index}");
            vec![complaint, shown(value)]
        }
    }
}

fn run(case: &[&str]) -> (Vec<String>, Vec<String>) {
    match case {
        ["any", data, expected] => {
            let found = read(&bytes(data)).map_or_else(|error| format!("!{error}"), shown);
            // Go sorts keys and escapes the replacements of invalid bytes; both are read again to compare.
            (vec![again(&found)], vec![again(expected)])
        }
        ["encode", text, expected] => {
            let mut out = Vec::new();
            write(&tree(text), &mut out);
            (vec![hex(&out)], vec![expected.to_string()])
        }
        ["typed", api_version, kind, data, expected @ ..] => {
            let schema = schema(api_version, kind);
            let expected = expected.iter().map(|it| {
                let Some(mut value) = json::read(it.as_bytes()).ok().map(|it| it.value) else {
                    return it.to_string();
                };
                schema.conform(&mut value).expect("upstream wrote it");
                shown(value)
            });
            (typed(&schema, &bytes(data)), expected.collect())
        }
        ["typed-encode", text, expected] => {
            let mut value = tree(text);
            let name = |key| value.as_map().and_then(|it| it.str(key)).expect("an object").to_owned();
            let schema = schema(&name("apiVersion"), &name("kind"));
            schema.conform(&mut value).expect("upstream wrote it");
            let mut out = SELF_DESCRIBED.to_vec();
            write_as(&value, schema.root(), &mut out);
            (vec![hex(&out)], vec![expected.to_string()])
        }
        other => panic!("what is {other:?}?"),
    }
}

#[test]
fn everything_is_read_and_written_as_upstream_does() {
    let mut different = Vec::new();
    let mut count = 0;
    for line in TABLE.lines() {
        let parts: Vec<String> = line.split('\t').map(unescaped).collect();
        let case: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (found, expected) = run(&case);
        count += 1;
        if found != expected {
            different.push(format!("{}\n  found    {found:?}\n  expected {expected:?}", case.join(" ")));
        }
    }
    assert!(count > 100, "the table is there");
    let shown = different.iter().take(8).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} of {count} differ:\n{shown}", different.len());
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        out.push(match c {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                other => other.unwrap_or('\\'),
            },
            c => c,
        });
    }
    out
}
