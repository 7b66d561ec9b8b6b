//! Reads: the index knows the revision, the file has the value.
//!
//! The snapshot of the file is taken while the index is locked. A compaction changes the index before the
//! file, so a snapshot has every revision that the index returned.

use bytes::Bytes;
use keelson_store::{At, Entry, Event, Key, Page, Result, Revision, StoreError};
use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable};

use crate::error::store_error;
use crate::shared::Shared;
use crate::tables::{COMPACTED, HISTORY, Kind, META, Record};

/// The number of history records that are read in one go, and the bytes of values that are returned.
const CHUNK_RECORDS: usize = 2000;
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

/// The parameters of a list.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) prefix: Key,
    pub(crate) after: Option<Key>,
    pub(crate) limit: usize,
    pub(crate) at: At,
}

/// A part of the history of a prefix.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) events: Vec<Event>,
    /// Everything up to here is in `events`.
    pub(crate) reached: Revision,
}

impl Shared {
    pub(crate) fn get(&self, key: &Key) -> Result<Option<Entry>> {
        self.with_database(|database| {
            let state = self.state.read();
            let Some(live) = state.index.live(key) else {
                return Ok(None);
            };
            let history = History::open(database)?;
            drop(state);
            history.entry(key.clone(), live.modified).map(Some)
        })
    }

    pub(crate) fn list(&self, query: &Query) -> Result<Page> {
        self.with_database(|database| {
            let state = self.state.read();
            let revision = match query.at {
                At::Latest => state.latest,
                At::Exactly(asked) => {
                    state.check_kept(asked)?;
                    asked
                }
            };
            let found = state.index.list(&query.prefix, query.after.as_ref(), query.limit, revision);
            let history = History::open(database)?;
            drop(state);
            let entries = found.keys.into_iter().map(|(key, at)| history.entry(key, at));
            Ok(Page {
                entries: entries.collect::<Result<_>>()?,
                revision,
                more: found.remaining > 0,
                remaining: Some(found.remaining as u64),
            })
        })
    }

    /// The events under a prefix after one revision and up to another, or the first chunk of them.
    pub(crate) fn history(&self, prefix: &Key, after: Revision, through: Revision) -> Result<Chunk> {
        self.with_database(|database| {
            let history = History::open(database)?;
            let oldest = history.oldest()?;
            if after < oldest {
                return Err(StoreError::Compacted { asked: after, oldest });
            }
            history.events(prefix, after, through)
        })
    }
}

/// A snapshot of the file.
pub(crate) struct History {
    transaction: ReadTransaction,
    table: ReadOnlyTable<u64, &'static [u8]>,
}

impl History {
    pub(crate) fn open(database: &Database) -> Result<History> {
        let open = || -> std::result::Result<_, redb::Error> {
            let transaction = database.begin_read()?;
            let table = transaction.open_table(HISTORY)?;
            Ok(History { transaction, table })
        };
        open().map_err(store_error)
    }

    /// The entry that a put wrote.
    pub(crate) fn entry(&self, key: Key, revision: Revision) -> Result<Entry> {
        let found =
            ReadableTable::get(&self.table, revision.get()).map_err(|error| store_error(error.into()))?;
        let bytes = found.as_ref().map_or(&[][..], |bytes| bytes.value());
        Record::decode(revision.get(), bytes).ok_or(StoreError::Corrupt { revision })?.to_entry(key)
    }

    fn oldest(&self) -> Result<Revision> {
        let read = || -> std::result::Result<_, redb::Error> {
            let meta = self.transaction.open_table(META)?;
            let bytes = ReadableTable::get(&meta, COMPACTED)?;
            Ok(bytes.and_then(|bytes| Some(u64::from_le_bytes(bytes.value().try_into().ok()?))))
        };
        let number = read().map_err(store_error)?.and_then(Revision::new);
        number.ok_or(StoreError::Corrupt { revision: Revision::FIRST })
    }

    fn events(&self, prefix: &Key, after: Revision, through: Revision) -> Result<Chunk> {
        let rows = ReadableTable::range(&self.table, after.get() + 1..=through.get());
        let rows = rows.map_err(|error| store_error(error.into()))?;
        let (mut events, mut bytes_taken, mut reached) = (Vec::new(), 0, after);
        for row in rows.take(CHUNK_RECORDS) {
            let (number, bytes) = row.map_err(|error| store_error(error.into()))?;
            let revision = reached.next();
            let record = Record::decode(number.value(), bytes.value());
            // Nothing is missing in the history, so the next row is the next revision.
            let Some(record) = record.filter(|record| record.revision == revision.get()) else {
                return Err(StoreError::Corrupt { revision });
            };
            reached = revision;
            if record.key.starts_with(prefix.as_str()) {
                let event = self.event(record)?;
                bytes_taken += record.value.len();
                events.push(event);
            }
            if bytes_taken > CHUNK_BYTES {
                break;
            }
        }
        Ok(Chunk { events, reached })
    }

    fn event(&self, record: Record<'_>) -> Result<Event> {
        let key = Key::from(record.key);
        let revision = Revision::new(record.revision).expect("a revision is not zero");
        match record.kind {
            Kind::Put => Ok(Event::Put { entry: record.to_entry(key)? }),
            Kind::Delete => Ok(Event::Delete { key, revision }),
        }
    }
}

/// The event of a write that was just committed. The value is the one in the write.
pub(crate) fn event_of(change: &crate::index::Change) -> Event {
    let key = change.key.clone();
    match &change.put {
        Some((live, value)) => {
            let value: Bytes = value.clone();
            let entry =
                Entry { key, value, created: live.created, modified: live.modified, version: live.version };
            Event::Put { entry }
        }
        None => Event::Delete { key, revision: change.revision },
    }
}
