//! Create permission: a PUT or a server-side apply of an object that does not exist needs the verb `create`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, FutureExt as _};
use keelson_authn::User;
use keelson_authz::{Attributes, Authorizer, AuthzError, Decision, Target, Verdict};
use keelson_merge::apply::Force;
use keelson_object::{FieldErrors, Object, Path, Value};
use keelson_registry::admission::{Chain, Plugin, Request, Ruling};
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::live::Ground;
use keelson_registry::operation;
use keelson_registry::options::{DeleteOptions, FieldValidation, Freshness, Part};
use keelson_registry::{Context, DryRun, Error, Group, Live, Place, Resource, Result, Strategy, Version};
use keelson_stdx::clock::Clock;
use keelson_store::{Layout, MemoryStore};
use parking_lot::Mutex;

type Log = Arc<Mutex<Vec<String>>>;

/// Returns the same verdict for every request, and records the requests.
struct Judge {
    verdict: Verdict,
    log: Log,
}

impl Authorizer for Judge {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        let Target::Resource { namespace, api_group, api_version, resource, subresource, name } =
            attributes.target
        else {
            panic!("{attributes:?}")
        };
        let (user, verb) = (attributes.user.name, attributes.verb);
        let address = format!("{api_group}/{api_version}/{namespace}/{resource}/{name}/{subresource}");
        self.log.lock().push(format!("authorize {user} {verb} {address}"));
        std::future::ready(self.verdict.clone()).boxed()
    }
}

struct Flower(Log);

impl Strategy for Flower {
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        self.0.lock().push("validate".to_owned());
        let petals = object.fields.map("spec").and_then(|spec| spec.int("petals"));
        errors.non_negative(&Path::root("spec").key("petals"), petals);
    }
}

/// Records its calls.
struct Recorder(Log);

impl Plugin for Recorder {
    fn name(&self) -> &'static str {
        "Recorder"
    }

    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }

    fn mutate<'p>(&'p self, request: &'p Request<'_>, _: Option<&'p mut Object>) -> Ruling<'p> {
        self.0.lock().push(format!("mutating admission of {}", request.operation.as_str()));
        std::future::ready(Ok(())).boxed()
    }

    fn validate<'p>(&'p self, request: &'p Request<'_>, _: Option<&'p Object>) -> Ruling<'p> {
        self.0.lock().push(format!("validating admission of {}", request.operation.as_str()));
        std::future::ready(Ok(())).boxed()
    }
}

/// Creates the object during the first attempt, and deletes it during the second.
struct Meddler {
    live: Arc<Live>,
    asked: AtomicUsize,
}

impl Plugin for Meddler {
    fn name(&self) -> &'static str {
        "Meddler"
    }

    fn handles(&self, _: &Request<'_>) -> bool {
        true
    }

    fn validate<'p>(&'p self, request: &'p Request<'_>, _: Option<&'p Object>) -> Ruling<'p> {
        async move {
            let context = request.context.unjudged();
            match self.asked.fetch_add(1, Ordering::Relaxed) {
                0 => operation::create(&self.live, &context, "garden", flower(1)).await.map(drop),
                1 => operation::delete(&self.live, &context, request.place, &DeleteOptions::default())
                    .await
                    .map(drop),
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

struct Garden {
    live: Arc<Live>,
    log: Log,
    clock: Clock,
}

impl Garden {
    async fn new() -> Garden {
        let (clock, _hand) = Clock::manual();
        let log = Log::default();
        let resource = Resource::namespaced("Flower", "flowers")
            .version(Version::stored("v1"))
            .creates_on_update()
            .with_status()
            .strategy(Flower(log.clone()));
        let group = Group::new("example.com").serve(resource);
        let ground = Ground::new(Arc::new(MemoryStore::new(clock.clone())), Layout::default(), clock.clone());
        let live = Live::start(group.resources[0].clone(), &ground).await.expect("an empty store loads");
        Garden { live, log, clock }
    }

    fn context(&self, verdict: Verdict) -> Context {
        let mut context = Context::new(User::new("jane", &[]), self.clock.clone());
        context.api_version = "example.com/v1".into();
        context.field_manager = "tests".into();
        context.authorizer = Some(Arc::new(Judge { verdict, log: self.log.clone() }));
        context.admission = Some(Arc::new(Chain::new(vec![Box::new(Recorder(self.log.clone()))])));
        context
    }

    async fn put(&self, context: &Context, object: Object) -> Result<bool> {
        let updated = operation::update(&self.live, context, &place(), Part::Main, object).await?;
        Ok(updated.created)
    }

    async fn apply(&self, context: &Context, object: Object) -> Result<bool> {
        let patch: Value = object.into_value();
        let apply =
            Apply { patch: &patch, force: Force::No, complaint: None, validation: FieldValidation::Strict };
        let version = self.live.resource.stored_version();
        let place = place();
        let done = operation::apply(&self.live, context, version, (&place, Part::Main), &apply).await?;
        Ok(done.created)
    }

    async fn exists(&self) -> bool {
        operation::get(&self.live, &place(), Freshness::Latest).await.is_ok()
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock())
    }
}

fn place() -> Place {
    Place::new("garden", "rose")
}

fn flower(petals: i64) -> Object {
    let mut object =
        Object { kind: "Flower".into(), api_version: "example.com/v1".into(), ..Object::default() };
    object.meta.name = "rose".into();
    object.fields.map_mut("spec").set("petals", petals);
    object
}

fn allow() -> Verdict {
    Verdict { decision: Decision::Allow { reason: "".into() }, error: None }
}

fn deny(reason: &'static str) -> Verdict {
    Verdict { decision: Decision::NoOpinion { reason: reason.into() }, error: None }
}

#[track_caller]
fn check_forbidden(done: Result<bool>, expected: &str) {
    let error = done.expect_err("refused");
    assert!(matches!(error, Error::Forbidden { .. }), "{error:?}");
    assert_eq!(error.to_string(), expected);
}

const CANNOT: &str = r#"flowers.example.com "rose" is forbidden: User "jane" cannot create resource "flowers" in API group "example.com" in the namespace "garden""#;

#[tokio::test]
async fn who_may_not_create_makes_nothing_with_put_or_apply() {
    let garden = Garden::new().await;
    for dry_run in [DryRun::Off, DryRun::All] {
        let mut context = garden.context(deny(""));
        context.dry_run = dry_run;
        check_forbidden(garden.put(&context, flower(5)).await, CANNOT);
        check_forbidden(garden.apply(&context, flower(5)).await, CANNOT);
        assert!(!garden.exists().await);
    }
    check_forbidden(
        garden.put(&garden.context(deny("no rule")), flower(5)).await,
        &format!("{CANNOT}: no rule"),
    );
}

#[tokio::test]
async fn the_object_is_validated_before_the_check_and_admitted_after_it() {
    let garden = Garden::new().await;
    let asked = "authorize jane create example.com/v1/garden/flowers/rose/";
    let refused = ["mutating admission of CREATE", "validate", asked];
    let context = garden.context(deny(""));
    garden.put(&context, flower(5)).await.unwrap_err();
    assert_eq!(garden.heard(), refused);
    garden.apply(&context, flower(5)).await.unwrap_err();
    assert_eq!(garden.heard(), refused);
    // An invalid object is refused as invalid, whether or not the user may create it.
    let error = garden.put(&context, flower(-1)).await.unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert_eq!(garden.heard(), refused[..2]);

    assert!(garden.put(&garden.context(allow()), flower(5)).await.expect("allowed"));
    assert_eq!(garden.heard(), [&refused[..], &["validating admission of CREATE"]].concat());
}

#[tokio::test]
async fn who_may_not_create_changes_what_exists() {
    let garden = Garden::new().await;
    garden.put(&garden.context(allow()), flower(5)).await.expect("allowed");
    garden.heard();
    let context = garden.context(deny(""));
    assert!(!garden.put(&context, flower(6)).await.expect("an update"));
    assert!(!garden.apply(&context, flower(6)).await.expect("an update"));
    assert!(!garden.heard().iter().any(|it| it.starts_with("authorize")));
}

#[tokio::test]
async fn a_broken_rule_refuses_only_where_no_other_allows() {
    let garden = Garden::new().await;
    let error = || Some(AuthzError::Rules { reason: "a role is missing".to_owned() });
    let context = garden.context(Verdict { error: error(), ..deny("") });
    let Err(Error::Rejected(status)) = garden.put(&context, flower(5)).await else { panic!("refused") };
    assert_eq!((status.code, status.message.as_str()), (500, "Internal error occurred: a role is missing"));
    let context = garden.context(Verdict { error: error(), ..allow() });
    assert!(garden.put(&context, flower(5)).await.expect("allowed"));
}

#[tokio::test]
async fn a_write_that_is_retried_is_authorized_once() {
    let garden = Garden::new().await;
    let mut context = garden.context(allow());
    let meddler = Meddler { live: garden.live.clone(), asked: AtomicUsize::new(0) };
    context.admission = Some(Arc::new(Chain::new(vec![Box::new(meddler)])));
    assert!(garden.put(&context, flower(5)).await.expect("the third attempt meets nobody"));
    let asked = garden.heard().iter().filter(|it| it.starts_with("authorize")).count();
    assert_eq!(asked, 1);
}
