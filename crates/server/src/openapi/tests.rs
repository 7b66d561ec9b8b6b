//! The documents of what is built in are those that upstream publishes, restricted to what is served.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_registry::{Group, Resource, Version};

use super::document::{Served, Subject};
use super::{Enums, Features, Offered, Settings, document};

/// As the published documents were made.
fn settings() -> Settings {
    let features = Features { enums: Enums::Hidden, cbor: Offered::Yes };
    Settings { version: "unversioned".to_owned(), features }
}

fn groups() -> Vec<Group> {
    keelson_apis::groups(&keelson_apis::Settings::default())
}

#[test]
fn v3_documents_are_those_of_upstream() {
    let Some(folder) = yardstick() else { return };
    let groups = groups();
    let served = Served::groups(&groups);
    for subject in Subject::all(&served) {
        let name = subject.path();
        let ours = parse(&subject.v3(&settings()));
        let file = folder.join(format!("openapi/v3/{}_openapi.json", name.replace('/', "__")));
        let theirs = read(&file);
        let used = |document: &Map| {
            references(document.get("paths"), document.map("components").expect("components"))
        };
        compare(&name, &ours, &theirs, "components", used);
    }
}

#[test]
fn the_v2_document_is_that_of_upstream() {
    let Some(folder) = yardstick() else { return };
    let groups = groups();
    let ours = parse(&document::v2(&Served::groups(&groups), &settings()));
    let mut theirs = read(&folder.join("openapi/swagger.json"));
    let shared = theirs.remove("parameters").expect("shared parameters");
    inline(theirs.get_mut("paths").expect("paths"), shared.as_map().expect("parameters"));
    compare("v2", &ours, &theirs, "definitions", |document| references(document.get("paths"), document));
}

/// What documents say about a kind that no table describes.
#[test]
fn a_custom_kind_is_described_like_any_other() {
    let flowers = Resource::namespaced("Flower", "flowers").version(Version::stored("v1")).with_status();
    let groups = [Group::new("flowers.example.com").serve(flowers)];
    let served = Served::groups(&groups);
    let subjects = Subject::all(&served);
    let subject = subjects.iter().find(|it| it.path() == "apis/flowers.example.com/v1").expect("a document");
    let document = parse(&subject.v3(&settings()));
    let item = "/apis/flowers.example.com/v1/namespaces/{namespace}/flowers/{name}";
    let paths = document.map("paths").expect("paths");
    let operation = paths.map(item).and_then(|it| it.map("patch")).expect("a patch");
    assert_eq!(operation.str("operationId"), Some("patchFlowersExampleComV1NamespacedFlower"));
    let body = operation.map("requestBody").and_then(|it| it.map("content")).expect("a body");
    assert!(!body.contains("application/strategic-merge-patch+json"));
    assert!(paths.contains(&format!("{item}/status")));
    let schemas = document.map("components").and_then(|it| it.map("schemas")).expect("schemas");
    assert!(schemas.contains("com.example.flowers.v1.Flower"));
    assert!(schemas.contains("com.example.flowers.v1.FlowerList"));
    for name in references(document.get("paths"), document.map("components").expect("components")) {
        assert!(schemas.contains(&name), "{name} leads nowhere");
    }
}

/// Compares paths, and the schemas that these lead to.
fn compare(name: &str, ours: &Map, theirs: &Map, place: &str, used: impl Fn(&Map) -> BTreeSet<String>) {
    let mut wrong = String::new();
    for (key, value) in ours.iter().filter(|it| it.0 != "paths" && it.0 != place) {
        differ(&mut wrong, key, Some(value), theirs.get(key));
    }
    let (our_paths, their_paths) = (ours.map("paths").expect("paths"), theirs.map("paths").expect("paths"));
    for (path, item) in our_paths.iter() {
        differ(&mut wrong, path, Some(item), their_paths.get(path));
    }
    let mut restricted = theirs.clone();
    let kept = |path: &str| our_paths.contains(path);
    restricted.map_mut("paths").retain(|path, _| kept(path));
    let schemas = |document: &Map| match place {
        "components" => {
            document.at("components.schemas").and_then(Value::as_map).cloned().unwrap_or_default()
        }
        _ => document.map(place).cloned().unwrap_or_default(),
    };
    let (ours, theirs) = (schemas(ours), schemas(theirs));
    let mut names = used(&restricted);
    names.extend(ours.iter().map(|it| it.0.to_string()));
    for schema in names {
        differ(&mut wrong, &schema, ours.get(&schema), theirs.get(&schema));
    }
    assert!(wrong.is_empty(), "{name}\n{wrong}");
}

fn differ(wrong: &mut String, place: &str, ours: Option<&Value>, theirs: Option<&Value>) {
    if ours != theirs {
        let text = |value: Option<&Value>| value.map_or_else(Default::default, json::to_bytes);
        let (ours, theirs) = (text(ours), text(theirs));
        let _ =
            writeln!(wrong, "{place}\n  ours   {}\n  theirs {}", ours.escape_ascii(), theirs.escape_ascii());
    }
}

/// The names of all schemas that `from` leads to.
fn references(from: Option<&Value>, schemas: &Map) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<Value> = from.cloned().into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Map(map) => {
                if let Some(name) = map.str("$ref").and_then(|it| it.rsplit('/').next())
                    && found.insert(name.to_owned())
                {
                    open.extend(
                        schemas
                            .map("schemas")
                            .or(schemas.map("definitions"))
                            .and_then(|it| it.get(name))
                            .cloned(),
                    );
                }
                open.extend(map.into_iter().map(|it| it.1));
            }
            Value::List(items) => open.extend(items),
            _ => {}
        }
    }
    found
}

/// Puts shared parameters where they are referred to.
fn inline(value: &mut Value, shared: &Map) {
    match value {
        Value::Map(map) => {
            let name = map.str("$ref").and_then(|it| it.strip_prefix("#/parameters/")).map(str::to_owned);
            match name {
                Some(name) => *value = shared.get(&name).expect("a shared parameter").clone(),
                None => map.iter_mut().for_each(|(_, value)| inline(value, shared)),
            }
        }
        Value::List(items) => items.iter_mut().for_each(|it| inline(it, shared)),
        _ => {}
    }
}

fn read(path: &Path) -> Map {
    parse(&std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

/// A document without the descriptions of schemas and parameters.
fn parse(text: &[u8]) -> Map {
    let mut value = json::read(text).expect("JSON").value;
    strip(&mut value);
    match value {
        Value::Map(map) => map,
        _ => panic!("a document is a map"),
    }
}

/// Takes descriptions out, but for those of operations and responses; a property that is called so is no text.
fn strip(value: &mut Value) {
    match value {
        Value::Map(map) => {
            let is_kept = map.contains("operationId") || map.contains("content") || map.contains("schema");
            let is_kept = is_kept && !map.contains("in") && !map.contains("required");
            map.retain(|key, value| key != "description" || is_kept || value.as_str().is_none());
            map.iter_mut().for_each(|(_, value)| strip(value));
        }
        Value::List(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// The folder of upstream's published data, or a line in the report of skipped tests.
fn yardstick() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("KEELSON_YARDSTICKS") {
        return Some(folder.into());
    }
    if let Some(report) = std::env::var_os("KEELSON_SKIP_REPORT") {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        let mut report = options.create(true).append(true).open(report).expect("the report of skipped tests");
        writeln!(report, "server openapi: KEELSON_YARDSTICKS is not set").expect("a line in the report");
    }
    None
}
