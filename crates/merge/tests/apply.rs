//! Server-side apply, case by case: `testdata/apply/*.yaml` is what managers do, `*.expected` what comes of it.
//!
//! A case is a list of steps. `apply` is what a manager applies, `update` a whole object that it writes, `patch` a
//! merge patch of what is there. Name and kind of the object are added. Each step happens one second after the one
//! before. Of the last state the object is printed with sorted keys, then its managers as they are on the wire.
//!
//! `UPDATE_EXPECT=1` rewrites the expectations.

#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use keelson_codec::{json, yaml};
use keelson_merge::apply::{ConvertError, FieldSet, Filter, Force, Json, Refusal, Tracker, Types, Versions};
use keelson_merge::merge_patch;
use keelson_object::scalar::Time;
use keelson_object::{Map, Object, SmolStr, Value};
use keelson_schema::Schema;

#[test]
fn every_case_ends_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/apply");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    let mut count = 0;
    for file in files {
        let document = yaml::read(&std::fs::read(&file).unwrap()).unwrap().value;
        let document = document.as_map().unwrap();
        let mut text = String::new();
        for case in document.maps("cases") {
            let kind = case.str("kind").or(document.str("kind")).unwrap();
            let _ = writeln!(text, "== {}\n{}", case.str("name").unwrap(), run(case, kind));
            count += 1;
        }
        expect_file![file.with_extension("expected")].assert_eq(&text);
    }
    assert!(count >= 150, "{count} cases");
}

/// The kind of a case.
struct Kind {
    group: String,
    version: String,
    name: String,
    schema: Option<Schema>,
}

impl Kind {
    fn parse(text: &str) -> Kind {
        let (api_version, name) = text.split_once(' ').unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let schema = Schema::builtin(group, version, name);
        Kind { group: group.to_owned(), version: version.to_owned(), name: name.to_owned(), schema }
    }

    fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// The form in which an object is stored.
    fn conform(&self, object: &mut Value) {
        if let Some(schema) = &self.schema {
            schema.conform(object).unwrap();
            let mut stored = Object::from_value(std::mem::take(object)).unwrap();
            schema.arrange(&mut stored);
            *object = stored.into_value();
        }
    }
}

impl Versions for Kind {
    fn types(&self, api_version: &str) -> Option<Types<'_>> {
        match &self.schema {
            Some(schema) => (api_version == self.api_version(&self.version)).then_some(Types::Known(schema)),
            None => is_version(api_version).then_some(Types::Deduced),
        }
    }

    /// Kinds without a schema have two versions: what is `size` in `v1` is `count` in `v1beta1`.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError> {
        if self.schema.is_some() || !is_version(api_version) {
            return Err(ConvertError::Missing);
        }
        let mut object = object.clone();
        let map = object.as_map_mut().unwrap();
        let is_other = map.str("apiVersion") != Some(api_version);
        map.set("apiVersion", api_version);
        if is_other && let Some(spec) = map.get_mut("spec").and_then(Value::as_map_mut) {
            let (from, to) = if api_version.ends_with("/v1") { ("count", "size") } else { ("size", "count") };
            if let Some(value) = spec.remove(from) {
                spec.set(to, value);
            }
        }
        Ok(object)
    }
}

fn is_version(api_version: &str) -> bool {
    matches!(api_version, "example.com/v1" | "example.com/v1beta1")
}

fn run(case: &Map, kind: &str) -> String {
    let kind = Kind::parse(kind);
    let mut live: Option<Value> = None;
    let mut text = String::new();
    for (at, step) in (1..).zip(case.maps("steps")) {
        match take(step, &kind, live.clone(), at) {
            Ok(mut object) => {
                if let Some(problem) = object.1 {
                    let _ = writeln!(text, "{at} lost: {}", one_line(&problem));
                } else {
                    let _ = writeln!(text, "{at} ok");
                }
                if kind.schema.is_none() {
                    object.0 = kind.convert(&object.0, &kind.api_version(&kind.version)).unwrap();
                }
                kind.conform(&mut object.0);
                object.0.as_map_mut().unwrap().map_mut("metadata").set("uid", "u1");
                live = Some(object.0);
            }
            Err(Refusal::Conflicts(conflicts)) => {
                let _ = writeln!(text, "{at} conflict: {}", one_line(&conflicts.to_string()));
                let causes = conflicts.causes();
                let mut causes: Vec<_> =
                    causes.iter().map(|it| format!("  {} at {}\n", it.message, it.field)).collect();
                causes.sort();
                text.extend(causes);
            }
            Err(error) => {
                let _ = writeln!(text, "{at} error: {}", one_line(&error.to_string()));
            }
        }
    }
    show(live, &mut text);
    text
}

/// The new state, and why it has no managers if they were lost.
fn take(step: &Map, kind: &Kind, live: Option<Value>, at: i64) -> Result<(Value, Option<String>), Refusal> {
    let version = step.str("version").unwrap_or(&kind.version);
    let api_version = kind.api_version(version);
    let reset: Vec<&str> = step.list("reset").iter().filter_map(Value::as_str).collect();
    let reset = [(SmolStr::from(&api_version), Filter::Exclude(FieldSet::of_fields(&reset)))];
    let tracker = Tracker {
        api_version: &api_version,
        kind: &kind.name,
        subresource: step.str("subresource").unwrap_or_default(),
        reset: &reset,
        versions: kind,
        json: Json { read, write },
        now: Time::from_unix(1_704_067_200 + at),
    };
    let by = step.str("by").unwrap_or_default();
    let live = match live {
        Some(live) if kind.schema.is_none() => Some(kind.convert(&live, &api_version).unwrap()),
        other => other,
    };
    if let Some(patch) = step.get("apply") {
        let force = if step.bool("force") == Some(true) { Force::Yes } else { Force::No };
        return Ok((tracker.apply(live, &filled(patch, &tracker), by, force)?, None));
    }
    let new = match step.get("update") {
        Some(new) => new.clone(),
        None => {
            let mut new = live.clone().unwrap_or(Value::Map(Map::new()));
            merge_patch::merge(&mut new, step.get("patch").unwrap().clone());
            new
        }
    };
    let mut new = filled(&new, &tracker);
    if live.is_some() {
        new.as_map_mut().unwrap().map_mut("metadata").set("uid", "u1");
    }
    let managed = new.as_map().unwrap().map("metadata").unwrap().get("managedFields").cloned();
    kind.conform(&mut new);
    // An empty list says something, but is left out of what is stored.
    if let Some(managed) = managed {
        new.as_map_mut().unwrap().map_mut("metadata").set("managedFields", managed);
    }
    let done = tracker.update(live, &mut new, by);
    Ok((new, done.err().map(|it| it.to_string())))
}

/// The object with its kind and a name.
fn filled(object: &Value, tracker: &Tracker<'_>) -> Value {
    let mut object = object.clone();
    let map = object.as_map_mut().unwrap();
    map.default_to("apiVersion", tracker.api_version);
    map.default_to("kind", tracker.kind);
    map.map_mut("metadata").default_to("name", "web");
    object
}

fn show(live: Option<Value>, text: &mut String) {
    let Some(mut live) = live else {
        text.push_str("nothing\n");
        return;
    };
    let managed = live.as_map_mut().unwrap().map_mut("metadata").remove("managedFields");
    sort(&mut live);
    let _ = writeln!(text, "{}", write(&live));
    for entry in managed.as_ref().and_then(Value::as_list).unwrap_or_default() {
        let _ = writeln!(text, "{}", write(entry));
    }
}

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

fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

fn read(text: &str) -> Option<Value> {
    json::read(text.as_bytes()).ok().map(|it| it.value)
}

fn write(value: &Value) -> String {
    String::from_utf8(json::to_bytes(value).to_vec()).unwrap()
}
