//! A new store that begins with entries and a revision from elsewhere.
//!
//! Everything before the revision counts as compacted: a read or a watch at an older revision fails, and clients list
//! again.

use std::fs::{self, File, OpenOptions};
use std::path::Path;

use keelson_store::{Entry, Revision};
use redb::Database;

use crate::disk::Disk;
use crate::open::{self, Options};
use crate::tables::{COMPACTED, HISTORY, Kind, LIVE, META, Record, SWEPT};
use crate::{Error, MvccStore};

/// The number of entries per transaction.
const BATCH: usize = 2000;

/// An entry of a store that is to be.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The entry with the revisions that it had.
    pub entry: Entry,
    /// The expiry time in milliseconds since 1970; `None` means never.
    pub expires: Option<u64>,
}

impl MvccStore {
    /// Creates a store with `entries` at `revision` in a folder that has none; returns their number. Blocks.
    ///
    /// An existing store is never replaced, and nothing is left behind if it fails.
    pub fn restore<E>(
        options: &Options,
        revision: Revision,
        entries: impl IntoIterator<Item = Result<Restored, E>>,
    ) -> Result<u64, RestoreError<E>> {
        let _lock = open::prepare(options).map_err(RestoreError::Store)?;
        let path = open::file_of(&options.dir);
        if path.try_exists().unwrap_or(true) {
            return Err(RestoreError::Store(Error::Exists { path }));
        }
        let unfinished = path.with_extension("redb.new");
        let written = write(options, &unfinished, revision, entries);
        let failed = |source| RestoreError::Store(Error::Io { path: path.clone(), source });
        match written {
            Ok(count) => {
                fs::rename(&unfinished, &path).map_err(failed)?;
                File::open(&options.dir).and_then(|folder| folder.sync_all()).map_err(failed)?;
                Ok(count)
            }
            Err(error) => {
                let _ = fs::remove_file(&unfinished);
                Err(error)
            }
        }
    }
}

/// Why a store could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError<E> {
    /// The file system, or a store that is there already.
    #[error(transparent)]
    Store(Error),
    /// The entries could not be had.
    #[error("the entries cannot be read")]
    Entries(E),
    /// Two entries were written at the same revision, or one after the last.
    #[error("the entry {key} has the revision {revision}, which it cannot have")]
    Revision {
        /// The key of the entry.
        key: String,
        /// Its revision.
        revision: u64,
    },
}

fn write<E>(
    options: &Options,
    path: &Path,
    revision: Revision,
    entries: impl IntoIterator<Item = Result<Restored, E>>,
) -> Result<u64, RestoreError<E>> {
    let failed = |source| RestoreError::Store(Error::Io { path: path.to_owned(), source });
    let file = open::open_file(OpenOptions::new().create(true).truncate(true), path).map_err(failed)?;
    let backend = Disk::new(file, Default::default());
    let database = open::builder(options).create_with_backend(backend);
    let database = database.map_err(|error| failed(open::into_io(error.into())))?;
    open::initialize(&database).map_err(|error| failed(open::into_io(error)))?;
    let (mut count, mut batch) = (0, Vec::with_capacity(BATCH));
    for restored in entries {
        let restored = restored.map_err(RestoreError::Entries)?;
        if restored.entry.modified > revision {
            return Err(impossible(&restored.entry));
        }
        batch.push(restored);
        count += 1;
        if batch.len() == BATCH {
            insert(&database, &batch)
                .map_err(|error| failed(open::into_io(error)))?
                .map_err(|it| impossible(&it))?;
            batch.clear();
        }
    }
    insert(&database, &batch).map_err(|error| failed(open::into_io(error)))?.map_err(|it| impossible(&it))?;
    set_revision(&database, revision).map_err(|error| failed(open::into_io(error)))?;
    drop(database);
    File::open(path).and_then(|file| file.sync_all()).map_err(failed)?;
    Ok(count)
}

fn impossible<E>(entry: &Entry) -> RestoreError<E> {
    RestoreError::Revision { key: entry.key.as_str().to_owned(), revision: entry.modified.get() }
}

/// Returns the first entry whose revision exists already.
fn insert(database: &Database, batch: &[Restored]) -> Result<Result<(), Entry>, redb::Error> {
    let transaction = database.begin_write()?;
    let mut buffer = Vec::new();
    {
        let mut history = transaction.open_table(HISTORY)?;
        let mut live = transaction.open_table(LIVE)?;
        for Restored { entry, expires } in batch {
            let record = Record {
                revision: entry.modified.get(),
                kind: Kind::Put,
                created: entry.created.get(),
                version: entry.version,
                previous: 0,
                expires: expires.unwrap_or(0),
                key: entry.key.as_str(),
                value: &entry.value,
            };
            record.encode(&mut buffer);
            let row = (record.revision, record.created, record.version, record.expires);
            let taken = history.insert(record.revision, buffer.as_slice())?.is_some();
            if taken || live.insert(record.key, row)?.is_some() {
                return Ok(Err(entry.clone()));
            }
        }
    }
    transaction.commit()?;
    Ok(Ok(()))
}

fn set_revision(database: &Database, revision: Revision) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut meta = transaction.open_table(META)?;
        for name in [COMPACTED, SWEPT] {
            meta.insert(name, revision.get().to_le_bytes().as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use keelson_stdx::clock::Clock;
    use keelson_store::{At, Entry, Expect, Key, Revision, Store, StoreError, Write};

    use super::{RestoreError, Restored};
    use crate::{Error, MvccStore, Options};

    fn revision(number: u64) -> Revision {
        Revision::new(number).expect("not zero")
    }

    fn entry(key: &str, modified: u64) -> Restored {
        let entry = Entry {
            key: Key::from(key),
            value: Bytes::from(format!("value of {key}")),
            created: revision(modified - 1),
            modified: revision(modified),
            version: 2,
        };
        Restored { entry, expires: None }
    }

    fn restore(options: &Options, entries: Vec<Restored>, at: u64) -> Result<u64, RestoreError<Infallible>> {
        MvccStore::restore(options, revision(at), entries.into_iter().map(Ok))
    }

    #[tokio::test]
    async fn a_restored_store_has_everything_and_no_past() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path(), Clock::real());
        let entries: Vec<Restored> = (0..5000).map(|it| entry(&format!("/a/{it:04}"), 10 + it * 2)).collect();
        assert_eq!(restore(&options, entries.clone(), 50_000).unwrap(), 5000);
        let store = MvccStore::open(options).await.unwrap();
        let prefix = Key::from("/a/");
        assert_eq!(store.tip(&prefix).await.unwrap().latest, revision(50_000));
        let page = store.list(&prefix, None, usize::MAX, At::Latest).await.unwrap();
        assert_eq!(page.entries, entries.into_iter().map(|it| it.entry).collect::<Vec<_>>());
        let past = store.list(&prefix, None, 1, At::Exactly(revision(49_999))).await;
        assert!(matches!(past, Err(StoreError::Compacted { .. })), "{past:?}");
        let next = store.commit(&Key::from("/a/x"), Expect::Absent, Write::put("new")).await.unwrap();
        assert_eq!(next, revision(50_001));
        let first = Expect::Unchanged(revision(10));
        store.commit(&Key::from("/a/0000"), first, Write::put("changed")).await.unwrap();
        store.close().await;
    }

    #[tokio::test]
    async fn a_store_that_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path(), Clock::real());
        restore(&options, vec![entry("/a/b", 7)], 9).unwrap();
        let refusal = restore(&options, vec![], 99).unwrap_err();
        assert!(matches!(refusal, RestoreError::Store(Error::Exists { .. })), "{refusal}");
        let store = MvccStore::open(options).await.unwrap();
        assert!(store.get(&Key::from("/a/b")).await.unwrap().is_some());
    }

    #[tokio::test]
    async fn nothing_is_left_of_a_store_that_was_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options::new(folder.path(), Clock::real());
        for entries in [vec![entry("/a/b", 7), entry("/a/c", 7)], vec![entry("/a/b", 70)]] {
            let refusal = restore(&options, entries, 9).unwrap_err();
            assert!(matches!(refusal, RestoreError::Revision { .. }), "{refusal}");
        }
        let cut = MvccStore::restore(&options, revision(9), [Ok(entry("/a/b", 7)), Err("cut")]);
        assert!(matches!(cut, Err(RestoreError::Entries("cut"))));
        let left: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().flatten().map(|it| it.file_name()).collect();
        assert_eq!(left, ["lock"]);
    }

    #[tokio::test]
    async fn what_had_a_life_still_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let (clock, hand) = Clock::manual();
        let options = Options::new(folder.path(), clock.clone());
        let mut event = entry("/a/event", 7);
        event.expires = Some(clock.unix_millis() + 1000);
        restore(&options, vec![event, entry("/a/pod", 8)], 9).unwrap();
        let store = MvccStore::open(options).await.unwrap();
        hand.advance(std::time::Duration::from_secs(2));
        let prefix = Key::from("/a/");
        while store.list(&prefix, None, 10, At::Latest).await.unwrap().entries.len() > 1 {
            tokio::task::yield_now().await;
            hand.advance(std::time::Duration::from_millis(100));
        }
        assert!(store.get(&Key::from("/a/pod")).await.unwrap().is_some());
    }
}
