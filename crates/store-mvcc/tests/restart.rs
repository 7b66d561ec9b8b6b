//! Restart tests: the state after a restart, and files that are refused.

use std::fs;
use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use keelson_stdx::clock::{Clock, ManualClock};
use keelson_store::{At, Event, Expect, Key, Revision, Store, StoreError, Write};
use keelson_store_mvcc::{Error, MvccStore, Options};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};

const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
const HISTORY: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("history");
const LIVE: TableDefinition<'static, &str, (u64, u64, u64, u64)> = TableDefinition::new("live");

async fn open(dir: &Path) -> MvccStore {
    try_open(dir, Clock::manual().0).await.expect("a store")
}

async fn try_open(dir: &Path, clock: Clock) -> Result<MvccStore, Error> {
    MvccStore::open(Options { compaction_interval: None, ..Options::new(dir, clock) }).await
}

async fn put(store: &MvccStore, key: &str, value: &str) -> Revision {
    let key = Key::from(key);
    let current = store.get(&key).await.expect("reading works");
    let expect = current.map_or(Expect::Absent, |entry| Expect::Unchanged(entry.modified));
    store.commit(&key, expect, Write::put(value.to_owned())).await.expect("the write is as expected")
}

async fn delete(store: &MvccStore, key: &str) -> Revision {
    let key = Key::from(key);
    let current = store.get(&key).await.expect("reading works").expect("it is there");
    store.commit(&key, Expect::Unchanged(current.modified), Write::Delete).await.expect("it is there")
}

async fn text(store: &MvccStore, at: At) -> String {
    let page = store.list(&Key::from("/"), None, usize::MAX, at).await.expect("listing works");
    let words = page
        .entries
        .iter()
        .map(|entry| format!("{}={}@{}", entry.key, String::from_utf8_lossy(&entry.value), entry.modified));
    words.collect::<Vec<_>>().join(" ")
}

async fn events(store: &MvccStore, after: u64) -> Vec<Event> {
    let mut watch = store.watch(&Key::from("/"), Revision::new(after).expect("not zero"));
    let mut seen = Vec::new();
    while let Some(event) = watch.next().await {
        match event.expect("the watch works") {
            Event::Progress(_) => break,
            event => seen.push(event),
        }
    }
    seen
}

/// 2: a=1, 3: b=1, 4: a=2, 5: b deleted, 6: c=1, 7: c deleted
async fn write_some(store: &MvccStore) {
    put(store, "/a", "1").await;
    put(store, "/b", "1").await;
    put(store, "/a", "2").await;
    delete(store, "/b").await;
    put(store, "/c", "1").await;
    delete(store, "/c").await;
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = open(dir.path()).await;
    write_some(&store).await;
    let before = events(&store, 1).await;
    store.close().await;

    let store = open(dir.path()).await;
    assert_eq!(text(&store, At::Latest).await, "/a=2@4");
    assert_eq!(text(&store, At::Exactly(Revision::new(3).expect("not zero"))).await, "/a=1@2 /b=1@3");
    assert_eq!(events(&store, 1).await, before);
    assert_eq!(events(&store, 4).await, before[3..]);
    let tip = store.tip(&Key::from("/")).await.expect("a tip");
    assert_eq!((tip.latest.get(), tip.changed.get()), (7, 7));
    assert_eq!(put(&store, "/b", "2").await.get(), 8);
}

#[tokio::test]
async fn a_compacted_store_goes_on_where_it_was() {
    for before in 2..=7 {
        let dir = tempfile::tempdir().expect("a folder");
        let store = open(dir.path()).await;
        write_some(&store).await;
        let expected = events(&store, before).await;
        store.compact(Revision::new(before).expect("not zero")).await.expect("compaction works");
        store.close().await;

        let store = open(dir.path()).await;
        assert_eq!(events(&store, before).await, expected);
        let early = Revision::new(before - 1).expect("not zero");
        let error = store.list(&Key::from("/"), None, 1, At::Exactly(early)).await.expect_err("it is gone");
        assert!(matches!(error, StoreError::Compacted { oldest, .. } if oldest.get() == before), "{error:?}");
        assert_eq!(text(&store, At::Latest).await, "/a=2@4");
        assert_eq!(put(&store, "/d", "1").await.get(), 8);
    }
}

#[tokio::test]
async fn revisions_do_not_go_back_when_nothing_is_left() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = open(dir.path()).await;
    put(&store, "/a", "1").await;
    let last = delete(&store, "/a").await;
    store.compact(last).await.expect("compaction works");
    store.close().await;

    let store = open(dir.path()).await;
    assert_eq!(store.tip(&Key::from("/")).await.expect("a tip").latest, last);
    assert_eq!(put(&store, "/a", "1").await, last.next());
}

#[tokio::test]
async fn compaction_takes_rows_out_of_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = open(dir.path()).await;
    // More than one step of a compaction removes.
    let writers = (0..7).map(|key| {
        let store = &store;
        async move {
            for _ in 0..180 {
                put(store, &format!("/{key}"), "value").await;
            }
        }
    });
    futures_util::future::join_all(writers).await;
    delete(&store, "/0").await;
    let latest = store.tip(&Key::from("/")).await.expect("a tip").latest;
    store.compact(latest).await.expect("compaction works");
    store.close().await;
    let database = Database::open(dir.path().join("store.redb")).expect("the file");
    let transaction = database.begin_read().expect("a snapshot");
    assert_eq!(transaction.open_table(HISTORY).expect("a table").len().expect("a number"), 6);
    assert_eq!(transaction.open_table(LIVE).expect("a table").len().expect("a number"), 6);
}

#[tokio::test]
async fn a_compaction_that_was_interrupted_is_finished() {
    // The revisions that a compaction to 7 removes from the file, in this order.
    let garbage = [2_u64, 3, 5, 6, 7];
    for gone in 0..garbage.len() {
        let dir = written().await;
        let file = dir.path().join("store.redb");
        edit(&file, |transaction| {
            let mut meta = transaction.open_table(META).expect("a table");
            meta.insert("compacted", 7_u64.to_le_bytes().as_slice()).expect("inserted");
            let mut history = transaction.open_table(HISTORY).expect("a table");
            for revision in &garbage[..gone] {
                history.remove(revision).expect("removed");
            }
        });
        let store = open(dir.path()).await;
        assert_eq!(text(&store, At::Latest).await, "/a=2@4");
        assert_eq!(events(&store, 7).await, []);
        // The writer sweeps before it does this.
        put(&store, "/a", "3").await;
        put(&store, "/a", "4").await;
        store.close().await;

        let database = Database::open(&file).expect("the file");
        let history = database.begin_read().expect("a snapshot").open_table(HISTORY).expect("a table");
        let rows: Vec<u64> = history.iter().expect("rows").map(|row| row.expect("a row").0.value()).collect();
        assert_eq!(rows, [4, 8, 9], "after {gone} of {}", garbage.len());
    }
}

#[tokio::test]
async fn a_watch_that_slept_over_a_compaction_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let options =
        Options { compaction_interval: None, watch_queue: 2, ..Options::new(dir.path(), Clock::manual().0) };
    let store = MvccStore::open(options).await.expect("a store");
    let mut asleep = store.watch(&Key::from("/"), Revision::FIRST);
    let mut quiet = store.watch(&Key::from("/other/"), Revision::FIRST);
    write_some(&store).await;
    store.compact(Revision::new(6).expect("not zero")).await.expect("compaction works");
    // The progress of the beginning and what fitted into the queue come first.
    let mut seen = Vec::new();
    let error = loop {
        match asleep.next().await.expect("the watch goes on") {
            Ok(event) => seen.push(event.revision().get()),
            Err(error) => break error,
        }
    };
    assert_eq!(seen, [1, 2, 3]);
    assert!(
        matches!(error, StoreError::Compacted { asked, oldest } if (asked.get(), oldest.get()) == (3, 6))
    );
    assert!(asleep.next().await.is_none());

    put(&store, "/other/a", "1").await;
    loop {
        match quiet.next().await.expect("the watch goes on").expect("nothing was missed") {
            Event::Progress(_) => (),
            event => break assert_eq!(event.revision().get(), 8),
        }
    }
}

#[tokio::test]
async fn a_life_ends_after_a_restart() {
    let dir = tempfile::tempdir().expect("a folder");
    let (clock, hand): (Clock, ManualClock) = Clock::manual();
    let store = try_open(dir.path(), clock.clone()).await.expect("a store");
    let write = Write::put_for("1", Duration::from_secs(600));
    store.commit(&Key::from("/a"), Expect::Absent, write).await.expect("a new key");
    put(&store, "/b", "1").await;
    store.close().await;

    hand.advance(Duration::from_secs(300));
    let store = try_open(dir.path(), clock.clone()).await.expect("a store");
    assert_eq!(text(&store, At::Latest).await, "/a=1@2 /b=1@3");
    store.close().await;

    hand.advance(Duration::from_secs(301));
    let store = try_open(dir.path(), clock).await.expect("a store");
    let mut watch = store.watch(&Key::from("/"), Revision::new(3).expect("not zero"));
    loop {
        match watch.next().await.expect("the watch goes on").expect("the watch works") {
            Event::Progress(_) => (),
            Event::Delete { key, revision, .. } => {
                assert_eq!((key.as_str(), revision.get()), ("/a", 4));
                break;
            }
            event @ Event::Put { .. } => panic!("{event:?} is not a deletion"),
        }
    }
    assert_eq!(text(&store, At::Latest).await, "/b=1@3");
}

#[tokio::test]
async fn a_store_is_opened_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let store = open(dir.path()).await;
    let refused = try_open(dir.path(), Clock::manual().0).await.err().expect("it is in use");
    assert!(
        matches!(refused, Error::Locked { pid: Some(pid), .. } if pid == std::process::id()),
        "{refused}"
    );
    assert!(format!("{refused}").ends_with(&format!("is in use by process {}", std::process::id())));
    drop(store);
    open(dir.path()).await;
}

/// A closed store with some entries.
async fn written() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let store = open(dir.path()).await;
    write_some(&store).await;
    store.close().await;
    dir
}

/// Changes the file, and expects that the store refuses to open it and does not change it.
async fn check_refused(change: impl FnOnce(&Path), expected: &str) {
    let dir = written().await;
    let file = dir.path().join("store.redb");
    change(&file);
    let refused = try_open(dir.path(), Clock::manual().0).await.err().expect("it is refused");
    let told = format!("{refused}");
    assert!(told.starts_with(&file.display().to_string()), "{told}");
    assert!(told.contains(expected), "{told}");
    let again = try_open(dir.path(), Clock::manual().0).await.err().expect("it is still refused");
    assert_eq!(format!("{again}"), told);
}

fn edit(file: &Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let database = Database::open(file).expect("the file");
    let transaction = database.begin_write().expect("a transaction");
    change(&transaction);
    transaction.commit().expect("a commit");
}

#[tokio::test]
async fn damaged_files_are_refused() {
    check_refused(|file| fs::write(file, b"").expect("written"), "it is empty").await;
    check_refused(|file| fs::write(file, b"not a store").expect("written"), "is damaged").await;
    check_refused(|file| fs::write(file, vec![0; 1 << 20]).expect("written"), "is damaged").await;
    check_refused(
        |file| {
            let handle = fs::OpenOptions::new().write(true).open(file).expect("the file");
            handle.set_len(handle.metadata().expect("a size").len() / 2).expect("shorter");
        },
        "is damaged",
    )
    .await;
}

#[tokio::test]
async fn tables_that_do_not_agree_are_refused() {
    let remove = |revision: u64| {
        move |file: &Path| {
            edit(file, |transaction| {
                transaction.open_table(HISTORY).expect("a table").remove(revision).expect("removed");
            });
        }
    };
    check_refused(remove(5), "revision 5 is missing").await;
    check_refused(remove(2), "revision 2 is missing").await;
    let overwrite = |file: &Path| {
        edit(file, |transaction| {
            let mut history = transaction.open_table(HISTORY).expect("a table");
            history.insert(6, b"something else".as_slice()).expect("inserted");
        });
    };
    check_refused(overwrite, "the record of revision 6 cannot be read").await;
    let forget = |file: &Path| {
        edit(file, |transaction| {
            transaction.open_table(LIVE).expect("a table").remove("/a").expect("removed");
        });
    };
    check_refused(forget, "the live entry of /a does not agree").await;
    let strip = |file: &Path| {
        edit(file, |transaction| {
            transaction.open_table(META).expect("a table").remove("swept").expect("removed");
        });
    };
    check_refused(strip, "it has no swept").await;
}

#[tokio::test]
async fn a_newer_format_is_refused() {
    let newer = |file: &Path| {
        edit(file, |transaction| {
            let mut meta = transaction.open_table(META).expect("a table");
            meta.insert("format", 9_u64.to_le_bytes().as_slice()).expect("inserted");
        });
    };
    check_refused(newer, "has format 9, this version knows formats up to 1").await;
}

#[tokio::test]
async fn a_store_that_was_not_finished_is_made_again() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("store.redb.new"), b"the beginning of something").expect("written");
    let store = open(dir.path()).await;
    assert_eq!(put(&store, "/a", "1").await.get(), 2);
    assert!(!dir.path().join("store.redb.new").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let dir = written().await;
    let mode = fs::metadata(dir.path().join("store.redb")).expect("the file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
