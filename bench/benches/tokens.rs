//! Whose token is it: from memory, and by its signature.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keelson_authn::jws;
use keelson_authn::service_account::{Issuer, KeySet, Objects, Order, Ref, ServiceAccountTokens, Settings};
use keelson_authn::{TokenAuthenticator, TokenCache, Unmeasured};
use keelson_codec::stored;
use keelson_object::{Frozen, Object, ObjectMeta};
use keelson_stdx::clock::Clock;

const ISSUER: &str = "https://kubernetes.default.svc";

/// One account and one pod, whatever is asked for.
struct Two {
    account: Arc<Frozen>,
    pod: Arc<Frozen>,
}

impl Objects for Two {
    fn find<'a>(
        &'a self,
        plural: &'static str,
        _: &'a str,
        _: &'a str,
    ) -> BoxFuture<'a, Option<Arc<Frozen>>> {
        let found = if plural == "pods" { &self.pod } else { &self.account };
        std::future::ready(Some(found.clone())).boxed()
    }
}

fn frozen(name: &str, uid: &str) -> Arc<Frozen> {
    let meta = ObjectMeta { name: name.into(), uid: uid.into(), ..ObjectMeta::default() };
    let object = Object { api_version: "v1".into(), kind: "X".into(), meta, ..Object::default() };
    Arc::new(stored::decode(&stored::encode(&object), 1, &[]).expect("it was encoded here"))
}

/// Who knows the token, and the token: of an account, bound to a pod.
fn rig(key: &[u8]) -> (Arc<ServiceAccountTokens>, String) {
    let clock = Clock::real();
    let key = jws::signing_key(key).expect("a private key");
    let keys = KeySet::new(vec![key.public_key().clone()]);
    let settings = Settings {
        issuers: vec![ISSUER.to_owned()],
        api_audiences: vec![ISSUER.to_owned()],
        lookup: true,
        objects: Arc::new(Two { account: frozen("robot", "u1"), pod: frozen("p", "u2") }),
        on_legacy_use: None,
        clock: clock.clone(),
    };
    let order = Order {
        namespace: "default".to_owned(),
        account: Ref::new("robot", "u1"),
        pod: Some(Ref::new("p", "u2")),
        audiences: vec![ISSUER.to_owned()],
        seconds: 3600,
        ..Order::default()
    };
    let now = i64::try_from(clock.unix_seconds()).expect("now");
    let issuer = Issuer::new(ISSUER, key);
    let issued = issuer.issue(&order, now).now_or_never().expect("our own key signs at once");
    let token = issued.expect("a token").token;
    (Arc::new(ServiceAccountTokens::new(settings, keys)), token)
}

fn verify(tokens: &dyn TokenAuthenticator, token: &str) {
    let found = tokens.authenticate_token(black_box(token), &[]).now_or_never().expect("nothing waits");
    assert!(found.is_ok_and(|it| it.is_some()), "the token is good");
}

fn tokens(criterion: &mut Criterion) {
    let p256 = include_bytes!("../../crates/authn/testdata/keys/p256.pkcs8.pem");
    let rsa = include_bytes!("../../crates/authn/testdata/keys/rsa.pkcs8.pem");
    for (name, key) in [("ES256", &p256[..]), ("RS256", &rsa[..])] {
        let (tokens, token) = rig(key);
        criterion.bench_function(&format!("a token by its signature, {name}"), |bencher| {
            bencher.iter(|| verify(tokens.as_ref(), &token));
        });
        let cache = TokenCache::new(tokens, Arc::new(Unmeasured), Clock::real());
        criterion.bench_function(&format!("a token from memory, {name}"), |bencher| {
            bencher.iter(|| verify(&cache, &token));
        });
    }
}

criterion_group!(benches, tokens);
criterion_main!(benches);
