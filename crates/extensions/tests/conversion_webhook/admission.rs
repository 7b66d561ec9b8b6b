//! Admission webhooks with matchPolicy Equivalent: they see a custom resource in the version that their rules name.

use std::sync::Arc;

use keelson_kube_admission::{Selection, Settings};
use keelson_registry::{Context, Error, operation};
use serde_json::json;

use crate::world::{Mode, World, object, shape, v1};

/// A request in v1 about which webhooks that know v2 are asked.
fn context(world: &World) -> Context {
    let webhook = |path: &str| {
        let rule = json!({
            "operations": ["*"], "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["foos"],
        });
        json!({
            "name": "w.example.com", "clientConfig": world.client_config(path), "rules": [rule],
            "matchPolicy": "Equivalent", "failurePolicy": "Ignore", "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        })
    };
    let mut settings = Settings::default();
    for ((_, configuration), path) in
        settings.configurations.webhooks().into_iter().zip(["/mutate", "/validate"])
    {
        let webhooks = json!([webhook(path)]);
        configuration.manifests.set(&[object(&json!({"metadata": {"name": "c"}, "webhooks": webhooks}))]);
    }
    let only = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"].map(str::to_owned);
    let selection = Selection { only: Some(only.to_vec()), ..Selection::default() };
    let mut context = world.context("v1");
    context.catalog = Some(world.catalog());
    context.admission = Some(Arc::new(selection.chain(&settings)));
    context
}

#[tokio::test]
async fn an_admission_webhook_sees_and_changes_the_version_that_it_knows() {
    let world = World::new().await;
    let live = world.live("v1");
    let created = operation::create(live, &context(&world), "default", v1("a", "h:80")).await;
    let created = live.thaw(&created.expect("it is created")).expect("an object");
    assert_eq!(shape(&created), ("example.com/v1", r#"{"hostPort":"patched:80"}"#.to_owned()));
    for (path, host) in [("/mutate", "h"), ("/validate", "patched")] {
        let questions = world.asked_at(path);
        assert_eq!(questions.len(), 1, "{path}");
        let request = &questions[0]["request"];
        let seen = (&request["object"]["apiVersion"], &request["object"]["host"], &request["object"]["port"]);
        assert_eq!(seen, (&json!("example.com/v2"), &json!(host), &json!("80")), "{path}");
        assert_eq!(request["resource"]["version"], "v2");
        assert_eq!(request["requestResource"]["version"], "v1");
    }
}

#[tokio::test]
async fn an_object_that_cannot_be_converted_for_an_admission_webhook_is_refused() {
    let world = World::new().await;
    world.behave(Mode::Refuses);
    let created = operation::create(world.live("v1"), &context(&world), "default", v1("a", "h:80")).await;
    let Err(Error::Rejected(status)) = created else { panic!("it is refused, whatever the failure policy") };
    let why = "conversion webhook for example.com/v1, Kind=Foo failed: not today";
    assert_eq!(
        (status.code, status.message.as_str()),
        (500, format!("Internal error occurred: {why}").as_str())
    );
    assert_eq!(world.asked_at("/mutate").len(), 0);
}
