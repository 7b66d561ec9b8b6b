//! Conversion webhooks: the resource engine with a definition of two versions and a real HTTPS webhook between them.

#[path = "conversion_webhook/admission.rs"]
mod admission;
#[path = "conversion_webhook/world.rs"]
mod world;

use std::time::Duration;

use keelson_merge::apply::Force;
use keelson_object::selector::field;
use keelson_registry::lifecycle::field_managers::Apply;
use keelson_registry::operation::{self, Change};
use keelson_registry::options::{
    DeleteOptions, FieldValidation, Freshness, ListOptions, Part, Selection, WatchOptions,
};
use keelson_registry::{Error, Place};
use keelson_watch_cache::EventKind;
use tokio::net::TcpListener;

use world::{Mode, World, shape, v1, v2};

#[tokio::test]
async fn every_version_shows_its_own_shape() {
    let world = World::new().await;
    let created = world.create("v2", v2("a", "h", "80")).await.expect("it is created");
    assert_eq!(shape(&created), ("example.com/v2", r#"{"host":"h","port":"80"}"#.to_owned()));
    assert_eq!(created.meta.generation, 1);
    let read = world.get("v1", "a").await.expect("it is there");
    assert_eq!(shape(&read), ("example.com/v1", r#"{"hostPort":"h:80"}"#.to_owned()));
    assert_eq!(
        (&read.meta.uid, &read.meta.resource_version),
        (&created.meta.uid, &created.meta.resource_version)
    );
    let questions = world.questions();
    assert_eq!(questions.len(), 2, "one call stores it, one shows it");
    assert_eq!(questions[0]["request"]["desiredAPIVersion"], "example.com/v1");
    assert_eq!(questions[0]["apiVersion"], "apiextensions.k8s.io/v1");
}

#[tokio::test]
async fn a_list_of_mixed_versions_is_one_call() {
    let world = World::new().await;
    for name in ["a", "b", "c"] {
        world.create("v1", v1(name, "h:80")).await.expect("it is created");
    }
    let world = world.storing("v2").await;
    world.create("v2", v2("d", "h", "81")).await.expect("it is created");
    assert_eq!(world.questions().len(), 0, "all objects are stored as they were sent");
    let hosts = world.list("v2", ListOptions::default()).await.expect("a list");
    assert_eq!(hosts, ["a h 80", "b h 80", "c h 80", "d h 81"]);
    let questions = world.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(questions[0]["request"]["objects"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn a_call_has_at_most_five_hundred_objects() {
    let world = World::new().await;
    for number in 0..501 {
        world.create("v1", v1(&format!("n{number:03}"), "h:80")).await.expect("it is created");
    }
    let hosts = world.list("v2", ListOptions::default()).await.expect("a list");
    assert_eq!((hosts.len(), hosts[500].as_str()), (501, "n500 h 80"));
    let sizes: Vec<_> =
        world.questions().iter().map(|it| it["request"]["objects"].as_array().map(Vec::len)).collect();
    assert_eq!(sizes, [Some(500), Some(1)]);
}

#[tokio::test]
async fn every_call_is_reported_with_what_came_of_it() {
    let world = World::new().await;
    world.create("v1", v1("a", "h:80")).await.expect("it is created");
    world.get("v2", "a").await.expect("it is there");
    let modes = [Mode::OutOfOrder, Mode::Refuses, Mode::ReturnsNone, Mode::Renames];
    for mode in modes {
        world.behave(mode);
        world.get("v2", "a").await.expect_err("it fails");
    }
    let failures = [
        "",
        "conversion_webhook_call_failure",
        "conversion_webhook_malformed_response_failure",
        "conversion_webhook_partial_response_failure",
        "conversion_webhook_invalid_converted_object_failure",
    ];
    assert_eq!(world.counted(), failures.map(|it| format!("foos.example.com v1 v2 {it}")));
}

#[tokio::test]
async fn a_field_selector_is_evaluated_behind_the_conversion() {
    let world = World::new().await;
    world.create("v1", v1("a", "one:80")).await.expect("it is created");
    world.create("v1", v1("b", "two:80")).await.expect("it is created");
    let selection =
        Selection { fields: Some(field::Selector::equals("host", "two")), ..Selection::default() };
    let options = ListOptions { selection, ..ListOptions::default() };
    assert_eq!(world.list("v2", options).await.expect("a list"), ["b two 80"]);
}

#[tokio::test]
async fn an_update_in_one_version_is_seen_by_watches_in_both() {
    let world = World::new().await;
    let mut object = world.create("v1", v1("a", "h:80")).await.expect("it is created");
    let mut watches = Vec::new();
    for version in ["v1", "v2"] {
        let live = world.live(version);
        let watch = operation::watch(live, "", &WatchOptions::default()).await.expect("a watch");
        watches.push((version, watch));
    }
    object = world.get("v2", &object.meta.name).await.expect("it is there");
    object.fields.set("port", "81");
    let updated = world.update("v2", object).await.expect("it is updated");
    assert_eq!(updated.meta.generation, 2);
    for (version, mut watch) in watches {
        let mut seen = Vec::new();
        for _ in 0..2 {
            let (kind, frozen) = match watch.next().await.expect("it goes on").expect("no error") {
                Change::Shared(event) => (event.kind(), event.object().clone()),
                Change::Own { kind, object } => (kind, object),
                Change::Bookmark(_) | Change::InitialEventsEnd(_) => panic!("nobody asked for that"),
            };
            seen.push((kind, shape(&world.live(version).thaw(&frozen).expect("an object")).1));
        }
        let expected = match version {
            "v1" => [r#"{"hostPort":"h:80"}"#, r#"{"hostPort":"h:81"}"#],
            _ => [r#"{"host":"h","port":"80"}"#, r#"{"host":"h","port":"81"}"#],
        };
        let kinds = [EventKind::Added, EventKind::Modified];
        let expected: Vec<_> = kinds.into_iter().zip(expected.map(str::to_owned)).collect();
        assert_eq!(seen, expected, "{version}");
    }
}

#[tokio::test]
async fn managers_of_another_version_are_compared_in_their_version() {
    let world = World::new().await;
    world.apply("one", v1("a", "h:80"), Force::No).await.expect("it is applied");
    let conflict =
        world.apply("two", v2("a", "other", "80"), Force::No).await.expect_err("somebody owns that");
    assert_eq!(message(&conflict), "Apply failed with 1 conflict: conflict with \"one\": .hostPort");
    let forced = world.apply("two", v2("a", "other", "80"), Force::Yes).await.expect("it is applied");
    assert_eq!(shape(&forced).1, r#"{"host":"other","port":"80"}"#);
    assert_eq!(world.managers(&forced), [("two", "example.com/v2")]);

    // An update follows the same way: who changes a field in one version owns it in all.
    let mut object = world.get("v1", "a").await.expect("it is there");
    object.fields.set("hostPort", "third:80");
    let updated = world.update("v1", object).await.expect("it is updated");
    let mut managers = world.managers(&updated);
    managers.sort_unstable();
    assert_eq!(managers, [("tester", "example.com/v1"), ("two", "example.com/v2")]);
}

#[tokio::test]
async fn applying_the_same_in_another_version_shares_the_fields() {
    let world = World::new().await;
    world.apply("one", v1("a", "h:80"), Force::No).await.expect("it is applied");
    let shared = world.apply("two", v2("a", "h", "80"), Force::No).await.expect("nothing changes");
    let mut managers = world.managers(&shared);
    managers.sort_unstable();
    assert_eq!(managers, [("one", "example.com/v1"), ("two", "example.com/v2")]);
}

#[tokio::test]
async fn managers_are_compared_across_versions_without_a_webhook_too() {
    let world = World::without_webhook().await;
    let mut patch = v2("a", "h", "80");
    patch.api_version = "example.com/v1".into();
    world.apply("one", patch, Force::No).await.expect("it is applied");
    let conflict =
        world.apply("two", v2("a", "other", "80"), Force::No).await.expect_err("somebody owns that");
    assert_eq!(message(&conflict), "Apply failed with 1 conflict: conflict with \"one\": .host");
    let shared = world.apply("two", v2("a", "h", "80"), Force::No).await.expect("nothing changes");
    assert_eq!(world.managers(&shared).len(), 2);
    assert_eq!(world.questions().len(), 0);
}

#[tokio::test]
async fn managers_of_a_version_that_is_gone_are_dropped() {
    let world = World::new().await;
    world.apply("one", v1("a", "h:80"), Force::No).await.expect("it is applied");
    let world = world.storing("v2").await;
    world.apply("two", v2("a", "h", "80"), Force::No).await.expect("it is stored in v2 now");
    let world = world.serving(&["v2"], "v2").await;
    let applied = world.apply("three", v2("a", "h", "80"), Force::No).await.expect("it is applied");
    let mut managers = world.managers(&applied);
    managers.sort_unstable();
    assert_eq!(managers, [("three", "example.com/v2"), ("two", "example.com/v2")]);
}

/// What a client reads.
fn message(error: &Error) -> &str {
    match error {
        Error::Rejected(status) => &status.message,
        Error::Unclassified(text) => text,
        other => panic!("{other}"),
    }
}

/// What becomes of a get, a list, an update and a delete while the webhook misbehaves.
async fn check_failure(mode: Mode, expected: &str) {
    let world = World::new().await;
    let object = world.create("v2", v2("a", "h", "80")).await.expect("it is created");
    world.behave(mode);
    let options = DeleteOptions::default();
    let place = Place::new("default", "a");
    let errors = [
        world.get("v2", "a").await.err(),
        world.list("v2", ListOptions::default()).await.err(),
        world.update("v2", object).await.err(),
        operation::delete(world.live("v2"), &world.context("v2"), &place, &options).await.err(),
    ];
    let expected = expected.replace("URL", &world.url());
    for error in errors {
        let error = error.expect("it fails");
        assert!(matches!(error, Error::Unclassified(_)), "{error:?}");
        assert_eq!(error.to_string(), expected);
    }
    world.behave(Mode::Good);
    let read = world.get("v2", "a").await.expect("nothing was deleted or changed");
    assert_eq!(shape(&read).1, r#"{"host":"h","port":"80"}"#);
}

#[tokio::test]
async fn all_operations_fail_while_the_webhook_fails() {
    let about = "conversion webhook for example.com/v1, Kind=Foo";
    check_failure(Mode::Refuses, &format!("{about} failed: not today")).await;
    check_failure(Mode::OutOfOrder, &format!("{about} failed: out of order")).await;
}

#[tokio::test]
async fn answers_that_are_no_conversions_are_refused() {
    let about = "conversion webhook for example.com/v1, Kind=Foo";
    check_failure(Mode::ReturnsTooMany, &format!("{about} returned 2 objects, expected 1")).await;
    check_failure(Mode::ReturnsNone, &format!("{about} returned 0 objects, expected 1")).await;
    let renamed = "returned invalid object: must have the same name: a != b";
    check_failure(Mode::Renames, &format!("{about} {renamed}")).await;
    let unconverted = "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received \
                       example.com/v1)";
    check_failure(Mode::ConvertsNothing, &format!("{about} {unconverted}")).await;
    let huge = "failed: Post \"URL?timeout=30s\": reply is larger than 33554432 bytes";
    check_failure(Mode::Huge, &format!("{about} {huge}")).await;
}

#[tokio::test]
async fn garbage_is_no_answer() {
    let world = World::new().await;
    world.create("v1", v1("a", "h:80")).await.expect("it is created");
    world.behave(Mode::Garbage);
    let error = world.get("v2", "a").await.expect_err("it fails").to_string();
    let begin = "conversion webhook for example.com/v1, Kind=Foo failed: couldn't get version/kind; json parse error: ";
    assert!(error.starts_with(begin), "{error}");
}

#[tokio::test]
async fn a_webhook_that_hangs_is_given_up_after_thirty_seconds() {
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://{}/convert", silent.local_addr().expect("it has an address"));
    let world = World::with_webhook_at(&url).await;
    world.create("v1", v1("a", "h:80")).await.expect("it is created");
    let (read, _connection) = tokio::join!(world.get("v2", "a"), async {
        let connection = silent.accept().await.expect("somebody calls");
        world.advance(Duration::from_secs(30));
        connection
    });
    assert_eq!(
        read.expect_err("nobody answers").to_string(),
        format!(
            "conversion webhook for example.com/v1, Kind=Foo failed: Post \"{url}?timeout=30s\": context deadline exceeded"
        )
    );
}

#[tokio::test]
async fn objects_in_the_version_of_the_request_need_no_webhook() {
    let world = World::new().await;
    world.behave(Mode::Refuses);
    world.create("v1", v1("a", "h:80")).await.expect("it is created");
    let live = world.live("v1");
    operation::get(live, &Place::new("default", "a"), Freshness::Latest).await.expect("it is there");
    let patch = v1("a", "h:81").into_value();
    let apply =
        Apply { patch: &patch, force: Force::Yes, complaint: None, validation: FieldValidation::Ignore };
    let version = live.resource.hub_version();
    let place = Place::new("default", "a");
    let applied = operation::apply(live, &world.context("v1"), version, (&place, Part::Main), &apply).await;
    applied.expect("it is applied");
    operation::delete(live, &world.context("v1"), &place, &DeleteOptions::default())
        .await
        .expect("it is gone");
    assert_eq!(world.questions().len(), 0);
}
