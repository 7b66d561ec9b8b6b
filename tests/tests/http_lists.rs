//! Lists: selectors, pages of one moment, and what `resourceVersion` means for them.

use keelson_testkit::Client;
use keelson_tests::Place;
use keelson_tests::place::{names, revision};
use serde_json::{Value, json};

async fn numbered(namespace: &str, count: usize) -> Place {
    let place = Place::new(namespace).await;
    for number in 0..count {
        let object = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": format!("n{number}"), "labels": {"number": number.to_string(), "odd": (number % 2 == 1).to_string()}},
            "type": if number < 2 { "example.com/first" } else { "Opaque" },
        });
        place.client.post(&place.path("secrets"), &object).await.expect(201);
    }
    place
}

async fn list(client: &Client, path: &str) -> Value {
    client.get(path).await.expect(200)
}

#[tokio::test]
async fn selectors_choose() {
    let place = numbered("selectors", 5).await;
    for (query, expected) in [
        ("", vec!["n0", "n1", "n2", "n3", "n4"]),
        ("labelSelector=odd%3Dtrue", vec!["n1", "n3"]),
        ("labelSelector=odd!%3Dtrue,number+notin+(0,2)", vec!["n4"]),
        ("labelSelector=number+in+(1,2),odd", vec!["n1", "n2"]),
        ("labelSelector=!odd", vec![]),
        ("fieldSelector=metadata.name%3Dn3", vec!["n3"]),
        ("fieldSelector=metadata.name!%3Dn3,type%3DOpaque", vec!["n2", "n4"]),
        ("fieldSelector=type%3Dexample.com/first&labelSelector=odd%3Dfalse", vec!["n0"]),
        ("fieldSelector=metadata.namespace%3Dother", vec![]),
    ] {
        let found = list(&place.client, &place.path(&format!("secrets?{query}"))).await;
        assert_eq!(names(&found), expected, "{query}");
        assert_eq!((&found["kind"], &found["apiVersion"]), (&json!("SecretList"), &json!("v1")));
        assert!(found["items"].is_array(), "an empty list has items: {found}");
    }
}

#[tokio::test]
async fn items_carry_no_kind_of_their_own() {
    let place = numbered("items", 1).await;
    let found = list(&place.client, &place.path("secrets")).await;
    assert!(found["items"][0].get("kind").is_none(), "{found}");
    assert!(found["items"][0].get("apiVersion").is_none(), "{found}");
}

#[tokio::test]
async fn a_list_over_all_namespaces_has_everything() {
    let one = numbered("everywhere-1", 2).await;
    let two = numbered("everywhere-2", 1).await;
    let found = list(&one.client, "/api/v1/secrets?labelSelector=odd").await;
    let ours: Vec<&Value> = found["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| &item["metadata"]["namespace"])
        .filter(|namespace| **namespace == one.namespace.as_str() || **namespace == two.namespace.as_str())
        .collect();
    assert_eq!(ours, ["everywhere-1", "everywhere-1", "everywhere-2"]);
}

#[tokio::test]
async fn pages_are_of_one_moment() {
    let place = numbered("pages", 5).await;
    let first = list(&place.client, &place.path("secrets?limit=2")).await;
    assert_eq!(names(&first), ["n0", "n1"]);
    assert_eq!(first["metadata"]["remainingItemCount"], 3);

    place.client.delete(&place.path("secrets/n2")).await.expect(200);
    let late = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "n11"}});
    place.client.post(&place.path("secrets"), &late).await.expect(201);

    let next = |page: &Value| {
        let token = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        place.path(&format!("secrets?limit=2&continue={token}"))
    };
    let second = list(&place.client, &next(&first)).await;
    assert_eq!(names(&second), ["n2", "n3"]);
    assert_eq!(second["metadata"]["remainingItemCount"], 1);
    let third = list(&place.client, &next(&second)).await;
    assert_eq!(names(&third), ["n4"]);
    assert!(third["metadata"].get("continue").is_none(), "{third}");
    assert!(third["metadata"].get("remainingItemCount").is_none(), "{third}");
    assert_eq!(revision(&second), revision(&first));
    assert_eq!(revision(&third), revision(&first));
}

#[tokio::test]
async fn a_selected_page_does_not_know_how_many_remain() {
    let place = numbered("selected-pages", 5).await;
    let page = list(&place.client, &place.path("secrets?limit=1&labelSelector=odd%3Dtrue")).await;
    assert_eq!(names(&page), ["n1"]);
    assert!(page["metadata"].get("remainingItemCount").is_none(), "{page}");
    let token = page["metadata"]["continue"].as_str().unwrap_or_default();
    let path = place.path(&format!("secrets?limit=5&labelSelector=odd%3Dtrue&continue={token}"));
    assert_eq!(names(&list(&place.client, &path).await), ["n3"]);
}

#[tokio::test]
async fn a_limit_that_is_large_enough_gives_everything() {
    let place = numbered("large-limit", 3).await;
    let all = list(&place.client, &place.path("secrets?limit=3")).await;
    assert_eq!(names(&all).len(), 3);
    assert!(all["metadata"].get("continue").is_none(), "{all}");
}

#[tokio::test]
async fn a_revision_says_how_fresh_a_list_must_be() {
    let place = numbered("freshness", 2).await;
    let before = list(&place.client, &place.path("secrets")).await;
    let old = revision(&before);
    place.client.delete(&place.path("secrets/n0")).await.expect(200);

    let at = |query: String| place.path(&format!("secrets?{query}"));
    for (query, expected) in [
        (String::from("resourceVersion=0"), vec!["n1"]),
        (format!("resourceVersion={old}"), vec!["n1"]),
        (format!("resourceVersion={old}&resourceVersionMatch=NotOlderThan"), vec!["n1"]),
        (format!("resourceVersion={old}&resourceVersionMatch=Exact"), vec!["n0", "n1"]),
        (format!("resourceVersion={old}&resourceVersionMatch=Exact&limit=1"), vec!["n0"]),
        // An old rule: a page of a revision is a page of exactly that revision.
        (format!("resourceVersion={old}&limit=1"), vec!["n0"]),
    ] {
        let found = list(&place.client, &at(query.clone())).await;
        if query.contains("resourceVersion=0") {
            // Any state is allowed, so the response may be either of the two.
            assert!(names(&found).contains(&String::from("n1")), "{query}");
        } else {
            assert_eq!(names(&found), expected, "{query}");
        }
        if query.contains("Exact") {
            assert_eq!(revision(&found), old, "{query}");
        } else if !query.contains("resourceVersion=0") {
            assert!(revision(&found) >= old, "{query}");
        }
    }
}

#[tokio::test]
async fn a_revision_of_the_future_is_not_there_yet() {
    let place = Place::new("future").await;
    for path in ["configmaps?resourceVersion=99999999", "configmaps/a?resourceVersion=99999999"] {
        let status = place.client.get(&place.path(path)).await.refused(504, "Timeout");
        let message = status["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("Timeout: Too large resource version: 99999999, current: "), "{message}");
        assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
        assert_eq!(status["details"]["retryAfterSeconds"], 1);
    }
}

#[tokio::test]
async fn a_read_after_a_write_sees_it() {
    let place = Place::new("read-after-write").await;
    for number in 0..50 {
        let created = place.config_map(&format!("c{number}"), "x").await;
        let found = list(&place.client, &place.path("configmaps")).await;
        assert!(names(&found).contains(&format!("c{number}")));
        assert!(revision(&found) >= revision(&created));
    }
}
