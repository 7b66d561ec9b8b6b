//! Documents of the built-in API equal those that upstream publishes.

use std::path::Path;

use futures_util::future::BoxFuture;
use keelson_object::Object;
use keelson_registry::catalog::ServedGroup;
use keelson_registry::subresource::{Action, Call};
use keelson_registry::{Catalog, Group, Live, Resource, Scale, Subresource, Verb, Version};
use keelson_testkit::openapi::{Extent, Report};
use keelson_testkit::yardstick;
use serde_json::Value;

use super::document::{self, Subject};
use super::{Enums, Extra, Features, Offered, Settings};

/// The settings with which the published documents were made.
fn settings() -> Settings {
    let features = Features { enums: Enums::Hidden, cbor: Offered::Yes };
    let extras = vec![Extra::Logs, Extra::Issuer];
    Settings { version: "unversioned".to_owned(), features, extras }
}

#[test]
fn documents_of_what_is_served_are_those_of_upstream() {
    let Some(folder) = yardstick::folder("server openapi") else { return };
    let groups = keelson_apis::groups(&keelson_apis::Settings::default());
    check(&folder, &groups, Extent::Everything);
}

/// Every path of every group: the resources are those of the published discovery.
#[test]
fn documents_of_everything_are_those_of_upstream() {
    let Some(folder) = yardstick::folder("server openapi") else { return };
    check(&folder, &published_groups(&folder), Extent::Everything);
}

/// A catalog that serves these groups, without objects.
fn catalog(groups: &[Group]) -> Catalog {
    let served = |group: &Group| {
        let resources = group.resources.iter().cloned().map(Live::without_objects).collect();
        ServedGroup::new(&group.name, group.versions(), resources)
    };
    Catalog::new(groups.iter().map(served).collect())
}

fn check(folder: &Path, groups: &[Group], extent: Extent) {
    let catalog = catalog(groups);
    let mut report = Report::default();
    let mut seen = Vec::new();
    for subject in Subject::all(&catalog, &settings()) {
        let name = subject.path();
        let file = format!("{}_openapi.json", name.replace('/', "__"));
        let theirs = std::fs::read(folder.join("openapi/v3").join(&file)).unwrap_or_default();
        report.add(&name, &subject.v3(&settings()), &theirs, extent);
        seen.push(file);
    }
    for entry in std::fs::read_dir(folder.join("openapi/v3")).expect("the folder of documents") {
        let file = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        if !seen.contains(&file) {
            report.alone(&file, "", "published");
        }
    }
    let theirs = std::fs::read(folder.join("openapi/swagger.json")).expect("the document");
    report.add("v2", &document::v2(&catalog, &settings()), &theirs, extent);
    assert_eq!(report.equal, report.total, "{report}");
}

/// As many shared parameters of each name as upstream has, and every parameter is described.
#[test]
fn parameters_are_shared_as_upstream_shares_them() {
    let Some(folder) = yardstick::folder("server openapi") else { return };
    let groups = published_groups(&folder);
    let ours: Value = serde_json::from_slice(&document::v2(&catalog(&groups), &settings())).expect("JSON");
    let theirs = json(&folder.join("openapi/swagger.json"));
    let names = |document: &Value| {
        let shared = document["parameters"].as_object().expect("shared parameters");
        let mut names: Vec<String> = shared.values().map(|it| text(it, "name").to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&ours), names(&theirs));
    let shared = &ours["parameters"];
    let mut places: Vec<&Value> = shared.as_object().expect("shared parameters").values().collect();
    for item in ours["paths"].as_object().expect("paths").values() {
        let operations = item.as_object().expect("an item").values();
        let lists = operations.map(|it| &it["parameters"]).chain([&item["parameters"]]);
        places.extend(lists.filter_map(Value::as_array).flatten());
    }
    for place in places {
        match place["$ref"].as_str().and_then(|it| it.strip_prefix("#/parameters/")) {
            Some(name) => assert!(shared.get(name).is_some(), "{name} leads nowhere"),
            None if place["in"] == "body" => {}
            None => assert!(place["description"].is_string(), "{place} is not described"),
        }
    }
}

/// The groups in the published discovery documents.
fn published_groups(folder: &Path) -> Vec<Group> {
    let swagger = json(&folder.join("openapi/swagger.json"));
    let mut groups: Vec<Group> = Vec::new();
    for entry in std::fs::read_dir(folder.join("discovery")).expect("the folder of documents") {
        let path = entry.expect("an entry").path();
        let list = json(&path);
        let Some(group_version) = list["groupVersion"].as_str() else { continue };
        let (group, version) = group_version.split_once('/').unwrap_or(("", group_version));
        let base = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group_version}") };
        let mut declared = Group::new(group);
        for resource in resources(&list, version, |path| answers_object(&swagger, &format!("{base}{path}"))) {
            declared = declared.serve(resource);
        }
        match groups.iter_mut().find(|it| it.name == group) {
            Some(known) => known.resources.extend(declared.resources),
            None => groups.push(declared),
        }
    }
    groups
}

/// The resources of one discovery document, which is sorted by name.
fn resources(list: &Value, version: &str, answers_object: impl Fn(&str) -> bool) -> Vec<Resource> {
    let mut found: Vec<Resource> = Vec::new();
    for entry in list["resources"].as_array().expect("resources") {
        let (name, kind) = (text(entry, "name"), text(entry, "kind"));
        let verbs: Vec<&str> =
            entry["verbs"].as_array().expect("verbs").iter().filter_map(Value::as_str).collect();
        let Some((owner, subresource)) = name.split_once('/') else {
            let is_namespaced = entry["namespaced"] == true;
            let make = if is_namespaced { Resource::namespaced } else { Resource::cluster };
            let known: Vec<Verb> =
                Verb::ALL.iter().copied().filter(|it| verbs.contains(&it.as_str())).collect();
            let mut resource = make(kind, name).version(Version::stored(version)).verbs(&known);
            let place = if is_namespaced { "/namespaces/{namespace}" } else { "" };
            resource.returns_deleted = answers_object(&format!("{place}/{name}/{{name}}"));
            found.push(resource);
            continue;
        };
        let at = found.iter().position(|it| it.plural == owner).expect("its resource comes before it");
        let resource = found.remove(at);
        found.push(with_subresource(resource, subresource, entry, version));
    }
    found
}

fn with_subresource(resource: Resource, name: &str, entry: &Value, version: &str) -> Resource {
    let verbs: Vec<&'static str> =
        entry["verbs"].as_array().expect("verbs").iter().filter_map(Value::as_str).map(leaked).collect();
    let kind = text(entry, "kind");
    let api_version = match (entry["group"].as_str(), entry["version"].as_str()) {
        (Some(group), Some(version)) => format!("{group}/{version}"),
        (None, _) if resource.group.is_empty() => version.to_owned(),
        _ => format!("{}/{version}", resource.group),
    };
    let name = leaked(name);
    match name {
        "status" => resource.with_status(),
        "scale" => resource.with_scale(Scale::WORKLOAD),
        _ if verbs == ["create"] => {
            resource.subresource(Subresource::action(name, &api_version, kind, Nothing))
        }
        _ if verbs == ["get"] || kind.ends_with("Options") => {
            resource.subresource(Subresource::connect(name, &api_version, kind, verbs.leak()))
        }
        _ => resource.subresource(Subresource::part(name).verbs(verbs.leak())),
    }
}

/// Whether a DELETE responds with the object: discovery does not contain that.
fn answers_object(swagger: &Value, path: &str) -> bool {
    let answer = &swagger["paths"][path]["delete"]["responses"]["200"]["schema"]["$ref"];
    answer.as_str().is_some_and(|it| !it.ends_with(".Status"))
}

struct Nothing;

impl Action for Nothing {
    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, keelson_registry::Result<Object>> {
        Box::pin(std::future::ready(Ok(call.body)))
    }
}

/// The documents of a kind that no table describes.
#[test]
fn a_custom_kind_is_described_like_any_other() {
    let flowers = Resource::namespaced("Flower", "flowers").version(Version::stored("v1")).with_status();
    let groups = [Group::new("flowers.example.com").serve(flowers)];
    let catalog = catalog(&groups);
    let subject = Subject::find(&catalog, &settings(), "apis/flowers.example.com/v1").expect("a document");
    let document: Value = serde_json::from_slice(&subject.v3(&settings())).expect("JSON");
    let item = "/apis/flowers.example.com/v1/namespaces/{namespace}/flowers/{name}";
    let operation = &document["paths"][item]["patch"];
    assert_eq!(operation["operationId"], "patchFlowersExampleComV1NamespacedFlower");
    let body = &operation["requestBody"]["content"];
    assert!(body.get("application/merge-patch+json").is_some());
    assert!(body.get("application/strategic-merge-patch+json").is_none());
    assert!(document["paths"].get(format!("{item}/status")).is_some());
    let schemas = &document["components"]["schemas"];
    assert!(schemas.get("com.example.flowers.v1.Flower").is_some());
    assert!(schemas.get("com.example.flowers.v1.FlowerList").is_some());
    let all = document.to_string();
    for name in all.split("#/components/schemas/").skip(1).filter_map(|it| it.split('"').next()) {
        assert!(schemas.get(name).is_some(), "{name} leads nowhere");
    }
}

fn json(path: &Path) -> Value {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).expect("JSON")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().expect("text")
}

fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}
