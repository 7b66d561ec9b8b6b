//! Tests of the objects that the server creates for service accounts.

use std::sync::Arc;
use std::time::Duration;

use keelson_apis::{Settings, groups};
use keelson_authn::User;
use keelson_authn::service_account::LegacyUse;
use keelson_housekeeping::{legacy_tokens, service_accounts};
use keelson_object::Object;
use keelson_registry::live::Ground;
use keelson_registry::options::Part;
use keelson_registry::{CatalogHandle, Context, Place, catalog, operation};
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_stdx::task;
use keelson_store::{Layout, MemoryStore};
use tokio::sync::mpsc;

struct Rig {
    catalog: CatalogHandle,
    clock: Clock,
    hand: ManualClock,
}

impl Rig {
    async fn new() -> Rig {
        let (clock, hand) = Clock::manual();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let ground = Ground::new(store, Layout::default(), clock.clone());
        let settings = Settings { ground: Some(ground.clone()), ..Settings::default() };
        let loaded = catalog::load(groups(&settings), &ground).await.expect("a catalog");
        Rig { catalog: CatalogHandle::new(loaded), clock, hand }
    }

    fn context(&self) -> Context {
        Context::new(User::new("jane", &[]), self.clock.clone())
    }

    async fn make(&self, plural: &str, namespace: &str, name: &str) -> Object {
        let live = self.catalog.load().live("", plural).expect("it is built in").clone();
        let mut object =
            Object { api_version: "v1".into(), kind: live.resource.kind.clone(), ..Object::default() };
        object.meta.name = name.into();
        let made = operation::create(&live, &self.context(), namespace, object).await.expect("it is valid");
        live.thaw(&made).expect("it can be read")
    }

    async fn change(&self, plural: &str, place: &Place, change: impl Fn(&mut Object)) {
        let live = self.catalog.load().live("", plural).expect("it is built in").clone();
        let changed = |old: &Object| {
            let mut object = old.clone();
            change(&mut object);
            Ok(object)
        };
        let done = operation::patch(&live, &self.context(), place, Part::Main, changed).await;
        done.expect("it can be changed");
    }

    /// Waits until the object is so.
    async fn until(&self, plural: &str, place: &Place, is_so: impl Fn(&Object) -> bool) {
        let live = self.catalog.load().live("", plural).expect("it is built in").clone();
        let waiting = async {
            loop {
                let snapshot = live.cache().expect("it is stored").fresh().await.expect("the store works");
                let found = snapshot.get(&place.namespace, &place.name);
                if found.is_some_and(|it| is_so(&live.thaw(it).expect("it can be read"))) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        in_time.unwrap_or_else(|_| panic!("{plural} {place:?} is not so"));
    }
}

#[tokio::test]
async fn a_config_map_says_since_when_legacy_tokens_are_followed() {
    let rig = Rig::new().await;
    let (sender, mut made) = mpsc::unbounded_channel();
    let tracking = legacy_tokens::track(rig.catalog.clone(), rig.clock.clone(), move || {
        sender.send(()).expect("somebody listens")
    });
    let _tracking = task::spawn("tracking", tracking);
    made.recv().await.expect("it is made");
    let place = Place::new("kube-system", "kube-apiserver-legacy-service-account-token-tracking");
    let says = |day: &'static str| move |it: &Object| it.text_at("data.since") == Some(day);
    rig.until("configmaps", &place, says("2026-01-01")).await;
    rig.change("configmaps", &place, |it| it.fields.map_mut("data").set("since", "long ago")).await;
    rig.hand.advance(Duration::from_secs(24 * 60 * 60));
    rig.until("configmaps", &place, says("2026-01-02")).await;
    rig.hand.advance(Duration::from_secs(24 * 60 * 60));
    rig.until("configmaps", &place, says("2026-01-02")).await;
}

#[tokio::test]
async fn the_use_of_a_legacy_token_is_noted_on_its_secret() {
    const LABEL: &str = "kubernetes.io/legacy-token-last-used";
    let rig = Rig::new().await;
    let secret = rig.make("secrets", "default", "s").await;
    let (sender, uses) = mpsc::channel(4);
    let _noting =
        task::spawn("noting", legacy_tokens::note_uses(rig.catalog.clone(), rig.clock.clone(), uses));
    let used = |uid: &str, day: &str| LegacyUse {
        namespace: "default".into(),
        name: "s".into(),
        uid: uid.into(),
        day: day.to_owned(),
    };
    // Another secret of the same name was used, and a deleted one; neither matters.
    sender.send(used("other", "2026-01-01")).await.expect("somebody listens");
    let gone = LegacyUse { name: "gone".into(), ..used("x", "2026-01-01") };
    sender.send(gone).await.expect("somebody listens");
    sender.send(used(&secret.meta.uid, "2026-01-02")).await.expect("somebody listens");
    rig.until("secrets", &Place::new("default", "s"), |it| {
        assert_ne!(it.meta.labels.get(LABEL), Some("2026-01-01"));
        it.meta.labels.get(LABEL) == Some("2026-01-02")
    })
    .await;
}

#[tokio::test]
async fn every_namespace_gets_an_account_and_the_authority() {
    let rig = Rig::new().await;
    rig.make("namespaces", "", "old").await;
    let looking_after = service_accounts::run(rig.catalog.clone(), "PEM".to_owned(), rig.clock.clone());
    let _looking_after = task::spawn("looking after", looking_after);
    let (account, authority) = (Place::new("old", "default"), Place::new("old", "kube-root-ca.crt"));
    rig.until("serviceaccounts", &account, |_| true).await;
    let is_right = |it: &Object| {
        it.fields.map("data").is_some_and(|it| it.str("ca.crt") == Some("PEM") && it.len() == 1)
    };
    rig.until("configmaps", &authority, is_right).await;
    rig.make("namespaces", "", "new").await;
    rig.until("serviceaccounts", &Place::new("new", "default"), |_| true).await;
    rig.change("configmaps", &authority, |it| it.fields.map_mut("data").set("ca.crt", "forged")).await;
    rig.until("configmaps", &authority, is_right).await;
}
