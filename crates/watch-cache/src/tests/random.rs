//! Random histories: whatever happens in whatever order, every watcher's copy ends up equal to a list.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use keelson_store::Store;

use crate::tests::support::{Client, Fixture, turn};
use crate::{Error, Scope, Start, WatchRequest};

/// The faults in a history.
#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    /// The store's watch breaks.
    Breaks,
    /// The store's watch breaks and the store has compacted.
    Forgets,
}

#[tokio::test]
async fn copies_follow_random_histories() {
    for seed in 0..60 {
        run(seed, Trouble::None).await;
    }
}

#[tokio::test]
async fn copies_follow_random_histories_with_breaks() {
    for seed in 0..60 {
        run(seed, Trouble::Breaks).await;
    }
}

#[tokio::test]
async fn copies_follow_random_histories_with_compaction() {
    for seed in 0..60 {
        run(seed, Trouble::Forgets).await;
    }
}

async fn run(seed: u64, trouble: Trouble) {
    let mut rng = SmallRng::seed_from_u64(seed);
    let (queue, history) = (rng.random_range(1..8), rng.random_range(5..60));
    let adapt = |options: &mut crate::CacheOptions| {
        (options.queue, options.history, options.indexes) = (queue, history, vec![0]);
    };
    let fixture = Fixture::with(adapt).await;
    let mut clients: Vec<(Scope, Client)> = Vec::new();
    for _ in 0..250 {
        match rng.random_range(0..100) {
            0..60 => write(&fixture, &mut rng).await,
            60..75 => turn().await,
            75..80 => {
                let scope = scope(&mut rng);
                let client = begin(&fixture, &mut rng, &scope).await;
                clients.push((scope, client));
            }
            80..97 if !clients.is_empty() => {
                let chosen = rng.random_range(0..clients.len());
                let signals = rng.random_range(1..10);
                advance(&fixture, &mut clients[chosen], signals);
            }
            _ => disturb(&fixture, &mut rng, trouble).await,
        }
    }
    let snapshot = fixture.fresh().await;
    for client in &mut clients {
        advance(&fixture, client, usize::MAX);
        client.1.check(&snapshot);
    }
    assert_eq!(fixture.cache.verify().await.unwrap(), [], "seed {seed}");
}

async fn write(fixture: &Fixture, rng: &mut SmallRng) {
    let (namespace, name) =
        (["a", "a-b", "b"][rng.random_range(0..3)], ["x", "y", "z"][rng.random_range(0..3)]);
    let path = format!("{namespace}/{name}");
    match rng.random_range(0..10) {
        0 => drop(fixture.elsewhere().await),
        1..4 if fixture.exists(&path).await => drop(fixture.delete(&path).await),
        _ => drop(fixture.put(&path, ["n1", "n2", "n3"][rng.random_range(0..3)]).await),
    }
}

fn scope(rng: &mut SmallRng) -> Scope {
    match rng.random_range(0..5) {
        0 => Scope::Namespace("a".into()),
        1 => Scope::Name { namespace: "b".into(), name: "x".into() },
        2 => Scope::Field { index: 0, value: "n1".into() },
        _ => Scope::All,
    }
}

/// Begins with a snapshot, or with a list (sometimes an old one) and a watch after it.
async fn begin(fixture: &Fixture, rng: &mut SmallRng, scope: &Scope) -> Client {
    loop {
        if rng.random_bool(0.5) {
            return from_snapshot(fixture, scope);
        }
        let snapshot = if rng.random_bool(0.5) { fixture.cache.snapshot() } else { fixture.fresh().await };
        for _ in 0..rng.random_range(0..5) {
            write(fixture, rng).await;
        }
        let request = WatchRequest::new(Start::After(snapshot.revision()), scope.clone());
        match fixture.try_watch(request) {
            Ok(client) => return client.through(scope.clone()).with_list(&snapshot),
            Err(error) => assert!(matches!(error, Error::Compacted { .. }), "{error}"),
        }
    }
}

fn from_snapshot(fixture: &Fixture, scope: &Scope) -> Client {
    fixture.watch(WatchRequest::new(Start::Snapshot, scope.clone())).through(scope.clone())
}

/// Lets a client read. One that was left behind begins again.
fn advance(fixture: &Fixture, client: &mut (Scope, Client), signals: usize) {
    let mut count = 0;
    while count < signals
        && let Some(seen) = client.1.step()
    {
        count += 1;
        if seen.as_deref() == Some("!") {
            client.1 = from_snapshot(fixture, &client.0);
        }
    }
}

async fn disturb(fixture: &Fixture, rng: &mut SmallRng, trouble: Trouble) {
    match trouble {
        Trouble::None => drop(fixture.fresh().await),
        Trouble::Breaks => fixture.cut().await,
        Trouble::Forgets => {
            fixture.hold();
            for _ in 0..rng.random_range(0..10) {
                write(fixture, rng).await;
            }
            let latest = fixture.elsewhere().await;
            fixture.rig.compact(latest).await.unwrap();
            fixture.release();
            fixture.cut().await;
        }
    }
}
