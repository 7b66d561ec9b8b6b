//! Server-side apply of custom resources: what upstream's field manager made of the writes in `testdata/custom.jsonl`.
//!
//! A case has the schemas of one or two versions and some applies and updates. After each of them the object, its
//! managers (sorted, without times) or the error is compared. The second test asks the oracle, see
//! `structural/tests/common/oracle.rs`.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

#[path = "custom/generate.rs"]
mod generate;
#[path = "../../structural/tests/common/oracle.rs"]
mod oracle;

use std::collections::BTreeSet;
use std::sync::Arc;

use keelson_codec::json;
use keelson_merge::apply::{ConvertError, FieldSet, Filter, Force, Json as Text, Tracker, Types, Versions};
use keelson_object::scalar::Time;
use keelson_object::{SmolStr, Value};
use keelson_structural::{Interner, Schema, parse};
use oracle::{json_of, tree};
use serde_json::{Value as Json, json};

#[test]
fn recorded_writes_end_as_upstream_ends_them() {
    let count = oracle::check(include_str!("../testdata/custom.jsonl"), difference);
    assert!(count >= 800, "{count} cases");
}

#[test]
fn upstream_ends_all_writes_like_us() {
    oracle::ask(3, generate::questions, difference);
}

/// The second apply of a null removes what is below: only an empty list would be left, and that has no owner.
#[test]
fn a_null_that_is_applied_again_removes_what_nobody_owns() {
    assert_eq!(oracle::check(include_str!("../testdata/custom-null-again.jsonl"), difference), 1);
}

/// The versions of a kind: by `apiVersion` their schema, if they have one.
struct Kind(Vec<(String, Option<Arc<Schema>>)>);

impl Kind {
    fn new(versions: &Json) -> Kind {
        let versions = versions.as_array().unwrap().iter().map(|version| {
            let schema = version
                .get("schema")
                .map(|schema| parse(tree(schema).as_map().unwrap(), &mut Interner::new()).unwrap());
            (format!("example.com/{}", version["name"].as_str().unwrap()), schema)
        });
        Kind(versions.collect())
    }
}

impl Versions for Kind {
    fn types(&self, api_version: &str) -> Option<Types<'_>> {
        let (_, schema) = self.0.iter().find(|(name, _)| name == api_version)?;
        Some(schema.as_deref().map_or(Types::Deduced, Types::Structural))
    }

    /// As the strategy None does it.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        if self.types(api_version).is_none() {
            return Err(ConvertError::Missing);
        }
        let mut object = object.clone();
        object.as_map_mut().unwrap().set("apiVersion", api_version);
        Ok(object)
    }
}

fn difference(question: &Json, answer: &Json) -> Option<String> {
    if let Some(failure) = answer["failure"].as_str() {
        return Some(format!("{failure}: {question}"));
    }
    let kind = Kind::new(&question["versions"]);
    let mut live = None;
    let steps = question["steps"].as_array().unwrap().iter();
    for (at, (step, expected)) in steps.zip(answer["value"].as_array().unwrap()).enumerate() {
        let (next, mut ours) = take(step, &kind, live);
        let mut expected = expected.clone();
        [&mut ours, &mut expected].into_iter().for_each(sort_managers);
        if is_same_error(&ours["error"], &expected["error"]) {
            ours["error"] = expected["error"].clone();
        }
        expected.as_object_mut().unwrap().remove("unordered");
        if ours != expected {
            return Some(format!("step {at} of {question}\n  upstream {expected}\n  we       {ours}"));
        }
        live = next;
    }
    None
}

/// Upstream looks at fields in any order, and stops at the first that it does not know.
fn is_same_error(ours: &Json, theirs: &Json) -> bool {
    const UNKNOWN: &str = "field not declared in schema";
    let (Some(ours), Some(theirs)) = (ours.as_str(), theirs.as_str()) else { return false };
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    if letters(ours) == letters(theirs) {
        return true;
    }
    let of = |text: &str| -> (String, BTreeSet<String>) {
        let start = text.find(": .").or_else(|| text.find(": errors:")).unwrap_or(text.len());
        let (before, problems) = text.split_at(start);
        let problems = problems.trim_start_matches(": errors:\n").trim_start_matches(": ");
        (before.to_owned(), problems.lines().map(|it| it.trim().to_owned()).collect())
    };
    let ((before, ours), (before_theirs, theirs)) = (of(ours), of(theirs));
    let is_unknown = |problems: &BTreeSet<String>| problems.iter().any(|it| it.contains(UNKNOWN));
    before == before_theirs && (ours == theirs || is_unknown(&ours) && is_unknown(&theirs))
}

/// The object after a step, and how the oracle shows it.
fn take(step: &Json, kind: &Kind, live: Option<Value>) -> (Option<Value>, Json) {
    let api_version = format!("example.com/{}", step["version"].as_str().unwrap());
    let reset: Vec<&str> = step["reset"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let reset = [(SmolStr::from(&api_version), Filter::Exclude(FieldSet::of_fields(&reset)))];
    let tracker = Tracker {
        api_version: &api_version,
        kind: "Foo",
        subresource: step["subresource"].as_str().unwrap_or_default(),
        reset: &reset,
        versions: kind,
        json: Text { read, write },
        now: Time::from_unix(1_704_067_200),
    };
    let (manager, object) = (step["manager"].as_str().unwrap(), tree(&step["object"]));
    let before = live.as_ref().map(|live| kind.convert(live, &api_version).unwrap());
    let (mut after, error) = if step["do"] == "apply" {
        let force = if step["force"] == json!(true) { Force::Yes } else { Force::No };
        match tracker.apply(before, &object, manager, force) {
            Ok(after) => (after, None),
            Err(error) => return (live, json!({"error": error.to_string()})),
        }
    } else {
        let mut new = object;
        if before.is_some() {
            set_uid(&mut new);
        }
        let error = tracker.update(before, &mut new, manager).err();
        (new, error)
    };
    set_uid(&mut after);
    let mut shown = after.clone();
    let managers = shown.as_map_mut().unwrap().map_mut("metadata").remove("managedFields");
    let mut state = json!({"object": json_of(&shown)});
    if let Some(Value::List(entries)) = managers {
        let mut entries: Vec<Json> = entries.iter().map(json_of).collect();
        entries.iter_mut().for_each(|it| drop(it.as_object_mut().unwrap().remove("time")));
        state["managers"] = Json::Array(entries);
    }
    if let Some(error) = error {
        state["error"] = json!(error.to_string());
    }
    (Some(after), state)
}

/// They are sorted by their times, which are not compared.
fn sort_managers(state: &mut Json) {
    if let Some(managers) = state.get_mut("managers").and_then(Json::as_array_mut) {
        managers.sort_by_key(Json::to_string);
    }
}

fn set_uid(object: &mut Value) {
    object.as_map_mut().unwrap().map_mut("metadata").set("uid", "u1");
}

fn read(text: &str) -> Option<Value> {
    json::read(text.as_bytes()).ok().map(|it| it.value)
}

fn write(value: &Value) -> String {
    String::from_utf8(json::to_bytes(value).to_vec()).unwrap()
}
