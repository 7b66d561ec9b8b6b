//! The admission chain on values: which plugins are called, in which order, and how their durations are
//! reported.

use std::sync::Arc;
use std::time::Duration;

use keelson_authn::User;
use keelson_object::{Map, Object, OwnerReference, Value};
use keelson_registry::admission::{Chain, Measure, Operation, Phase, Plugin, Request, Ruling, Took};
use keelson_registry::live::Ground;
use keelson_registry::operation;
use keelson_registry::options::{DeleteOptions, ListOptions, Part, Propagation};
use keelson_registry::resource::Scale;
use keelson_registry::strategy::Plain;
use keelson_registry::{Context, DryRun, Error, Group, Live, Place, Resource, Result, Strategy, Version};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{Layout, MemoryStore};
use parking_lot::Mutex;

type Log = Arc<Mutex<Vec<String>>>;

/// Records its calls, takes a second each time, and does what the name of the object says.
struct Recorder {
    name: &'static str,
    log: Log,
    hand: ManualClock,
}

impl Recorder {
    fn note(&self, phase: &str, request: &Request<'_>, object: Option<&Object>) {
        self.hand.advance(Duration::from_secs(1));
        let shown = |it: Option<&Object>| it.map_or("-", |it| it.kind.as_str()).to_owned();
        let is_told = request.old.is_some_and(|it| it.meta.deletion_timestamp.is_some());
        self.log.lock().push(format!(
            "{} {phase} {}{}{} {:?} new={} old={}{}{}{}",
            self.name,
            request.operation.as_str(),
            if request.subresource.is_empty() { "" } else { "/" },
            request.subresource,
            request.place.name,
            shown(object),
            shown(request.old),
            if is_told { " terminating" } else { "" },
            request.grace_seconds.map(|it| format!(" in {it}s")).unwrap_or_default(),
            if request.context.dry_run == DryRun::All { " dry" } else { "" },
        ));
    }
}

impl Plugin for Recorder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }

    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        Box::pin(async move {
            self.note("mutates", request, object.as_deref());
            let Some(object) = object else { return Ok(()) };
            let mut new = object.clone();
            match object.meta.name.as_str() {
                "spoilt" => {
                    let mut entry = Map::new();
                    entry.set("operation", "Nope");
                    new.meta.managed_fields = vec![Value::Map(entry)];
                }
                "twins" => {
                    let owner = OwnerReference {
                        api_version: "v1".into(),
                        kind: "Garden".into(),
                        name: "o".into(),
                        uid: "u".into(),
                        ..OwnerReference::default()
                    };
                    new.meta.owner_references = vec![owner.clone(), owner];
                }
                _ => {}
            }
            request.replace(object, new);
            Ok(())
        })
    }

    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            self.note("validates", request, object);
            match object.or(request.old).filter(|it| it.meta.name == "refused") {
                Some(_) => Err(request.forbidden(object, "no")),
                None => Ok(()),
            }
        })
    }
}

/// Does nothing.
struct Silent;

impl Plugin for Silent {
    fn name(&self) -> &'static str {
        "Silent"
    }

    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }
}

/// Shows a different object to the plugins after it.
struct Shower;

impl Plugin for Shower {
    fn name(&self) -> &'static str {
        "Shower"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.place.name == "shown"
    }

    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let other = Object { kind: "Weed".into(), ..object.cloned().unwrap_or_default() };
        request.show(other);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Records the durations of plugins.
#[derive(Default)]
struct Times(Mutex<Vec<(Option<usize>, Took)>>);

impl Measure for Times {
    fn plugin(&self, position: usize, took: &Took) {
        self.0.lock().push((Some(position), *took));
    }

    fn step(&self, took: &Took) {
        self.0.lock().push((None, *took));
    }
}

struct Stage {
    live: Arc<Live>,
    log: Log,
    times: Arc<Times>,
    context: Context,
    _hand: ManualClock,
}

impl Stage {
    async fn new() -> Stage {
        Stage::of(Plain).await
    }

    async fn of(strategy: impl Strategy) -> Stage {
        let (clock, hand) = Clock::manual();
        let at = Scale::WORKLOAD;
        let resource = Resource::namespaced("Flower", "flowers").version(Version::stored("v1")).with_status();
        let resource = resource.strategy(strategy);
        let resource =
            Resource { scale: Some(at), ..Group::new("example.com").serve(resource).resources[0].clone() };
        let ground = Ground::new(Arc::new(MemoryStore::new(clock.clone())), Layout::default(), clock.clone());
        let live = Live::start(resource, &ground).await.expect("an empty store loads");
        let (log, times) = (Log::default(), Arc::<Times>::default());
        let plugin =
            |name| Box::new(Recorder { name, log: log.clone(), hand: hand.clone() }) as Box<dyn Plugin>;
        let chain = Chain::new(vec![plugin("A"), Box::new(Silent), Box::new(Shower), plugin("B")])
            .measured(times.clone());
        let mut context = Context::new(User::new("gardener", &[]), clock);
        context.admission = Some(Arc::new(chain));
        Stage { live, log, times, context, _hand: hand }
    }

    async fn create(&self, name: &str) -> Result<Object> {
        let mut object =
            Object { kind: "Flower".into(), api_version: "example.com/v1".into(), ..Object::default() };
        object.meta.name = name.into();
        object.fields.map_mut("spec").set("replicas", 1);
        let frozen = operation::create(&self.live, &self.context, "default", object).await?;
        self.live.thaw(&frozen)
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock())
    }

    fn warnings(&self) -> Vec<String> {
        self.context.take_warnings()
    }
}

#[tokio::test]
async fn everybody_changes_before_anybody_judges() {
    let stage = Stage::new().await;
    stage.create("a").await.expect("nobody is against it");
    let expected = [
        "A mutates CREATE \"a\" new=Flower old=-",
        "B mutates CREATE \"a\" new=Flower old=-",
        "A validates CREATE \"a\" new=Flower old=-",
        "B validates CREATE \"a\" new=Flower old=-",
    ];
    assert_eq!(stage.heard(), expected);
}

#[tokio::test]
async fn what_is_shown_to_those_who_judge_is_not_stored() {
    let stage = Stage::new().await;
    let made = stage.create("shown").await.expect("nobody is against it");
    assert_eq!(made.kind, "Flower");
    let judged: Vec<String> = stage.heard().split_off(2);
    let expected =
        ["A validates CREATE \"shown\" new=Flower old=-", "B validates CREATE \"shown\" new=Weed old=-"];
    assert_eq!(judged, expected);
}

#[test]
fn annotations_have_names_with_a_prefix() {
    let context = Context::new(User::new("gardener", &[]), Clock::real());
    for key in ["a.example.com/b", "plain", "a.example.com/b c", "a.example.com/b/c", "a.example.com/", "/b"]
    {
        context.annotate(key, "x");
    }
    assert_eq!(context.take_annotations().into_keys().collect::<Vec<_>>(), ["a.example.com/b"]);
}

#[tokio::test]
async fn times_are_those_of_plugins_that_have_something_to_say() {
    let stage = Stage::new().await;
    stage.create("a").await.expect("nobody is against it");
    stage.create("refused").await.expect_err("they say no");
    let took = |it: &(Option<usize>, Took)| {
        assert_eq!(it.1.operation, Operation::Create);
        (it.0, it.1.phase, it.1.elapsed.as_secs(), it.1.is_rejected)
    };
    let found: Vec<_> = stage.times.0.lock().iter().map(took).collect();
    let (mutate, validate) = (Phase::Mutate, Phase::Validate);
    let both = |phase| [(Some(0), phase, 1, false), (Some(3), phase, 1, false), (None, phase, 2, false)];
    let refused = [(Some(0), validate, 1, true), (None, validate, 1, true)];
    assert_eq!(found, [&both(mutate)[..], &both(validate), &both(mutate), &refused].concat());
}

#[tokio::test]
async fn a_delete_is_judged_with_what_is_there() {
    let stage = Stage::new().await;
    for name in ["a", "b", "c"] {
        stage.create(name).await.expect("nobody is against it");
    }
    stage.heard();
    let (place, options) = (Place::new("default", "a"), DeleteOptions::default());
    operation::delete(&stage.live, &stage.context, &place, &options).await.expect("it goes");
    let told = |name: &str| {
        ["A mutates", "B mutates", "A validates", "B validates"]
            .map(|who| format!("{who} DELETE {name:?} new=- old=Flower"))
    };
    assert_eq!(stage.heard(), told("a"));
    // In a collection, each object is admitted separately; the request has no name.
    let all = ListOptions::default();
    operation::delete_collection(&stage.live, &stage.context, "default", &all, &options)
        .await
        .expect("they go");
    assert_eq!(stage.heard(), [told(""), told("")].concat());
}

/// A kind with the grace period that the client asks for, and none by default.
struct Fading;

impl Strategy for Fading {
    fn grace_seconds(&self, _: &Object, asked: Option<i64>) -> Option<i64> {
        Some(asked.unwrap_or(0))
    }
}

#[tokio::test]
async fn what_goes_in_two_steps_is_judged_twice() {
    async fn check(stage: &Stage, options: DeleteOptions, expected: &[&str]) {
        let place = Place::new("default", "a");
        operation::delete(&stage.live, &stage.context, &place, &options).await.expect("it goes");
        let judged = "A validates DELETE \"a\" new=- ";
        let heard = stage.heard();
        let heard: Vec<&str> = heard.iter().filter_map(|it| it.strip_prefix(judged)).collect();
        assert_eq!(heard, expected, "{options:?}");
    }
    let within = |seconds| DeleteOptions { grace_seconds: Some(seconds), ..DeleteOptions::default() };
    let mut stage = Stage::of(Fading).await;
    stage.create("a").await.expect("nobody is against it");
    stage.context.dry_run = DryRun::All;
    check(&stage, within(0), &["old=Flower in 0s dry"]).await;
    stage.context.dry_run = DryRun::Off;
    check(&stage, DeleteOptions::default(), &["old=Flower in 0s", "old=Flower terminating in 0s"]).await;

    stage.create("a").await.expect("nobody is against it");
    check(&stage, within(-7), &["old=Flower in 1s"]).await;
    check(&stage, DeleteOptions::default(), &[]).await;
    check(&stage, within(0), &["old=Flower terminating in 0s"; 2]).await;

    let stage = Stage::new().await;
    stage.create("a").await.expect("nobody is against it");
    let leaving = |propagation| DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
    check(&stage, leaving(Propagation::Orphan), &["old=Flower"]).await;
    check(&stage, leaving(Propagation::Background), &["old=Flower terminating"; 2]).await;
}

#[tokio::test]
async fn a_refusal_keeps_an_object() {
    let mut stage = Stage::new().await;
    let chain = stage.context.admission.take();
    stage.create("refused").await.expect("nobody is asked");
    stage.context.admission = chain;
    let place = Place::new("default", "refused");
    let gone = operation::delete(&stage.live, &stage.context, &place, &DeleteOptions::default()).await;
    assert!(matches!(gone, Err(Error::Forbidden { .. })));
    assert_eq!(stage.live.cache().expect("stored").fresh().await.expect("fresh").len(), 1);
}

#[tokio::test]
async fn a_dry_run_is_judged_and_told() {
    let mut stage = Stage::new().await;
    stage.context.dry_run = DryRun::All;
    stage.create("a").await.expect("nobody is against it");
    assert!(stage.heard().iter().all(|it| it.ends_with(" dry")));
}

#[tokio::test]
async fn of_a_scale_plugins_see_the_scale() {
    let stage = Stage::new().await;
    stage.create("a").await.expect("nobody is against it");
    stage.heard();
    let place = Place::new("default", "a");
    let edit = |old: &Object| {
        let mut new = old.clone();
        new.fields.map_mut("spec").set("replicas", 3);
        Ok(new)
    };
    let updated =
        operation::patch(&stage.live, &stage.context, &place, Part::Scale, edit).await.expect("scaled");
    let told = ["A mutates", "B mutates", "A validates", "B validates"]
        .map(|who| format!("{who} UPDATE/scale \"a\" new=Scale old=Scale"));
    assert_eq!(stage.heard(), told);
    let object = stage.live.thaw(&updated.object).expect("it can be read");
    assert_eq!(object.fields.at("spec.replicas").and_then(Value::as_int), Some(3));
}

#[tokio::test]
async fn spoilt_managers_are_those_from_before() {
    let mut stage = Stage::new().await;
    stage.context.field_manager = "m".into();
    let object = stage.create("spoilt").await.expect("it is mended");
    let managers: Vec<_> =
        object.meta.managed_fields.iter().map(|it| it.as_map().unwrap().str("manager")).collect();
    assert_eq!(managers, [Some("m")]);
    assert_eq!(
        stage.warnings(),
        [
            ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated \
          mutating admission controller; please fix your requests: operation must be `Apply` or `Update`"
        ]
    );
}

#[tokio::test]
async fn owners_that_stand_twice_are_kept_once() {
    let stage = Stage::new().await;
    let object = stage.create("twins").await.expect("it is mended");
    assert_eq!(object.meta.owner_references.len(), 1);
    let warnings = stage.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("duplicate entries after mutating admission happens"), "{warnings:?}");
}
