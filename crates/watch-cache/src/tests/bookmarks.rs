//! Tests of bookmarks: when watchers get them, and what they promise.

use std::time::Duration;

use crate::tests::support::{Client, Fixture};
use crate::{Bookmarks, Scope, Start, WatchRequest};

fn request(lives: Option<Duration>) -> WatchRequest {
    let scope = Scope::Namespace("a".into());
    WatchRequest { bookmarks: Bookmarks::Regular, lives, ..WatchRequest::new(Start::Snapshot, scope) }
}

/// The events that the client gets in the next so many seconds, with their times.
async fn watch_for(fixture: &Fixture, client: &mut Client, seconds: u64) -> Vec<(u64, String)> {
    let mut seen = Vec::new();
    for second in 1..=seconds {
        fixture.pass(Duration::from_secs(1)).await;
        let ready = client.ready();
        if !ready.is_empty() {
            seen.push((second, ready));
        }
    }
    seen
}

#[tokio::test]
async fn an_idle_watcher_learns_about_every_minute_how_far_it_is() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(request(None));
    assert_eq!(client.ready(), "");
    let mut bookmarks = 0;
    for _ in 0..3 {
        let elsewhere = fixture.elsewhere().await;
        let other = fixture.put("b/y", "n1").await;
        assert!(other > elsewhere);
        let seen = watch_for(&fixture, &mut client, 64).await;
        for (second, text) in &seen {
            assert_eq!(*text, format!("*{other}"), "after {second} s");
        }
        bookmarks += seen.len();
    }
    assert!((2..=4).contains(&bookmarks), "{bookmarks}");
}

#[tokio::test]
async fn nothing_new_is_not_told() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(request(None));
    assert_eq!(watch_for(&fixture, &mut client, 200).await, []);
}

#[tokio::test]
async fn a_bookmark_never_overtakes_an_event() {
    let fixture = Fixture::with(|options| options.queue = 2).await;
    let mut client = fixture.watch(request(None));
    assert_eq!(client.ready(), "");
    for round in 0..10 {
        fixture.put("a/x", &format!("n{round}")).await;
    }
    let last = fixture.put("b/y", "n1").await;
    fixture.pass(Duration::from_secs(65)).await;
    let seen = client.ready();
    let events: Vec<&str> = seen.split(' ').filter(|text| !text.starts_with('*')).collect();
    assert_eq!(events.len(), 10, "{seen}");
    let next = watch_for(&fixture, &mut client, 64).await;
    assert!(next.iter().any(|(_, text)| *text == format!("*{last}")), "{next:?}");
}

#[tokio::test]
async fn a_bookmark_comes_before_the_end_of_the_watch() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(request(Some(Duration::from_secs(30))));
    assert_eq!(client.ready(), "");
    let other = fixture.put("b/y", "n1").await;
    assert_eq!(watch_for(&fixture, &mut client, 100).await, [(28, format!("*{other}"))]);
}

#[tokio::test]
async fn a_sleeping_watcher_is_woken_for_its_bookmark() {
    let fixture = Fixture::new().await;
    let mut client = fixture.watch(request(None));
    let other = fixture.put("b/y", "n1").await;
    let waiting = async { client.next().await };
    let passing = async {
        for _ in 0..70 {
            fixture.pass(Duration::from_secs(1)).await;
        }
    };
    let (signal, ()) = tokio::join!(waiting, passing);
    assert_eq!(signal, Some(format!("*{other}")));
}
