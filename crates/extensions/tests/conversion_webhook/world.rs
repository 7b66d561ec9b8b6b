//! A definition of two versions, its objects in a store in memory, and the webhook that converts them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_authn::User;
use keelson_codec::json;
use keelson_extensions::conversion::Converters;
use keelson_extensions::conversion::webhook::{self, Observer};
use keelson_extensions::definition::Definition;
use keelson_extensions::resource::{Stage, Surroundings, resources};
use keelson_merge::apply::Force;
use keelson_object::{Object, Value};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::live::Ground;
use keelson_registry::operation;
use keelson_registry::options::{FieldValidation, Freshness, ListOptions, Part};
use keelson_registry::{Catalog, CatalogHandle, Context, Error, Live, Place};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{Layout, MemoryStore};
use keelson_structural::Interner;
use keelson_testkit::{Asked, Callee};
use serde_json::json;

/// What the webhook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Good,
    /// Says no.
    Refuses,
    /// Answers with a status of 500.
    OutOfOrder,
    ReturnsTooMany,
    ReturnsNone,
    Renames,
    ConvertsNothing,
    Garbage,
    Huge,
}

pub(crate) struct World {
    store: Arc<MemoryStore>,
    clock: Clock,
    hand: ManualClock,
    webhook: Option<Callee>,
    mode: Arc<Mutex<Mode>>,
    url: String,
    bundle: String,
    strategy: Strategy,
    counted: Arc<Counted>,
    lives: Vec<Arc<Live>>,
}

/// What was reported of the calls: versions, and why they failed.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<Vec<String>>);

impl Observer for Counted {
    fn asked(&self, asked: &webhook::Asked<'_>) {
        let webhook::Asked { definition, from, to, failure, .. } = *asked;
        let failure = failure.map(webhook::FailureType::as_str).unwrap_or_default();
        let line = format!("{definition} {} {to} {failure}", from.join(","));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

/// `spec.conversion.strategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    Webhook,
    /// All versions look like v2.
    None,
}

impl World {
    /// Stores v1.
    pub(crate) async fn new() -> World {
        let mode = Arc::new(Mutex::new(Mode::Good));
        let seen = mode.clone();
        let webhook = Callee::open(move |asked| answer(asked, *locked(&seen))).await.expect("a webhook");
        let (url, bundle) = (webhook.url("/convert"), STANDARD.encode(webhook.ca()));
        World::start(Some(webhook), mode, (url, bundle)).await
    }

    /// Stores v1; the webhook is somebody else's.
    pub(crate) async fn with_webhook_at(url: &str) -> World {
        World::start(None, Arc::new(Mutex::new(Mode::Good)), (url.to_owned(), String::new())).await
    }

    async fn start(
        webhook: Option<Callee>,
        mode: Arc<Mutex<Mode>>,
        (url, bundle): (String, String),
    ) -> World {
        let (clock, hand) = Clock::manual();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let (strategy, lives) = (Strategy::Webhook, Vec::new());
        let counted = Arc::default();
        let world = World { store, clock, hand, webhook, mode, url, bundle, strategy, counted, lives };
        world.storing("v1").await
    }

    /// The same without a webhook.
    pub(crate) async fn without_webhook() -> World {
        let mut world = World::new().await;
        world.strategy = Strategy::None;
        world.storing("v1").await
    }

    /// The same objects; new ones are stored in `version`.
    pub(crate) async fn storing(self, version: &str) -> World {
        self.serving(&["v1", "v2"], version).await
    }

    /// The same objects, with other versions.
    pub(crate) async fn serving(mut self, versions: &[&str], stored: &str) -> World {
        let definition = self.definition(versions, stored);
        let definition = Definition::read(&definition, &mut Interner::new()).expect("it can be served");
        let around = Surroundings { catalog: CatalogHandle::default(), patterns: Arc::default() };
        let ground = Ground::new(self.store.clone(), Layout::default(), self.clock.clone());
        let mut converters = Converters::new(self.clock.clone());
        converters.observer = Some(self.counted.clone());
        let convert = converters.of(&definition);
        let resources = resources(&definition, Stage::Established, &around);
        self.lives = Live::start_custom(resources, convert, &ground).await.expect("it is served");
        self
    }

    fn definition(&self, versions: &[&str], stored: &str) -> Object {
        let version = |name: &&str| {
            let fields: &[&str] = match (self.strategy, *name) {
                (Strategy::Webhook, "v1") => &["hostPort"],
                _ => &["host", "port"],
            };
            let text = json!({"type": "string"});
            let properties: serde_json::Map<_, _> =
                fields.iter().map(|field| ((*field).to_owned(), text.clone())).collect();
            json!({
                "name": name, "served": true, "storage": *name == stored,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                "selectableFields": [{"jsonPath": format!(".{}", fields[0])}],
            })
        };
        let versions: Vec<_> = versions.iter().map(version).collect();
        let names = json!({"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"});
        let client = self.client_config("/convert");
        let webhook = json!({"conversionReviewVersions": ["v9", "v1", "v1beta1"], "clientConfig": client});
        let conversion = match self.strategy {
            Strategy::Webhook => json!({"strategy": "Webhook", "webhook": webhook}),
            Strategy::None => json!({"strategy": "None"}),
        };
        object(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.example.com", "uid": "d", "generation": 1},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": names,
                "versions": versions, "conversion": conversion,
            },
            "status": {"acceptedNames": names},
        }))
    }

    pub(crate) fn live(&self, version: &str) -> &Arc<Live> {
        let is_it = |live: &&Arc<Live>| live.resource.hub_version().name == version;
        self.lives.iter().find(is_it).expect("the version is served")
    }

    pub(crate) fn context(&self, version: &str) -> Context {
        let mut context = Context::new(User::new("tester", &[]), self.clock.clone());
        context.api_version = self.live(version).resource.hub_version().api_version.clone();
        context.field_manager = "tester".into();
        context
    }

    pub(crate) fn behave(&self, mode: Mode) {
        *locked(&self.mode) = mode;
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.hand.advance(time);
    }

    pub(crate) fn url(&self) -> String {
        self.url.clone()
    }

    /// Where a webhook with the same certificate listens, and who vouches for it.
    pub(crate) fn client_config(&self, path: &str) -> serde_json::Value {
        json!({"url": self.url.replace("/convert", path), "caBundle": self.bundle})
    }

    /// Everything served.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::new(Catalog::default().with_resource(&self.lives))
    }

    /// What was reported of the calls up to now.
    pub(crate) fn counted(&self) -> Vec<String> {
        self.counted.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the webhook was asked.
    pub(crate) fn questions(&self) -> Vec<serde_json::Value> {
        self.asked_at("/convert")
    }

    /// What the webhook was asked at a path.
    pub(crate) fn asked_at(&self, path: &str) -> Vec<serde_json::Value> {
        let asked = self.webhook.iter().flat_map(Callee::asked).filter(|it| it.path == path);
        asked.map(|it| serde_json::from_str(&it.body).expect("a question is JSON")).collect()
    }

    pub(crate) async fn create(&self, version: &str, object: Object) -> Result<Object, Error> {
        let live = self.live(version);
        live.thaw(&*operation::create(live, &self.context(version), "default", object).await?)
    }

    pub(crate) async fn get(&self, version: &str, name: &str) -> Result<Object, Error> {
        let live = self.live(version);
        live.thaw(&*operation::get(live, &Place::new("default", name), Freshness::Latest).await?)
    }

    pub(crate) async fn update(&self, version: &str, object: Object) -> Result<Object, Error> {
        let (live, place) = (self.live(version), Place::new("default", object.meta.name.clone()));
        let updated = operation::update(live, &self.context(version), &place, Part::Main, object).await?;
        live.thaw(&updated.object)
    }

    /// Applies in the version of `object`.
    pub(crate) async fn apply(&self, manager: &str, object: Object, force: Force) -> Result<Object, Error> {
        let version = object.api_version.rsplit('/').next().unwrap_or_default().to_owned();
        let (live, place) = (self.live(&version), Place::new("default", object.meta.name.clone()));
        let mut context = self.context(&version);
        context.field_manager = manager.into();
        let patch = object.into_value();
        let apply = Apply { patch: &patch, force, complaint: None, validation: FieldValidation::Ignore };
        let version = live.resource.hub_version();
        let applied = operation::apply(live, &context, version, (&place, Part::Main), &apply).await?;
        live.thaw(&applied.object)
    }

    /// The names, hosts and ports of all objects.
    pub(crate) async fn list(&self, version: &str, options: ListOptions) -> Result<Vec<String>, Error> {
        let live = self.live(version);
        let listing = operation::list(live, "default", &options).await?;
        let text = |object: &Object, key: &str| object.fields.str(key).unwrap_or_default().to_owned();
        let line = |object: Object| {
            format!("{} {} {}", object.meta.name, text(&object, "host"), text(&object, "port"))
        };
        listing.items.iter().map(|it| live.thaw(it).map(line)).collect()
    }

    /// Who manages fields of an object, and in which version.
    pub(crate) fn managers<'o>(&self, object: &'o Object) -> Vec<(&'o str, &'o str)> {
        let text = |entry: &'o Value, key: &str| {
            entry.as_map().and_then(|it| it.str(key)).expect("an entry has a manager and a version")
        };
        let entries = object.meta.managed_fields.iter();
        entries.map(|it| (text(it, "manager"), text(it, "apiVersion"))).collect()
    }
}

/// The version and the fields of an object, without metadata.
pub(crate) fn shape(object: &Object) -> (&str, String) {
    let fields = json::to_bytes(&Value::Map(object.fields.clone()));
    (&object.api_version, String::from_utf8_lossy(&fields).into_owned())
}

pub(crate) fn v1(name: &str, host_port: &str) -> Object {
    object(
        &json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "hostPort": host_port}),
    )
}

pub(crate) fn v2(name: &str, host: &str, port: &str) -> Object {
    let metadata = json!({"name": name});
    object(&json!({
        "apiVersion": "example.com/v2", "kind": "Foo", "metadata": metadata, "host": host, "port": port,
    }))
}

pub(crate) fn object(value: &serde_json::Value) -> Object {
    let tree = json::read(value.to_string().as_bytes()).expect("it is JSON").value;
    Object::from_value(tree).expect("it is an object")
}

fn locked(mode: &Mutex<Mode>) -> std::sync::MutexGuard<'_, Mode> {
    mode.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(asked: &Asked, mode: Mode) -> (u16, String) {
    let review: serde_json::Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let request = &review["request"];
    if asked.path != "/convert" {
        return (200, admission(&review, &asked.path));
    }
    let desired = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let originals = request["objects"].as_array().cloned().unwrap_or_default();
    let mut objects: Vec<_> = originals.iter().map(|it| converted(it, desired)).collect();
    let mut result = json!({"status": "Success"});
    match mode {
        Mode::Good => {}
        Mode::Refuses => result = json!({"status": "Failure", "message": "not today"}),
        Mode::OutOfOrder => {
            let status =
                json!({"kind": "Status", "status": "Failure", "message": "out of order", "code": 500});
            return (500, status.to_string());
        }
        Mode::ReturnsTooMany => objects.extend(objects.clone()),
        Mode::ReturnsNone => objects.clear(),
        Mode::Renames => objects.iter_mut().for_each(|it| it["metadata"]["name"] = json!("b")),
        Mode::ConvertsNothing => objects = originals,
        Mode::Garbage => return (200, "\u{1}\u{2} not a review".to_owned()),
        Mode::Huge => return (200, " ".repeat(33 << 20)),
    }
    let response = json!({"uid": request["uid"], "convertedObjects": objects, "result": result});
    let version = &review["apiVersion"];
    (200, json!({"apiVersion": version, "kind": "ConversionReview", "response": response}).to_string())
}

/// An admission webhook that knows v2: one gives objects another host, the other one lets everything pass.
fn admission(review: &serde_json::Value, path: &str) -> String {
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    if path == "/mutate" {
        let patch = json!([{"op": "replace", "path": "/host", "value": "patched"}]).to_string();
        response["patchType"] = json!("JSONPatch");
        response["patch"] = json!(STANDARD.encode(patch));
    }
    json!({"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}).to_string()
}

/// v1 has `hostPort`, v2 has `host` and `port`.
fn converted(object: &serde_json::Value, desired: &str) -> serde_json::Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(desired);
    let Some(map) = object.as_object_mut() else { return object };
    if desired.ends_with("/v2") {
        if let Some(both) = map.remove("hostPort") {
            let (host, port) = both.as_str().and_then(|it| it.split_once(':')).unwrap_or_default();
            map.insert("host".to_owned(), json!(host));
            map.insert("port".to_owned(), json!(port));
        }
    } else if let (Some(host), Some(port)) = (map.remove("host"), map.remove("port")) {
        let text = |it: &serde_json::Value| it.as_str().unwrap_or_default().to_owned();
        map.insert("hostPort".to_owned(), json!(format!("{}:{}", text(&host), text(&port))));
    }
    object
}
