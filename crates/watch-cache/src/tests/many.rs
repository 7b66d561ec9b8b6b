//! Tests of many watchers: no watcher gets unrelated events or delays another, and no event is lost.

use keelson_stdx::task;
use keelson_store::{Key, Revision};

use crate::shared::Change;
use crate::tests::support::{Client, Fixture, object, within};
use crate::{Scope, Signal, Start, WatchRequest};

#[tokio::test]
async fn an_event_wakes_only_those_it_concerns() {
    let fixture = Fixture::with(|options| options.indexes = vec![0]).await;
    let start = |scope: Scope| {
        let mut client = fixture.watch(WatchRequest::new(Start::Snapshot, scope.clone())).through(scope);
        assert_eq!(client.ready(), "");
        client
    };
    let mut others: Vec<Client> = Vec::new();
    for number in 0..3500 {
        let text = format!("other{number}");
        others.push(start(Scope::Namespace(text.as_str().into())));
        others.push(start(Scope::Name { namespace: "a".into(), name: text.as_str().into() }));
        others.push(start(Scope::Field { index: 0, value: text.into() }));
    }
    let mut concerned = [
        Scope::All,
        Scope::Namespace("a".into()),
        Scope::Name { namespace: "a".into(), name: "x".into() },
        Scope::Field { index: 0, value: "n1".into() },
    ]
    .map(start);
    fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    let stats = fixture.cache.stats();
    assert_eq!((stats.watchers, stats.wakeups, stats.queued), (10_504, 4, 4));
    for client in &mut concerned {
        assert_eq!(client.ready(), "+a/x=n1");
    }
    assert!(others.iter_mut().all(|client| client.ready().is_empty()));

    // The pod moves from one node to another: the watchers of both get an event.
    let mut receiver = start(Scope::Field { index: 0, value: "n2".into() });
    fixture.put("a/x", "n2").await;
    fixture.fresh().await;
    assert_eq!(fixture.cache.stats().wakeups, 4 + 5);
    assert_eq!(concerned[3].ready(), "-a/x=n1");
    assert_eq!(receiver.ready(), "+a/x=n2");
}

#[tokio::test]
async fn a_burst_wakes_a_watcher_once() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(WatchRequest::new(Start::Snapshot, Scope::All));
    assert_eq!(client.ready(), "");
    for number in 0..50 {
        fixture.put("a/x", &format!("n{number}")).await;
    }
    fixture.fresh().await;
    let stats = fixture.cache.stats();
    assert_eq!((stats.wakeups, stats.queued), (1, 50));
    assert_eq!(client.ready().split(' ').count(), 50);
}

/// A queue of one, and a publisher and a watcher that do not pause: the watcher changes between history and
/// queue thousands of times, each time while an event is being published.
#[tokio::test]
async fn changing_between_history_and_queue_loses_nothing() {
    const EVENTS: u64 = 50_000;
    let fixture = Fixture::with(|options| options.queue = 1).await;
    let shared = fixture.cache.shared.clone();
    let mut watcher = fixture.cache.watch(WatchRequest::new(Start::Snapshot, Scope::All)).unwrap();
    let publisher = std::thread::spawn(move || {
        let key = Key::from("/registry/pods/a/x");
        for number in 2..EVENTS + 2 {
            let revision = Revision::new(number).unwrap();
            let object = Some(object("a", "x", "n1", number));
            shared.publish(Change { key: key.clone(), revision, object });
        }
    });
    let mut expected = 2;
    while expected < EVENTS + 2 {
        let done = publisher.is_finished();
        match watcher.ready() {
            Some(Ok(Signal::Event(event))) => {
                assert_eq!(event.revision().get(), expected);
                expected += 1;
            }
            Some(other) => panic!("unexpected {other:?}"),
            None => assert!(!done, "everything is published, but {expected} did not come"),
        }
    }
    publisher.join().unwrap();
    let stats = fixture.cache.stats();
    assert_eq!((stats.events, stats.lagged), (EVENTS, 0));
}

/// Writers, readers and watchers on several threads, with queues so small that watchers fall back to the history all
/// the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_or_repeated_between_threads() {
    let fixture = Fixture::with(|options| (options.queue, options.indexes) = (3, vec![0])).await;
    let scopes =
        [Scope::All, Scope::Namespace("a".into()), Scope::Field { index: 0, value: "n1".into() }, Scope::All];
    let mut watching = Vec::new();
    for round in 0..600 {
        if round % 50 == 0 {
            let scope = scopes[round / 50 % scopes.len()].clone();
            // Half begin with a list and a watch after it, half with a snapshot.
            let client = if round % 100 == 0 {
                let snapshot = fixture.cache.snapshot();
                let request = WatchRequest::new(Start::After(snapshot.revision()), scope.clone());
                fixture.watch(request).through(scope).with_list(&snapshot)
            } else {
                fixture.watch(WatchRequest::new(Start::Snapshot, scope.clone())).through(scope)
            };
            watching.push(task::spawn("client", follow(client)));
        }
        let (namespace, name) = (["a", "b"][round % 2], round * 7 % 11);
        let path = format!("{namespace}/x{name}");
        if round % 5 == 0 && fixture.exists(&path).await {
            fixture.delete(&path).await;
        } else {
            fixture.put(&path, &format!("n{}", round % 3)).await;
        }
    }
    // All scopes see the end.
    fixture.put("a/end", "n1").await;
    let snapshot = fixture.fresh().await;
    for client in watching {
        within(client).await.unwrap().check(&snapshot);
    }
    assert_eq!(fixture.cache.verify().await.unwrap(), []);
}

async fn follow(mut client: Client) -> Client {
    while let Some(seen) = client.next().await {
        assert_ne!(seen, "!");
        if seen.contains("a/end=") {
            break;
        }
    }
    client
}
