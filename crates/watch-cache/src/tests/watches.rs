//! Tests of watches.

use crate::tests::support::{Fixture, turn};
use crate::{Bookmarks, Error, Scope, Start, WatchRequest};

fn everything(start: Start) -> WatchRequest {
    WatchRequest::new(start, Scope::All)
}

fn field(value: &str) -> Scope {
    Scope::Field { index: 0, value: value.into() }
}

#[tokio::test]
async fn a_watch_begins_with_what_is_there_and_goes_on_with_what_happens() {
    let fixture = Fixture::new().await;
    fixture.put("a/x", "n1").await;
    fixture.put("b/y", "n1").await;
    fixture.fresh().await;
    let mut client = fixture.watch(everything(Start::Snapshot));
    assert_eq!(client.ready(), "+a/x=n1 +b/y=n1");

    fixture.put("a/x", "n2").await;
    fixture.delete("b/y").await;
    fixture.put("c/z", "n3").await;
    fixture.fresh().await;
    assert_eq!(client.ready(), "~a/x=n2 -b/y=n1 +c/z=n3");
    assert_eq!(client.ready(), "");
    let stats = fixture.cache.stats();
    assert_eq!((stats.initial_events, stats.queued), (2, 3));
}

#[tokio::test]
async fn a_watch_after_a_revision_gets_what_happened_since() {
    let fixture = Fixture::new().await;
    let start = fixture.cache.revision();
    let first = fixture.put("a/x", "n1").await;
    let listed = fixture.fresh().await;
    fixture.put("a/x", "n2").await;
    fixture.fresh().await;
    assert_eq!(fixture.watch(everything(Start::After(start))).ready(), "+a/x=n1 ~a/x=n2");
    let after = fixture.watch(everything(Start::After(first)));
    let mut after = after.with_list(&listed);
    assert_eq!(after.ready(), "~a/x=n2");
    assert_eq!(fixture.cache.stats().initial_events, 3, "two for the one, one for the other");
}

#[tokio::test]
async fn a_watch_after_the_future_leaves_out_what_comes_before() {
    let fixture = Fixture::new().await;
    let now = fixture.cache.revision();
    let mut client = fixture.watch(everything(Start::After(now.next().next())));
    fixture.put("a/x", "n1").await;
    fixture.put("b/y", "n1").await;
    fixture.put("c/z", "n1").await;
    fixture.fresh().await;
    assert_eq!(client.ready(), "+c/z=n1");
}

#[tokio::test]
async fn a_watcher_sees_only_its_scope() {
    let fixture = Fixture::with(|options| options.indexes = vec![0]).await;
    let start = || Start::After(fixture.cache.revision());
    let scopes = [
        Scope::Namespace("a".into()),
        Scope::Name { namespace: "a".into(), name: "x".into() },
        field("n1"),
        field("n2"),
    ];
    let mut clients =
        scopes.map(|scope| fixture.watch(WatchRequest::new(start(), scope.clone())).through(scope));
    fixture.put("a/x", "n1").await;
    fixture.put("a/y", "n2").await;
    fixture.put("b/x", "n1").await;
    fixture.put("a/x", "n2").await;
    fixture.delete("a/y").await;
    fixture.fresh().await;
    let seen = clients.each_mut().map(|client| client.ready());
    assert_eq!(seen[0], "+a/x=n1 +a/y=n2 ~a/x=n2 -a/y=n2");
    assert_eq!(seen[1], "+a/x=n1 ~a/x=n2");
    assert_eq!(seen[2], "+a/x=n1 +b/x=n1 -a/x=n1");
    assert_eq!(seen[3], "+a/y=n2 +a/x=n2 -a/y=n2");
}

#[tokio::test]
async fn a_field_without_index_can_be_watched_too() {
    let fixture = Fixture::new().await;
    let request = WatchRequest::new(Start::Snapshot, field("n1"));
    let mut client = fixture.watch(request).through(field("n1"));
    fixture.put("a/x", "n1").await;
    fixture.put("a/y", "n2").await;
    fixture.put("a/x", "n2").await;
    fixture.fresh().await;
    assert_eq!(client.ready(), "+a/x=n1 -a/x=n1");
}

#[tokio::test]
async fn the_end_of_the_initial_objects_is_told_when_asked() {
    let fixture = Fixture::new().await;
    fixture.put("a/x", "n1").await;
    fixture.put("b/y", "n1").await;
    let latest = fixture.elsewhere().await;
    fixture.fresh().await;
    let request = WatchRequest {
        bookmarks: Bookmarks::WithInitialEnd,
        ..WatchRequest::new(Start::Snapshot, Scope::Namespace("a".into()))
    };
    let mut client = fixture.watch(request);
    assert_eq!(client.ready(), format!("+a/x=n1 |{latest}"));
    fixture.put("a/x", "n2").await;
    fixture.fresh().await;
    assert_eq!(client.ready(), "~a/x=n2");
}

#[tokio::test]
async fn many_initial_objects_come_in_order() {
    let fixture = Fixture::new().await;
    for number in 0..300 {
        fixture.put(&format!("a/x{number:03}"), "n1").await;
    }
    fixture.fresh().await;
    let mut client = fixture.watch(everything(Start::Snapshot));
    // What happens while the initial objects are on their way comes after them.
    fixture.delete("a/x299").await;
    fixture.put("a/x000", "n2").await;
    fixture.fresh().await;
    for number in 0..300 {
        assert_eq!(client.step(), Some(Some(format!("+a/x{number:03}=n1"))));
    }
    assert_eq!(client.ready(), "-a/x299=n1 ~a/x000=n2");
    client.check(&fixture.cache.snapshot());
}

#[tokio::test]
async fn a_slow_watcher_goes_on_from_the_history() {
    let fixture = Fixture::with(|options| options.queue = 4).await;
    let mut slow = fixture.watch(everything(Start::Snapshot));
    let mut quick = fixture.watch(everything(Start::Snapshot));
    assert_eq!((slow.ready(), quick.ready()), (String::new(), String::new()));
    for round in 0..50 {
        fixture.put("a/x", &format!("n{round}")).await;
        let snapshot = fixture.fresh().await;
        assert_ne!(quick.ready(), "", "nobody waits for the slow one");
        quick.check(&snapshot);
    }
    let stats = fixture.cache.stats();
    assert_eq!((stats.overflows, stats.lagged), (1, 0));
    let seen = slow.ready();
    assert_eq!(seen.split(' ').count(), 50);
    assert!(seen.starts_with("+a/x=n0 ~a/x=n1") && seen.ends_with("~a/x=n49"), "{seen}");
    // It listens again.
    fixture.put("a/x", "last").await;
    fixture.fresh().await;
    assert_eq!(slow.ready(), "~a/x=last");
    assert_eq!(fixture.cache.stats().overflows, 1);
}

#[tokio::test]
async fn a_long_sleeper_that_overflows_does_not_look_for_what_it_never_missed() {
    let fixture = Fixture::with(|options| (options.queue, options.history) = (2, 20)).await;
    let mut client = fixture.watch(WatchRequest::new(Start::Snapshot, Scope::Namespace("a".into())));
    assert_eq!(client.ready(), "");
    for round in 0..100 {
        fixture.put("b/other", &format!("n{round}")).await;
    }
    for name in ["w", "x", "y", "z"] {
        fixture.put(&format!("a/{name}"), "n").await;
    }
    fixture.fresh().await;
    assert_eq!(fixture.cache.stats().overflows, 1);
    assert_eq!(client.ready(), "+a/w=n +a/x=n +a/y=n +a/z=n");
}

#[tokio::test]
async fn a_watcher_that_the_history_left_behind_is_ended() {
    let fixture = Fixture::with(|options| (options.queue, options.history) = (4, 20)).await;
    let start = fixture.cache.revision();
    let mut slow = fixture.watch(everything(Start::Snapshot));
    assert_eq!(slow.ready(), "");
    for round in 0..50 {
        fixture.put("a/x", &format!("n{round}")).await;
    }
    fixture.fresh().await;
    assert!(matches!(slow.watcher.next().await, Some(Err(Error::Lagged { seen })) if seen == start));
    assert!(slow.watcher.next().await.is_none());
    assert_eq!(fixture.cache.stats().lagged, 1);

    let error = fixture.cache.watch(everything(Start::After(start))).unwrap_err();
    assert!(matches!(error, Error::Compacted { asked, oldest } if asked == start && oldest.get() == 31));
}

#[tokio::test]
async fn next_waits_and_loses_nothing_when_it_is_dropped() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(everything(Start::Snapshot));
    for round in 0..5 {
        tokio::select! {
            biased;
            signal = client.watcher.next() => panic!("nothing has happened yet: {signal:?}"),
            () = turn() => (),
        }
        fixture.put("a/x", &format!("n{round}")).await;
        let sign = if round == 0 { '+' } else { '~' };
        assert_eq!(client.next().await, Some(format!("{sign}a/x=n{round}")));
    }
}

#[tokio::test]
async fn closing_the_cache_ends_its_watchers() {
    let fixture = Fixture::new().await;
    let mut idle = fixture.watch(everything(Start::Snapshot));
    let mut behind = fixture.watch(everything(Start::Snapshot));
    assert_eq!(idle.ready(), "");
    fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    fixture.cache.close();
    assert_eq!(idle.next().await.as_deref(), Some("+a/x=n1"), "what is in the queue still comes");
    assert_eq!(idle.next().await, None);
    assert_eq!(behind.next().await.as_deref(), Some("+a/x=n1"));
    assert_eq!(behind.next().await, None);
    assert!(matches!(fixture.cache.watch(everything(Start::Snapshot)), Err(Error::Closed)));
    assert_eq!(fixture.cache.snapshot().len(), 1, "what is cached can still be read");
}

#[tokio::test]
async fn watchers_leave_when_they_are_dropped() {
    let fixture = Fixture::with(|options| options.indexes = vec![0]).await;
    let scopes = [
        Scope::All,
        Scope::Namespace("a".into()),
        Scope::Name { namespace: "a".into(), name: "x".into() },
        field("n1"),
        Scope::Field { index: 7, value: "n1".into() },
    ];
    let clients = scopes.map(|scope| fixture.watch(WatchRequest::new(Start::Snapshot, scope)));
    assert_eq!(fixture.cache.stats().watchers, 5);
    drop(clients);
    assert_eq!(fixture.cache.stats().watchers, 0);
}
