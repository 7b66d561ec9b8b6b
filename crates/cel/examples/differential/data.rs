//! Changed data and schemas.

use serde_json::{Map, Value, json};

use crate::literals;
use crate::random::Random;

/// Variables whose values can be anything.
const UNTYPED: &[&str] = &["d", "ld", "md", "an", "object", "oldObject", "request", "params", "claims"];

/// Changes a few nodes of the data.
pub(crate) fn changed(value: &Value, is_typed: bool, random: &mut Random) -> Value {
    let mut value = value.clone();
    for _ in 0..random.below(12) {
        change(&mut value, 0, is_typed, random);
    }
    value
}

/// Values of typed variables keep their kinds: upstream evaluates expressions only on what their types allow.
fn change(value: &mut Value, depth: usize, is_typed: bool, random: &mut Random) {
    // Variables stay of their kind.
    let goes_down = depth <= 1 || !random.one_in(4);
    match value {
        Value::Object(entries) if goes_down && !entries.is_empty() => {
            let key = entries.keys().nth(random.below(entries.len())).cloned().unwrap_or_default();
            let is_root = depth == 0 && (key == "self" || key == "oldSelf");
            if !is_root && random.one_in(if depth == 0 { 40 } else { 8 }) {
                entries.remove(&key);
            } else if let Some(child) = entries.get_mut(&key) {
                change(child, depth + 1, is_typed || depth == 0 && !UNTYPED.contains(&key.as_str()), random);
            }
        }
        Value::Array(items) if goes_down && !items.is_empty() => {
            let at = random.below(items.len());
            match random.below(6) {
                0 => {
                    items.remove(at);
                }
                1 => items.push(items[at].clone()),
                2 => items.swap(0, at),
                _ => change(&mut items[at], depth + 1, is_typed, random),
            }
        }
        other => *other = replacement(other, is_typed, random),
    }
}

fn replacement(value: &Value, is_typed: bool, random: &mut Random) -> Value {
    if !is_typed && random.one_in(12) {
        return match random.below(6) {
            0 => Value::Null,
            1 => json!(random.one_in(2)),
            2 => json!(random.below(100) as i64 - 50),
            3 => json!(random.below(100) as f64 / 8.0),
            4 => json!([1, "a"]),
            _ => json!({"k": "v"}),
        };
    }
    match value {
        Value::Bool(truth) => json!(!truth),
        Value::Number(number) if number.is_i64() => {
            json!(*random.pick(&[0, 1, -1, 5, 7, 1000, i64::MAX, i64::MIN, 1 << 40]))
        }
        Value::Number(_) => json!(*random.pick(&[0.0, 1.0, -2.5, 1e300, 0.1, 5.0])),
        Value::String(text) => json!(similar(text, random)),
        Value::Array(_) => json!([]),
        Value::Object(_) => Value::Object(Map::new()),
        Value::Null if is_typed => Value::Null,
        Value::Null => json!(literals::text("", 0, random)),
    }
}

/// Text of the same kind, so that typed values stay readable.
fn similar(text: &str, random: &mut Random) -> String {
    let pool: &[&str] = if text.contains('T') && text.ends_with('Z') {
        &["1970-01-01T00:00:00Z", "2024-02-29T23:59:59.5Z", "9999-12-31T23:59:59Z", "2021-03-14T10:30:00Z"]
    } else if text.ends_with(['s', 'm', 'h']) && text.starts_with(|first: char| first.is_ascii_digit()) {
        &["1s", "1h30m", "100ms", "0s", "26h"]
    } else if text.parse::<std::net::IpAddr>().is_err() && (text.contains(".0.0/") || text.contains("::/")) {
        &["10.0.0.0/8", "::/0", "192.168.0.0/16", "2001:db8::/32"]
    } else if text.parse::<std::net::IpAddr>().is_ok() {
        &["10.0.0.1", "::1", "fe80::1", "192.168.1.1", "0.0.0.0"]
    } else {
        match text {
            "YWI=" | "YQ==" | "4pyT" => &["YWI=", "YQ==", "4pyT"],
            _ if text.len() == 10 && text.matches('-').count() == 2 => {
                &["2020-02-29", "1970-01-01", "0001-01-01"]
            }
            _ => return literals::text("", 0, random).to_owned(),
        }
    };
    (*random.pick(pool)).to_owned()
}

/// Changes limits, formats and list types of some properties.
pub(crate) fn changed_schema(schema: &Value, random: &mut Random) -> Value {
    let mut schema = schema.clone();
    let Some(properties) = schema["properties"].as_object_mut() else { return schema };
    for property in properties.values_mut() {
        if random.one_in(3) {
            change_schema(property, random);
        }
    }
    schema
}

fn change_schema(schema: &mut Value, random: &mut Random) {
    let limit = *random.pick(&[0, 1, 3, 10, 200, 100_000]);
    match schema["type"].as_str() {
        Some("string") => match random.below(5) {
            0 => schema["nullable"] = json!(true),
            1 if schema.get("format").is_none() => schema["format"] = json!("uri"),
            1 | 2 => schema["enum"] = json!(["a", "some string", "ééé"]),
            _ => schema["maxLength"] = json!(limit),
        },
        Some("array") => {
            if random.one_in(2) {
                schema["maxItems"] = json!(limit);
            }
            if random.one_in(3) {
                change_schema(&mut schema["items"], random);
            } else if schema["items"]["type"] != "object" {
                schema["x-kubernetes-list-type"] = json!("set");
            } else if schema["items"]["properties"].get("k").is_some() {
                schema["x-kubernetes-list-type"] = json!("map");
                schema["x-kubernetes-list-map-keys"] = json!(["k"]);
            }
        }
        Some("object") if schema.get("additionalProperties").is_some() => {
            if random.one_in(2) {
                schema["maxProperties"] = json!(limit);
            } else {
                change_schema(&mut schema["additionalProperties"], random);
            }
        }
        Some("object") => {
            let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
                return;
            };
            properties.values_mut().for_each(|property| change_schema(property, random));
        }
        _ => schema["nullable"] = json!(true),
    }
}
