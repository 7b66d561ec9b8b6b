//! Requests and responses without a socket: the texts that clients read.

use keelson_server::Settings;
use keelson_server::openapi::Offered;
use keelson_stdx::clock::Clock;

use crate::garden::Garden;

const FLOWERS: &str = "/apis/example.com/v1/namespaces/default/flowers";

fn rose(petals: i64) -> String {
    format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Flower","metadata":{{"name":"rose"}},"spec":{{"petals":{petals}}}}}"#
    )
}

/// The text without the parts that differ from run to run.
fn stable(text: &str) -> String {
    let mut out = text.trim_end().to_owned();
    while let Some(start) = out.find(",\"managedFields\":[") {
        let end = start + out[start..].find("}]").unwrap() + 2;
        out.replace_range(start..end, "");
    }
    for (key, end) in
        [("\"uid\":\"", '"'), ("\"resourceVersion\":\"", '"'), ("\"creationTimestamp\":\"", '"')]
    {
        let mut from = 0;
        while let Some(found) = out[from..].find(key) {
            let start = from + found + key.len();
            let length = out[start..].find(end).unwrap();
            out.replace_range(start..start + length, "*");
            from = start + 1;
        }
    }
    out
}

#[tokio::test]
async fn objects_are_made_read_changed_and_removed() {
    let garden = Garden::new().await;
    let json = &["content-type: application/json"][..];
    let (code, _, made) = garden.ask(&format!("POST {FLOWERS}"), json, &rose(5)).await;
    let expected = r#"{"kind":"Flower","apiVersion":"example.com/v1","metadata":{"name":"rose","namespace":"default","uid":"*","resourceVersion":"*","creationTimestamp":"*"},"spec":{"petals":5}}"#;
    assert_eq!((code, &*stable(&made)), (201, expected));

    let (code, _, read) = garden.ask(&format!("GET {FLOWERS}/rose"), &[], "").await;
    assert_eq!((code, &read), (200, &made));

    let (code, _, listed) = garden.ask(&format!("GET {FLOWERS}"), &[], "").await;
    let expected = r#"{"kind":"FlowerList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"*"},"items":[{"metadata":{"name":"rose","namespace":"default","uid":"*","resourceVersion":"*","creationTimestamp":"*"},"spec":{"petals":5}}]}"#;
    assert_eq!((code, &*stable(&listed)), (200, expected));

    let (code, _, changed) = garden.ask(&format!("PUT {FLOWERS}/rose"), json, &rose(6)).await;
    assert_eq!(code, 200);
    assert!(changed.contains(r#""spec":{"petals":6}"#), "{changed}");

    let (code, _, conflict) = garden.ask(&format!("POST {FLOWERS}"), json, &rose(5)).await;
    let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"flowers.example.com \"rose\" already exists","reason":"AlreadyExists","details":{"name":"rose","group":"example.com","kind":"flowers"},"code":409}"#;
    assert_eq!((code, conflict.trim_end()), (409, expected));

    let (code, _, gone) = garden.ask(&format!("DELETE {FLOWERS}/rose"), &[], "").await;
    let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"rose","group":"example.com","kind":"flowers","uid":"*"}}"#;
    assert_eq!((code, &*stable(&gone)), (200, expected));

    let (code, _, missing) = garden.ask(&format!("GET {FLOWERS}/rose"), &[], "").await;
    let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"flowers.example.com \"rose\" not found","reason":"NotFound","details":{"name":"rose","group":"example.com","kind":"flowers"},"code":404}"#;
    assert_eq!((code, missing.trim_end()), (404, expected));
}

#[tokio::test]
async fn answers_come_in_the_shape_that_is_asked_for() {
    let garden = Garden::new().await;
    garden.ask(&format!("POST {FLOWERS}"), &[], &rose(5)).await;
    let accept = |kind: &str| format!("accept: application/json;as={kind};v=v1;g=meta.k8s.io");

    let (code, _, one) =
        garden.ask(&format!("GET {FLOWERS}/rose"), &[&accept("PartialObjectMetadata")], "").await;
    let metadata = r#"{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"rose","namespace":"default","uid":"*","resourceVersion":"*","creationTimestamp":"*"}}"#;
    assert_eq!((code, &*stable(&one)), (200, metadata));

    let list = accept("PartialObjectMetadataList");
    let (code, _, many) = garden.ask("GET /apis/example.com/v1/flowers", &[&list], "").await;
    let expected = format!(
        r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"*"}},"items":[{metadata}]}}"#
    );
    assert_eq!((code, stable(&many)), (200, expected));

    let (code, _, table) =
        garden.ask(&format!("GET {FLOWERS}?includeObject=None"), &[&accept("Table")], "").await;
    assert_eq!(code, 200);
    let table: serde_json::Value = serde_json::from_str(&table).unwrap();
    assert_eq!(table["columnDefinitions"][1]["name"], "Petals");
    assert_eq!(table["rows"][0]["cells"][0], "rose");
    assert_eq!(table["rows"][0]["cells"][1], 5);
    assert_eq!(table["rows"][0]["object"], serde_json::Value::Null);

    let (code, parts, yaml) =
        garden.ask(&format!("GET {FLOWERS}/rose"), &["accept: application/yaml"], "").await;
    assert_eq!((code, &parts.headers["content-type"]), (200, &"application/yaml".parse().unwrap()));
    assert!(yaml.starts_with("apiVersion: example.com/v1\nkind: Flower\nmetadata:\n"), "{yaml}");

    let (_, _, pretty) = garden.ask(&format!("GET {FLOWERS}/rose"), &["user-agent: curl/8"], "").await;
    assert!(pretty.starts_with("{\n  \"kind\": \"Flower\",\n  \"apiVersion\""), "{pretty}");

    let (code, _, beta) =
        garden.ask("GET /apis/example.com/v1beta1/namespaces/default/flowers/rose", &[], "").await;
    assert_eq!(code, 200);
    assert!(beta.starts_with(r#"{"kind":"Flower","apiVersion":"example.com/v1beta1","#), "{beta}");
}

#[track_caller]
fn check(answer: &(u16, crate::garden::Head, String), code: u16, text: &str) {
    assert_eq!(answer.0, code, "{}", answer.2);
    assert!(answer.2.contains(text), "{} has not {text}", answer.2);
}

#[tokio::test]
async fn what_is_not_there_is_said_as_upstream_says_it() {
    let garden = Garden::new().await;
    let no_resource = "the server could not find the requested resource";
    let no_method = "the server does not allow this method on the requested resource";
    for (line, code, text) in [
        ("GET /nothing", 404, "404 page not found\n"),
        ("GET /apis/nothing/v1/things", 404, "404 page not found\n"),
        ("GET //api/v1/meadows", 404, "404 page not found\n"),
        ("GET /apis//v1/meadows", 404, "404 page not found\n"),
        ("GET /api/v1/things", 404, no_resource),
        ("GET /api/v1//meadows", 404, no_resource),
        ("GET /api/v1/namespaces/default/meadows", 404, no_resource),
        ("GET /apis/example.com/v1/flowers/rose", 404, no_resource),
        ("GET /apis/example.com/v1/namespaces/default/flowers/rose/nothing", 404, no_resource),
        ("GET /api/v1/meadows/a/status", 404, no_resource),
        ("POST /apis/example.com/v1/flowers", 405, no_method),
        ("DELETE /apis/example.com/v1/flowers", 405, no_method),
        ("PUT /apis/example.com/v1/namespaces/default/flowers", 405, no_method),
        ("POST /api/v1/meadows/a", 405, no_method),
        ("OPTIONS /api/v1/meadows", 405, no_method),
        ("HEAD /api/v1/meadows", 405, ""),
        ("POST /version", 405, no_method),
        ("GET /api/v1/meadows/%2e%2e", 400, r#"Name parameter invalid: \"..\": may not be '..'"#),
        ("GET /apis/example.com/v1/namespaces/%2e%2e/flowers", 400, r#"Namespace parameter invalid: \"..\""#),
        ("GET /api/v1/watch", 500, "unable to determine kind and namespace from url, /api/v1/watch\n"),
        ("GET /api/v1/meadows/%zz", 400, "400 Bad Request"),
        (
            "GET /api/v1/meadows?timeout=zz",
            400,
            "invalid timeout specified in the request URL - time: invalid duration",
        ),
        ("GET /api/v1/meadows?limit=x", 400, r#"strconv.ParseInt: parsing \"x\": invalid syntax"#),
        (
            "GET /api/v1/meadows?resourceVersion=x",
            400,
            "invalid resource version: resourceVersion: Invalid value",
        ),
        (
            "GET /api/v1/meadows?resourceVersionMatch=Exact",
            422,
            r#"ListOptions.meta.k8s.io \"\" is invalid: resource"#,
        ),
        ("GET /api/v1/meadows/a?resourceVersion=x", 500, "resourceVersion: Invalid value"),
    ] {
        check(&garden.ask(line, &[], "").await, code, text);
    }
}

#[tokio::test]
async fn bodies_are_judged() {
    let garden = Garden::new().await;
    let post = format!("POST {FLOWERS}");
    let unknown =
        "the body of the request was in an unknown format - accepted media types include: application/json";
    check(&garden.ask(&post, &["content-type: text/plain"], "{}").await, 415, unknown);
    let empty = "the object provided is unrecognized (must be of type Flower): couldn't get version/kind; json parse \
                 error: unexpected end of JSON input (\\u003cempty\\u003e)";
    check(&garden.ask(&post, &[], "").await, 400, empty);
    check(&garden.ask(&post, &[], "{bad").await, 400, "(must be of type Flower)");
    check(&garden.ask(&format!("{post}?dryRun=x"), &[], &rose(1)).await, 422, r#"[\"x\"]: supported values"#);
    let yaml = "apiVersion: example.com/v1\nkind: Flower\nmetadata:\n  name: tulip\n";
    check(&garden.ask(&post, &["content-type: application/yaml"], yaml).await, 201, "\"tulip\"");
    check(&garden.ask(&format!("{post}?dryRun=All"), &[], &rose(1)).await, 201, "\"rose\"");
    check(&garden.ask(&format!("GET {FLOWERS}/rose"), &[], "").await, 404, "not found");

    let duplicate = r#"{"metadata":{"name":"a"},"spec":{"petals":1,"petals":2}}"#;
    let (code, parts, _) = garden.ask(&post, &[], duplicate).await;
    assert_eq!(
        (code, &parts.headers["warning"]),
        (201, &r#"299 - "duplicate field \"spec.petals\"""#.parse().unwrap())
    );
    check(
        &garden.ask(&format!("{post}?fieldValidation=Strict"), &[], duplicate).await,
        400,
        "strict decoding error",
    );
}

#[tokio::test]
async fn who_may_not_is_told_so() {
    let garden = Garden::new().await;
    let (code, parts, text) =
        garden.ask("GET /api/v1/meadows", &["authorization: Bearer jane-token"], "").await;
    let expected = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"meadows is forbidden: User \"jane\" cannot list resource \"meadows\" in API group \"\" at the cluster scope","reason":"Forbidden","details":{"kind":"meadows"},"code":403}"#;
    assert_eq!((code, text.trim_end()), (403, expected));
    assert_eq!(parts.headers["x-content-type-options"], "nosniff");
    assert_eq!(parts.headers["cache-control"], "no-cache, private");
    assert_eq!(parts.headers["audit-id"].len(), 36);

    check(
        &garden.ask("GET /api/v1/meadows", &["authorization: Bearer nobody"], "").await,
        401,
        "\"Unauthorized\"",
    );
    check(
        &garden.ask("GET /api/v1/meadows", &["impersonate-user: x"], "").await,
        403,
        r#"User \"x\" cannot list resource"#,
    );
    let jane = ["authorization: Bearer jane-token", "impersonate-user: admin"];
    check(
        &garden.ask("GET /api/v1/meadows", &jane, "").await,
        403,
        r#"User \"jane\" cannot impersonate-on:user-info:list resource"#,
    );
    let (code, parts, _) = garden.ask("GET /api/v1/meadows", &["impersonate-group: x"], "").await;
    assert_eq!((code, &parts.headers["x-content-type-options"]), (400, &"nosniff".parse().unwrap()));
    let (_, parts, _) = garden.ask("GET /version", &["audit-id: mine"], "").await;
    assert_eq!(parts.headers["audit-id"], "mine");
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let garden = Garden::new().await;
    let text = "This request caused apiserver to panic. Look in the logs for details.\n";
    check(&garden.ask("GET /panic", &[], "").await, 500, text);
    check(&garden.ask("GET /version", &[], "").await, 200, "v1.36.4");
    check(&garden.ask("GET /metrics", &[], "").await, 200, "keelson_panics_total 1\n");
}

#[tokio::test]
async fn discovery_says_what_is_served() {
    let garden = Garden::new().await;
    let resources = r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"flowers","singularName":"flower","namespaced":true,"kind":"Flower","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["fl"],"categories":["all"],"storageVersionHash":""#;
    for (line, text) in [
        (
            "GET /api",
            r#"{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":""}]}"#,
        ),
        (
            "GET /apis",
            r#"{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"},{"groupVersion":"example.com/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}]}"#,
        ),
        (
            "GET /apis/example.com",
            r#"{"kind":"APIGroup","apiVersion":"v1","name":"example.com","versions":["#,
        ),
        (
            "GET /api/v1/",
            r#"{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"meadows","singularName":"meadow","namespaced":false,"#,
        ),
        ("GET /apis/example.com/v1", resources),
        (
            "GET /apis/example.com/v1",
            r#"{"name":"flowers/status","singularName":"","namespaced":true,"kind":"Flower","verbs":["get","patch","update"]}"#,
        ),
        ("GET /", "\"/apis/example.com/v1\",\n"),
    ] {
        check(&garden.ask(line, &[], "").await, 200, text);
    }
    check(&garden.ask("GET /apis/nothing", &[], "").await, 404, "404 page not found\n");
    let unknown_version = "the server could not find the requested resource";
    check(&garden.ask("GET /api/v2", &[], "").await, 404, unknown_version);
}

#[tokio::test]
async fn discovery_is_one_document_with_a_tag() {
    let garden = Garden::new().await;
    let accept =
        "accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (code, parts, text) = garden.ask("GET /apis", &[accept], "").await;
    assert_eq!(code, 200);
    let media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    assert_eq!(parts.headers["content-type"], media_type);
    assert_eq!(
        (&parts.headers["vary"], &parts.headers["cache-control"]),
        (&"Accept".parse().unwrap(), &"public".parse().unwrap())
    );
    let expected = r#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[{"resource":"flowers","responseKind":{"group":"","version":"","kind":"Flower"},"scope":"Namespaced","singularResource":"flower","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["fl"],"categories":["all"],"subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":"Flower"},"verbs":["get","patch","update"]}]}],"freshness":"Current"}"#;
    assert!(text.starts_with(expected), "{text}");

    let tag = parts.headers["etag"].to_str().unwrap();
    let (code, _, text) = garden.ask("GET /apis", &[accept, &format!("if-none-match: {tag}")], "").await;
    assert_eq!((code, &*text), (304, ""));
    let old =
        "accept: application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    check(&garden.ask("GET /apis", &[old], "").await, 200, "APIGroupList");
}

#[tokio::test]
async fn health_and_metrics_are_plain_texts() {
    let garden = Garden::new().await;
    check(
        &garden.ask("GET /readyz?verbose", &[], "").await,
        200,
        "[+]ping ok\n[+]shutdown ok\nreadyz check passed\n",
    );
    garden.ask(&format!("POST {FLOWERS}"), &[], &rose(5)).await;
    garden.ask(&format!("GET {FLOWERS}"), &[], "").await;
    let before = garden.ask("GET /metrics", &[], "").await;
    check(
        &before,
        200,
        "apiserver_request_total{verb=\"LIST\",dry_run=\"\",group=\"example.com\",version=\"v1\",resource=\"flowers\",subresource=\"\",scope=\"namespace\",component=\"apiserver\",code=\"200\"} 1\n",
    );
    check(&before, 200, "apiserver_storage_objects{resource=\"flowers.example.com\"} 1\n");
    check(&before, 200, "kubernetes_build_info{");

    // Names that clients make up do not become series.
    for number in 0..50 {
        let agent = format!("user-agent: agent-{number}");
        garden
            .ask(&format!("GET /apis/example.com/v1/namespaces/n{number}/things{number}"), &[&agent], "")
            .await;
        garden.ask(&format!("FOO{number} /made-up/{number}"), &[&agent], "").await;
    }
    let after = garden.ask("GET /metrics", &[], "").await;
    assert_eq!(before.2.lines().count(), after.2.lines().count());
}

#[tokio::test]
async fn long_answers_are_compressed_unless_that_is_off() {
    let check = async |compression: Offered, expected: Option<&str>| {
        let settings = Settings { compression, ..Settings::default() };
        let garden = Garden::with(settings, Clock::real()).await;
        let long = "x".repeat(200 * 1024);
        let body = rose(5).replace("\"name\"", &format!("\"annotations\":{{\"a\":\"{long}\"}},\"name\""));
        let (code, ..) =
            garden.ask(&format!("POST {FLOWERS}"), &["content-type: application/json"], &body).await;
        assert_eq!(code, 201);
        let line = format!("GET {FLOWERS}/rose");
        let (code, head, _) = garden.ask(&line, &["accept-encoding: gzip"], "").await;
        let found = head.headers.get("content-encoding").map(|it| it.to_str().unwrap());
        assert_eq!((code, found), (200, expected));
    };
    check(Offered::Yes, Some("gzip")).await;
    check(Offered::No, None).await;
}
