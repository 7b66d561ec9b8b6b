//! Tests of followers: an index gets all changes of the objects it follows.

use std::sync::Arc;

use keelson_apis::{Settings, groups};
use keelson_authn::User;
use keelson_housekeeping::follow;
use keelson_object::{Follower, Frozen, Object, Readers as _};
use keelson_registry::live::Ground;
use keelson_registry::options::DeleteOptions;
use keelson_registry::{CatalogHandle, Context, Place, catalog, operation};
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::{Layout, MemoryStore};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Records the calls.
struct Notes(UnboundedSender<String>);

impl Notes {
    fn note(&self, text: String) {
        self.0.send(text).expect("somebody reads");
    }
}

impl Follower for Notes {
    fn reset(&self, objects: Vec<Object>) {
        let names: Vec<&str> = objects.iter().map(|it| it.meta.name.as_str()).collect();
        self.note(format!("all {}", names.join(" ")));
    }

    fn put(&self, object: Object) {
        self.note(format!("put {}", object.meta.name));
    }

    fn remove(&self, object: &Frozen) {
        self.note(format!("gone {}", object.index().name));
    }
}

async fn next(notes: &mut UnboundedReceiver<String>) -> String {
    notes.recv().await.expect("another note")
}

#[tokio::test]
async fn an_index_hears_of_everything() {
    let clock = Clock::real();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let ground = Ground::new(store, Layout::default(), clock.clone());
    let settings = Settings { ground: Some(ground.clone()), ..Settings::default() };
    let loaded = catalog::load(groups(&settings), &ground).await.expect("a catalog");
    let catalog = CatalogHandle::new(loaded);
    let live = catalog.load().live("", "configmaps").expect("config maps").clone();
    let context = Context::new(User::new("jane", &[]), clock.clone());
    let config_map = |name: &str| {
        let mut object = Object { api_version: "v1".into(), kind: "ConfigMap".into(), ..Object::default() };
        object.meta.name = name.into();
        object
    };
    let made = operation::create(&live, &context, "default", config_map("a")).await;
    made.expect("a config map");

    let (sender, mut notes) = unbounded_channel();
    let following = follow::run(catalog.clone(), "", "configmaps", Arc::new(Notes(sender)), clock);
    let _following = task::spawn("following", following);
    assert_eq!(next(&mut notes).await, "all a");
    operation::create(&live, &context, "default", config_map("b")).await.expect("a config map");
    assert_eq!(next(&mut notes).await, "put b");
    let (place, how) = (Place::new("default", "a"), DeleteOptions::default());
    operation::delete(&live, &context, &place, &how).await.expect("it goes");
    assert_eq!(next(&mut notes).await, "gone a");

    let reader = catalog.reader("", "configmaps").expect("a reader");
    assert!(reader.get("default", "b").is_some());
    assert_eq!((reader.list("default").len(), reader.list("other").len()), (1, 0));
    assert!(catalog.reader("", "nothings").is_none());
}
