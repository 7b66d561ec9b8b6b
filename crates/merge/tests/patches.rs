//! Strategic merge, JSON and merge patches, case by case: `testdata/{strategic,plain}/*.yaml` is what is patched with
//! what, `*.expected` what comes of it.
//!
//! A case has an object, and a `patch` (strategic or JSON) or `merge` patch. `repeat` says how often the operations
//! are there, `grow` how long the text `GROW` of the object is. What comes out is printed with sorted keys; a refusal
//! is printed with its class: `malformed` is 400 on the wire, `does not apply` 422, `too large` 413, `failed` 500.
//!
//! `UPDATE_EXPECT=1` rewrites the expectations.

#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use keelson_codec::{json, yaml};
use keelson_merge::{Error, JsonPatch, merge_patch, strategic};
use keelson_object::{Map, Value};
use keelson_schema::Schema;

/// What is longer is not printed.
const LONGEST: usize = 4_000;

#[test]
fn every_strategic_patch_ends_as_expected() {
    let count = run("strategic", |case, kind, object| {
        let (api_version, name) = kind.unwrap().split_once(' ').unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let schema = Schema::builtin(group, version, name).unwrap();
        strategic::merge(object, case.get("patch").unwrap().clone(), &schema)
    });
    assert!(count >= 150, "{count} cases");
}

#[test]
fn every_json_and_merge_patch_ends_as_expected() {
    let count = run("plain", |case, _, object| {
        if let Some(patch) = case.get("merge") {
            merge_patch::merge(object, patch.clone());
            return Ok(());
        }
        let mut patch = case.get("patch").unwrap().clone();
        if let (Value::List(operations), Some(times)) = (&mut patch, case.int("repeat")) {
            *operations = vec![operations.clone(); usize::try_from(times).unwrap()].concat();
        }
        JsonPatch::from_value(patch)?.apply(object)
    });
    assert!(count >= 80, "{count} cases");
}

type Patch = fn(&Map, Option<&str>, &mut Value) -> Result<(), Error>;

/// Compares the cases of all files of a folder, and counts them.
fn run(folder: &str, patch: Patch) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.retain(|it| it.extension().is_some_and(|it| it == "yaml"));
    files.sort();
    let mut count = 0;
    for file in files {
        let document = yaml::read(&std::fs::read(&file).unwrap()).unwrap().value;
        let document = document.as_map().unwrap();
        let mut text = String::new();
        for case in document.maps("cases") {
            let mut object = case.get("object").unwrap().clone();
            if let Some(length) = case.int("grow") {
                grow(&mut object, usize::try_from(length).unwrap());
            }
            let kind = case.str("kind").or(document.str("kind"));
            let done = patch(case, kind, &mut object);
            let _ = writeln!(text, "== {}\n{}", case.str("name").unwrap(), show(done, object));
            count += 1;
        }
        expect_file![file.with_extension("expected")].assert_eq(&text);
    }
    count
}

fn grow(value: &mut Value, length: usize) {
    match value {
        Value::String(text) if text == "GROW" => *text = "x".repeat(length).into(),
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| grow(value, length)),
        Value::List(items) => items.iter_mut().for_each(|it| grow(it, length)),
        _ => {}
    }
}

fn show(done: Result<(), Error>, mut object: Value) -> String {
    let (class, problem) = match done {
        Ok(()) => {
            sort(&mut object);
            let text = String::from_utf8(json::to_bytes(&object).to_vec()).unwrap();
            return if text.len() > LONGEST { format!("{} bytes", text.len()) } else { text };
        }
        Err(Error::Malformed(problem)) => ("malformed", problem),
        Err(Error::DoesNotApply(problem)) => ("does not apply", problem),
        Err(Error::Failed(problem)) => ("failed", problem),
        Err(Error::TooLarge(problem)) => ("too large", problem),
    };
    format!("{class}: {}", problem.replace('\n', "\\n"))
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
