//! Random questions: schemas with rules, and objects that they are for.

use serde_json::{Map, Value as Json, json};

use super::random::Random;

const NAMES: [&str; 8] = ["a", "b", "c", "items", "x-y", "namespace", "a.b", "1st"];
/// The names in expressions.
const ESCAPED: [&str; 8] = ["a", "b", "c", "items", "x__dash__y", "__namespace__", "a__dot__b", "1st"];
const MAX_DEPTH: usize = 4;

/// The schema of a resource.
pub(crate) fn schema(random: &mut Random) -> Json {
    let mut schema = object(random, 0);
    if random.one_in(3) {
        let mut name = json!({"type": "string"});
        if random.one_in(2) {
            name["maxLength"] = json!(63);
        }
        rules(&mut name, random);
        let mut metadata = json!({"type": "object", "properties": {"name": name}});
        if random.one_in(2) {
            let rule = random.pick(&[
                "self.name.startsWith('a')",
                "has(self.generateName)",
                "!has(self.generateName) && self.name != ''",
            ]);
            metadata["x-kubernetes-validations"] = json!([{"rule": rule}]);
        }
        schema["properties"]["metadata"] = metadata;
    }
    if random.one_in(4) {
        let rule = random.pick(&["self.kind != ''", "self.metadata.name != 'b'", "self.apiVersion == 'v1'"]);
        let mut all = schema["x-kubernetes-validations"].as_array().cloned().unwrap_or_default();
        all.push(json!({"rule": rule}));
        schema["x-kubernetes-validations"] = json!(all);
    }
    schema
}

/// The schema without some of its rules, or as it is.
pub(crate) fn older(schema: &Json, random: &mut Random) -> Json {
    let mut schema = schema.clone();
    if random.one_in(2) {
        change_rules(&mut schema, random);
    }
    schema
}

fn change_rules(schema: &mut Json, random: &mut Random) {
    match schema {
        Json::Object(map) => {
            if random.one_in(3) {
                map.remove("x-kubernetes-validations");
            }
            map.values_mut().for_each(|it| change_rules(it, random));
        }
        Json::Array(items) => items.iter_mut().for_each(|it| change_rules(it, random)),
        _ => {}
    }
}

fn node(random: &mut Random, depth: usize) -> Json {
    let mut schema = match random.below(if depth >= MAX_DEPTH { 9 } else { 14 }) {
        0 | 1 => json!({"type": "integer"}),
        2..=4 => text(random),
        5 => json!({"type": "boolean"}),
        6 => json!({"type": "number"}),
        7 => json!({"x-kubernetes-int-or-string": true}),
        8 if random.one_in(3) => json!({"x-kubernetes-preserve-unknown-fields": true}),
        8 => json!({"type": "string"}),
        9 | 10 => list(random, depth),
        11 => map(random, depth),
        12 if random.one_in(3) => {
            let mut schema = object(random, depth);
            schema["x-kubernetes-embedded-resource"] = json!(true);
            schema
        }
        _ => object(random, depth),
    };
    if random.one_in(10) {
        schema["nullable"] = json!(true);
    }
    rules(&mut schema, random);
    schema
}

fn text(random: &mut Random) -> Json {
    let mut schema = json!({"type": "string"});
    match random.below(8) {
        0 => schema["format"] = json!(random.pick(&["date", "date-time", "duration", "byte"])),
        1 | 2 => schema["maxLength"] = json!(random.pick(&[0, 5, 64, 10_000])),
        3 => schema["enum"] = json!(["a", "bb", "ö"]),
        _ => {}
    }
    schema
}

fn list(random: &mut Random, depth: usize) -> Json {
    let mut items = node(random, depth + 1);
    let mut schema = json!({"type": "array"});
    if random.one_in(2) {
        schema["maxItems"] = json!(random.pick(&[1, 4, 100, 5_000]));
    }
    if items["type"] == "object" && items.get("properties").is_some() && !random.one_in(3) {
        let keys = if random.one_in(3) { json!(["k", "l"]) } else { json!(["k"]) };
        items.as_object_mut().map(|map| map.remove("nullable"));
        items["properties"]["k"] = json!({"type": "string"});
        items["properties"]["l"] = json!({"type": *random.pick(&["integer", "number", "boolean"])});
        items["required"] = keys.clone();
        schema["x-kubernetes-list-type"] = json!("map");
        schema["x-kubernetes-list-map-keys"] = keys;
    } else if random.one_in(3)
        && !matches!(items["type"].as_str(), Some("object" | "array") | None)
        // Upstream panics on these.
        && items["format"] != "byte"
    {
        items.as_object_mut().map(|map| map.remove("nullable"));
        schema["x-kubernetes-list-type"] = json!("set");
    } else if random.one_in(4) {
        schema["x-kubernetes-list-type"] = json!("atomic");
    }
    schema["items"] = items;
    schema
}

fn map(random: &mut Random, depth: usize) -> Json {
    let mut schema = json!({"type": "object", "additionalProperties": node(random, depth + 1)});
    if random.one_in(2) {
        schema["maxProperties"] = json!(random.pick(&[2, 50, 3_000]));
    }
    schema
}

fn object(random: &mut Random, depth: usize) -> Json {
    let mut properties = Map::new();
    for _ in 0..random.below(4) + 1 {
        let name = *random.pick(&NAMES);
        properties.insert(name.to_owned(), node(random, depth + 1));
    }
    let required: Vec<String> = properties.keys().filter(|_| random.one_in(4)).cloned().collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    match random.below(24) {
        0 => schema["x-kubernetes-map-type"] = json!("atomic"),
        1 => schema["x-kubernetes-preserve-unknown-fields"] = json!(true),
        2 => {
            let mut below = json!({});
            below["x-kubernetes-validations"] = json!([rule(&schema, random)]);
            schema["allOf"] = json!([below]);
        }
        3 => {
            let name = NAMES.iter().find(|it| schema["properties"].get(it).is_some()).copied();
            let mut below = json!({});
            let own = schema["properties"][name.unwrap_or_default()].clone();
            below["x-kubernetes-validations"] = json!([rule(&own, random)]);
            schema["allOf"] = json!([{"properties": {name.unwrap_or_default(): below}}]);
        }
        _ => {}
    }
    schema
}

fn rules(schema: &mut Json, random: &mut Random) {
    if !random.one_in(3) {
        return;
    }
    let rules: Vec<Json> = (0..random.below(2) + 1).map(|_| rule(schema, random)).collect();
    schema["x-kubernetes-validations"] = json!(rules);
}

fn rule(schema: &Json, random: &mut Random) -> Json {
    let (name, other) = (property(schema, random), property(schema, random));
    let number = random.below(5).to_string();
    let fill = |text: &str| text.replace("P0", &name.1).replace("P1", &other.1).replace('N', &number);
    let from = if random.one_in(12) { WRONG } else { expressions(schema) };
    let text = random.pick(from);
    let mut rule = json!({"rule": fill(text)});
    if text.contains("oldSelf.")
        && (text.contains("optMap") || text.contains("hasValue") || text.contains("orValue"))
        || random.one_in(20)
    {
        rule["optionalOldSelf"] = json!(!random.one_in(6));
    }
    if random.one_in(4) {
        rule["message"] = json!(random.pick(&["not so", " spaces ", "ö <&> \"x\""]));
    }
    if random.one_in(4) {
        let message = random.pick(MESSAGES);
        rule["messageExpression"] = json!(fill(message));
    }
    if random.one_in(4) {
        let reasons = ["Required", "Forbidden", "Invalid", "Duplicate"];
        rule["reason"] = json!(format!("FieldValue{}", random.pick(&reasons)));
    }
    if random.one_in(4) {
        let path = match random.below(4) {
            0 => format!(".{}", name.0),
            1 => format!("['{}']", name.0),
            2 => format!(".{}.k", name.0),
            _ => format!("['{}']['it\\'s']", name.0),
        };
        rule["fieldPath"] = json!(path);
    }
    rule
}

/// The name of a property, as it is and as expressions write it.
fn property(schema: &Json, random: &mut Random) -> (String, String) {
    let names: Vec<&String> = schema["properties"].as_object().into_iter().flat_map(|it| it.keys()).collect();
    if names.is_empty() {
        return ("absent".into(), "absent".into());
    }
    let name = (*random.pick(&names)).clone();
    let escaped = NAMES.iter().position(|it| **it == name).map_or(name.clone(), |at| ESCAPED[at].into());
    (name, escaped)
}

const WRONG: &[&str] = &[
    "self.absent == 1",
    "self",
    "1 + ",
    "self == 'a' && self == 1",
    "int('x') == 1",
    "oldSelf == null",
    "''",
    "true ||",
    "self.all(oldSelf, true)",
    "duration('x') == duration('1s')",
    "self.matches('[')",
    "'a'.matches('(')",
];

const MESSAGES: &[&str] = &[
    "'not ' + string(self)",
    "string(self)",
    "self.P0",
    "'was ' + string(oldSelf)",
    "'is ' + string(self.P0)",
    "''",
    "'a\\nb'",
    "'  both ends '",
    "lists.range(600).map(x, '0123456789').join('')",
    "'lists: ' + string(size(self))",
    "oldSelf.hasValue() ? 'old' : 'new'",
    "1",
    "'a' +",
    "lists.range(N000).map(x, string(x)).join(',').substring(0, 3)",
    "lists.range(900).map(x, lists.range(900).map(y, y)).size() > 0 ? 'x' : 'y'",
    "'%s <&>'.format([self])",
];

fn expressions(schema: &Json) -> &'static [&'static str] {
    if schema["x-kubernetes-int-or-string"] == true {
        return &[
            "type(self) == int ? self > N : self.endsWith('%')",
            "self > N",
            "self == oldSelf",
            "self.size() > 1",
            "self != 'a'",
            "string(self) != 'N'",
        ];
    }
    match (schema["type"].as_str().unwrap_or_default(), schema["format"].as_str().unwrap_or_default()) {
        ("integer", _) => &[
            "self > N",
            "self >= oldSelf",
            "self / (self - N) > 0",
            "self % 2 == 0",
            "oldSelf == N || self == N",
            "oldSelf.hasValue() ? self >= oldSelf.value() : self > N",
            "oldSelf.optMap(o, o <= self).orValue(false)",
            "lists.range(self * 100).all(x, x >= 0)",
            "lists.range(300).all(x, lists.range(300).all(y, x + y >= self))",
        ],
        ("number", _) => {
            &["self > N.5", "self < double(N)", "self >= oldSelf", "oldSelf.orValue(0.5) < self"]
        }
        ("boolean", _) => &["self", "!self", "self || !oldSelf", "oldSelf.orValue(true) == self"],
        ("string", "date" | "date-time") => {
            &["self > timestamp('2020-01-0NT00:00:00Z')", "self.getFullYear() > 2020", "self >= oldSelf"]
        }
        ("string", "duration") => &["self > duration('Nm')", "self.getSeconds() > N", "self == oldSelf"],
        ("string", "byte") => &["self.size() > N", "self == b'ab'", "self == oldSelf"],
        ("string", _) => &[
            "self.size() > N",
            "self.startsWith('a')",
            "self.matches('^[a-z]+$')",
            "self == oldSelf",
            "int(self) > N",
            "self in ['a', 'bb']",
            "self.contains(oldSelf)",
            "oldSelf.orValue('a') == self",
            "self.split('').size() > N",
            "self.lowerAscii() == self",
            "isURL(self)",
            "quantity(self).isGreaterThan(quantity('1'))",
            "oldSelf.hasValue() || self != ''",
        ],
        ("array", _) => &[
            "self.size() <= N",
            "self.all(x, x == x)",
            "self.exists(x, x in oldSelf)",
            "self == oldSelf",
            "self.all(x, self.exists_one(y, x == y))",
            "self[0] == self[N]",
            "self + oldSelf == self",
            "oldSelf == self",
            "self.all(x, oldSelf.all(y, y == x))",
            "oldSelf.hasValue() || self.size() > N",
            "self.map(x, x).size() == N",
            "size(self + self) == N",
        ],
        ("object", _) if schema.get("additionalProperties").is_some() => &[
            "self.size() > N",
            "self.all(k, k.startsWith('a'))",
            "self.all(k, self[k] == self[k])",
            "'k' in self",
            "self.all(k, v, v == oldSelf[k])",
            "self == oldSelf",
            "self.k == oldSelf.k",
            "oldSelf.hasValue() || 'k' in self",
        ],
        ("object", _) => &[
            "has(self.P0)",
            "!has(self.P0) || self.P0 == self.P0",
            "has(oldSelf.P0) == has(self.P0)",
            "self == oldSelf",
            "self.P0 == oldSelf.P0",
            "self.P0 == self.P0 && has(self.P1)",
            "self.P0 != self.P0",
            "size(self) > N",
            "oldSelf.P0.optMap(o, true).orValue(false)",
            "oldSelf.hasValue() || has(self.P0)",
            "self.?P0.hasValue()",
            "self.P1 == oldSelf.P1 || has(self.P0)",
            "[self].all(x, has(x.P0))",
        ],
        _ => &["true", "self == oldSelf", "false"],
    }
}

/// A value of the schema.
pub(crate) fn value(schema: &Json, random: &mut Random) -> Json {
    if schema["nullable"] == true && random.one_in(4) {
        return Json::Null;
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if random.one_in(2) { json!(random.below(5)) } else { json!(random.pick(&["a", "5%", ""])) };
    }
    match (schema["type"].as_str().unwrap_or_default(), schema["format"].as_str().unwrap_or_default()) {
        ("integer", _) => json!(random.below(6)),
        ("number", _) if random.one_in(3) => json!(random.below(4)),
        ("number", _) => json!(random.pick(&[0.25, 1.5, 2.0, 1e7, 0.5])),
        ("boolean", _) => json!(random.one_in(2)),
        ("string", "date") => json!(random.pick(&["2020-01-02", "2021-12-31"])),
        ("string", "date-time") => {
            json!(random.pick(&["2020-01-02T03:04:05Z", "2021-12-31T23:59:59.5+02:00"]))
        }
        ("string", "duration") => json!(random.pick(&["1m", "90s", "2h"])),
        ("string", "byte") => json!(random.pick(&["YWI=", "", "YWJjZGU="])),
        ("string", _) => json!(random.pick(&["a", "bb", "ö", "", "abc", "5", "http://a/b", "3Gi", "<&>"])),
        ("array", _) => (0..random.below(4)).map(|at| item(schema, at, random)).collect(),
        ("object", _) => map_value(schema, random),
        _ => json!(random.pick(&["a", "b"])),
    }
}

fn item(schema: &Json, at: usize, random: &mut Random) -> Json {
    let mut item = value(&schema["items"], random);
    // Keys and sets are mostly unique.
    if schema["x-kubernetes-list-type"] == "map" && !random.one_in(8) {
        item["k"] = json!(format!("k{at}"));
        item["l"] = value(&schema["items"]["properties"]["l"], random);
    }
    item
}

fn map_value(schema: &Json, random: &mut Random) -> Json {
    let mut map = Map::new();
    if let Some(values) = schema.get("additionalProperties") {
        for key in ["k", "a1", "it's"] {
            if random.one_in(2) {
                map.insert(key.into(), value(values, random));
            }
        }
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if required.contains(&name.as_str()) || !random.one_in(3) {
            map.insert(name.clone(), value(property, random));
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        map.insert("unknown".into(), json!([1]));
    }
    if schema["x-kubernetes-embedded-resource"] == true {
        resource(&mut map, random);
    }
    Json::Object(map)
}

fn resource(map: &mut Map<String, Json>, random: &mut Random) {
    map.insert("apiVersion".into(), json!(random.pick(&["v1", "v2"])));
    map.insert("kind".into(), json!("Foo"));
    map.insert("metadata".into(), json!({"name": random.pick(&["a", "b"]), "labels": {"x": "y"}}));
}

/// A value of which some parts differ.
fn changed(value: &Json, schema: &Json, random: &mut Random) -> Json {
    if random.one_in(10) {
        return self::value(schema, random);
    }
    let mut result = value.clone();
    match &mut result {
        Json::Object(map) => {
            let names: Vec<String> = map.keys().cloned().collect();
            for name in names {
                let below = schema["properties"].get(&name).or_else(|| schema.get("additionalProperties"));
                let Some(below) = below.filter(|_| random.one_in(2)) else { continue };
                if random.one_in(12) && !matches!(name.as_str(), "k" | "l") {
                    map.remove(&name);
                } else if let Some(value) = map.get_mut(&name) {
                    *value = changed(value, below, random);
                }
            }
        }
        Json::Array(items) => {
            for item in items.iter_mut() {
                if random.one_in(3) {
                    *item = changed(item, &schema["items"], random);
                }
            }
            if random.one_in(4) {
                items.reverse();
            }
        }
        _ => {}
    }
    result
}

/// Gives properties with rules defaults.
fn defaults(schema: &mut Json, random: &mut Random) {
    if let Some(items) = schema.get_mut("items") {
        defaults(items, random);
    }
    for (_, property) in schema.get_mut("properties").and_then(Json::as_object_mut).into_iter().flatten() {
        defaults(property, random);
        if random.one_in(2) {
            property["default"] = value(property, random);
        }
    }
}

/// A question about rules or about an object.
pub(crate) fn question(random: &mut Random) -> Json {
    let mut schema = schema(random);
    if random.one_in(10) {
        defaults(&mut schema, random);
        return json!({"op": "defaults", "schema": schema});
    }
    if random.one_in(4) {
        return match random.one_in(3) {
            true => json!({"op": "definition", "old": older(&schema, random), "schema": schema}),
            false => json!({"op": "definition", "schema": schema}),
        };
    }
    let mut object = value(&schema, random);
    if let Json::Object(map) = &mut object {
        resource(map, random);
    }
    let budget = match random.below(10) {
        0 => random.below(30) as i64,
        1 => 200 + random.below(2_000) as i64,
        _ => 10_000_000,
    };
    let mut question = json!({"op": "validate", "budget": budget, "root": true});
    if !random.one_in(4) {
        question["old"] = changed(&object, &schema, random);
        question["ratchet"] = json!(!random.one_in(4));
    }
    question["value"] = object;
    question["schema"] = schema;
    question
}
