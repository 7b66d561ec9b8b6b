//! OpenAPI documents compared with those that upstream publishes: how many are equal, and where the others differ.
//!
//! Descriptions of schemas and parameters and the server's version do not count; parameters that v2 shares are put where they are used.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of documents.
    pub total: usize,
    /// The number of equal documents.
    pub equal: usize,
    /// The first differences of each other document.
    pub differences: Vec<Difference>,
}

/// One place where documents differ.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// `apis/apps/v1`.
    pub document: String,
    /// `paths./apis/apps/v1/deployments.get.operationId`.
    pub place: String,
    /// Our value; empty if there is none.
    pub ours: String,
    /// Upstream's value; empty if there is none.
    pub theirs: String,
}

/// How much of upstream's document is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Everything,
    /// All but the paths that begin with one of these, and the schemas that only those lead to.
    Without(&'static [&'static str]),
}

/// The number of differences that are reported per document.
const TOLD: usize = 5;

impl Report {
    /// Compares one document.
    pub fn add(&mut self, document: &str, ours: &[u8], theirs: &[u8], extent: Extent) {
        let (ours, mut theirs) = (bare(ours), bare(theirs));
        match extent {
            Extent::Everything => {}
            Extent::Without(gaps) => {
                restrict(&mut theirs, |path| !gaps.iter().any(|it| path.starts_with(it)))
            }
        }
        let mut found = Vec::new();
        walk(&mut found, String::new(), Some(&ours), Some(&theirs));
        self.total += 1;
        self.equal += usize::from(found.is_empty());
        let told = found.into_iter().take(TOLD);
        self.differences.extend(told.map(|(place, ours, theirs)| Difference {
            document: document.to_owned(),
            place,
            ours,
            theirs,
        }));
    }

    /// A document that only one side has.
    pub fn alone(&mut self, document: &str, ours: &str, theirs: &str) {
        self.total += 1;
        self.differences.push(Difference {
            document: document.to_owned(),
            place: String::new(),
            ours: ours.to_owned(),
            theirs: theirs.to_owned(),
        });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} documents are equal", self.equal, self.total)?;
        for Difference { document, place, ours, theirs } in &self.differences {
            write!(f, "\n{document} {place}\n  ours   {ours}\n  theirs {theirs}")?;
        }
        Ok(())
    }
}

/// A document without the parts that are not compared. A text that is not JSON equals no other document.
fn bare(text: &[u8]) -> Value {
    let read = serde_json::from_slice(text);
    let mut document: Value = read.unwrap_or_else(|error| Value::String(error.to_string()));
    let shared = document.as_object_mut().and_then(|it| it.remove("parameters"));
    if let Some(Value::Object(shared)) = shared {
        inline(&mut document, &shared);
    }
    if let Some(about) = document.get_mut("info").and_then(Value::as_object_mut) {
        about.remove("version");
    }
    strip(&mut document);
    document
}

/// Puts shared parameters where they are referred to.
fn inline(value: &mut Value, shared: &Map<String, Value>) {
    let name = value.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix("#/parameters/"));
    if let Some(parameter) = name.and_then(|it| shared.get(it)) {
        *value = parameter.clone();
        return;
    }
    children(value).for_each(|it| inline(it, shared));
}

/// Removes descriptions, except for those of operations and responses; a property named `description` is
/// kept.
fn strip(value: &mut Value) {
    if let Value::Object(map) = value {
        let has = |key: &str| map.contains_key(key);
        let is_kept =
            has("operationId") || ((has("content") || has("schema")) && !has("in") && !has("required"));
        if !is_kept && map.get("description").is_some_and(Value::is_string) {
            map.remove("description");
        }
    }
    children(value).for_each(strip);
}

fn children(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(map) => Box::new(map.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Keeps these paths, and the schemas that they lead to.
fn restrict(theirs: &mut Value, is_kept: impl Fn(&str) -> bool) {
    if let Some(paths) = theirs.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|path, _| is_kept(path));
    }
    let used = references(theirs);
    for place in ["/definitions", "/components/schemas"] {
        if let Some(schemas) = theirs.pointer_mut(place).and_then(Value::as_object_mut) {
            schemas.retain(|name, _| used.contains(name));
        }
    }
}

/// The names of all schemas that the paths lead to.
fn references(document: &Value) -> BTreeSet<String> {
    let schemas = document.get("definitions").or_else(|| document.pointer("/components/schemas"));
    let mut found = BTreeSet::new();
    let mut open: Vec<&Value> = document.get("paths").into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                let name = map.get("$ref").and_then(Value::as_str).and_then(|it| it.rsplit('/').next());
                if let Some(name) = name.filter(|it| found.insert((*it).to_owned())) {
                    open.extend(schemas.and_then(|it| it.get(name)));
                }
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

/// Adds every place where the values differ, with both values there.
fn walk(
    found: &mut Vec<(String, String, String)>,
    place: String,
    ours: Option<&Value>,
    theirs: Option<&Value>,
) {
    if ours == theirs {
        return;
    }
    match (ours, theirs) {
        (Some(Value::Object(our)), Some(Value::Object(their))) => {
            let keys: BTreeSet<&String> = our.keys().chain(their.keys()).collect();
            for key in keys {
                let dot = if place.is_empty() { "" } else { "." };
                walk(found, format!("{place}{dot}{key}"), our.get(key), their.get(key));
            }
        }
        _ => {
            let text = |value: Option<&Value>| value.map(Value::to_string).unwrap_or_default();
            found.push((place, text(ours), text(theirs)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, Report};

    #[track_caller]
    fn check(ours: &str, theirs: &str, extent: Extent, expected: &[&str]) {
        let json = |text: &str| text.replace('\'', "\"").into_bytes();
        let mut report = Report::default();
        report.add("a", &json(ours), &json(theirs), extent);
        let places: Vec<&str> = report.differences.iter().map(|it| &*it.place).collect();
        assert_eq!(places, expected);
        assert_eq!((report.total, report.equal), (1, usize::from(expected.is_empty())));
    }

    #[test]
    fn descriptions_of_schemas_do_not_count() {
        check("{'a':{'description':'b'}}", "{'a':{'description':'c'}}", Extent::Everything, &[]);
        let operation = |text: &str| format!("{{'get':{{'operationId':'a','description':'{text}'}}}}");
        check(&operation("b"), &operation("c"), Extent::Everything, &["get.description"]);
    }

    #[test]
    fn shared_parameters_count_where_they_are_used() {
        let shared = "{'p':[{'$ref':'#/parameters/a'}],'parameters':{'a':{'name':'b'}}}";
        check("{'p':[{'name':'b'}]}", shared, Extent::Everything, &[]);
        check("{'p':[{'name':'c'}]}", shared, Extent::Everything, &["p"]);
    }

    #[test]
    fn what_we_do_not_serve_can_be_left_out() {
        let ours = "{'paths':{'/a':{'$ref':'#/definitions/A'}},'definitions':{'A':{'$ref':'x/B'},'B':{}}}";
        let theirs = "{'paths':{'/a':{'$ref':'#/definitions/A'},'/c':{'$ref':'x/C'}},\
                      'definitions':{'A':{'$ref':'x/B'},'B':{},'C':{}}}";
        check(ours, theirs, Extent::Without(&["/c"]), &[]);
        check(ours, theirs, Extent::Without(&["/d"]), &["definitions.C", "paths./c"]);
        check(ours, theirs, Extent::Everything, &["definitions.C", "paths./c"]);
    }

    #[test]
    fn a_report_says_how_many_and_where() {
        let mut report = Report::default();
        report.add("a", b"{}", b"{}", Extent::Everything);
        report.add("b", b"{\"x\":1}", b"{\"x\":2}", Extent::Everything);
        assert_eq!(report.to_string(), "1 of 2 documents are equal\nb x\n  ours   1\n  theirs 2");
    }
}
