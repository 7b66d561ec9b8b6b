//! Documents of custom resources equal those of upstream's builder, and their hashes change with their
//! content.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::HeaderMap;
use keelson_object::SmolStr;
use keelson_registry::{Catalog, CatalogHandle, Group, Live, PublishedSchema, Resource, Scale, Version};
use keelson_stdx::clock::Clock;
use serde_json::Value;

use crate::endpoint::version::Version as ServerVersion;
use crate::openapi::document::{self, Subject};
use crate::openapi::{Ask, OpenApi, Settings};

/// A definition that counts how often its schema is read.
#[derive(Default)]
struct Definition {
    schema: Option<keelson_object::Value>,
    fingerprint: u64,
    list_kind: SmolStr,
    selectable: Vec<SmolStr>,
    reads: AtomicUsize,
}

impl PublishedSchema for Definition {
    fn open_api(&self) -> Option<keelson_object::Value> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.schema.clone()
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn list_kind(&self) -> Option<SmolStr> {
        Some(self.list_kind.clone()).filter(|it| !it.is_empty())
    }

    fn selectable_fields(&self) -> Vec<SmolStr> {
        self.selectable.clone()
    }
}

fn settings() -> Settings {
    Settings::new(&ServerVersion::KUBERNETES)
}

fn live(group: &str, resource: Resource) -> Arc<Live> {
    Live::without_objects(Group::new(group).serve(resource).resources.remove(0))
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().expect("text")
}

/// The resource of a definition's specification, in its first version.
fn defined(spec: &Value) -> Arc<Live> {
    let (names, version) = (&spec["names"], &spec["versions"][0]);
    let make = if spec["scope"] == "Namespaced" { Resource::namespaced } else { Resource::cluster };
    let schema = &version["schema"]["openAPIV3Schema"];
    let schema = (!schema.is_null())
        .then(|| keelson_codec::json::read(schema.to_string().as_bytes()).expect("JSON").value);
    let selectable = version["selectableFields"].as_array().into_iter().flatten();
    let published = Definition {
        schema,
        list_kind: text(names, "listKind").into(),
        selectable: selectable.map(|it| text(it, "jsonPath").into()).collect(),
        ..Definition::default()
    };
    let served = Version::stored(text(version, "name")).published(Arc::new(published));
    let mut resource = make(text(names, "kind"), text(names, "plural")).version(served);
    if version["subresources"].get("status").is_some() {
        resource = resource.with_status();
    }
    if version["subresources"].get("scale").is_some() {
        resource = resource.with_scale(Scale::WORKLOAD);
    }
    live(text(spec, "group"), resource)
}

/// Lines of specifications, and upstream's document for each.
fn golden() -> Vec<(Value, Value)> {
    let lines = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let specs = lines(include_str!("../../../testdata/openapi/definitions.jsonl"));
    let expected = lines(include_str!("../../../testdata/openapi/golden.jsonl"));
    assert_eq!(specs.len(), expected.len());
    specs.into_iter().zip(expected).collect()
}

/// Replaces references to shared parameters, and drops the descriptions of parameters.
fn plain(tree: &Value, shared: &Value) -> Value {
    match tree {
        Value::Object(map) => {
            if let Some(name) =
                map.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix("#/parameters/"))
            {
                return plain(&shared[name], shared);
            }
            let kept = map.iter().filter(|(key, _)| !(map.contains_key("in") && *key == "description"));
            Value::Object(kept.map(|(key, value)| (key.clone(), plain(value, shared))).collect())
        }
        Value::Array(list) => list.iter().map(|it| plain(it, shared)).collect(),
        other => other.clone(),
    }
}

#[track_caller]
fn check(ours: &Value, theirs: &Value) {
    let paths = |document: &Value| plain(&document["paths"], &document["parameters"]);
    let (found, wanted) = (paths(ours), paths(theirs));
    let keys = |value: &Value| value.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>());
    assert_eq!(keys(&found), keys(&wanted));
    for (path, item) in wanted.as_object().expect("paths") {
        assert_eq!(keys(&found[path]), keys(item), "{path}");
        for (method, operation) in item.as_object().expect("an item") {
            assert_eq!(&found[path][method], operation, "{method} {path}");
        }
    }
}

fn v3(catalog: &Catalog, path: &str) -> Value {
    let subject = Subject::find(catalog, &settings(), path).expect("a document");
    serde_json::from_slice(&subject.v3(&settings())).expect("JSON")
}

#[test]
fn v3_documents_are_those_of_upstream() {
    for (spec, expected) in golden() {
        let (live, expected) = (defined(&spec), &expected["v3"]);
        let path = format!("apis/{}/{}", text(&spec, "group"), live.resource.versions[0].name);
        let ours = v3(&Catalog::default().with_resource(&[live]), &path);
        check(&ours, expected);
        for key in ["openapi", "info"] {
            assert_eq!(ours[key], expected[key], "{path}");
        }
        let schemas = ours["components"]["schemas"].as_object().expect("schemas");
        let names: Vec<&String> = schemas.keys().collect();
        assert_eq!(serde_json::json!(names), expected["names"], "{path}");
        for (name, schema) in expected["components"]["schemas"].as_object().expect("schemas") {
            assert_eq!(&schemas[name], schema, "{name}");
        }
        assert_eq!(ours["components"].as_object().map(|it| it.len()), Some(1), "{path}");
    }
}

#[test]
fn the_v2_document_has_the_paths_and_definitions_of_upstream() {
    let catalog =
        golden().iter().fold(Catalog::default(), |it, (spec, _)| it.with_resource(&[defined(spec)]));
    let mut ours: Value = serde_json::from_slice(&document::v2(&catalog, &settings())).expect("JSON");
    for (spec, expected) in golden() {
        let (expected, mut own) = (&expected["v2"], ours.clone());
        let base = format!("/apis/{}/", text(&spec, "group"));
        own["paths"].as_object_mut().expect("paths").retain(|path, _| path.starts_with(&base));
        check(&own, expected);
        for (name, schema) in expected["definitions"].as_object().expect("definitions") {
            assert_eq!(&ours["definitions"][name], schema, "{name}");
        }
        for name in expected["names"].as_array().expect("names") {
            assert!(ours["definitions"].get(name.as_str().expect("a name")).is_some(), "{name}");
        }
    }
    assert_eq!(ours["info"].take()["title"], "Kubernetes");
}

#[test]
fn a_document_has_all_resources_of_its_group_version() {
    let things = |plural: &str| {
        let kind = plural.to_uppercase();
        live("example.com", Resource::cluster(&kind, plural).version(Version::stored("v1")))
    };
    let catalog = Catalog::default().with_resource(&[things("a")]).with_resource(&[things("b")]);
    let document = v3(&catalog, "apis/example.com/v1");
    for (plural, kind) in [("a", "A"), ("b", "B")] {
        assert!(document["paths"].get(format!("/apis/example.com/v1/{plural}")).is_some());
        let schema = &document["components"]["schemas"][format!("com.example.v1.{kind}")];
        assert_eq!(schema["type"], "object");
    }
    // Upstream has documents of group versions alone.
    assert!(Subject::find(&catalog, &settings(), "apis/example.com").is_none());
}

/// The endpoints of a catalog with one definition, which is published later.
struct Server {
    catalog: CatalogHandle,
    endpoint: OpenApi,
}

impl Server {
    fn new() -> Server {
        let catalog = CatalogHandle::default();
        let endpoint = OpenApi::new(settings(), catalog.clone(), Clock::manual().0);
        Server { catalog, endpoint }
    }

    fn publish(&self, group: &str, definition: &Arc<Definition>) {
        let version = Version::stored("v1").published(definition.clone());
        let live = live(group, Resource::cluster("Thing", "things").version(version));
        self.catalog.update(|catalog| catalog.with_resource(&[live]));
    }

    fn get(&self, path: &str) -> (u16, String, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let headers = HeaderMap::new();
        let answer = self.endpoint.answer(Ask { path, query, headers: &headers }).expect("an answer");
        let tag = answer.headers().get("etag").map(|it| it.to_str().expect("text").to_owned());
        let body = serde_json::from_slice(answer.body()).unwrap_or_default();
        (answer.status().as_u16(), tag.unwrap_or_default(), body)
    }

    /// The path of the document of a group, according to the index.
    fn address(&self, group: &str) -> Option<String> {
        let index = self.get("/openapi/v3").2;
        index["paths"][format!("apis/{group}/v1")]["serverRelativeURL"].as_str().map(str::to_owned)
    }
}

fn definition(fingerprint: u64) -> Arc<Definition> {
    let schema = keelson_codec::json::read(br#"{"type":"object"}"#).expect("JSON").value;
    Arc::new(Definition { schema: Some(schema), fingerprint, ..Definition::default() })
}

#[test]
fn a_hash_needs_no_document() {
    let (server, first) = (Server::new(), definition(1));
    server.publish("a.example.com", &first);
    let address = server.address("a.example.com").expect("the index names it");
    assert_eq!(first.reads.load(Ordering::Relaxed), 0);
    let (code, tag, document) = server.get(&address);
    assert_eq!((code, address.contains(tag.trim_matches('"'))), (200, true));
    assert!(document["paths"].get("/apis/a.example.com/v1/things").is_some());
    assert_eq!(first.reads.load(Ordering::Relaxed), 1);
    // The document is cached now.
    server.get(&address);
    assert_eq!(first.reads.load(Ordering::Relaxed), 1);
}

#[test]
fn a_hash_changes_with_the_definition_and_with_nothing_else() {
    let (server, other) = (Server::new(), definition(1));
    server.publish("a.example.com", &definition(1));
    server.publish("b.example.com", &other);
    let (a, b) = (server.address("a.example.com"), server.address("b.example.com"));
    assert_eq!(server.get(b.as_deref().expect("an address")).0, 200);
    server.publish("a.example.com", &definition(2));
    assert_ne!(server.address("a.example.com"), a);
    assert_eq!(server.address("b.example.com"), b);
    // The same definition once more, as after a write of its status.
    server.publish("b.example.com", &other);
    assert_eq!(server.address("b.example.com"), b);
    server.get(b.as_deref().expect("an address"));
    assert_eq!(other.reads.load(Ordering::Relaxed), 1);
    server.catalog.update(|catalog| catalog.without_resource("a.example.com", "things"));
    assert_eq!(server.address("a.example.com"), None);
    assert_eq!(server.get("/openapi/v3/apis/a.example.com/v1").0, 404);
}

#[test]
fn the_v2_document_is_made_when_somebody_asks() {
    let (server, first) = (Server::new(), definition(1));
    server.get("/openapi/v2");
    server.publish("a.example.com", &first);
    server.address("a.example.com");
    assert_eq!(first.reads.load(Ordering::Relaxed), 0);
    let document = server.get("/openapi/v2").2;
    assert!(document["paths"].get("/apis/a.example.com/v1/things").is_some());
    assert_eq!(document["definitions"]["com.example.a.v1.Thing"]["type"], "object");
    assert_eq!(first.reads.load(Ordering::Relaxed), 1);
}
