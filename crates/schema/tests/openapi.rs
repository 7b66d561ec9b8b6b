//! Every schema that upstream publishes, without its descriptions, is what the tables give.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_schema::openapi::{Components, Enums, Form, Home};
use keelson_testkit::yardstick;

#[test]
fn the_schemas_of_every_group_version_are_those_of_v3() {
    let Some(folder) = yardstick::folder("schema openapi") else { return };
    let mut checked = 0;
    for entry in std::fs::read_dir(folder.join("openapi/v3")).expect("the folder of documents") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let parts: Vec<&str> = name.trim_end_matches("_openapi.json").split("__").collect();
        let home = match parts[..] {
            ["api", version] => Some(Home { group: "", version }),
            ["apis", group, version] => Some(Home { group, version }),
            _ => None,
        };
        let published = document(&path);
        let Some(schemas) = published.at("components.schemas").and_then(Value::as_map) else { continue };
        checked += check(Components::new(Form::V3, Enums::Hidden, home), schemas, &name);
    }
    assert!(checked > 770, "only {checked} schemas");
}

#[test]
fn the_schemas_are_those_of_v2() {
    let Some(folder) = yardstick::folder("schema openapi") else { return };
    let published = document(&folder.join("openapi/swagger.json"));
    let schemas = published.map("definitions").expect("definitions");
    let checked = check(Components::new(Form::V2, Enums::Hidden, None), schemas, "swagger.json");
    assert!(checked > 700, "only {checked} schemas");
}

/// What is said about types and fields is what upstream says. The crate that it is taken from says nothing about
/// lists, which are described in our own words, and has a `WatchEvent` of its own.
#[test]
fn the_descriptions_are_those_of_upstream() {
    let Some(folder) = yardstick::folder("schema openapi") else { return };
    let published = raw_document(&folder.join("openapi/swagger.json"));
    let schemas = published.map("definitions").expect("definitions");
    let mut components = Components::new(Form::V2, Enums::Hidden, None);
    add(&mut components, schemas, "swagger.json");
    let (mut equal, mut own_words, mut wrong) = (0, 0, Vec::new());
    let mut compare = |place: String, ours: Option<&str>, theirs: Option<&str>| match (ours, theirs) {
        _ if ours == theirs => equal += 1,
        (Some(_), _) if place.split(' ').next().is_some_and(|it| it.ends_with("List")) => own_words += 1,
        _ => wrong.push(format!("{place}\n  ours   {ours:?}\n  theirs {theirs:?}")),
    };
    for (name, ours) in components.schemas().filter(|it| !it.0.ends_with(".WatchEvent")) {
        let theirs = schemas.map(name).expect("it is published");
        compare(name.to_owned(), ours.str("description"), theirs.str("description"));
        for (field, property) in ours.map("properties").iter().flat_map(|it| it.iter()) {
            let text =
                |property: Option<&Map>| property.and_then(|it| it.str("description")).map(str::to_owned);
            let (ours, theirs) =
                (text(property.as_map()), text(theirs.map("properties").and_then(|it| it.map(field))));
            compare(format!("{name} {field}"), ours.as_deref(), theirs.as_deref());
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), equal + own_words, wrong.join("\n"));
    assert!(equal > 3600, "only {equal}");
    assert!((200..270).contains(&own_words), "{own_words}");
}

/// Adds the kinds among `schemas` and compares what they bring with `schemas`.
fn check(mut components: Components<'_>, schemas: &Map, document: &str) -> usize {
    add(&mut components, schemas, document);
    let bare = |map: Map| {
        let mut value = Value::from(map);
        strip(&mut value);
        value
    };
    let ours: BTreeMap<&str, Value> = components.schemas().map(|(name, map)| (name, bare(map))).collect();
    let text = |value: Option<&Value>| value.map_or_else(Default::default, json::to_bytes);
    let mut wrong = String::new();
    let names: BTreeSet<&str> = ours.keys().copied().chain(schemas.iter().map(|it| it.0.as_str())).collect();
    for name in names {
        let (ours, theirs) = (ours.get(name), schemas.get(name));
        if ours != theirs {
            let (ours, theirs) = (text(ours), text(theirs));
            let _ = writeln!(
                wrong,
                "{name}\n  ours   {}\n  theirs {}",
                ours.escape_ascii(),
                theirs.escape_ascii()
            );
        }
    }
    assert!(wrong.is_empty(), "{document}\n{wrong}");
    ours.len()
}

/// Adds the kinds among `schemas`.
fn add(components: &mut Components<'_>, schemas: &Map, document: &str) {
    for (name, schema) in schemas.iter() {
        let kinds = schema.as_map().expect("a schema").list("x-kubernetes-group-version-kind");
        match kinds.first().and_then(Value::as_map) {
            _ if name.ends_with("meta.v1.Patch") => drop(components.meta("Patch")),
            _ if name.ends_with("version.Info") => drop(components.version()),
            Some(_) if name.starts_with("io.k8s.apimachinery.pkg.apis.meta.v1.") => {
                components.meta(name.rsplit('.').next().expect("a kind"));
            }
            Some(kind) => {
                let text = |key: &str| kind.str(key).expect("text");
                let added = components.builtin(text("group"), text("version"), text("kind"));
                assert_eq!(added.as_deref(), Some(name.as_str()), "{document}");
            }
            None => {}
        }
    }
}

/// A document without descriptions.
fn document(path: &Path) -> Map {
    let mut value = Value::from(raw_document(path));
    strip(&mut value);
    value.as_map().expect("it was one").clone()
}

fn raw_document(path: &Path) -> Map {
    let text = std::fs::read(path).expect("the document");
    match json::read(&text).expect("JSON").value {
        Value::Map(map) => map,
        _ => panic!("{} is not a document", path.display()),
    }
}

/// Takes descriptions out; a property that is called so is no text.
fn strip(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.retain(|key, value| key != "description" || value.as_str().is_none());
            map.iter_mut().for_each(|(_, value)| strip(value));
        }
        Value::List(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}
