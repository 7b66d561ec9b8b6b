//! Crash test: kills a writing process again and again, and checks the store.
//!
//! This test binary starts itself as the child. The child prints what it is going to do (`try`), and what the
//! store has acknowledged (`ack`); it is killed at a random moment. Then the store must have all that was
//! acknowledged, and nothing that was not tried.
//!
//! `KEELSON_CRASH_ROUNDS` is the number of rounds.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_store::{At, Entry, Event, Expect, Key, Revision, Store, StoreError, Write};
use keelson_store_mvcc::{MvccStore, Options};
use rand::RngExt;

const DIR: &str = "KEELSON_CRASH_DIR";
const ROUNDS: &str = "KEELSON_CRASH_ROUNDS";
const WRITERS: u32 = 6;

/// A value, or its absence, as both processes know it.
type Mark = Option<u32>;

async fn open(dir: &Path) -> MvccStore {
    let options = Options { compaction_interval: None, ..Options::new(dir, Clock::real()) };
    MvccStore::open(options).await.expect("the store is whole")
}

fn mark_of(value: &[u8]) -> Mark {
    Some(crc32fast::hash(value))
}

// ---- the child ----

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(DIR) else { return };
    let store = Arc::new(open(Path::new(&dir)).await);
    say("ready");
    let writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let store = store.clone();
            task::spawn("writer", async move {
                loop {
                    write_something(&store).await;
                }
            })
        })
        .collect();
    let compactor = task::spawn("compactor", async move {
        loop {
            let latest = store.tip(&Key::from("/")).await.expect("a tip").latest;
            let before = Revision::new(latest.get().saturating_sub(40)).unwrap_or(Revision::FIRST);
            store.compact(before).await.expect("compaction works");
        }
    });
    // These tasks never end: if one does, the child exits, and the parent sees that it did not kill it.
    let (ended, ..) = futures_util::future::select_all(writers.into_iter().chain([compactor])).await;
    ended.expect("no task panics");
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

async fn write_something(store: &MvccStore) {
    let (key, write, mark) = {
        let mut random = rand::rng();
        let key = Key::from(format!("/{}/{}", random.random_range(0..3), random.random_range(0..30)));
        if random.random_range(0..4) == 0 {
            (key, Write::Delete, None)
        } else {
            let size = if random.random_range(0..10) == 0 { 60_000 } else { 300 };
            let value: Vec<u8> = (0..random.random_range(0..size)).map(|_| random.random()).collect();
            let mark = mark_of(&value);
            (key, Write::put(value), mark)
        }
    };
    let current = store.get(&key).await.expect("reading works");
    let expect = match &current {
        Some(entry) => Expect::Unchanged(entry.modified),
        None if write == Write::Delete => return,
        None => Expect::Absent,
    };
    let text = mark.map_or_else(|| String::from("-"), |mark| format!("{mark}"));
    say(&format!("try {key} {text}"));
    match store.commit(&key, expect, write).await {
        Ok(revision) => say(&format!("ack {key} {text} {revision}")),
        Err(StoreError::Exists(_) | StoreError::Changed { .. }) => (),
        Err(error) => panic!("{error:?} instead of a conflict"),
    }
}

// ---- the parent ----

/// The output of the child.
#[derive(Default)]
struct Said {
    tried: HashMap<String, Vec<Mark>>,
    acknowledged: Vec<(String, Mark, Revision)>,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let mark = |text: &str| {
            if text == "-" { None } else { Some(text.parse().expect("a checksum")) }
        };
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["try", key, value] => self.tried.entry(key.to_owned()).or_default().push(mark(value)),
            ["ack", key, value, revision] => {
                let revision = revision.parse().ok().and_then(Revision::new).expect("a revision");
                self.acknowledged.push((key.to_owned(), mark(value), revision));
            }
            // Other output of the test harness.
            _ => (),
        }
    }
}

/// Runs the child and kills it after a random time; sometimes while it still opens the store.
fn run_and_kill(dir: &Path) -> Said {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "child_that_writes_until_it_is_killed", "--nocapture"])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let out = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let (ready, is_ready) = std::sync::mpsc::channel();
    let listener = std::thread::spawn(move || {
        let mut said = Said::default();
        for line in out.split(b'\n') {
            let line = String::from_utf8(line.expect("the pipe works")).expect("text");
            if line.ends_with("ready") {
                // The receiver is gone if the child is killed early.
                let _ = ready.send(());
            }
            said.hear(&line);
        }
        said
    });
    let early = rand::rng().random_range(0..5) == 0;
    if !early {
        is_ready.recv_timeout(Duration::from_secs(60)).expect("the child opens the store");
    }
    std::thread::sleep(Duration::from_millis(rand::rng().random_range(20..200)));
    child.kill().expect("it can be killed");
    let status = child.wait().expect("it is gone");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it died before: {status}");
    listener.join().expect("the listener does not panic")
}

/// The known content of the store.
type State = BTreeMap<String, (Mark, Revision)>;

struct Examined {
    state: State,
    latest: Revision,
}

/// Looks at the store as it is now, and that it does not contradict itself.
async fn examine(dir: &Path) -> (Examined, HashMap<Revision, (String, Mark)>) {
    let store = open(dir).await;
    let everything = Key::from("/");
    let page = store.list(&everything, None, usize::MAX, At::Latest).await.expect("listing works");
    let latest = page.revision;
    let probe = store.list(&everything, None, 0, At::Exactly(Revision::FIRST)).await;
    let oldest = match probe {
        Err(StoreError::Compacted { oldest, .. }) => oldest,
        other => other.expect("nothing was compacted yet").revision,
    };
    let past = store.list(&everything, None, usize::MAX, At::Exactly(oldest)).await.expect("listing works");
    let mut replayed: BTreeMap<Key, Entry> =
        past.entries.into_iter().map(|entry| (entry.key.clone(), entry)).collect();

    let mut happened = HashMap::new();
    let mut watch = store.watch(&everything, oldest);
    let mut position = oldest;
    loop {
        let event = watch.next().await.expect("the watch goes on").expect("the watch works");
        let (key, mark) = match &event {
            Event::Progress(_) => break,
            Event::Put { entry } => {
                let previous = replayed.insert(entry.key.clone(), entry.clone());
                assert_eq!(previous.map_or(0, |it| it.version), entry.version - 1);
                (&entry.key, mark_of(&entry.value))
            }
            Event::Delete { key, .. } => {
                assert!(replayed.remove(key).is_some());
                (key, None)
            }
        };
        position = position.next();
        assert_eq!(event.revision(), position, "the history has no gap");
        happened.insert(position, (key.as_str().to_owned(), mark));
    }
    assert_eq!(position, latest);
    assert_eq!(replayed.into_values().collect::<Vec<_>>(), page.entries, "the history leads to the present");

    let state = page
        .entries
        .iter()
        .map(|entry| (entry.key.as_str().to_owned(), (mark_of(&entry.value), entry.modified)));
    let examined = Examined { state: state.collect(), latest };
    store.close().await;
    (examined, happened)
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let rounds = std::env::var(ROUNDS).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(8);
    let dir = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut before = Examined { state: State::new(), latest: Revision::FIRST };
    let mut acknowledged = 0;
    for round in 0..rounds {
        let said = run_and_kill(dir.path());
        let (after, happened) = runtime.block_on(examine(dir.path()));
        acknowledged += said.acknowledged.len();
        check_round(round, &said, &before, &after);
        for (key, mark, revision) in &said.acknowledged {
            if let Some(found) = happened.get(revision) {
                assert_eq!(found, &(key.clone(), *mark), "round {round}: revision {revision}");
            }
        }
        before = after;
    }
    assert!(rounds == 0 || acknowledged > 0, "the child has written nothing");
}

/// The present is what was acknowledged, or what was tried after it.
fn check_round(round: u32, said: &Said, before: &Examined, after: &Examined) {
    let newest = said.acknowledged.iter().map(|(_, _, revision)| *revision).max();
    assert!(
        after.latest >= before.latest.max(newest.unwrap_or(Revision::FIRST)),
        "round {round}: it went back"
    );

    let mut expected = before.state.clone();
    let mut acknowledged = said.acknowledged.clone();
    acknowledged.sort_by_key(|(_, _, revision)| *revision);
    for (key, mark, revision) in acknowledged {
        assert!(revision > before.latest, "round {round}: revision {revision} was given twice");
        expected.insert(key, (mark, revision));
    }
    for (key, (mark, revision)) in &expected {
        let tried = said.tried.get(key).map_or(&[][..], Vec::as_slice);
        match after.state.get(key) {
            Some((found, at)) if at == revision => {
                assert_eq!(found, mark, "round {round}: the value of {key} at {at}");
            }
            Some((found, at)) => {
                assert!(
                    at > revision && tried.contains(found),
                    "round {round}: {key} is of {at}, not {revision}"
                );
            }
            None => {
                assert!(
                    mark.is_none() || tried.contains(&None),
                    "round {round}: {key} of {revision} is gone"
                );
            }
        }
    }
    for (key, (found, at)) in after.state.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        let tried = said.tried.get(key).is_some_and(|tried| tried.contains(found));
        assert!(tried, "round {round}: nobody wrote {key} of {at}");
    }
}
