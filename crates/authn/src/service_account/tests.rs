//! Tests of service account tokens, from issue to refusal.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_codec::{json, stored};
use keelson_object::{Frozen, Map, Object, Value};
use keelson_stdx::clock::{Clock, ManualClock};
use parking_lot::Mutex;

use super::{
    Discovery, Issuer, KeySet, LEGACY_ISSUER, LegacyUse, Objects, Order, Ref, ServiceAccountTokens, Settings,
};
use crate::TokenAuthenticator;
use crate::jws::tests::private;
use crate::jws::{self, SigningKey};

/// 2026-01-01T00:00:00Z, where a manual clock starts.
const START: i64 = 1_767_225_600;
const API: &str = "https://kubernetes.default.svc";

/// A few objects by `plural/namespace/name`.
#[derive(Default)]
struct Few(Mutex<HashMap<String, Arc<Frozen>>>);

impl Objects for Few {
    fn find<'a>(
        &'a self,
        plural: &'static str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Arc<Frozen>>> {
        let found = self.0.lock().get(&format!("{plural}/{namespace}/{name}")).cloned();
        std::future::ready(found).boxed()
    }
}

impl Few {
    /// `text` is what stands in `metadata` besides names, and behind it.
    fn put(&self, place: &str, metadata: &str, rest: &str) {
        let (namespace, name) = place.split_once('/').map(|(_, it)| it.split_once('/').unwrap()).unwrap();
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"X","metadata":{{"name":"{name}","namespace":"{namespace}"{metadata}}}{rest}}}"#
        );
        let value = json::read(text.as_bytes()).expect("it is JSON").value;
        let object = Object::from_value(value).expect("an object");
        let frozen = stored::decode(&stored::encode(&object), 1, &[]).expect("frozen");
        self.0.lock().insert(place.to_owned(), Arc::new(frozen));
    }

    fn remove(&self, place: &str) {
        self.0.lock().remove(place).expect("it was there");
    }
}

struct Rig {
    objects: Arc<Few>,
    tokens: ServiceAccountTokens,
    issuer: Issuer,
    legacy: String,
    uses: Arc<Mutex<Vec<LegacyUse>>>,
    hand: ManualClock,
}

fn rig(key: &str) -> Rig {
    let (clock, hand) = Clock::manual();
    let objects = Arc::new(Few::default());
    objects.put("serviceaccounts/ns/robot", r#","uid":"u1""#, "");
    objects.put("pods/ns/p", r#","uid":"u2""#, "");
    objects.put("secrets/ns/s", r#","uid":"u3""#, "");
    objects.put("nodes//n", r#","uid":"u4""#, "");
    let uses: Arc<Mutex<Vec<LegacyUse>>> = Arc::default();
    let told = uses.clone();
    let settings = Settings {
        issuers: vec![API.to_owned(), "https://old".to_owned()],
        api_audiences: vec![API.to_owned(), "api".to_owned()],
        lookup: true,
        objects: objects.clone(),
        on_legacy_use: Some(Arc::new(move |it| told.lock().push(it))),
        clock,
    };
    let key = private(key);
    let keys = KeySet::new(vec![private("p384.pkcs8.pem").public_key().clone(), key.public_key().clone()]);
    let tokens = ServiceAccountTokens::new(settings, keys);
    let legacy = jws::sign(&key, &legacy_claims(|_| {})).expect("signed");
    Rig { objects, tokens, issuer: Issuer::new(API, key), legacy, uses, hand }
}

fn order() -> Order {
    Order {
        namespace: "ns".to_owned(),
        account: Ref::new("robot", "u1"),
        audiences: vec![API.to_owned()],
        seconds: 3600,
        ..Order::default()
    }
}

fn issued(issuer: &Issuer, order: &Order, now: i64) -> String {
    issuer.issue(order, now).now_or_never().expect("nothing waits").expect("a token").token
}

impl Rig {
    fn issue(&self, order: &Order) -> String {
        issued(&self.issuer, order, START)
    }

    /// `name groups extra audiences annotations`, `nobody`, or the complaint.
    fn ask_for(&self, token: &str, audiences: &[&str]) -> String {
        let audiences: Vec<String> = audiences.iter().map(|&it| it.to_owned()).collect();
        let outcome =
            self.tokens.authenticate_token(token, &audiences).now_or_never().expect("nothing waits");
        match outcome {
            Ok(Some(it)) => {
                let extra: Vec<String> = it
                    .user
                    .extra
                    .iter()
                    .filter(|(key, _)| !key.ends_with("credential-id"))
                    .map(|(key, value)| format!("{}={}", key.rsplit('/').next().unwrap(), value[0]))
                    .collect();
                let mut words = vec![it.user.name.clone(), it.user.uid.clone()];
                words.extend(extra);
                words.extend(it.annotations.iter().map(|(key, value)| format!("{key}: {value}")));
                words.join(" ")
            }
            Ok(None) => "nobody".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    fn ask(&self, token: &str) -> String {
        self.ask_for(token, &[])
    }
}

const ROBOT: &str = "system:serviceaccount:ns:robot u1";

#[test]
fn tokens_of_every_algorithm_are_accepted() {
    for key in ["rsa.pkcs1.pem", "p256.sec1.pem", "p384.pkcs8.pem", "p521.sec1.pem"] {
        let rig = rig(key);
        let token = rig.issue(&order());
        assert_eq!(rig.ask(&token), ROBOT, "{key}");
        let known = rig.tokens.authenticate_token(&token, &[]).now_or_never().unwrap().unwrap().unwrap();
        assert_eq!(known.user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
        assert_eq!(known.audiences, [API]);
        assert!(known.user.extra["authentication.kubernetes.io/credential-id"][0].starts_with("JTI="));
    }
}

#[test]
fn claims_are_written_as_upstream_writes_them() {
    let rig = rig("p256.sec1.pem");
    let token = rig.issue(&Order {
        pod: Some(Ref::new("p", "u2")),
        node: Some(Ref::new("n", "u4")),
        warn_after: Some(60),
        ..order()
    });
    let jws = jws::Jws::parse(&token).expect("a token");
    let mut payload = jws.unverified().clone();
    assert!(uuid::Uuid::parse_str(payload.str("jti").expect("an id")).is_ok());
    payload.set("jti", "x");
    let text = String::from_utf8(json::to_bytes(&Value::Map(payload)).to_vec()).unwrap();
    assert_eq!(
        text,
        format!(
            r#"{{"aud":["{API}"],"exp":{},"iat":{START},"iss":"{API}","jti":"x","kubernetes.io":{{"namespace":"ns","node":{{"name":"n","uid":"u4"}},"pod":{{"name":"p","uid":"u2"}},"serviceaccount":{{"name":"robot","uid":"u1"}},"warnafter":{}}},"nbf":{START},"sub":"system:serviceaccount:ns:robot"}}"#,
            START + 3600,
            START + 60
        )
    );
}

#[test]
fn tokens_live_from_their_start_to_their_end_and_clocks_may_be_a_minute_off() {
    let rig = rig("p256.sec1.pem");
    let token = rig.issue(&order());
    let early = |by: i64| issued(&rig.issuer, &order(), START + by);
    assert_eq!(rig.ask(&early(60)), ROBOT);
    assert_eq!(rig.ask(&early(61)), "service account token is not valid yet");
    rig.hand.advance(Duration::from_secs(3660));
    assert_eq!(rig.ask(&token), ROBOT);
    rig.hand.advance(Duration::from_nanos(1));
    assert_eq!(rig.ask(&token), "service account token has expired");
    let mut claims = Map::new();
    claims.push_new("iss", API);
    claims.push_new("aud", API);
    claims.push_new("iat", START + 4000);
    let future = jws::sign(&private("p256.sec1.pem"), &claims).expect("signed");
    assert_eq!(rig.ask(&future), "service account token is issued in the future");
}

#[test]
fn tokens_are_good_for_their_audiences_only() {
    let rig = rig("p256.sec1.pem");
    let token = rig.issue(&Order { audiences: vec!["vault".to_owned(), "api".to_owned()], ..order() });
    assert_eq!(rig.ask(&token), ROBOT);
    assert_eq!(rig.ask_for(&token, &["vault"]), ROBOT);
    let wrong = r#"token audiences ["vault" "api"] is invalid for the target audiences ["x"]"#;
    assert_eq!(rig.ask_for(&token, &["x"]), wrong);
    let other = rig.issue(&Order { audiences: vec!["vault".to_owned()], ..order() });
    let wrong = format!(r#"token audiences ["vault"] is invalid for the target audiences ["{API}" "api"]"#);
    assert_eq!(rig.ask(&other), wrong);
}

#[test]
fn only_our_issuers_and_keys_count() {
    let rig = rig("p256.sec1.pem");
    let by = |issuer: &str, key: SigningKey| issued(&Issuer::new(issuer, key), &order(), START);
    assert_eq!(rig.ask(&by("https://old", private("p256.sec1.pem"))), ROBOT);
    assert_eq!(rig.ask(&by("https://elsewhere", private("p256.sec1.pem"))), "nobody");
    assert_eq!(rig.ask(&by(API, private("rsa.pkcs1.pem"))), "invalid signature, no keys found");
    assert_eq!(rig.ask("secret"), "nobody");
    // A token that names one of our keys and was signed with another one.
    let token = by(API, private("rsa.pkcs1.pem"));
    let ours = by(API, private("p256.sec1.pem"));
    let mixed = format!("{}.{}", ours.split('.').next().unwrap(), token.split_once('.').unwrap().1);
    assert_eq!(rig.ask(&mixed), "go-jose/go-jose: error in cryptographic primitive");
}

#[test]
fn a_rotated_key_is_good_until_it_is_taken_away() {
    let rig = rig("p256.sec1.pem");
    let token = rig.issue(&order());
    let new = private("rsa.pkcs1.pem");
    let old = private("p256.sec1.pem");
    rig.tokens.replace_keys(KeySet::new(vec![new.public_key().clone(), old.public_key().clone()]));
    assert_eq!(rig.ask(&token), ROBOT);
    rig.tokens.replace_keys(KeySet::new(vec![new.public_key().clone()]));
    assert_eq!(rig.ask(&token), "invalid signature, no keys found");
}

#[test]
fn an_account_must_be_the_one_that_the_token_was_made_for() {
    let rig = rig("p256.sec1.pem");
    let token = rig.issue(&order());
    rig.objects.put("serviceaccounts/ns/robot", r#","uid":"other""#, "");
    assert_eq!(rig.ask(&token), "service account UID (other) does not match claim (u1)");
    let deleted = |at: &str| format!(r#","uid":"u1","deletionTimestamp":"{at}""#);
    rig.objects.put("serviceaccounts/ns/robot", &deleted("2025-12-31T23:59:00Z"), "");
    assert_eq!(rig.ask(&token), ROBOT);
    rig.objects.put("serviceaccounts/ns/robot", &deleted("2025-12-31T23:58:59Z"), "");
    assert_eq!(rig.ask(&token), "service account ns/robot has been deleted");
    rig.objects.remove("serviceaccounts/ns/robot");
    assert_eq!(rig.ask(&token), "serviceaccounts \"robot\" not found");
}

#[test]
fn a_token_ends_with_what_it_is_bound_to() {
    let bound = |to: &str| match to {
        "pods/ns/p" => Order { pod: Some(Ref::new("p", "u2")), ..order() },
        "secrets/ns/s" => Order { secret: Some(Ref::new("s", "u3")), ..order() },
        _ => Order { node: Some(Ref::new("n", "u4")), ..order() },
    };
    for (place, uid, word, extra) in [
        ("pods/ns/p", "u2", "pod", " pod-name=p pod-uid=u2"),
        ("secrets/ns/s", "u3", "secret", ""),
        ("nodes//n", "u4", "node", " node-name=n node-uid=u4"),
    ] {
        let rig = rig("p256.sec1.pem");
        let token = rig.issue(&bound(place));
        let good = format!("{ROBOT}{extra}");
        assert_eq!(rig.ask(&token), good);
        rig.objects.put(place, r#","uid":"other""#, "");
        let wrong = format!("{word} UID (other) does not match service account {word} ref claim ({uid})");
        assert_eq!(rig.ask(&token), wrong);
        let deleted = |at: &str| format!(r#","uid":"{uid}","deletionTimestamp":"{at}""#);
        rig.objects.put(place, &deleted("2025-12-31T23:59:00Z"), "");
        assert_eq!(rig.ask(&token), good);
        rig.objects.put(place, &deleted("2025-12-31T23:58:59Z"), "");
        assert_eq!(rig.ask(&token), "service account token has been invalidated");
        rig.objects.remove(place);
        assert_eq!(rig.ask(&token), "service account token has been invalidated");
    }
}

#[test]
fn the_node_of_a_pod_is_told_and_not_checked() {
    let rig = rig("p256.sec1.pem");
    let token =
        rig.issue(&Order { pod: Some(Ref::new("p", "u2")), node: Some(Ref::new("gone", "")), ..order() });
    assert_eq!(rig.ask(&token), format!("{ROBOT} node-name=gone pod-name=p pod-uid=u2"));
}

#[test]
fn who_uses_a_token_longer_than_asked_is_noted() {
    let rig = rig("p256.sec1.pem");
    let token = rig.issue(&Order { warn_after: Some(10), ..order() });
    assert_eq!(rig.ask(&token), ROBOT);
    rig.hand.advance(Duration::from_secs(15));
    let note = "authentication.k8s.io/stale-token: subject: , seconds after warning threshold: 5";
    let note = note.replace("subject: ,", "subject: system:serviceaccount:ns:robot,");
    assert_eq!(rig.ask(&token), format!("{ROBOT} {note}"));
    let counts = rig.tokens.counts();
    let read = |it: &std::sync::atomic::AtomicU64| it.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!((read(&counts.valid), read(&counts.stale)), (1, 1));
}

fn legacy_claims(change: impl FnOnce(&mut Map)) -> Map {
    let mut claims = Map::new();
    claims.push_new("iss", LEGACY_ISSUER);
    for (key, value) in [
        ("namespace", "ns"),
        ("secret.name", "s"),
        ("service-account.name", "robot"),
        ("service-account.uid", "u1"),
    ] {
        claims.push_new(format!("kubernetes.io/serviceaccount/{key}"), value);
    }
    claims.push_new("sub", "system:serviceaccount:ns:robot");
    change(&mut claims);
    claims
}

impl Rig {
    /// A legacy token that is stored in the secret `s`.
    fn legacy(&self, metadata: &str) -> String {
        use base64::Engine as _;
        let token = self.legacy.clone();
        let data = base64::engine::general_purpose::STANDARD.encode(&token);
        let rest = format!(r#","data":{{"token":"{data}"}}"#);
        self.objects.put("secrets/ns/s", &format!(r#","uid":"u3"{metadata}"#), &rest);
        token
    }
}

#[test]
fn legacy_tokens_live_as_long_as_their_secret() {
    let rig = rig("p256.sec1.pem");
    let token = rig.legacy("");
    let manual = "authentication.k8s.io/legacy-token: system:serviceaccount:ns:robot \
                  authentication.k8s.io/legacy-token-manual-secret: s";
    assert_eq!(rig.ask(&token), format!("{ROBOT} {manual}"));
    rig.objects.put("serviceaccounts/ns/robot", r#","uid":"u1""#, r#","secrets":[{"name":"s"}]"#);
    let known = rig.tokens.authenticate_token(&token, &[]).now_or_never().unwrap().unwrap().unwrap();
    assert_eq!(known.warnings.len(), 1);
    rig.objects.put("serviceaccounts/ns/robot", r#","uid":"other""#, "");
    assert_eq!(rig.ask(&token), "ServiceAccount UID (other) does not match claim (u1)");
    let deleted = r#","uid":"u1","deletionTimestamp":"2026-01-01T00:00:00Z""#;
    rig.objects.put("serviceaccounts/ns/robot", deleted, "");
    assert_eq!(rig.ask(&token), "ServiceAccount ns/robot has been deleted");
    rig.objects.put("secrets/ns/s", r#","uid":"u3""#, r#","data":{"token":"b3RoZXI="}"#);
    assert_eq!(rig.ask(&token), "Token does not match server's copy");
    rig.legacy(r#","deletionTimestamp":"2026-01-01T00:00:00Z""#);
    assert_eq!(rig.ask(&token), "Token has been invalidated");
    rig.objects.remove("secrets/ns/s");
    assert_eq!(rig.ask(&token), "Token has been invalidated");
}

#[test]
fn legacy_tokens_leave_a_trace_and_may_be_marked() {
    let rig = rig("p256.sec1.pem");
    let label =
        |key: &str, value: &str| format!(r#","labels":{{"kubernetes.io/legacy-token-{key}":"{value}"}}"#);
    let token = rig.legacy("");
    rig.ask(&token);
    rig.legacy(&label("last-used", "2026-01-01"));
    rig.ask(&token);
    rig.legacy(&label("last-used", "2026-01-02"));
    rig.ask(&token);
    rig.legacy(&label("last-used", "2025-12-31"));
    rig.ask(&token);
    let days: Vec<String> =
        rig.uses.lock().iter().map(|it| format!("{}/{} {}", it.namespace, it.name, it.day)).collect();
    assert_eq!(days, ["ns/s 2026-01-01", "ns/s 2026-01-01"]);
    rig.legacy(&label("invalid-since", "2026-01-01"));
    let refusal = rig.ask(&token);
    assert!(
        refusal.starts_with("the token in secret ns/s for service account ns/robot has been marked invalid."),
        "{refusal}"
    );
    assert_eq!(rig.uses.lock().len(), 3);
}

#[test]
fn legacy_tokens_must_say_everything() {
    let rig = rig("p256.sec1.pem");
    let check = |key: &str, value: Option<Value>, expected: &str| {
        let claims = legacy_claims(|claims| match value {
            Some(value) => claims.set(key, value),
            None => drop(claims.remove(key)),
        });
        let token = jws::sign(&private("p256.sec1.pem"), &claims).expect("signed");
        assert_eq!(rig.ask(&token), expected, "{key}");
    };
    check("sub", None, "sub claim is missing");
    check("kubernetes.io/serviceaccount/namespace", None, "namespace claim is missing");
    check("kubernetes.io/serviceaccount/secret.name", None, "secretName claim is missing");
    check("kubernetes.io/serviceaccount/service-account.name", None, "serviceAccountName claim is missing");
    check("kubernetes.io/serviceaccount/service-account.uid", None, "serviceAccountUID claim is missing");
    check("sub", Some("system:serviceaccount:ns:other".into()), "sub claim is invalid");
    check("sub", Some(7.into()), "token claims cannot be read");
    check("exp", Some("soon".into()), "token claims cannot be read");
    check("aud", Some(7.into()), "token claims cannot be read");
}

#[test]
fn others_are_told_issuer_and_keys() {
    let keys = KeySet::new(vec![
        private("rsa.pkcs1.pem").public_key().clone(),
        private("p256.sec1.pem").public_key().clone(),
    ]);
    let text = |it: &bytes::Bytes| String::from_utf8(it.to_vec()).unwrap();
    let found = Discovery::new(API, "", "10.0.0.1:6443", &keys).expect("documents");
    assert_eq!(
        text(&found.configuration),
        r#"{"issuer":"https://kubernetes.default.svc","jwks_uri":"https://10.0.0.1:6443/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256","RS256"]}"#
    );
    let set = text(&found.keys);
    assert!(set.starts_with(r#"{"keys":[{"use":"sig","kty":"RSA","kid":"PxU4s"#), "{set}");
    assert!(
        set.contains(r#""alg":"RS256","n":""#)
            && set.contains(r#""e":"AQAB"},{"use":"sig","kty":"EC","kid":"tlmq3"#),
        "{set}"
    );
    let refused = |issuer: &str| Discovery::new(issuer, "", "x", &keys).expect_err("refused").to_string();
    assert_eq!(refused("kubernetes"), "issuer URL must use https scheme, got: kubernetes");
    assert_eq!(refused("https://a?b=c"), "issuer URL may not include a query, got: https://a?b=c");
    assert_eq!(refused("https://a#b"), "issuer URL may not include a fragment, got: https://a#b");
    assert_eq!(
        Discovery::new(API, "", "x", &KeySet::default()).expect_err("refused").to_string(),
        "no keys provided for validating keyset"
    );
}
