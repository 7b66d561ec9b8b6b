//! Watches: their events, their start, and that none are missed.

use std::time::Duration;

use futures_util::StreamExt;
use keelson_stdx::task;

use super::guarantees::{self, Observation};
use super::random::Random;
use super::{Events, Subject, changes, next, next_change, refusal, text_of_event, until_progress};
use crate::{Event, Expect, History, Key, Revision, Store, StoreError, Write};

/// An event carries the entry as it is now.
pub async fn events_tell_what_is_there(subject: &Subject) {
    let mut watch = subject.watch("/x/", Revision::FIRST);
    let a1 = subject.create("/x/a", "1").await;
    let a2 = subject.update("/x/a", a1, "2").await;
    let gone = subject.delete("/x/a", a2).await;
    subject.create("/x/a", "3").await;

    next_change(&mut watch).await;
    let Event::Put { entry } = next_change(&mut watch).await else {
        panic!("the second event is an update");
    };
    assert_eq!((entry.created, entry.modified, entry.version), (a1, a2, 2));
    let Event::Delete { key, revision } = next_change(&mut watch).await else {
        panic!("the third event is a deletion");
    };
    assert_eq!((key.as_str(), revision), ("/x/a", gone));
    assert_eq!(changes(&mut watch, 1).await, "+/x/a=3");
}

/// A history includes the entry before each event, also before the first one that is read.
pub async fn a_history_tells_what_was_before(subject: &Subject) {
    let a1 = subject.create("/x/a", "1").await;
    subject.create("/x/ab", "longer").await;
    let b1 = subject.create("/x/b", "1").await;
    let a2 = subject.update("/x/a", a1, "2").await;
    let a3 = subject.update("/x/a", a2, "3").await;
    subject.delete("/x/b", b1).await;
    subject.delete("/x/a", a3).await;
    subject.create("/x/a", "4").await;
    let mut history = History::new(subject.store.clone(), &Key::from("/x/"), b1);
    for (expected, before) in [
        ("~/x/a=2", Some((a1, "1"))),
        ("~/x/a=3", Some((a2, "2"))),
        ("-/x/b", Some((b1, "1"))),
        ("-/x/a", Some((a3, "3"))),
        ("+/x/a=4", None),
    ] {
        let (event, previous) = history.next().await.expect("there is more").expect("it can be read");
        assert_eq!(text_of_event(&event), expected);
        let previous = previous.map(|it| (it.modified, String::from_utf8_lossy(&it.value).into_owned()));
        assert_eq!(previous, before.map(|(modified, value)| (modified, value.to_owned())), "{expected}");
    }
}

/// A watch may start after any revision that is not compacted, and begins with the next one.
pub async fn a_watch_starts_in_the_past(subject: &Subject) {
    let a1 = subject.create("/x/a", "1").await;
    let b1 = subject.create("/x/b", "1").await;
    let a2 = subject.update("/x/a", a1, "2").await;
    let cases = [
        (Revision::FIRST, "+/x/a=1 +/x/b=1 ~/x/a=2 -/x/a"),
        (a1, "+/x/b=1 ~/x/a=2 -/x/a"),
        (b1, "~/x/a=2 -/x/a"),
        (a2, "-/x/a"),
    ];
    let watches: Vec<(Events, &str)> =
        cases.map(|(after, expected)| (subject.watch("/x/", after), expected)).into();
    subject.delete("/x/a", a2).await;
    for (mut watch, expected) in watches {
        assert_eq!(changes(&mut watch, expected.split(' ').count()).await, expected);
    }
}

/// Changes of other keys are not delivered.
pub async fn a_watch_sees_only_its_prefix(subject: &Subject) {
    let mut pods = subject.watch("/pods/", Revision::FIRST);
    let mut in_namespace = subject.watch("/pods/a/", Revision::FIRST);
    let mut odd = subject.watch("/po", Revision::FIRST);
    for key in ["/podtemplates/a/x", "/pods/b/x", "/nodes/x", "/pods/a/x", "/pods", "/pods/a", "/pods/c/x"] {
        subject.create(key, "1").await;
    }
    assert_eq!(changes(&mut pods, 4).await, "+/pods/b/x=1 +/pods/a/x=1 +/pods/a=1 +/pods/c/x=1");
    subject.create("/pods/a/y", "1").await;
    assert_eq!(changes(&mut in_namespace, 2).await, "+/pods/a/x=1 +/pods/a/y=1");
    assert_eq!(changes(&mut odd, 2).await, "+/podtemplates/a/x=1 +/pods/b/x=1");
}

/// Past events end with one progress event at least as new as the present was.
pub async fn a_watch_says_when_it_has_caught_up(subject: &Subject) {
    subject.create("/x/a", "1").await;
    let latest = subject.create("/y/a", "1").await;
    let mut watch = subject.watch("/x/", Revision::FIRST);
    assert_eq!(changes(&mut watch, 1).await, "+/x/a=1");
    let event = next(&mut watch).await.expect("the watch goes on").expect("the watch works");
    assert_eq!(event, Event::Progress(latest));

    let mut nothing = subject.watch("/nothing/", latest);
    let event = next(&mut nothing).await.expect("the watch goes on").expect("the watch works");
    assert_eq!(event, Event::Progress(latest));
}

/// A watch without events gets progress events from time to time.
pub async fn a_silent_watch_tells_progress(subject: &Subject) {
    let mut watch = subject.watch("/x/", Revision::FIRST);
    until_progress(&mut watch).await;
    let latest = subject.create("/y/a", "1").await;
    for _ in 0..1000 {
        subject.hand.advance(Duration::from_secs(30));
        // The watch need not have begun to wait when the hand moved: it gets another push.
        let Ok(event) = tokio::time::timeout(Duration::from_millis(20), watch.next()).await else {
            continue;
        };
        let event = event.expect("the watch goes on").expect("the watch works");
        assert!(matches!(event, Event::Progress(_)), "{event:?}");
        if event.revision() == latest {
            return;
        }
    }
    panic!("no progress was told in hours");
}

/// A watch cannot start where the store has not been.
pub async fn a_watch_of_the_future_is_refused(subject: &Subject) {
    let latest = subject.create("/a", "1").await;
    let error = refusal(subject.watch("/", latest.next())).await;
    let StoreError::Future { asked, latest: told } = error else { panic!("{error:?} is not the future") };
    assert_eq!((asked, told), (latest.next(), latest));
}

/// A watch that is not read during thousands of writes then delivers all of them, and later ones, too.
pub async fn a_slow_watch_misses_nothing(subject: &Subject) {
    const WRITERS: u64 = 16;
    const EACH: u64 = 200;
    let mut watch = subject.watch("/x/", Revision::FIRST);
    until_progress(&mut watch).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = subject.store.clone();
            task::spawn("writer", async move {
                for number in 0..EACH {
                    let key = Key::from(format!("/x/{writer}/{number}"));
                    store.commit(&key, Expect::Absent, Write::put("1")).await.expect("the key is new");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("no writer panics");
    }
    let mut expected = Revision::FIRST;
    for _ in 0..WRITERS * EACH {
        expected = expected.next();
        assert_eq!(next_change(&mut watch).await.revision(), expected);
    }
    subject.create("/x/last", "1").await;
    assert_eq!(changes(&mut watch, 1).await, "+/x/last=1");
}

/// Watches that begin at different times agree on what happened.
pub async fn many_watches_see_the_same(subject: &Subject) {
    let mut watches = Vec::new();
    let mut current = subject.create("/x/a", "0").await;
    for number in 1..=30 {
        watches.push((current, subject.watch("/x/", current)));
        current = subject.update("/x/a", current, &format!("{number}")).await;
    }
    for (after, mut watch) in watches {
        let mut expected = after;
        while expected < current {
            expected = expected.next();
            assert_eq!(next_change(&mut watch).await.revision(), expected);
        }
    }
}

/// etcd's six guarantees, observed while several tasks write at random.
pub async fn the_six_guarantees_hold(subject: &Subject) {
    let writers: Vec<_> = (0..4)
        .map(|seed| {
            let store = subject.store.clone();
            task::spawn("writer", async move { write_at_random(&*store, seed).await })
        })
        .collect();
    let whole = subject.watch("/", Revision::FIRST);
    let part = subject.watch("/1/", Revision::FIRST);
    let end = task::spawn("end", {
        let store = subject.store.clone();
        async move {
            for writer in writers {
                writer.await.expect("no writer panics");
            }
            for key in ["/1/end", "/end"] {
                store.commit(&Key::from(key), Expect::Absent, Write::put("")).await.expect("the key is new");
            }
        }
    });
    let whole = read_to_end(whole, "/end").await;
    let part = read_to_end(part, "/1/end").await;
    end.await.expect("the end comes");

    let observation = Observation { subject, whole: &whole, part: &part, prefix: Key::from("/1/") };
    guarantees::ordered(&observation);
    guarantees::unique(&observation);
    guarantees::atomic(&observation);
    guarantees::reliable(&observation);
    guarantees::resumable(&observation).await;
    guarantees::bookmarkable(&observation);
    guarantees::state_is_what_events_say(&observation).await;
}

async fn read_to_end(mut watch: Events, end: &str) -> Vec<Event> {
    let mut seen = Vec::new();
    loop {
        let event = next(&mut watch).await.expect("the watch goes on").expect("the watch works");
        let last = event.key().is_some_and(|key| key.as_str() == end);
        seen.push(event);
        if last {
            return seen;
        }
    }
}

async fn write_at_random(store: &dyn Store, seed: u64) {
    let mut random = Random::new(seed);
    for number in 0..150 {
        let key = Key::from(format!("/{}/{}", random.below(3), random.below(4)));
        let current = store.get(&key).await.expect("reading works");
        let expect = current.as_ref().map_or(Expect::Absent, |entry| Expect::Unchanged(entry.modified));
        let write = match current {
            Some(_) if random.below(3) == 0 => Write::Delete,
            _ => Write::put(format!("{seed}.{number}")),
        };
        match store.commit(&key, expect, write).await {
            Ok(_) | Err(StoreError::Exists(_) | StoreError::Changed { .. }) => (),
            Err(error) => panic!("{error:?} instead of a conflict"),
        }
    }
}
