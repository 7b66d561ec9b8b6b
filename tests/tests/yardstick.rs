//! API coverage: samples in every encoding, discovery documents and OpenAPI, compared with the published API.
//!
//! `cargo xtask parity api` prints the counts.

use std::collections::BTreeSet;
use std::path::Path;

use keelson_codec::{json, protobuf, yaml};
use keelson_schema::Schema;
use keelson_testkit::yardstick::{self, Sample};
use keelson_testkit::{Answer, Client, Options, RunningServer, openapi};
use serde_json::Value;

/// Counts, and what does not fit.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    wrong: Vec<String>,
}

impl Report {
    fn count(&mut self, what: &str, total: usize, wrong: Vec<String>) {
        self.lines.push(format!("{what:<28} {} of {total}", total - wrong.len()));
        self.wrong.extend(wrong.into_iter().map(|it| format!("{what}: {it}")));
    }

    /// Prints the counts; `cargo xtask parity api` shows them.
    #[track_caller]
    fn finish(self) {
        println!("{}", self.lines.join("\n"));
        assert!(self.wrong.is_empty(), "{} differences\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

/// A check of a sample.
type Check = fn(&Sample, &Schema) -> Result<(), String>;

#[test]
fn every_sample_goes_through_every_encoding_unchanged() {
    let Some(folder) = yardstick::folder("samples") else { return };
    let samples = yardstick::samples(&folder);
    assert!(samples.len() >= 185, "only {} samples", samples.len());
    let mut report = Report::default();
    let checks: [(&str, Check); 3] = [
        ("samples in JSON", through_json),
        ("samples in YAML", through_yaml),
        ("samples in protobuf", through_protobuf),
    ];
    for (what, check) in checks {
        let wrong = samples.iter().filter_map(|sample| {
            let schema = Schema::builtin(&sample.group, &sample.version, &sample.kind);
            let done = schema.ok_or_else(|| "not known".to_owned()).and_then(|schema| check(sample, &schema));
            done.err().map(|problem| format!("{}: {problem}", sample.name))
        });
        report.count(what, samples.len(), wrong.collect());
    }
    let kinds: BTreeSet<&str> = samples.iter().map(|it| &*it.kind).collect();
    report.lines.push(format!("{:<28} {}", "kinds", kinds.len()));
    let fields: usize = samples
        .iter()
        .map(|it| fields(&serde_json::from_slice(&it.bytes("json")).expect("a sample is JSON")))
        .sum();
    report.lines.push(format!("{:<28} {fields}", "fields that samples fill"));
    report.finish();
}

/// The number of fields in a document.
fn fields(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(fields).sum::<usize>(),
        Value::Array(items) => items.iter().map(fields).sum(),
        _ => 0,
    }
}

fn same(what: &str, ours: &[u8], theirs: &[u8]) -> Result<(), String> {
    if ours == theirs {
        return Ok(());
    }
    let at = ours.iter().zip(theirs).take_while(|(a, b)| a == b).count();
    let part = |text: &[u8]| {
        String::from_utf8_lossy(&text[at.saturating_sub(40)..text.len().min(at + 40)]).into_owned()
    };
    Err(format!("{what} differs at byte {at}: {:?} instead of {:?}", part(ours), part(theirs)))
}

fn through_json(sample: &Sample, schema: &Schema) -> Result<(), String> {
    let text = sample.bytes("json");
    let mut value = json::read(&text).map_err(|error| error.to_string())?.value;
    let unknown = schema.conform(&mut value).map_err(|error| error.to_string())?;
    if !unknown.is_empty() {
        return Err(format!("unknown fields {unknown:?}"));
    }
    let mut indented = Vec::new();
    json::indent(&json::to_bytes(&value), &mut indented);
    same("JSON", &indented, &text)
}

fn through_yaml(sample: &Sample, schema: &Schema) -> Result<(), String> {
    let text = sample.bytes("yaml");
    let mut value = yaml::read(&text).map_err(|error| error.to_string())?.value;
    schema.conform(&mut value).map_err(|error| error.to_string())?;
    let json = json::read(&sample.bytes("json")).map_err(|error| error.to_string())?.value;
    if value != json {
        return Err("the YAML is not the JSON".to_owned());
    }
    same("YAML", yaml::to_text(value).as_bytes(), &text)
}

fn through_protobuf(sample: &Sample, _: &Schema) -> Result<(), String> {
    let message = sample.bytes("pb");
    let envelope = protobuf::Envelope::read(&message).map_err(|error| error.to_string())?;
    // A watch event has no kind of its own.
    let envelope = envelope.or(&sample.api_version(), &sample.kind);
    let value = envelope.decode().map_err(|error| error.to_string())?;
    let written = protobuf::encode(&value, &sample.api_version(), &sample.kind);
    same("protobuf", &written.map_err(|error| error.to_string())?, &message)?;
    let json = json::read(&sample.bytes("json")).map_err(|error| error.to_string())?.value;
    same("its JSON", &json::to_bytes(&value), &json::to_bytes(&json))
}

#[tokio::test]
async fn discovery_is_what_upstream_publishes() {
    let Some(folder) = yardstick::folder("discovery") else { return };
    let server = RunningServer::start(everything()).await;
    let client = server.client();
    let mut report = Report::default();
    let mut wrong = Vec::new();
    let entries = std::fs::read_dir(folder.join("discovery")).expect("the folder of documents");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in &paths {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut theirs: Value =
            serde_json::from_slice(&std::fs::read(path).expect("a document")).expect("JSON");
        let answer = document(&client, &name).await;
        let mut ours = serde_json::from_str(&answer.text()).unwrap_or(Value::String(answer.text()));
        for value in [&mut ours, &mut theirs] {
            if let Some(map) = value.as_object_mut() {
                map.remove("serverAddressByClientCIDRs");
            }
        }
        wrong.extend(difference(&ours, &theirs, &name));
    }
    report.count("discovery documents", paths.len(), wrong);
    report.finish();
}

/// Paths that are not served yet.
const GAPS: &[&str] = &["/logs/"];

#[tokio::test]
async fn openapi_is_what_upstream_publishes() {
    let Some(folder) = yardstick::folder("openapi") else { return };
    let server = RunningServer::start(everything()).await;
    let client = server.client();
    let read = |path: &Path| std::fs::read(path).expect("a document");
    let mut compared = openapi::Report::default();
    let entries = std::fs::read_dir(folder.join("openapi/v3")).expect("the folder of documents");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in &paths {
        let name = path.file_name().expect("a name").to_string_lossy().replace("__", "/");
        let name = name.trim_end_matches("_openapi.json");
        if GAPS.iter().any(|gap| format!("/{name}/").starts_with(gap)) {
            continue;
        }
        let ours = client.get(&format!("/openapi/v3/{name}")).await.text();
        compared.add(name, ours.as_bytes(), &read(path), openapi::Extent::Without(GAPS));
    }
    let ours = client.get("/openapi/v2").await.text();
    compared.add(
        "v2",
        ours.as_bytes(),
        &read(&folder.join("openapi/swagger.json")),
        openapi::Extent::Without(GAPS),
    );
    println!("{:<28} {} of {}", "OpenAPI documents", compared.equal, compared.total);
    assert_eq!(compared.equal, compared.total, "{compared}");
}

/// With these flags upstream's server serves the published documents.
fn everything() -> Options {
    let flags = [
        "--runtime-config=api/all=true",
        "--feature-gates=AllAlpha=true,AllBeta=true,OpenAPIEnums=false",
        "--enable-logs-handler=true",
    ];
    flags.into_iter().fold(Options::default(), Options::argument)
}

async fn document(client: &Client, name: &str) -> Answer {
    if name == "aggregated_v2" {
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        return client.call("GET", "/apis").header("accept", accept).send().await;
    }
    client.get(&format!("/{}", name.replace("__", "/"))).await
}

/// The first place at which two documents differ.
fn difference(ours: &Value, theirs: &Value, at: &str) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            let null = Value::Null;
            let below = |key: &String| {
                difference(a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null), &format!("{at}.{key}"))
            };
            keys.into_iter().find_map(below)
        }
        (Value::Array(a), Value::Array(b)) => {
            let named = |item: &Value| {
                ["name", "resource", "subresource", "version"].iter().find_map(|key| {
                    item[*key].as_str().or(item["metadata"][*key].as_str()).map(str::to_owned)
                })
            };
            for (position, (one, other)) in a.iter().zip(b).enumerate() {
                if named(one) != named(other) {
                    return Some(format!("{at}[{position}]: {:?} instead of {:?}", named(one), named(other)));
                }
                let name = named(one).unwrap_or_else(|| position.to_string());
                if let Some(found) = difference(one, other, &format!("{at}[{name}]")) {
                    return Some(found);
                }
            }
            (a.len() != b.len()).then(|| format!("{at}: {} items instead of {}", a.len(), b.len()))
        }
        _ => (ours != theirs).then(|| format!("{at}: {ours} instead of {theirs}")),
    }
}

/// Whether the folder of the published data exists.
#[test]
fn the_yardsticks_are_where_they_should_be() {
    if let Some(folder) = yardstick::folder("yardsticks") {
        assert!(Path::new(&folder).join("discovery/apis.json").is_file());
    }
}
