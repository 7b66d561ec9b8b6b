//! Questions about server-side apply of custom resources: structural schemas with all that matters to it, and writes of
//! objects that nearly fit.

use serde_json::{Map, Value as Json, json};

use crate::oracle::Random;

const KEYS: [&str; 5] = ["a", "b", "c", "d", "kind"];
const TEXTS: [&str; 4] = ["", "x", "y", "2020-01-02T03:04:05Z"];

/// Systematic questions about single schemas, then random ones.
pub(crate) fn questions(random: &mut Random, cases: usize) -> Vec<Json> {
    let mut questions = Vec::new();
    for schema in interesting() {
        for _ in 0..12 {
            let root = json!({"type": "object", "properties": {"spec": schema}});
            questions.push(question(random, &[json!({"name": "v1", "schema": root})]));
        }
    }
    for _ in 0..cases {
        let mut versions = vec![version(random, "v1")];
        if random.chance(25) {
            versions.push(version(random, "v2"));
        }
        questions.push(question(random, &versions));
    }
    questions
}

/// Schemas of `spec` that each show one rule.
fn interesting() -> Vec<Json> {
    let keyed = |keys: Json, item: Json| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": item});
    let text = json!({"type": "string"});
    let item = json!({"type": "object", "properties": {"a": text, "b": {"type": "integer"}, "c": {"type": "boolean"}}});
    let item_with_default = json!({"type": "object", "properties": {"a": text, "b": {"type": "string", "default": "TCP"}, "c": {"type": "integer", "default": 5}}});
    let preserve = "x-kubernetes-preserve-unknown-fields";
    let embedded = "x-kubernetes-embedded-resource";
    let mut all = vec![
        json!({preserve: true}),
        json!({preserve: true, "properties": {"a": {"type": "object", "properties": {"b": text}}}}),
        json!({preserve: true, "properties": {"a": {"type": "array", "items": text, "x-kubernetes-list-type": "set"}}}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"type": "object"}),
        json!({"type": "object", preserve: true}),
        json!({"type": "object", preserve: true, "properties": {"a": item, "b": {"type": "object", "additionalProperties": item}}}),
        json!({"type": "object", "properties": {"a": {"type": "object"}, "b": {"type": "object", "properties": {"c": text}}}}),
        json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": text, "b": item}}),
        json!({"type": "object", "x-kubernetes-map-type": "granular", "properties": {"a": text, "b": item}}),
        json!({"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text}),
        json!({"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"x-kubernetes-int-or-string": true}}),
        json!({"type": "object", "additionalProperties": true}),
        json!({"type": "object", "additionalProperties": item}),
        json!({"type": "object", "additionalProperties": {"type": "array", "items": text, "x-kubernetes-list-type": "set"}}),
        json!({"type": "object", "additionalProperties": {"type": "string", "format": "date-time"}}),
        json!({"type": "object", embedded: true, preserve: true}),
        json!({"type": "object", embedded: true, "properties": {"a": item}}),
        json!({"type": "array", "items": {"type": "object", embedded: true, preserve: true}}),
        json!({"type": "array", "items": item}),
        json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": text}),
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": text}),
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}}),
        json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-int-or-string": true}}),
        json!({"type": "array", "items": {preserve: true}}),
        keyed(json!(["a"]), item.clone()),
        keyed(json!(["a", "b"]), item.clone()),
        keyed(json!(["a", "b"]), item_with_default.clone()),
        keyed(json!(["b"]), item_with_default.clone()),
        keyed(json!(["b", "c"]), item_with_default),
        json!({"type": "object", "properties": {"a": keyed(json!(["a"]), item.clone()), "b": keyed(json!(["b", "a"]), item)}}),
        json!({"type": "object", "nullable": true, "properties": {"a": {"type": "string", "nullable": true}, "b": {"type": "array", "nullable": true, "items": text}}}),
    ];
    for format in ["byte", "date-time", "uuid", "password"] {
        all.push(json!({"type": "object", "properties": {"a": {"type": "string", "format": format}, "b": {"type": "integer", "format": "int64"}, "c": {"type": "number"}, "d": {"type": "boolean"}}}));
    }
    all
}

fn version(random: &mut Random, name: &str) -> Json {
    if random.chance(4) {
        return json!({"name": name});
    }
    let mut properties = Map::new();
    properties.insert("spec".to_owned(), schema(random, 3));
    if random.chance(60) {
        properties.insert("status".to_owned(), schema(random, 2));
    }
    if random.chance(10) {
        properties.insert("metadata".to_owned(), json!({"type": "object"}));
    }
    let mut root = json!({"type": "object", "properties": properties});
    if random.chance(10) {
        root["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    json!({"name": name, "schema": root})
}

fn schema(random: &mut Random, depth: usize) -> Json {
    let mut schema = match random.below(if depth == 0 { 6 } else { 16 }) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "string", "format": random.pick(&["byte", "date-time", "email"])}),
        2 => json!({"type": random.pick(&["integer", "number"])}),
        3 => json!({"type": "boolean"}),
        4 => json!({"x-kubernetes-int-or-string": true}),
        5 => json!({"x-kubernetes-preserve-unknown-fields": true}),
        6 | 7 => list(random, depth),
        8 => json!({"type": "array", "items": schema(random, depth - 1)}),
        9 => json!({"type": "object", "additionalProperties": schema(random, depth - 1)}),
        10 => json!({"type": "object"}),
        _ => json!({"type": "object", "properties": properties(random, depth)}),
    };
    if schema["type"] == "object" {
        if schema.get("additionalProperties").is_none() && random.chance(15) {
            schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
        }
        let has_properties = schema["properties"].as_object().is_some_and(|it| !it.is_empty());
        let preserves = schema["x-kubernetes-preserve-unknown-fields"] == json!(true);
        if (has_properties || preserves) && random.chance(15) {
            schema["x-kubernetes-embedded-resource"] = json!(true);
            if schema["properties"].get("kind").is_some() {
                schema["properties"]["kind"] = json!({"type": "string"});
            }
        }
        if random.chance(15) {
            schema["x-kubernetes-map-type"] = json!(random.pick(&["atomic", "granular"]));
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == json!(true) && depth > 0 && random.chance(30) {
        schema["properties"] = properties(random, depth);
        if schema["x-kubernetes-embedded-resource"] == json!(true) {
            schema["properties"]["kind"] = json!({"type": "string"});
        }
    }
    if random.chance(15) {
        schema["nullable"] = json!(true);
    }
    schema
}

fn properties(random: &mut Random, depth: usize) -> Json {
    let count = random.below(4);
    (0..count)
        .map(|_| ((*random.pick(&KEYS)).to_owned(), schema(random, depth - 1)))
        .collect::<Map<_, _>>()
        .into()
}

/// A set or a list with keys.
fn list(random: &mut Random, depth: usize) -> Json {
    if random.chance(40) {
        let items = json!({"type": random.pick(&["string", "integer"])});
        return json!({"type": "array", "x-kubernetes-list-type": "set", "items": items});
    }
    let mut properties = properties(random, depth);
    properties["a"] = json!({"type": "string"});
    properties["b"] = json!({"type": "integer"});
    if random.chance(40) {
        properties["b"]["default"] = json!(random.below(3));
    }
    let keys = random.pick(&[json!(["a"]), json!(["b"]), json!(["a", "b"])]).clone();
    let mut items = json!({"type": "object", "properties": properties});
    if random.chance(15) {
        items["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    if random.chance(10) {
        items["x-kubernetes-map-type"] = json!("atomic");
    }
    json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items})
}

fn question(random: &mut Random, versions: &[Json]) -> Json {
    let mut steps = Vec::new();
    // Managers that repeat themselves with small changes are more interesting than strangers.
    let mut before: Option<(usize, Json)> = None;
    for _ in 0..random.below(5) + 2 {
        let at = random.below(versions.len());
        let object = match &before {
            Some((version, object)) if *version == at && random.chance(60) => changed(random, object),
            _ => object(random, &versions[at]),
        };
        before = Some((at, object.clone()));
        let mut step = json!({
            "do": if random.chance(60) { "apply" } else { "update" },
            "version": versions[at]["name"],
            "manager": random.pick(&["m1", "m2", "m3"]),
            "object": object,
        });
        if random.chance(35) {
            step["force"] = json!(true);
        }
        if random.chance(10) {
            step["reset"] = json!([random.pick(&["status", "spec"])]);
        }
        if random.chance(10) {
            step["subresource"] = json!("status");
        }
        steps.push(step);
    }
    json!({"op": "apply", "versions": versions, "steps": steps})
}

fn object(random: &mut Random, version: &Json) -> Json {
    let mut metadata = json!({"name": "web"});
    if random.chance(40) {
        metadata["labels"] = json!({*random.pick(&["a", "b"]): random.pick(&TEXTS)});
    }
    if random.chance(15) {
        metadata["finalizers"] = json!([random.pick(&["x/y", "x/z"])]);
    }
    if random.chance(10) {
        metadata["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "K", "name": "n", "uid": random.pick(&["1", "2"])}]);
    }
    let mut object = json!({"apiVersion": format!("example.com/{}", version["name"].as_str().unwrap()), "kind": "Foo", "metadata": metadata});
    match version["schema"]["properties"].as_object() {
        Some(properties) => {
            for (name, property) in properties.iter().filter(|(name, _)| *name != "metadata") {
                if random.chance(90) {
                    object[name] = value(random, property, 4);
                }
            }
        }
        None => object["spec"] = anything(random, 3),
    }
    object
}

fn value(random: &mut Random, schema: &Json, depth: usize) -> Json {
    if random.chance(3) {
        return anything(random, 2);
    }
    if random.chance(4) {
        return Json::Null;
    }
    match schema["type"].as_str() {
        Some("string") => json!(random.pick(&TEXTS)),
        Some("integer") => json!(random.below(3)),
        Some("number") => json!(random.pick(&[0.5, 2.5])),
        Some("boolean") => json!(random.chance(50)),
        Some("array") => {
            (0..random.below(4)).map(|_| value(random, &schema["items"], depth.saturating_sub(1))).collect()
        }
        Some("object") => fields(random, schema, depth),
        _ if schema["x-kubernetes-int-or-string"] == json!(true) => {
            random.pick(&[json!(1), json!(2), json!("x")]).clone()
        }
        _ if schema["properties"].is_object() && random.chance(70) => fields(random, schema, depth),
        _ => anything(random, depth.min(3)),
    }
}

fn fields(random: &mut Random, schema: &Json, depth: usize) -> Json {
    let mut out = Map::new();
    if depth == 0 {
        return Json::Object(out);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if random.chance(75) {
            out.insert(name.clone(), value(random, property, depth - 1));
        }
    }
    if schema["x-kubernetes-embedded-resource"] == json!(true) && random.chance(80) {
        out.insert("apiVersion".to_owned(), json!("v1"));
        out.insert("kind".to_owned(), json!("Pod"));
        out.insert(
            "metadata".to_owned(),
            json!({"name": random.pick(&TEXTS), "finalizers": [random.pick(&TEXTS)]}),
        );
    }
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == json!(true) || out.is_empty();
    if let Some(below) = schema.get("additionalProperties") {
        for _ in 0..random.below(3) {
            out.insert((*random.pick(&KEYS)).to_owned(), value(random, below, depth - 1));
        }
    } else if random.chance(if is_open { 60 } else { 4 }) {
        out.insert((*random.pick(&KEYS)).to_owned(), anything(random, 2));
    }
    Json::Object(out)
}

fn anything(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => json!(random.pick(&TEXTS)),
        1 => json!(random.below(3)),
        2 => json!(true),
        3 => json!(2.5),
        4 => Json::Null,
        5 => (0..random.below(3)).map(|_| anything(random, depth - 1)).collect(),
        _ => {
            let count = random.below(3);
            let pairs = (0..count).map(|_| ((*random.pick(&KEYS)).to_owned(), anything(random, depth - 1)));
            pairs.collect::<Map<_, _>>().into()
        }
    }
}

/// A value that differs a little.
fn changed(random: &mut Random, value: &Json) -> Json {
    match value {
        Json::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                let is_head = matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "name");
                if is_head || !random.chance(12) {
                    let value = if is_head { value.clone() } else { changed(random, value) };
                    out.insert(key.clone(), value);
                }
            }
            Json::Object(out)
        }
        Json::Array(items) => {
            let mut out: Vec<Json> = items.iter().map(|item| changed(random, item)).collect();
            if random.chance(20) {
                out.reverse();
            }
            if !out.is_empty() && random.chance(20) {
                out.remove(0);
            }
            Json::Array(out)
        }
        Json::String(_) if random.chance(15) => json!(random.pick(&TEXTS)),
        Json::Number(number) if number.is_i64() && random.chance(15) => json!(random.below(3)),
        scalar => scalar.clone(),
    }
}
