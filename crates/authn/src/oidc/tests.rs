//! An issuer over loopback, and tokens good and bad.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_stdx::clock::{Clock, ManualClock};
use parking_lot::Mutex;

use super::{ClaimValidationRule, Issuers, JwtSettings, NotCounted, Oidc, PrefixedClaimOrExpression};
use crate::TokenAuthenticator;
use crate::jws::{self, Algorithm, SigningKey};
use crate::testing::Place;

const P256: &[u8] = include_bytes!("../../testdata/keys/p256.pkcs8.pem");
const P384: &[u8] = include_bytes!("../../testdata/keys/p384.pkcs8.pem");
const RSA: &[u8] = include_bytes!("../../testdata/keys/rsa.pkcs8.pem");

/// 2026-01-01, when manual clocks begin.
const NOW: i64 = 1_767_225_600;

fn key(pem: &[u8]) -> SigningKey {
    jws::signing_key(pem).expect("a key")
}

/// The issuer's pages: path, status and body.
type Pages = Arc<Mutex<Vec<(String, u16, String)>>>;

struct Scene {
    place: Place,
    pages: Pages,
    oidc: Arc<Oidc>,
    hand: ManualClock,
}

impl Scene {
    /// `change` edits the settings of an issuer whose keys are `keys`.
    async fn new(keys: &[&[u8]], change: impl FnOnce(&mut JwtSettings)) -> Scene {
        let pages = Pages::default();
        let answers = pages.clone();
        let place = Place::open(move |path, _| {
            let pages = answers.lock();
            let page = pages.iter().rev().find(|(at, ..)| at == path);
            page.map_or((404, "no such page".to_owned()), |(_, status, body)| (*status, body.clone()))
        })
        .await;
        let url = place.url("");
        let mut settings = JwtSettings::default();
        settings.issuer.url = url.clone();
        settings.issuer.audiences = vec!["client".to_owned()];
        settings.claim_mappings.username = PrefixedClaimOrExpression {
            claim: "sub".to_owned(),
            prefix: Some("o:".to_owned()),
            ..Default::default()
        };
        settings.claim_mappings.groups = PrefixedClaimOrExpression {
            claim: "groups".to_owned(),
            prefix: Some("g:".to_owned()),
            ..Default::default()
        };
        change(&mut settings);
        let (clock, hand) = Clock::manual();
        let oidc =
            Oidc::new(settings, &Algorithm::ALL, Arc::new(NotCounted), &clock).expect("an authenticator");
        let scene = Scene { place, pages, oidc: Arc::new(oidc), hand };
        let document = format!(r#"{{"issuer":"{url}","jwks_uri":"{url}/keys"}}"#);
        scene.put("/.well-known/openid-configuration", 200, &document);
        scene.put_keys(keys);
        scene
    }

    fn put(&self, path: &str, status: u16, body: &str) {
        self.pages.lock().push((path.to_owned(), status, body.to_owned()));
    }

    fn put_keys(&self, keys: &[&[u8]]) {
        let keys = keys.iter().map(|pem| Value::Map(key(pem).public_key().to_jwk()));
        let mut set = Map::new();
        set.set("keys", keys.collect::<Vec<_>>());
        let text = String::from_utf8(json::to_bytes(&Value::Map(set)).to_vec()).expect("JSON");
        self.put("/keys", 200, &text);
    }

    /// A token with these claims beside the usual ones; `null` takes one away.
    fn token(&self, signer: &[u8], claims: &str) -> String {
        let mut all = Map::new();
        all.set("iss", self.place.url(""));
        all.set("aud", "client");
        all.set("sub", "jane");
        all.set("exp", NOW + 600);
        for (name, value) in map(claims).iter() {
            match value {
                Value::Null => drop(all.remove(name)),
                value => all.set(name.clone(), value.clone()),
            }
        }
        jws::sign(&key(signer), &all).expect("signed")
    }

    /// `name uid [groups] {extra}`, or why not.
    async fn ask(&self, token: &str) -> String {
        match self.oidc.authenticate_token(token, &[]).await {
            Ok(Some(it)) => {
                format!("{} {} {:?} {:?}", it.user.name, it.user.uid, it.user.groups, it.user.extra)
            }
            Ok(None) => "nobody".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    async fn check(&self, claims: &str, expected: &str) {
        assert_eq!(self.ask(&self.token(P256, claims)).await, expected, "{claims}");
    }

    fn fetches(&self) -> usize {
        self.place.asked().iter().filter(|it| it.starts_with("GET /keys")).count()
    }
}

fn map(text: &str) -> Map {
    match json::read(text.as_bytes()).expect("JSON").value {
        Value::Map(map) => map,
        other => panic!("{other:?} is no map"),
    }
}

#[tokio::test]
async fn claims_become_users() {
    let scene = Scene::new(&[P256], |it| it.claim_mappings.uid.claim = "id".to_owned()).await;
    scene.oidc.discover().await;
    scene.check(r#"{"id":"7"}"#, "o:jane 7 [] {}").await;
    scene.check(r#"{"id":"7","groups":["a","b"]}"#, r#"o:jane 7 ["g:a", "g:b"] {}"#).await;
    scene.check(r#"{"id":"7","groups":"a"}"#, r#"o:jane 7 ["g:a"] {}"#).await;
    let extra = r#"{"authentication.kubernetes.io/credential-id": ["JTI=9"]}"#;
    scene.check(r#"{"id":"7","jti":"9"}"#, &format!("o:jane 7 [] {extra}")).await;
    scene.check("{}", "oidc: parse uid claim \"id\": claim not present").await;
    scene.check(r#"{"id":"7","sub":null}"#, "oidc: parse username claims \"sub\": claim not present").await;
    scene
        .check(
            r#"{"id":"7","groups":1}"#,
            "oidc: parse groups claim \"groups\": json: cannot unmarshal number into Go value of type string",
        )
        .await;
}

#[tokio::test]
async fn tokens_must_be_for_us_and_now() {
    let scene = Scene::new(&[P256], |_| ()).await;
    scene.oidc.discover().await;
    let url = scene.place.url("");
    scene.check(r#"{"iss":"https://other.example"}"#, "nobody").await;
    scene.check(r#"{"iss":null}"#, "nobody").await;
    scene.check(r#"{"aud":"x"}"#, "oidc: verify token: oidc: expected audience \"client\" got [\"x\"]").await;
    scene.check(r#"{"aud":["x","client"]}"#, "o:jane  [] {}").await;
    scene
        .check(
            r#"{"exp":1767225599}"#,
            "oidc: verify token: oidc: token is expired (Token Expiry: 2025-12-31T23:59:59Z)",
        )
        .await;
    scene.check(r#"{"nbf":1767225900}"#, "o:jane  [] {}").await;
    scene
        .check(
            r#"{"nbf":1767225901}"#,
            "oidc: verify token: oidc: current time 2026-01-01T00:00:00Z before the nbf (not before) time: \
             2026-01-01T00:05:01Z",
        )
        .await;
    let stranger = scene.token(P384, "{}");
    let refusal = "oidc: verify token: failed to verify signature: failed to verify id token signature";
    assert_eq!(scene.ask(&stranger).await, refusal);
    let good = scene.token(P256, "{}");
    let mut parts = good.split('.');
    let (_, payload) = (parts.next(), parts.next().expect("a payload"));
    for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS256"}"#, "{}"] {
        let token = format!("{}.{payload}.", URL_SAFE_NO_PAD.encode(header));
        let refusal =
            "oidc: verify token: oidc: malformed jwt: go-jose/go-jose: unexpected signature algorithm";
        assert_eq!(scene.ask(&token).await, refusal, "{header} of {url}");
    }
    let long = "x".repeat(1 << 20);
    for token in ["", "a", "a.b.c", "..", "{}", long.as_str()] {
        assert_eq!(scene.ask(token).await, "nobody");
    }
}

#[tokio::test]
async fn several_audiences_and_required_claims() {
    let rule = |claim: &str| ClaimValidationRule {
        claim: claim.to_owned(),
        required_value: "yes".to_owned(),
        ..Default::default()
    };
    let change = |it: &mut JwtSettings| {
        it.issuer.audiences = vec!["b".to_owned(), "a".to_owned()];
        it.claim_validation_rules = vec![rule("hd")];
    };
    let scene = Scene::new(&[P256], change).await;
    scene.oidc.discover().await;
    scene.check(r#"{"aud":"a","hd":"yes"}"#, "o:jane  [] {}").await;
    scene
        .check(
            r#"{"aud":"c","hd":"yes"}"#,
            "oidc: verify token: oidc: expected audience in [\"a\" \"b\"] got [\"c\"]",
        )
        .await;
    scene.check(r#"{"aud":"a"}"#, "oidc: required claim hd not present in ID token").await;
    scene
        .check(
            r#"{"aud":"a","hd":"no"}"#,
            "oidc: required claim hd value does not match. Got = no, want = yes",
        )
        .await;
    scene
        .check(
            r#"{"aud":"a","hd":1}"#,
            "oidc: parse claim hd: json: cannot unmarshal number into Go value of type string",
        )
        .await;
}

#[tokio::test]
async fn an_email_must_be_verified_if_it_says_anything_about_that() {
    let change = |it: &mut JwtSettings| it.claim_mappings.username.claim = "email".to_owned();
    let scene = Scene::new(&[P256], change).await;
    scene.oidc.discover().await;
    scene.check(r#"{"email":"a@b"}"#, "o:a@b  [] {}").await;
    scene.check(r#"{"email":"a@b","email_verified":true}"#, "o:a@b  [] {}").await;
    scene.check(r#"{"email":"a@b","email_verified":false}"#, "oidc: email not verified").await;
    scene
        .check(
            r#"{"email":"a@b","email_verified":"true"}"#,
            "oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of type bool",
        )
        .await;
}

#[tokio::test]
async fn an_issuer_may_come_later() {
    let scene = Scene::new(&[P256], |_| ()).await;
    scene.check("{}", "oidc: authenticator not initialized").await;
    let url = scene.place.url("");
    assert_eq!(
        scene.oidc.health(),
        Err(format!(
            "oidc: authenticator for issuer \"{url}\" is not healthy: oidc: authenticator for issuer \"{url}\" is not \
             initialized"
        ))
    );
    scene.put("/.well-known/openid-configuration", 200, r#"{"issuer":"https://other.example"}"#);
    let problem = scene.oidc.issuer.discover().await.expect_err("another issuer");
    assert_eq!(
        problem,
        format!(
            "oidc: issuer did not match the issuer returned by provider, expected \"{url}\" got \
             \"https://other.example\""
        )
    );
    scene.put("/.well-known/openid-configuration", 500, "sorry");
    assert_eq!(scene.oidc.issuer.discover().await, Err("500: sorry".to_owned()));
    let document = format!(r#"{{"issuer":"{url}","jwks_uri":"{url}/keys"}}"#);
    scene.put("/.well-known/openid-configuration", 200, &document);
    scene.oidc.discover().await;
    assert_eq!(scene.oidc.health(), Ok(()));
    scene.check("{}", "o:jane  [] {}").await;
}

#[tokio::test]
async fn keys_are_fetched_when_they_are_needed() {
    let scene = Scene::new(&[P256], |_| ()).await;
    scene.oidc.discover().await;
    assert_eq!(scene.fetches(), 0);
    for _ in 0..3 {
        scene.check("{}", "o:jane  [] {}").await;
    }
    assert_eq!(scene.fetches(), 1);
    scene.put_keys(&[P384, RSA]);
    scene.check("{}", "o:jane  [] {}").await;
    for signer in [P384, RSA] {
        assert_eq!(scene.ask(&scene.token(signer, "{}")).await, "o:jane  [] {}", "a rotated key");
    }
    assert_eq!(scene.fetches(), 2);
    let refusal = "oidc: verify token: failed to verify signature: failed to verify id token signature";
    scene.check("{}", refusal).await;
    assert_eq!(scene.fetches(), 3);
}

#[tokio::test]
async fn keys_that_nobody_has_are_no_flood() {
    let scene = Scene::new(&[P256], |_| ()).await;
    scene.oidc.discover().await;
    let stranger = scene.token(P384, "{}");
    for _ in 0..50 {
        assert!(scene.ask(&stranger).await.starts_with("oidc: verify token: failed to verify signature"));
    }
    assert_eq!(scene.fetches(), 10);
    scene.hand.advance(Duration::from_secs(2));
    for _ in 0..50 {
        scene.ask(&stranger).await;
    }
    assert_eq!(scene.fetches(), 12);
    scene.check("{}", "o:jane  [] {}").await;
}

#[tokio::test]
async fn an_issuer_that_is_down_keeps_its_known_keys() {
    let scene = Scene::new(&[P256], |_| ()).await;
    scene.oidc.discover().await;
    scene.check("{}", "o:jane  [] {}").await;
    scene.put("/keys", 503, "down");
    scene.check("{}", "o:jane  [] {}").await;
    let refusal =
        "oidc: verify token: failed to verify signature: fetching keys oidc: get keys failed: 503: down";
    assert_eq!(scene.ask(&scene.token(P384, "{}")).await, refusal);
    scene.check("{}", "o:jane  [] {}").await;
}

#[tokio::test]
async fn groups_may_be_elsewhere() {
    let scene = Scene::new(&[P256], |_| ()).await;
    scene.oidc.discover().await;
    let url = scene.place.url("");
    scene.put("/groups", 200, &scene.token(P256, r#"{"groups":["far"]}"#));
    scene.put("/empty", 200, &scene.token(P256, "{}"));
    scene.put("/foreign", 200, &scene.token(P384, r#"{"groups":["far"]}"#));
    let claims = |endpoint: &str| {
        format!(
            r#"{{"_claim_names":{{"groups":"s"}},"_claim_sources":{{"s":{{"endpoint":"{url}{endpoint}","access_token":"t"}}}}}}"#
        )
    };
    scene.check(&claims("/groups"), r#"o:jane  ["g:far"] {}"#).await;
    let refusal = format!(
        "oidc: could not expand distributed claims: jwt returned by distributed claim endpoint \"{url}/empty\" did not \
         contain claim: groups"
    );
    scene.check(&claims("/empty"), &refusal).await;
    let refusal = scene.ask(&scene.token(P256, &claims("/foreign"))).await;
    assert!(refusal.contains("verify distributed claim token"), "{refusal}");
    let refusal = scene.ask(&scene.token(P256, &claims("/missing"))).await;
    assert!(refusal.contains("error while getting distributed claim JWT: 404"), "{refusal}");
    scene
        .check(
            r#"{"_claim_names":{"groups":"s"}}"#,
            "oidc: could not expand distributed claims: oidc: no claim sources",
        )
        .await;
}

#[tokio::test]
async fn issuers_can_be_replaced() {
    let one = Scene::new(&[P256], |_| ()).await;
    let two = Scene::new(&[P256], |_| ()).await;
    one.oidc.discover().await;
    two.oidc.discover().await;
    let issuers = Issuers::new(vec![one.oidc.clone()]);
    let token = two.token(P256, "{}");
    assert_eq!(issuers.authenticate_token(&token, &[]).await, Ok(None));
    issuers.replace(vec![one.oidc.clone(), two.oidc.clone()]);
    let found = issuers.authenticate_token(&token, &[]).await.expect("no error").expect("a user");
    assert_eq!(found.user.name, "o:jane");
}
