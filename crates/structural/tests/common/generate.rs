//! Questions for the oracle: all keywords with all sorts of values, and random schemas with objects that nearly fit.

#![allow(dead_code, reason = "each test uses a part")]

use serde_json::{Map, Value as Json, json};

use crate::oracle::Random;

pub(crate) const FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "date-time",
    "k8s-short-name",
    "k8s-long-name",
];

const KEYS: [&str; 8] = ["a", "b", "c", "d", "metadata", "kind", "apiVersion", "é\"x"];
const PATTERNS: [&str; 5] = ["^a+$", "b", "^[a-z]{2,3}$", "\\d\\.\\d", "^(?i)A"];

fn scalars() -> Vec<Json> {
    vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(3),
        json!(65),
        json!(5.5),
        json!(3.0),
        json!(-0.5),
        json!(1e20),
        json!(1e300),
        json!(2147483648i64),
        json!(9223372036854775807i64),
        json!(9007199254740993.0),
        json!(""),
        json!("a"),
        json!("abc"),
        json!("2020-01-02"),
        json!("1.5"),
        json!("é<&>\n\"x"),
        json!("A"),
        json!(1234567.0),
        json!(0.00001),
    ]
}

fn values() -> Vec<Json> {
    let mut all = scalars();
    all.extend([
        json!([]),
        json!([1]),
        json!([1, 1]),
        json!([1, 1.0]),
        json!(["a", "b", "c"]),
        json!([null]),
        json!([[1], [1]]),
        json!({}),
        json!({"a": 1}),
        json!({"a": null}),
        json!({"a": "x", "b": 2}),
        json!({"b": {"a": 1}, "c": []}),
        json!({"a": [1, "x"], "z": true}),
    ]);
    all
}

pub(crate) fn keywords() -> Vec<Json> {
    let mut all = vec![json!({})];
    for kind in ["object", "array", "string", "integer", "number", "boolean"] {
        all.push(json!({"type": kind}));
        all.push(json!({"type": kind, "nullable": true}));
        for format in ["date", "int32", "int64", "float", "double", "byte", "unknown", "password"] {
            all.push(json!({"type": kind, "format": format}));
        }
        for limit in [0.0, 1.0, 2.5, -1.0, 3e9, 1e19, 1e-7] {
            for keyword in ["maximum", "minimum", "multipleOf"] {
                all.push(json!({"type": kind, keyword: limit}));
                if kind == "integer" || kind == "number" {
                    all.push(json!({keyword: limit, "exclusiveMaximum": true, "exclusiveMinimum": true}));
                    all.push(json!({"type": kind, "format": "int32", keyword: limit}));
                    all.push(
                        json!({"type": kind, "format": "float", keyword: limit, "exclusiveMinimum": true}),
                    );
                }
            }
        }
    }
    for limit in [0, 1, 2] {
        for keyword in ["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"] {
            all.push(json!({keyword: limit}));
        }
    }
    all.extend(["date", "byte", "unknown", "int32"].map(|it| json!({"format": it})));
    all.extend(PATTERNS.map(|it| json!({"pattern": it})));
    all.extend([json!({"pattern": "("}), json!({"pattern": "[a"}), json!({"uniqueItems": true})]);
    all.extend(values().into_iter().map(|it| json!({"enum": [it]})));
    all.extend([
        json!({"enum": ["a", 1, 5, null, {"a": 1}, [1], 2.5, true]}),
        json!({"x-kubernetes-int-or-string": true}),
        json!({"x-kubernetes-int-or-string": true, "nullable": true, "format": "date", "maximum": 2}),
        json!({"required": ["a", "q"]}),
        json!({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}),
        json!({"additionalProperties": false, "properties": {"a": {}}}),
        json!({"additionalProperties": true}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"additionalProperties": {"required": ["z"], "additionalProperties": {"type": "string"}}}),
        json!({"items": {"type": "integer"}, "maxItems": 1}),
        json!({"allOf": [{"type": "string"}, {"maxLength": 1}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["q"]}]}),
        json!({"oneOf": [{"type": "string"}, {"maxLength": 1}, {"type": "object", "required": ["q"]}]}),
        json!({"oneOf": [{}, {}]}),
        json!({"not": {"type": "string"}}),
        json!({"not": {}}),
        json!({"anyOf": [], "allOf": [], "oneOf": []}),
    ]);
    all
}

/// Every keyword with every sort of value.
pub(crate) fn systematic() -> Vec<Json> {
    let mut all = Vec::new();
    for schema in keywords() {
        for value in values() {
            all.push(json!({"op": "validate", "schema": schema, "value": value}));
        }
        let below = json!({"type": "object", "properties": {"a": schema}});
        all.push(json!({"op": "validate", "schema": below, "value": {"a": "abc"}, "path": "status"}));
        all.push(json!({"op": "validate", "schema": below, "value": {"a": {"z": [1]}}, "path": "status"}));
    }
    all
}

/// Texts of all formats, and texts that are nearly of one.
pub(crate) fn texts() -> Vec<String> {
    const TEXTS: &str = include_str!("../../testdata/texts.txt");
    let mut all: Vec<String> =
        TEXTS.lines().map(|line| line.replace("\\n", "\n").replace("\\t", "\t")).collect();
    all.extend(["a".repeat(63), "a".repeat(64), format!("{}.com", "a".repeat(63)), "a.".repeat(126) + "a"]);
    all.push("a.".repeat(128) + "com");
    all
}

/// Every format with every text.
pub(crate) fn formats() -> Vec<Json> {
    let mut all = Vec::new();
    for format in FORMATS {
        all.extend(texts().into_iter().map(|text| json!({"op": "format", "path": format, "text": text})));
    }
    all
}

/// A format with a text that was changed at random.
pub(crate) fn random_format(random: &mut Random, texts: &[String]) -> Json {
    const CHARS: [char; 24] = [
        '0', '1', '9', 'a', 'f', 'z', 'Z', '-', '.', ':', '/', '%', '@', ' ', '[', ']', '(', ')', '"', '\\',
        '+', 'é', '\t', '=',
    ];
    let mut text: Vec<char> = random.pick(texts).chars().collect();
    for _ in 0..random.below(4) {
        let at = random.below(text.len() + 1);
        match random.below(3) {
            0 => text.insert(at, *random.pick(&CHARS)),
            1 if at < text.len() => drop(text.remove(at)),
            _ if at < text.len() => text[at] = *random.pick(&CHARS),
            _ => {}
        }
    }
    json!({"op": "format", "path": random.pick(&FORMATS), "text": text.into_iter().collect::<String>()})
}

/// A schema as definitions have them, or nearly so.
pub(crate) fn schema(random: &mut Random, depth: usize) -> Json {
    let mut schema = Map::new();
    let kinds = ["object", "object", "array", "string", "integer", "number", "boolean", ""];
    let kind = if depth == 0 { kinds[random.below(5) + 3] } else { kinds[random.below(8)] };
    if !kind.is_empty() {
        schema.insert("type".to_owned(), json!(kind));
    } else if random.chance(50) {
        schema.insert("x-kubernetes-int-or-string".to_owned(), json!(true));
    } else {
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    if random.chance(25) {
        schema.insert("nullable".to_owned(), json!(true));
    }
    if random.chance(20) {
        let value = fitting(random, &Json::Object(schema.clone()), 2);
        schema.insert("default".to_owned(), value);
    }
    if kind == "object" {
        object_keywords(random, &mut schema, depth);
    }
    if kind == "array" {
        array_keywords(random, &mut schema, depth);
    }
    limits(random, &mut schema);
    if depth > 0 && random.chance(25) {
        composites(random, &mut schema, depth);
    }
    Json::Object(schema)
}

fn properties(random: &mut Random, depth: usize) -> Map<String, Json> {
    let count = random.below(4);
    (0..count).map(|_| ((*random.pick(&KEYS)).to_owned(), schema(random, depth - 1))).collect()
}

fn object_keywords(random: &mut Random, out: &mut Map<String, Json>, depth: usize) {
    match random.below(8) {
        0 if depth > 0 => drop(out.insert("additionalProperties".to_owned(), schema(random, depth - 1))),
        1 => drop(out.insert("additionalProperties".to_owned(), json!(random.chance(50)))),
        _ if depth > 0 => drop(out.insert("properties".to_owned(), Json::Object(properties(random, depth)))),
        _ => {}
    }
    if random.chance(20) {
        out.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    }
    if random.chance(15) {
        out.insert("x-kubernetes-embedded-resource".to_owned(), json!(true));
    }
    if random.chance(10) {
        out.insert("x-kubernetes-map-type".to_owned(), json!(random.pick(&["atomic", "granular"])));
    }
    if random.chance(25) {
        out.insert("required".to_owned(), json!([random.pick(&KEYS), random.pick(&KEYS)]));
    }
}

fn array_keywords(random: &mut Random, out: &mut Map<String, Json>, depth: usize) {
    if depth == 0 || random.chance(10) {
        return;
    }
    let mut items = schema(random, depth - 1);
    match random.below(4) {
        0 => drop(out.insert("x-kubernetes-list-type".to_owned(), json!("set"))),
        1 | 2 => {
            items["type"] = json!("object");
            items["properties"]["a"] = json!({"type": "string"});
            items["properties"]["b"] = json!({"type": "integer"});
            let keys = if random.chance(50) { json!(["a"]) } else { json!(["a", "b"]) };
            out.insert("x-kubernetes-list-type".to_owned(), json!("map"));
            out.insert("x-kubernetes-list-map-keys".to_owned(), keys);
        }
        _ => {}
    }
    out.insert("items".to_owned(), items);
}

fn limits(random: &mut Random, out: &mut Map<String, Json>) {
    for _ in 0..random.below(3) {
        let (keyword, value) = match random.below(12) {
            0 => ("maxLength", json!(random.below(4))),
            1 => ("minLength", json!(random.below(3))),
            2 => ("pattern", json!(random.pick(&PATTERNS))),
            3 => ("maximum", json!(random.pick(&[0.0, 2.0, 2.5, 1e10]))),
            4 => ("minimum", json!(random.pick(&[0.0, 2.0, 2.5, -1.0]))),
            5 => ("multipleOf", json!(random.pick(&[1.0, 2.0, 0.5]))),
            6 => ("maxItems", json!(random.below(3))),
            7 => ("minItems", json!(random.below(3))),
            8 => ("maxProperties", json!(random.below(3))),
            9 => ("minProperties", json!(random.below(3))),
            10 => ("enum", json!([random.pick(&scalars()), random.pick(&scalars()), random.pick(&values())])),
            _ => ("format", json!(random.pick(&["date", "int32", "float", "uuid", "email", "ipv4", "x"]))),
        };
        out.insert(keyword.to_owned(), value);
    }
}

fn composites(random: &mut Random, out: &mut Map<String, Json>, depth: usize) {
    let nested = |random: &mut Random| {
        let mut nested = schema(random, depth - 1);
        let map = nested.as_object_mut().unwrap();
        map.remove("default");
        if random.chance(70) {
            map.remove("type");
        }
        nested
    };
    let keyword = *random.pick(&["allOf", "anyOf", "oneOf", "not"]);
    let value = match keyword {
        "not" => nested(random),
        _ => Json::Array((0..random.below(3) + 1).map(|_| nested(random)).collect()),
    };
    out.insert(keyword.to_owned(), value);
}

/// A value that nearly fits a schema.
pub(crate) fn fitting(random: &mut Random, schema: &Json, depth: usize) -> Json {
    if random.chance(8) {
        return random.pick(&values()).clone();
    }
    if let Some(known) = schema["enum"].as_array()
        && random.chance(70)
    {
        return random.pick(known).clone();
    }
    match schema["type"].as_str() {
        Some("object") => fitting_object(random, schema, depth),
        Some("array") => {
            let items = &schema["items"];
            Json::Array(
                (0..random.below(4)).map(|_| fitting(random, items, depth.saturating_sub(1))).collect(),
            )
        }
        Some("string") => json!(random.pick(&["", "a", "aa", "abc", "b", "2020-01-02", "1.5"])),
        Some("integer") => json!(random.pick(&[0, 1, 2, 3, 4, -7, 1i64 << 40])),
        Some("number") => json!(random.pick(&[0.0, 1.0, 2.5, -7.25, 1e22])),
        Some("boolean") => json!(random.chance(50)),
        _ => random.pick(&values()).clone(),
    }
}

fn fitting_object(random: &mut Random, schema: &Json, depth: usize) -> Json {
    let mut out = Map::new();
    if depth == 0 {
        return Json::Object(out);
    }
    if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            if random.chance(70) {
                out.insert(name.clone(), fitting(random, property, depth - 1));
            }
        }
    }
    for _ in 0..random.below(3) {
        let below = schema["additionalProperties"].clone();
        out.insert((*random.pick(&KEYS)).to_owned(), fitting(random, &below, depth - 1));
    }
    if random.chance(20) {
        out.insert("metadata".to_owned(), metadata(random));
    }
    Json::Object(out)
}

/// Metadata, mostly good.
pub(crate) fn metadata(random: &mut Random) -> Json {
    let mut out = Map::new();
    for _ in 0..random.below(4) {
        let (key, value) = match random.below(14) {
            0 => ("name", json!(random.pick(&["a", "", "A/b", "x.y"]))),
            1 => ("namespace", json!(random.pick(&["default", "A_b"]))),
            2 => ("labels", json!({"a": "b", "c": random.pick(&scalars())})),
            3 => ("annotations", json!({"a": "b"})),
            4 => ("creationTimestamp", json!(random.pick(&["2020-01-02T03:04:05Z", "x", ""]))),
            5 => ("creationTimestamp", json!(null)),
            6 => ("generation", random.pick(&scalars()).clone()),
            7 => ("finalizers", json!(["a", random.pick(&scalars())])),
            8 => (
                "ownerReferences",
                json!([{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "u", "q": 1}]),
            ),
            9 => ("unknown", json!(1)),
            10 => ("deletionGracePeriodSeconds", json!(random.pick(&[0, 5]))),
            11 => ("managedFields", json!([{"manager": "m", "fieldsV1": {"f:a": {}}, "zz": 1}])),
            12 => ("uid", random.pick(&scalars()).clone()),
            _ => ("resourceVersion", json!("5")),
        };
        out.insert(key.to_owned(), value);
    }
    if random.chance(8) { random.pick(&values()).clone() } else { Json::Object(out) }
}

/// A value that differs a little.
pub(crate) fn changed(random: &mut Random, value: &Json) -> Json {
    match value {
        Json::Object(map) => {
            let mut out = Map::new();
            for (key, value) in map {
                if !random.chance(8) {
                    out.insert(key.clone(), changed(random, value));
                }
            }
            Json::Object(out)
        }
        Json::Array(items) => {
            let mut out: Vec<Json> = items.iter().map(|item| changed(random, item)).collect();
            if random.chance(25) {
                out.reverse();
            }
            if !out.is_empty() && random.chance(15) {
                out.remove(0);
            }
            Json::Array(out)
        }
        scalar if random.chance(12) => {
            let others = scalars();
            if random.chance(50) { random.pick(&others).clone() } else { scalar.clone() }
        }
        scalar => scalar.clone(),
    }
}

/// A random question for one of `operations`.
pub(crate) fn question(random: &mut Random, operations: &[&str]) -> Json {
    let depth = random.below(4) + 1;
    let mut schema = schema(random, depth);
    if random.chance(80) {
        schema["type"] = json!("object");
    }
    let value = fitting(random, &schema, 5);
    let op = *random.pick(operations);
    let mut question = json!({"op": op, "schema": schema, "value": value});
    match op {
        "update" => {
            question["op"] = json!("validate");
            question["old"] = changed(random, &question["value"]);
        }
        "prunedefaults" | "defaults" => question["schema"]["type"] = json!("object"),
        "validate" if random.chance(20) => question["path"] = json!("status"),
        "prune" | "coerce" | "embedded" if random.chance(50) => question["path"] = json!("root"),
        _ => {}
    }
    if op == "coerce" && random.chance(50) {
        question["text"] = json!("drop");
    }
    question
}

/// Random paths in random values.
pub(crate) fn path(random: &mut Random) -> Json {
    const STEPS: [&str; 40] = [
        ".a",
        ".b",
        ".c",
        ".*",
        "..",
        "..a",
        "[0]",
        "[1]",
        "[-1]",
        "[*]",
        "[0:2]",
        "[::2]",
        "[1:]",
        "[:-1]",
        "[0,1]",
        "['a']",
        "['a','b']",
        "[?(@.a)]",
        "[?(@.a==1)]",
        "[?(@.a==\"x\")]",
        "[?(@.b!='y')]",
        "[?(@.a<2)]",
        "[?(@.a>=@.b)]",
        "[?(@.a[0]==1)]",
        "[?(@.a>1.5)]",
        "[?(@.a==true)]",
        ".a\\.b",
        "[?(@.a",
        "[x]",
        "[0:0]",
        "[5:1]",
        "[::0]",
        ".",
        "$",
        "@",
        " ",
        "1",
        "'t'",
        "[?(@==1)]",
        "x",
    ];
    let mut path = String::from("{");
    for _ in 0..random.below(4) + 1 {
        let step: &&str = random.pick(&STEPS);
        path.push_str(step);
    }
    path.push('}');
    let mut question = json!({"op": "jsonpath", "text": path, "value": nested(random, 4)});
    if random.chance(30) {
        question["path"] = json!("strict");
    }
    question
}

/// A value without order in what wildcards find: maps have one key, mostly.
fn nested(random: &mut Random, depth: usize) -> Json {
    match random.below(if depth == 0 { 1 } else { 4 }) {
        0 => random
            .pick(&[json!(1), json!(2), json!(2.5), json!("x"), json!(null), json!(true), json!("")])
            .clone(),
        1 => Json::Array((0..random.below(4)).map(|_| nested(random, depth - 1)).collect()),
        _ => {
            let mut map = Map::new();
            map.insert((*random.pick(&["a", "b", "c", "a.b"])).to_owned(), nested(random, depth - 1));
            if random.chance(30) {
                map.insert("a".to_owned(), nested(random, depth - 1));
            }
            Json::Object(map)
        }
    }
}
