//! Tables, scales and selectable fields of custom resources: what upstream's registry said to the questions in
//! `testdata/registry.jsonl`.
//!
//! The second test asks the oracle, see `common/oracle.rs`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "common/oracle.rs"]
mod oracle;

use keelson_object::{FieldErrors, Map as Fields};
use keelson_structural::columns::{PrinterCell, columns};
use keelson_structural::scale::{ScalePaths, SelectableField};
use oracle::{Random, json_of, tree};
use serde_json::{Map, Value as Json, json};

#[test]
fn recorded_answers_of_the_registry_are_ours() {
    let count = oracle::check(include_str!("../testdata/registry.jsonl"), difference);
    assert!(count >= 1000, "{count} cases");
}

#[test]
fn upstream_gives_the_same_answers() {
    oracle::ask(2, questions, difference);
}

fn difference(question: &Json, answer: &Json) -> Option<String> {
    let (ours, theirs) = match question["op"].as_str().unwrap() {
        "table" => (table(question), without_times(&answer["value"])),
        "scale" => (scale(question), json!([answer["errors"], answer["value"]])),
        _ => (selectable(question), selected(answer)),
    };
    (ours != theirs).then(|| format!("{question}\n  upstream {theirs}\n  we       {ours}"))
}

fn fields(question: &Json) -> Fields {
    tree(&question["value"]).as_map().unwrap().clone()
}

fn table(question: &Json) -> Json {
    let definitions = tree(&question["schema"]);
    let maps = || definitions.as_list().unwrap().iter().filter_map(|it| it.as_map());
    let columns = columns(maps());
    let object = tree(&question["value"]);
    let cells = columns.iter().map(|column| match column.cell(&object) {
        PrinterCell::Null => json!(null),
        PrinterCell::Text(text) => json!(text),
        PrinterCell::Int(number) => json!(number),
        PrinterCell::Float(number) => json_of(&keelson_object::Value::Float(number)),
        PrinterCell::Bool(truth) => json!(truth),
        PrinterCell::Age(Some(_)) => json!("36y"),
        PrinterCell::Age(None) => json!("<unknown>"),
    });
    let headers = columns.iter().map(|it| {
        json!({"name": it.name.as_str(), "type": it.kind.as_str(), "format": it.format.as_str(),
            "description": it.description.as_str(), "priority": it.priority})
    });
    json!({"headers": headers.collect::<Vec<_>>(), "cells": cells.collect::<Vec<_>>(), "ends": columns.len() < maps().count()})
}

/// The table without the column of names; ages in years are all alike.
fn without_times(table: &Json) -> Json {
    let is_years = |text: &str| text.strip_suffix('y').is_some_and(|it| it.parse::<u32>().is_ok());
    let rest = |key: &str| table[key].as_array().unwrap()[1..].to_vec();
    let cells = rest("cells").into_iter().map(|cell| match cell.as_str() {
        Some(text) if is_years(text) => json!("36y"),
        _ => cell,
    });
    json!({"headers": rest("headers"), "cells": cells.collect::<Vec<_>>(), "ends": table.get("problem").is_some()})
}

fn scale(question: &Json) -> Json {
    let path = |key: &str| question["scale"][key].as_str().map(str::to_owned);
    let paths = ScalePaths {
        spec_replicas: path("SpecReplicasPath").unwrap(),
        status_replicas: path("StatusReplicasPath").unwrap(),
        label_selector: path("LabelSelectorPath"),
    };
    let mut object = fields(question);
    let mut errors = FieldErrors::default();
    paths.check_spec(&object, &mut errors);
    paths.check_status(&object, &mut errors);
    let mut found = Map::new();
    match paths.scale(&object) {
        Err(error) => drop(found.insert("error".to_owned(), json!(error.to_string()))),
        Ok(scale) => {
            let mut spec = Map::new();
            if scale.spec_replicas.is_some_and(|it| it != 0) {
                spec.insert("replicas".to_owned(), json!(scale.spec_replicas));
            }
            let mut status = json!({"replicas": scale.status_replicas});
            if !scale.selector.is_empty() {
                status["selector"] = json!(scale.selector);
            }
            let made = json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"}, "spec": spec, "status": status});
            found.insert("scale".to_owned(), made);
            found.insert("hasReplicas".to_owned(), json!(scale.spec_replicas.is_some()));
        }
    }
    match paths.set_replicas(&mut object, 7) {
        Err(error) => drop(found.insert("setError".to_owned(), json!(error.to_string()))),
        Ok(()) => drop(found.insert("changed".to_owned(), json_of(&object.into()))),
    }
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let errors = if errors.is_empty() { Json::Null } else { json!(errors) };
    json!([errors, found])
}

fn selectable(question: &Json) -> Json {
    let object = tree(&question["value"]);
    let paths = question["names"]["selectable"].as_array().unwrap().iter();
    let mut found = Map::new();
    for path in paths {
        let field = SelectableField::new(path.as_str().unwrap()).unwrap();
        found.insert(field.label.clone(), json!(field.value(&object)));
    }
    Json::Object(found)
}

fn selected(answer: &Json) -> Json {
    let mut found = answer["value"].as_object().cloned().unwrap_or_default();
    found.retain(|name, _| !name.starts_with("metadata."));
    Json::Object(found)
}

const PATHS: [&str; 26] = [
    ".spec.a",
    ".spec.b",
    ".spec.l",
    ".spec.l[0]",
    ".spec.l[*]",
    ".spec.l[-1]",
    ".spec.l[0:2]",
    ".spec.m",
    ".spec.m.x",
    ".spec.items.*",
    ".spec.items[?(@.name==\"x\")].value",
    ".spec.items[*].name",
    ".spec.missing.deep",
    ".spec.a.deep",
    "..selector",
    ".metadata.creationTimestamp",
    ".metadata.name",
    ".status.conditions[?(@.type==\"Ready\")].status",
    "spec.a",
    "$.spec.a",
    ".spec['a','b']",
    ".spec.a.",
    ".spec[",
    ".spec.l[x]",
    "",
    ".spec.items[?(@.name",
];

const KINDS: [&str; 6] = ["string", "integer", "number", "boolean", "date", "password"];

fn questions(random: &mut Random, cases: usize) -> Vec<Json> {
    let mut questions = Vec::new();
    for path in PATHS {
        for kind in KINDS {
            let columns = json!([{"name": "A", "type": kind, "jsonPath": path}]);
            for _ in 0..3 {
                questions.push(json!({"op": "table", "schema": columns, "value": object(random)}));
            }
        }
    }
    for at in 0..cases {
        questions.push(match at % 3 {
            0 => table_question(random),
            1 => scale_question(random),
            _ => json!({"op": "selectable", "names": {"selectable": [random.pick(&[".spec.a", ".spec.m.x", ".spec.b", ".spec.missing.b"]), ".status.replicas"]}, "value": object(random)}),
        });
    }
    questions
}

fn table_question(random: &mut Random) -> Json {
    let column = |random: &mut Random| {
        let mut column =
            json!({"name": "A", "type": random.pick(&KINDS), "jsonPath": random.pick(&PATHS[..21])});
        if random.chance(8) {
            column["jsonPath"] = json!(random.pick(&PATHS));
        }
        if random.chance(20) {
            column["description"] = json!("d");
            column["format"] = json!(random.pick(&["int32", "date-time"]));
            column["priority"] = json!(random.below(3));
        }
        column
    };
    let columns: Vec<Json> = (0..random.below(4) + 1).map(|_| column(random)).collect();
    json!({"op": "table", "schema": columns, "value": object(random)})
}

fn scale_question(random: &mut Random) -> Json {
    let path = |random: &mut Random, paths: &[&str]| json!(random.pick(paths));
    let mut paths = json!({
        "SpecReplicasPath": path(random, &[".spec.replicas", "spec.replicas", ".spec.m.x", ".spec.missing.n"]),
        "StatusReplicasPath": path(random, &[".status.replicas", ".status.m.x"]),
    });
    if random.chance(60) {
        paths["LabelSelectorPath"] = path(random, &[".status.selector", ".status.m.y", ".spec.a"]);
    }
    json!({"op": "scale", "scale": paths, "value": object(random)})
}

fn object(random: &mut Random) -> Json {
    let counts =
        [json!(0), json!(3), json!(-1), json!(2_147_483_648_i64), json!(2.5), json!("3"), json!(null)];
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "web"}, "spec": {}, "status": {}});
    for (part, name) in [("spec", "a"), ("spec", "b"), ("status", "selector")] {
        if random.chance(75) {
            object[part][name] = scalar(random);
        }
    }
    for part in ["spec", "status"] {
        if random.chance(80) {
            object[part]["replicas"] = random.pick(&counts).clone();
        }
        if random.chance(50) {
            object[part]["m"] = random
                .pick(&[
                    json!({"x": 3}),
                    json!({"x": "t", "y": 2}),
                    json!({}),
                    json!(null),
                    json!("m"),
                    json!([1]),
                ])
                .clone();
        }
    }
    if random.chance(60) {
        object["spec"]["l"] = (0..random.below(4)).map(|_| scalar(random)).collect();
    }
    if random.chance(50) {
        object["spec"]["items"] = json!([{"name": "x", "value": scalar(random)}, {"name": "y", "value": 2}]);
    }
    if random.chance(50) {
        object["status"]["conditions"] =
            json!([{"type": "Ready", "status": random.pick(&["True", "False"])}]);
    }
    if random.chance(10) {
        object["spec"] = random.pick(&[json!(null), json!("s"), json!([])]).clone();
    }
    object
}

fn scalar(random: &mut Random) -> Json {
    let scalars = [
        json!("x"),
        json!(""),
        json!("a<b&c"),
        json!("1980-01-02T03:04:05Z"),
        json!("1980-01-02T03:04:05.678+02:00"),
        json!("1980-01-02 03:04:05Z"),
        json!("1980-01-02t03:04:05z"),
        json!("0001-01-01T00:00:00Z"),
        json!("null"),
        json!(0),
        json!(7),
        json!(-3),
        json!(2.5),
        json!(1e20),
        json!(1_234_567.5),
        json!(true),
        json!(false),
        json!(null),
        json!(["a", 1, {"k": "<"}]),
        json!({"k": {"z": null, "a": 1.5}}),
    ];
    random.pick(&scalars).clone()
}
