//! A case of a file, and its outcome.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use keelson_codec::yaml;
use keelson_object::{Map, Value};

use super::File;

/// Something that is tried with an object.
pub struct Case {
    /// The name of the case.
    pub name: String,
    /// The expected outcome.
    pub expected: Outcome,
    pub(super) set: Map,
    pub(super) given: Vec<Change>,
    pub(super) update: Option<Change>,
    /// The case as it is in the file.
    pub(super) written: Map,
}

/// A change of an object that is there.
pub(super) struct Change {
    pub(super) part: String,
    pub(super) set: Map,
}

/// The outcome of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// The status code; 0 means any success.
    pub code: u16,
    /// The errors.
    pub errors: Vec<String>,
    /// The warnings.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// Whether `seen` matches this expectation.
    pub fn admits(&self, seen: &Outcome) -> bool {
        self.code == seen.code && all(&self.errors, &seen.errors) && all(&self.warnings, &seen.warnings)
    }
}

fn all(expected: &[String], seen: &[String]) -> bool {
    expected.len() == seen.len() && expected.iter().zip(seen).all(|(expected, seen)| fits(expected, seen))
}

/// Whether `seen` matches `expected`, which may be a prefix.
pub(super) fn fits(expected: &str, seen: &str) -> bool {
    match expected.strip_suffix('…') {
        Some(beginning) => seen.starts_with(beginning),
        None => expected == seen,
    }
}

/// Fields of a case in the order in which they are written.
pub(super) const FIELDS: [&str; 8] = ["name", "set", "given", "update", "part", "code", "errors", "warnings"];

pub(super) fn load(name: String, path: PathBuf) -> Result<File> {
    let text = fs::read(&path)?;
    let document = yaml::read(&text).map_err(|error| anyhow::anyhow!("{error}"))?;
    if let Some(problem) = document.strict_problem() {
        bail!("{problem}");
    }
    let Value::Map(file) = document.value else { bail!("a file is a map") };
    known(&file, &["about", "object", "cases"])?;
    let cases: Result<Vec<Case>> = file.maps("cases").map(case).collect();
    let cases = cases?;
    ensure!(
        cases.len() == file.list("cases").len() && !cases.is_empty(),
        "cases are maps, and there are some"
    );
    Ok(File {
        name,
        cases,
        about: file.str("about").context("says not what it is about")?.to_owned(),
        object: file.map("object").context("has no object")?.clone(),
        path,
    })
}

fn case(written: &Map) -> Result<Case> {
    let name = written.str("name").context("a case has a name")?.to_owned();
    known(written, &FIELDS).with_context(|| name.clone())?;
    let texts = |field| written.list(field).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let errors: Vec<String> = texts("errors");
    let usual = if errors.is_empty() { 0 } else { 422 };
    let code = written.int("code").map_or(Ok(usual), u16::try_from)?;
    let update = written
        .map("update")
        .map(|set| Change { part: written.str("part").unwrap_or_default().to_owned(), set: set.clone() });
    ensure!(update.is_some() || !written.contains("part"), "{name}: only an update is of a part");
    let given = written.maps("given").map(|change| Change {
        part: change.str("part").unwrap_or_default().to_owned(),
        set: change.map("set").cloned().unwrap_or_default(),
    });
    Ok(Case {
        expected: Outcome { code, errors, warnings: texts("warnings") },
        set: written.map("set").cloned().unwrap_or_default(),
        given: given.collect(),
        update,
        written: written.clone(),
        name,
    })
}

fn known(map: &Map, fields: &[&str]) -> Result<()> {
    match map.iter().find(|(name, _)| !fields.contains(&name.as_str())) {
        Some((name, _)) => bail!("{name} means nothing"),
        None => Ok(()),
    }
}
