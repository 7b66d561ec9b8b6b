//! Versions of different shapes, one resource as another, actions and answers.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keelson_object::{Object, SelectableField};
use keelson_registry::subresource::Call;
use keelson_registry::{
    Action, Answer, Column, Context, Conversion, Group, Resource, Result, Strategy, Subresource, Version,
};
use serde_json::{Value, json};

use crate::garden::Garden;

/// Notes are stored with a `message`; as `v2`, and as `jottings` of another group, they have a `note`.
const CONVERSION: Conversion = Conversion {
    to_stored: |object| rename(object, "note", "message"),
    from_stored: |object| rename(object, "message", "note"),
};

fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = object.fields.remove(from) {
        object.fields.set(to, value);
    }
}

struct Note;

impl Strategy for Note {
    fn default(&self, object: &mut Object) {
        let field = if object.api_version == "paper.io/v1" { "message" } else { "note" };
        object.fields.default_to(field, format!("empty in {}", object.api_version).as_str());
    }

    fn prepare_part_update(&self, _: &Context, part: &'static str, object: &mut Object, old: &Object) {
        let message = object.fields.remove(part);
        object.fields = old.fields.clone();
        if let Some(message) = message {
            object.fields.set(part, message);
        }
    }
}

struct Burn;

impl Action for Burn {
    fn act<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Object>> {
        async move {
            let mut body = call.body;
            body.fields.map_mut("status").set("burnt", call.place.name.as_str());
            Ok(body)
        }
        .boxed()
    }
}

struct Oracle;

impl Answer for Oracle {
    fn answer<'a>(
        &'a self,
        context: &'a Context,
        namespace: &'a str,
        mut body: Object,
    ) -> BoxFuture<'a, Result<Object>> {
        let said = format!("{} in {namespace:?}", context.user.name);
        body.fields.map_mut("status").set("said", said.as_str());
        async move { Ok(body) }.boxed()
    }
}

async fn office() -> Garden {
    let paper = Group::new("paper.io")
        .serve(
            Resource::namespaced("Note", "notes")
                .version(Version::stored("v1"))
                .version(Version::served("v2").converts(CONVERSION))
                .columns([Column::name(), Column::text("Message", "message")])
                .selectable(SelectableField::plain("message"))
                .with_part("message")
                .subresource(Subresource::action("burn", "fire.io/v1", "Match", Burn))
                .subresource(Subresource::connect("read", "v1", "Reader", &["get"]))
                .without_effect("nobody reads notes")
                .strategy(Note),
        )
        .serve(Resource::cluster("Question", "questions").version(Version::stored("v1")).answered(Oracle));
    let jottings = Group::new("jottings.io").serve(
        Resource::namespaced("Note", "notes")
            .version(Version::served("v1").converts(CONVERSION))
            .columns([Column::name(), Column::text("Message", "message")])
            .stands_for("paper.io", "notes")
            .selectable(SelectableField { label: "note".into(), ..SelectableField::plain("message") })
            .strategy(Note),
    );
    Garden::of(vec![jottings, paper]).await
}

impl Garden {
    /// The JSON of an answer.
    async fn json(&self, line: &str, headers: &[&str], body: &Value) -> (u16, Value) {
        let (code, _, text) = self.ask(line, headers, &body.to_string()).await;
        (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }
}

fn v2(name: &str, note: &str) -> Value {
    json!({"kind": "Note", "apiVersion": "paper.io/v2", "metadata": {"name": name}, "note": note})
}

const V1: &str = "/apis/paper.io/v1/namespaces/a/notes";
const V2: &str = "/apis/paper.io/v2/namespaces/a/notes";
const JOTTINGS: &str = "/apis/jottings.io/v1/namespaces/a/notes";

#[tokio::test]
async fn every_version_shows_the_same_object_in_its_own_shape() {
    let office = office().await;
    let (code, made) = office.json(&format!("POST {V2}"), &[], &v2("x", "hello")).await;
    assert_eq!((code, &made["note"], &made["apiVersion"]), (201, &json!("hello"), &json!("paper.io/v2")));
    for (path, version, field) in
        [(V1, "paper.io/v1", "message"), (V2, "paper.io/v2", "note"), (JOTTINGS, "jottings.io/v1", "note")]
    {
        let (_, one) = office.json(&format!("GET {path}/x"), &[], &json!(null)).await;
        assert_eq!((&one["apiVersion"], &one[field]), (&json!(version), &json!("hello")), "{path}");
        assert_eq!(one.as_object().unwrap().len(), 4, "{one}");
        let (_, many) = office.json(&format!("GET {path}"), &[], &json!(null)).await;
        assert_eq!(many["apiVersion"], json!(version));
        assert_eq!(many["items"][0][field], json!("hello"), "{many}");
        let watch = format!("GET {path}?watch=true&timeoutSeconds=1");
        let (_, event) = office.json(&watch, &[], &json!(null)).await;
        assert_eq!(
            (&event["object"]["apiVersion"], &event["object"][field]),
            (&json!(version), &json!("hello"))
        );
        let table = "accept: application/json;as=Table;v=v1;g=meta.k8s.io";
        let (_, table) =
            office.json(&format!("GET {path}?includeObject=Object"), &[table], &json!(null)).await;
        assert_eq!(table["rows"][0]["cells"], json!(["x", "hello"]), "columns see what is stored");
        assert_eq!(table["rows"][0]["object"][field], json!("hello"));
    }
}

#[tokio::test]
async fn what_is_left_out_is_filled_in_by_the_version_that_was_sent() {
    let office = office().await;
    let bare = json!({"metadata": {"name": "x"}});
    office.json(&format!("POST {V2}"), &[], &bare).await;
    let (_, one) = office.json(&format!("GET {V1}/x"), &[], &json!(null)).await;
    assert_eq!(one["message"], json!("empty in paper.io/v2"));
}

#[tokio::test]
async fn a_change_in_any_version_changes_what_is_stored() {
    let office = office().await;
    office.json(&format!("POST {V2}"), &[], &v2("x", "a")).await;
    let merge = "content-type: application/merge-patch+json";
    let (code, patched) = office.json(&format!("PATCH {JOTTINGS}/x"), &[merge], &json!({"note": "b"})).await;
    assert_eq!((code, &patched["note"]), (200, &json!("b")), "{patched}");
    let (code, put) = office.json(&format!("PUT {V2}/x"), &[], &v2("x", "c")).await;
    assert_eq!((code, &put["note"]), (200, &json!("c")));
    let (_, one) = office.json(&format!("GET {V1}/x"), &[], &json!(null)).await;
    assert_eq!(one["message"], json!("c"));
}

#[tokio::test]
async fn each_face_has_its_own_names_for_fields() {
    let office = office().await;
    office.json(&format!("POST {V2}"), &[], &v2("x", "a")).await;
    office.json(&format!("POST {V2}"), &[], &v2("y", "b")).await;
    for path in [format!("{V1}?fieldSelector=message=b"), format!("{JOTTINGS}?fieldSelector=note=b")] {
        let (_, many) = office.json(&format!("GET {path}"), &[], &json!(null)).await;
        assert_eq!(many["items"].as_array().unwrap().len(), 1, "{many}");
        assert_eq!(many["items"][0]["metadata"]["name"], json!("y"));
    }
    let (code, refused) =
        office.json(&format!("GET {JOTTINGS}?fieldSelector=message=b"), &[], &json!(null)).await;
    assert_eq!((code, &refused["message"]), (400, &json!("field label not supported: message")));
}

#[tokio::test]
async fn a_part_an_action_and_a_stream_stand_below_an_object() {
    let office = office().await;
    let (_, head, _) = office.ask(&format!("POST {V2}"), &[], &v2("x", "a").to_string()).await;
    let warning = head.headers.get("warning").unwrap().to_str().unwrap();
    assert_eq!(warning, r#"299 - "stored without effect: nobody reads notes""#);
    let (code, part) = office.json(&format!("GET {V1}/x/message"), &[], &json!(null)).await;
    assert_eq!((code, &part["message"]), (200, &json!("a")));
    let wanted = json!({"metadata": {"name": "x"}, "message": "b", "other": 1});
    let (code, part) = office.json(&format!("PUT {V1}/x/message"), &[], &wanted).await;
    assert_eq!((code, &part["message"], &part["other"]), (200, &json!("b"), &json!(null)));

    let body = json!({"kind": "Match", "apiVersion": "fire.io/v1", "metadata": {"name": "x"}});
    let (code, burnt) = office.json(&format!("POST {V1}/x/burn"), &[], &body).await;
    assert_eq!((code, &burnt["kind"], &burnt["status"]["burnt"]), (201, &json!("Match"), &json!("x")));
    assert_eq!(office.json(&format!("GET {V1}/x/burn"), &[], &json!(null)).await.0, 405);

    let (code, told) = office.json(&format!("GET {V1}/x/read"), &[], &json!(null)).await;
    assert_eq!(code, 501);
    assert!(told["message"].as_str().unwrap().starts_with("notes/read is not available"), "{told}");
    assert_eq!(office.json(&format!("GET {V1}/nothing/read"), &[], &json!(null)).await.0, 404);
    assert_eq!(office.json(&format!("GET {V1}/x/unheard"), &[], &json!(null)).await.0, 404);
}

#[tokio::test]
async fn a_question_is_answered_and_forgotten() {
    let office = office().await;
    let (code, answer) = office.json("POST /apis/paper.io/v1/questions", &[], &json!({"metadata": {}})).await;
    assert_eq!((code, &answer["status"]["said"]), (201, &json!("admin in \"\"")));
    assert_eq!(office.json("GET /apis/paper.io/v1/questions", &[], &json!(null)).await.0, 405);
}
