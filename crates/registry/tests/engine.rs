//! Operations on values: no HTTP, no disk, a fixed clock.

use std::sync::Arc;
use std::time::Duration;

use keelson_authn::User;
use keelson_authz::AlwaysDeny;
use keelson_merge::apply::Force;
use keelson_object::{FieldErrors, Object, Path, SelectableField};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::live::Ground;
use keelson_registry::operation::{self, Change};
use keelson_registry::options::{
    DeleteOptions, FieldValidation, Freshness, ListOptions, Part, Propagation, WatchFrom, WatchOptions,
};
use keelson_registry::{Context, DryRun, Error, Group, Live, Place, Resource, Strategy, Version};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{Expect, Layout, MemoryStore, Revision, Store as _, Write};

struct Flower;

impl Strategy for Flower {
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.remove("status");
        keelson_registry::lifecycle::generation::begin(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        keelson_registry::lifecycle::generation::advance(object, old, &["spec"]);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let petals = object.fields.map("spec").and_then(|spec| spec.int("petals"));
        errors.non_negative(&Path::root("spec").key("petals"), petals);
    }
}

struct Garden {
    live: Arc<Live>,
    store: Arc<MemoryStore>,
    clock: Clock,
    _hand: ManualClock,
}

impl Garden {
    async fn new() -> Garden {
        let (clock, hand) = Clock::manual();
        let group = Group::new("example.com").serve(
            Resource::namespaced("Flower", "flowers")
                .version(Version::stored("v1"))
                .with_status()
                .selectable(SelectableField::plain("spec.color"))
                .conditional_update()
                .strategy(Flower),
        );
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let ground = Ground::new(store.clone(), Layout::default(), clock.clone());
        let live = Live::start(group.resources[0].clone(), &ground).await.expect("an empty store loads");
        Garden { live, store, clock, _hand: hand }
    }

    fn context(&self) -> Context {
        Context::new(User::new("gardener", &[]), self.clock.clone())
    }

    async fn create(&self, object: Object) -> Result<Object, Error> {
        let frozen = operation::create(&self.live, &self.context(), "default", object).await?;
        self.live.thaw(&frozen)
    }

    async fn update(&self, object: Object, part: Part) -> Result<Object, Error> {
        let place = Place::new("default", object.meta.name.clone());
        let updated = operation::update(&self.live, &self.context(), &place, part, object).await?;
        self.live.thaw(&updated.object)
    }

    async fn get(&self, name: &str) -> Result<Object, Error> {
        let frozen = operation::get(&self.live, &Place::new("default", name), Freshness::Latest).await?;
        self.live.thaw(&frozen)
    }

    async fn names(&self, options: &ListOptions) -> Vec<String> {
        let listing = operation::list(&self.live, "default", options).await.expect("a list");
        listing.items.iter().map(|it| it.index().name.to_string()).collect()
    }
}

fn flower(name: &str, petals: i64) -> Object {
    let mut object =
        Object { kind: "Flower".into(), api_version: "example.com/v1".into(), ..Object::default() };
    object.meta.name = name.into();
    object.fields.map_mut("spec").set("petals", petals);
    object
}

#[tokio::test]
async fn a_new_object_gets_what_only_the_server_gives() {
    let garden = Garden::new().await;
    let mut wanted = flower("rose", 5);
    wanted.meta.uid = "made-up".into();
    wanted.fields.map_mut("status").set("open", true);
    let rose = garden.create(wanted).await.unwrap();
    assert_ne!(rose.meta.uid, "made-up");
    assert_eq!(rose.meta.generation, 1);
    assert_eq!(rose.meta.namespace, "default");
    assert!(rose.meta.creation_timestamp.is_some());
    assert!(rose.meta.resource_version.parse::<u64>().unwrap() > 0);
    assert!(!rose.fields.contains("status"));
    assert_eq!(garden.get("rose").await.unwrap(), rose);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let garden = Garden::new().await;
    garden.create(flower("rose", 5)).await.unwrap();
    let error = garden.create(flower("rose", 5)).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyExists { being_deleted: false, .. }), "{error}");
}

#[tokio::test]
async fn names_are_generated() {
    let garden = Garden::new().await;
    let mut object = flower("", 1);
    object.meta.generate_name = "rose-".into();
    let rose = garden.create(object).await.unwrap();
    assert!(rose.meta.name.starts_with("rose-") && rose.meta.name.len() == 10, "{}", rose.meta.name);
}

#[tokio::test]
async fn a_uid_is_a_condition_of_a_replacement_and_a_mistake_in_a_patch() {
    let garden = Garden::new().await;
    let mut rose = garden.create(flower("rose", 5)).await.unwrap();
    rose.meta.uid = "another".into();
    let error = garden.update(rose, Part::Main).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");

    let edit = |old: &Object| {
        let mut object = old.clone();
        object.meta.uid = "another".into();
        Ok(object)
    };
    let place = Place::new("default", "rose");
    let patched = operation::patch(&garden.live, &garden.context(), &place, Part::Main, edit).await;
    let Err(Error::Invalid { errors, .. }) = patched else { panic!("nobody changes a uid") };
    assert_eq!(errors.to_text(), "metadata.uid: Invalid value: \"another\": field is immutable");
}

#[tokio::test]
async fn only_strict_clients_hear_that_a_key_of_an_apply_stands_twice() {
    let garden = Garden::new().await;
    let place = Place::new("default", "rose");
    let patch = flower("rose", 5).into_value();
    for (validation, expected, warnings) in [
        (
            FieldValidation::Strict,
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 3: x",
            &[][..],
        ),
        (FieldValidation::Warn, "", &["line 3: x"]),
        (FieldValidation::Ignore, "", &[]),
    ] {
        let mut context = garden.context();
        context.field_manager = "me".into();
        let complaint = Some("yaml: unmarshal errors:\n  line 3: x");
        let apply = Apply { patch: &patch, force: Force::No, complaint, validation };
        let version = garden.live.resource.stored_version();
        let done = operation::apply(&garden.live, &context, version, (&place, Part::Main), &apply).await;
        assert_eq!(done.err().map(|it| it.to_string()).unwrap_or_default(), expected);
        assert_eq!(context.take_warnings(), warnings);
    }
}

#[tokio::test]
async fn a_wrong_object_is_refused_with_all_its_mistakes() {
    let garden = Garden::new().await;
    let error = garden.create(flower("Rose!", -1)).await.unwrap_err();
    let Error::Invalid { errors, .. } = error else { panic!("{error}") };
    let fields: Vec<&str> = errors.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, ["metadata.name", "spec.petals"]);
    assert!(garden.names(&ListOptions::default()).await.is_empty());
}

#[tokio::test]
async fn an_update_needs_the_latest_version() {
    let garden = Garden::new().await;
    let first = garden.create(flower("rose", 5)).await.unwrap();
    let mut next = first.clone();
    next.fields.map_mut("spec").set("petals", 6);
    let second = garden.update(next, Part::Main).await.unwrap();
    assert_eq!((second.meta.generation, second.meta.uid.clone()), (2, first.meta.uid.clone()));
    let error = garden.update(first.clone(), Part::Main).await.unwrap_err();
    assert!(error.to_string().contains("the object has been modified"), "{error}");
    let mut unversioned = first;
    unversioned.meta.resource_version = Default::default();
    let error = garden.update(unversioned, Part::Main).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
}

#[tokio::test]
async fn an_update_that_changes_nothing_writes_nothing() {
    let garden = Garden::new().await;
    let rose = garden.create(flower("rose", 5)).await.unwrap();
    let same = garden.update(rose.clone(), Part::Main).await.unwrap();
    assert_eq!(same.meta.resource_version, rose.meta.resource_version);
}

#[tokio::test]
async fn status_and_spec_are_kept_apart() {
    let garden = Garden::new().await;
    let rose = garden.create(flower("rose", 5)).await.unwrap();
    let mut both = rose.clone();
    both.fields.map_mut("spec").set("petals", 9);
    both.fields.map_mut("status").set("open", true);
    let after = garden.update(both.clone(), Part::Status).await.unwrap();
    assert_eq!(after.fields.at("spec.petals").and_then(|it| it.as_int()), Some(5));
    assert_eq!(after.fields.at("status.open").and_then(|it| it.as_bool()), Some(true));
    assert_eq!(after.meta.generation, 1);
    let mut again = after.clone();
    again.fields.map_mut("status").set("open", false);
    let kept = garden.update(again, Part::Main).await.unwrap();
    assert_eq!(kept.fields.at("status.open").and_then(|it| it.as_bool()), Some(true));
}

#[tokio::test]
async fn finalizers_hold_an_object() {
    let garden = Garden::new().await;
    let mut object = flower("rose", 5);
    object.meta.finalizers.push("example.com/water".into());
    garden.create(object).await.unwrap();
    let place = Place::new("default", "rose");
    let deleted =
        operation::delete(&garden.live, &garden.context(), &place, &DeleteOptions::default()).await.unwrap();
    assert!(!deleted.gone);
    let mut waiting = garden.get("rose").await.unwrap();
    assert!(waiting.meta.is_being_deleted());
    assert_eq!(waiting.meta.generation, 2);
    let mut greedy = waiting.clone();
    greedy.meta.finalizers.push("example.com/more".into());
    assert!(matches!(garden.update(greedy, Part::Main).await.unwrap_err(), Error::Invalid { .. }));
    waiting.meta.finalizers.clear();
    garden.update(waiting, Part::Main).await.unwrap();
    assert!(matches!(garden.get("rose").await.unwrap_err(), Error::NotFound { .. }));
}

#[tokio::test]
async fn foreground_deletion_leaves_a_finalizer() {
    let garden = Garden::new().await;
    garden.create(flower("rose", 5)).await.unwrap();
    let options = DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
    let place = Place::new("default", "rose");
    assert!(!operation::delete(&garden.live, &garden.context(), &place, &options).await.unwrap().gone);
    assert_eq!(garden.get("rose").await.unwrap().meta.finalizers, ["foregroundDeletion"]);
}

#[tokio::test]
async fn preconditions_protect_a_namesake() {
    let garden = Garden::new().await;
    garden.create(flower("rose", 5)).await.unwrap();
    let mut options = DeleteOptions::default();
    options.preconditions.uid = Some("someone-else".into());
    let place = Place::new("default", "rose");
    let error = operation::delete(&garden.live, &garden.context(), &place, &options).await.err().unwrap();
    assert!(error.to_string().contains("The object might have been deleted and then recreated"), "{error}");
}

#[tokio::test]
async fn a_dry_run_leaves_no_trace() {
    let garden = Garden::new().await;
    let mut context = garden.context();
    context.dry_run = DryRun::All;
    let frozen = operation::create(&garden.live, &context, "default", flower("rose", 5)).await.unwrap();
    assert_eq!(frozen.index().name, "rose");
    assert!(garden.names(&ListOptions::default()).await.is_empty());
}

#[tokio::test]
async fn pages_are_of_one_state() {
    let garden = Garden::new().await;
    for number in 0..7 {
        garden.create(flower(&format!("f{number}"), number)).await.unwrap();
    }
    let mut options = ListOptions { limit: 3, ..ListOptions::default() };
    let first = operation::list(&garden.live, "default", &options).await.unwrap();
    assert_eq!(first.remaining, Some(4));
    garden.create(flower("f00", 0)).await.unwrap();
    let mut names: Vec<String> = first.items.iter().map(|it| it.index().name.to_string()).collect();
    options.continue_token = first.continue_token;
    while !options.continue_token.is_empty() {
        let page = operation::list(&garden.live, "default", &options).await.unwrap();
        assert_eq!(page.revision, first.revision);
        names.extend(page.items.iter().map(|it| it.index().name.to_string()));
        options.continue_token = page.continue_token;
    }
    assert_eq!(names, ["f0", "f1", "f2", "f3", "f4", "f5", "f6"]);
}

#[tokio::test]
async fn a_token_expires_with_the_history_of_its_list() {
    let garden = Garden::new().await;
    for number in 0..4 {
        garden.create(flower(&format!("f{number}"), number)).await.unwrap();
    }
    let mut options = ListOptions { limit: 2, ..ListOptions::default() };
    let first = operation::list(&garden.live, "default", &options).await.unwrap();
    let last = garden.create(flower("f4", 4)).await.unwrap();
    garden.store.compact(Revision::new(last.meta.resource_version.parse().unwrap()).unwrap()).await.unwrap();
    options.continue_token = first.continue_token;
    let error = operation::list(&garden.live, "default", &options).await.err();
    let Some(Error::ContinueExpired { token }) = error else { panic!("{error:?} is not about the token") };
    options.continue_token = token;
    let rest = operation::list(&garden.live, "default", &options).await.unwrap();
    let names: Vec<&str> = rest.items.iter().map(|it| it.index().name.as_str()).collect();
    assert_eq!(names, ["f2", "f3"]);
    assert_eq!(rest.remaining, Some(1));
    let exact = ListOptions { freshness: Freshness::Exactly(first.revision), ..ListOptions::default() };
    let error = operation::list(&garden.live, "default", &exact).await.err();
    assert!(matches!(error, Some(Error::Expired { .. })), "{error:?}");
}

#[tokio::test]
async fn a_token_is_judged_before_what_is_beside_it() {
    let garden = Garden::new().await;
    garden.create(flower("f0", 0)).await.unwrap();
    garden.create(flower("f1", 0)).await.unwrap();
    let first = ListOptions { limit: 1, ..ListOptions::default() };
    let token = operation::list(&garden.live, "default", &first).await.unwrap().continue_token;
    for (token, expected) in [
        ("%", "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"),
        (token.as_str(), "specifying resource version is not allowed when using continue"),
    ] {
        let options = ListOptions {
            continue_token: token.to_owned(),
            revision_beside_token: true,
            ..ListOptions::default()
        };
        let error = operation::list(&garden.live, "default", &options).await.err();
        assert_eq!(error.map(|it| it.to_string()).as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn an_exact_list_shows_the_past() {
    let garden = Garden::new().await;
    let rose = garden.create(flower("rose", 5)).await.unwrap();
    garden.create(flower("tulip", 6)).await.unwrap();
    let revision = rose.meta.resource_version.parse().unwrap();
    let options = ListOptions { freshness: Freshness::Exactly(revision), ..ListOptions::default() };
    assert_eq!(garden.names(&options).await, ["rose"]);
    let future = ListOptions { freshness: Freshness::Exactly(revision + 1000), ..ListOptions::default() };
    assert!(operation::list(&garden.live, "default", &future).await.is_err());
}

#[tokio::test]
async fn unknown_fields_cannot_be_selected() {
    let garden = Garden::new().await;
    let mut options = ListOptions::default();
    options.selection.fields =
        Some(keelson_object::selector::field::Selector::parse("spec.smell=sweet").unwrap());
    let error = operation::list(&garden.live, "default", &options).await.err().unwrap();
    assert_eq!(error.to_string(), "field label not supported: spec.smell");
}

#[tokio::test]
async fn a_watch_sees_objects_come_and_go_through_its_selector() {
    let garden = Garden::new().await;
    let mut rose = flower("rose", 5);
    rose.meta.labels.set("bed", "north");
    let rose = garden.create(rose).await.unwrap();
    let mut options = WatchOptions { from: WatchFrom::Latest, ..WatchOptions::default() };
    options.selection.labels = Some(keelson_object::selector::label::Selector::parse("bed=north").unwrap());
    let mut watch = operation::watch(&garden.live, "default", &options).await.unwrap();
    let mut moved = rose;
    moved.meta.labels.set("bed", "south");
    let mut moved = garden.update(moved, Part::Main).await.unwrap();
    moved.meta.labels.set("bed", "north");
    garden.update(moved, Part::Main).await.unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let change =
            tokio::time::timeout(Duration::from_secs(10), watch.next()).await.unwrap().unwrap().unwrap();
        seen.push(match change {
            Change::Shared(event) => format!("{:?}", event.kind()),
            Change::Own { kind, .. } => format!("{kind:?}"),
            Change::Bookmark(_) | Change::InitialEventsEnd(_) => "Bookmark".to_owned(),
        });
    }
    assert_eq!(seen, ["Added", "Deleted", "Added"]);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let garden = Garden::new().await;
    for name in ["a", "b", "c"] {
        let mut object = flower(name, 1);
        object.fields.map_mut("spec").set("color", if name == "b" { "blue" } else { "red" });
        garden.create(object).await.unwrap();
    }
    let mut options = ListOptions::default();
    options.selection.fields =
        Some(keelson_object::selector::field::Selector::parse("spec.color=red").unwrap());
    let context = garden.context();
    operation::delete_collection(&garden.live, &context, "default", &options, &DeleteOptions::default())
        .await
        .unwrap();
    assert_eq!(garden.names(&ListOptions::default()).await, ["b"]);
}

#[tokio::test]
async fn a_hundred_writers_all_land() {
    let garden = Arc::new(Garden::new().await);
    garden.create(flower("rose", 0)).await.unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let garden = garden.clone();
        writers.spawn(async move {
            let place = Place::new("default", "rose");
            let pick = |old: &Object| {
                let mut next = old.clone();
                let petals = old.fields.at("spec.petals").and_then(|it| it.as_int()).unwrap_or_default();
                next.fields.map_mut("spec").set("petals", petals + 1);
                Ok(next)
            };
            operation::patch(&garden.live, &garden.context(), &place, Part::Main, pick).await.map(drop)
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap().unwrap();
    }
    assert_eq!(
        garden.get("rose").await.unwrap().fields.at("spec.petals").and_then(|it| it.as_int()),
        Some(100)
    );
}

#[tokio::test]
async fn who_has_written_sees_it_whatever_freshness_is_asked_for() {
    let garden = Garden::new().await;
    for number in 0..50 {
        let name = format!("f{number}");
        garden.create(flower(&name, 1)).await.unwrap();
        let place = Place::new("default", name.as_str());
        operation::get(&garden.live, &place, Freshness::Any).await.expect("it was just written");
        let options = ListOptions { freshness: Freshness::Any, ..ListOptions::default() };
        assert_eq!(garden.names(&options).await.len(), number + 1);
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_in_the_way_until_it_is_deleted_as_such() {
    let garden = Garden::new().await;
    let place = Place::new("default", "rose");
    let made = garden.create(flower("rose", 5)).await.unwrap();
    let refused = operation::delete_unreadable(&garden.live, &garden.context(), &place).await;
    assert!(matches!(refused, Err(Error::Invalid { .. })), "what can be read is not deleted like this");

    let key = Layout::default().resource("flowers").namespaced("default", "rose");
    let before = garden.store.get(&key).await.unwrap().expect("it is there under this key").modified;
    assert_eq!(before.get().to_string(), *made.meta.resource_version);
    let damage = Write::Put { value: "damaged".into(), lives: None };
    let revision = garden.store.commit(&key, Expect::Unchanged(before), damage).await.unwrap().get();

    let unreadable = |error: Error| match error {
        Error::Unreadable { key, revision, .. } => format!("{key} {revision}"),
        other => other.to_string(),
    };
    let expected = format!("/flowers/default/rose {revision}");
    let got = operation::get(&garden.live, &place, Freshness::Latest).await;
    assert_eq!(got.map_or_else(unreadable, |_| "read".to_owned()), expected);
    let context = garden.context();
    let deleted = operation::delete(&garden.live, &context, &place, &DeleteOptions::default()).await;
    assert_eq!(deleted.map_or_else(unreadable, |_| "deleted".to_owned()), expected);
    let created = garden.create(flower("rose", 6)).await;
    assert!(matches!(created, Err(Error::AlreadyExists { .. })), "{created:?}");
    let listed = operation::list(&garden.live, "default", &ListOptions::default()).await.unwrap();
    assert_eq!(listed.items.len(), 0, "lists leave it out");

    let mut context = garden.context();
    context.authorizer = Some(Arc::new(AlwaysDeny));
    let refused = operation::delete_unreadable(&garden.live, &context, &place).await.unwrap_err();
    let expected = "flowers.example.com \"rose\" is forbidden: not permitted to do \
                    \"unsafe-delete-ignore-read-errors\", reason: Everything is forbidden.";
    assert_eq!(refused.to_string(), expected);
    let context = garden.context();
    operation::delete_unreadable(&garden.live, &context, &place).await.unwrap();
    let told = context.take_annotations().into_keys().collect::<Vec<_>>();
    assert_eq!(told, ["apiserver.k8s.io/unsafe-delete-ignore-read-error"]);
    let got = operation::get(&garden.live, &place, Freshness::Latest).await;
    assert!(matches!(got, Err(Error::NotFound { .. })));
    garden.create(flower("rose", 7)).await.unwrap();
}
