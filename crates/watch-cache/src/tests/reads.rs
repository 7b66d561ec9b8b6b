//! Tests of reads: consistent, recent enough, exact, in pages.

use std::time::Duration;

use keelson_object::Frozen;
use keelson_stdx::task;
use keelson_store::Revision;

use crate::tests::support::{Fixture, listed, turn, within};
use crate::{BLOCK_TIMEOUT, Error, PageRequest, Scope};

#[tokio::test]
async fn a_fresh_read_sees_every_acknowledged_write() {
    let fixture = Fixture::with(|options| options.indexes = vec![0]).await;
    for round in 0..20 {
        let written = fixture.put("a/x", &format!("n{round}")).await;
        let snapshot = fixture.fresh().await;
        assert_eq!(listed(&snapshot, &Scope::All), format!("a/x=n{round}"));
        assert!(snapshot.revision() >= written);
    }
    fixture.delete("a/x").await;
    assert!(fixture.fresh().await.is_empty());
    assert_eq!(fixture.cache.verify().await.unwrap(), []);
}

#[tokio::test]
async fn a_fresh_read_is_as_recent_as_the_store() {
    let fixture = Fixture::new().await;
    fixture.put("a/x", "n1").await;
    let latest = fixture.elsewhere().await;
    assert_eq!(fixture.fresh().await.revision(), latest);
    assert_eq!(fixture.cache.revision(), latest, "and everybody knows now");
}

#[tokio::test]
async fn a_fresh_read_waits_for_the_feed_but_not_for_ever() {
    let fixture = Fixture::new().await;
    fixture.fresh().await;
    fixture.hold();
    let written = fixture.put("a/x", "n1").await;
    let waiting = task::spawn("reader", {
        let cache = fixture.cache.clone();
        async move { cache.fresh().await }
    });
    turn().await;
    assert!(!waiting.is_finished());
    fixture.release();
    assert_eq!(within(waiting).await.unwrap().unwrap().revision(), written);

    fixture.hold();
    let asked = fixture.put("a/x", "n2").await;
    let waiting = task::spawn("reader", {
        let cache = fixture.cache.clone();
        async move { cache.fresh().await }
    });
    fixture.pass(BLOCK_TIMEOUT).await;
    let error = within(waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::TooLarge { asked: a, current } if a == asked && current == written));
}

#[tokio::test]
async fn a_read_at_least_as_recent_does_not_wait_for_what_is_there() {
    let fixture = Fixture::new().await;
    let first = fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    fixture.hold();
    fixture.put("a/x", "n2").await;
    let snapshot = within(fixture.cache.at_least(first, Duration::ZERO)).await.unwrap();
    assert_eq!(listed(&snapshot, &Scope::All), "a/x=n1", "older than the store, but as asked");
}

#[tokio::test]
async fn a_read_at_least_as_recent_waits_for_the_feed() {
    let fixture = Fixture::new().await;
    fixture.hold();
    let written = fixture.put("a/x", "n1").await;
    let waiting = task::spawn("reader", {
        let cache = fixture.cache.clone();
        async move { cache.at_least(written, BLOCK_TIMEOUT).await }
    });
    turn().await;
    assert!(!waiting.is_finished());
    fixture.release();
    let snapshot = within(waiting).await.unwrap().unwrap();
    assert_eq!(listed(&snapshot, &Scope::All), "a/x=n1");
}

#[tokio::test]
async fn writes_elsewhere_count_for_at_least() {
    let fixture = Fixture::new().await;
    fixture.put("a/x", "n1").await;
    let latest = fixture.elsewhere().await;
    let snapshot = within(fixture.cache.at_least(latest, Duration::from_secs(1))).await.unwrap();
    assert!(snapshot.revision() >= latest);
    assert_eq!(listed(&snapshot, &Scope::All), "a/x=n1");
}

#[tokio::test]
async fn a_revision_of_the_future_is_waited_for_and_then_too_large() {
    let fixture = Fixture::new().await;
    let written = fixture.put("a/x", "n1").await;
    let asked = written.next().next();
    let ask = || {
        let cache = fixture.cache.clone();
        task::spawn("reader", async move { cache.at_least(asked, BLOCK_TIMEOUT).await })
    };
    let waiting = ask();
    for _ in 0..4 {
        fixture.pass(BLOCK_TIMEOUT / 4).await;
    }
    let error = within(waiting).await.unwrap().unwrap_err();
    assert!(matches!(error, Error::TooLarge { asked: a, current } if a == asked && current == written));

    let waiting = ask();
    turn().await;
    fixture.elsewhere().await;
    fixture.elsewhere().await;
    fixture.pass(Duration::from_millis(100)).await;
    assert!(within(waiting).await.unwrap().unwrap().revision() >= asked);
}

#[tokio::test]
async fn the_past_is_exact_or_not_at_all() {
    let fixture = Fixture::new().await;
    let first = fixture.put("a/x", "n1").await;
    let between = fixture.elsewhere().await;
    let kept = fixture.fresh().await;
    fixture.cache.keep(&kept);
    let second = fixture.put("a/x", "n2").await;
    let latest = fixture.elsewhere().await;
    fixture.fresh().await;

    let check = |revision: Revision, expected: Option<&str>| {
        let found = fixture.cache.exact(revision);
        assert_eq!(found.as_ref().map(|found| listed(found, &Scope::All)).as_deref(), expected);
        assert!(found.is_none_or(|found| found.revision() == revision));
    };
    check(first, None);
    check(between, Some("a/x=n1"));
    check(second, Some("a/x=n2"));
    check(latest, Some("a/x=n2"));
    check(latest.next(), None);

    fixture.pass(Duration::from_secs(301)).await;
    fixture.put("a/x", "n3").await;
    fixture.fresh().await;
    check(between, None);
}

#[tokio::test]
async fn pages_are_of_one_state_whatever_is_written_between() {
    let fixture = Fixture::new().await;
    for number in 0..25 {
        fixture.put(&format!("a/x{number:02}"), "old").await;
    }
    let first = fixture.fresh().await;
    fixture.cache.keep(&first);
    let (scope, revision) = (Scope::All, first.revision());
    let (mut seen, mut after) = (Vec::new(), None);
    for round in 0.. {
        let snapshot = fixture.cache.exact(revision).expect("it is kept");
        let page = snapshot.page(&PageRequest { scope: &scope, after: after.as_ref(), limit: 10 });
        seen.extend(page.objects.iter().map(|object| object.index().fields[0].clone()));
        assert_eq!(page.remaining, Some(25 - seen.len()));
        let Some(next) = page.next else { break };
        after = Some(next);
        fixture.put(&format!("a/x{round}5"), "new").await;
        fixture.put(&format!("a/y{round}"), "new").await;
        fixture.delete(&format!("a/x2{round}")).await;
        fixture.fresh().await;
    }
    assert_eq!(seen, ["old"; 25]);
    assert_eq!(fixture.cache.verify().await.unwrap(), []);
}

#[tokio::test]
async fn what_is_found_may_be_old_but_nothing_is_missed() {
    let fixture = Fixture::new().await;
    let first = fixture.put("a/web", "1").await;
    fixture.fresh().await;
    fixture.hold();
    fixture.put("a/web", "2").await;
    fixture.put("a/db", "1").await;
    let found = within(fixture.cache.find("a", "web")).await.unwrap().expect("the cache has it");
    assert_eq!(found.revision(), first.get());
    let release = async {
        turn().await;
        fixture.release();
    };
    let (found, ()) = within(async { tokio::join!(fixture.cache.find("a", "db"), release) }).await;
    assert!(found.unwrap().is_some());
    assert!(within(fixture.cache.find("a", "nobody")).await.unwrap().is_none());
}

#[tokio::test]
async fn how_long_readers_wait_is_counted() {
    let fixture = Fixture::new().await;
    fixture.put("a/x", "n1").await;
    fixture.fresh().await;
    let (waits, before) = (fixture.cache.read_waits(), fixture.cache.read_waits().count());
    fixture.fresh().await;
    assert_eq!((waits.count() - before, waits.sum()), (1, 0.0));

    fixture.hold();
    fixture.put("a/x", "n2").await;
    let waiting = task::spawn("reader", {
        let cache = fixture.cache.clone();
        async move { cache.fresh().await }
    });
    fixture.pass(Duration::from_millis(150)).await;
    fixture.release();
    within(waiting).await.unwrap().unwrap();
    let within = |bound: f64| waits.buckets().find(|it| it.0 == bound).map(|it| it.1 - before);
    assert_eq!((within(0.1), within(0.2)), (Some(1), Some(2)));
}

#[tokio::test]
async fn lists_are_counted_by_the_index_that_helped() {
    let fixture = Fixture::with(|options| options.indexes = vec![0]).await;
    for (path, node) in [("a/x", "n1"), ("a/y", "n2"), ("b/z", "n1")] {
        fixture.put(path, node).await;
    }
    let snapshot = fixture.fresh().await;
    let count = |scope: &Scope, matches: fn(&Frozen) -> bool| {
        let page = snapshot.page_where(&PageRequest { scope, after: None, limit: 2 }, matches);
        fixture.cache.count_list(scope, &page);
    };
    count(&Scope::All, |object| object.index().fields[0] == "n1");
    count(&Scope::Namespace("a".into()), |_| true);
    count(&Scope::Field { index: 0, value: "n1".into() }, |_| false);
    let lists: Vec<_> = fixture.cache.lists().iter().map(|it| (it.index, it.lists, it.fetched)).collect();
    assert_eq!(lists, [(None, 2, 5), (Some(0), 1, 2)]);
    assert_eq!(fixture.cache.stats().listed, 4);
}
