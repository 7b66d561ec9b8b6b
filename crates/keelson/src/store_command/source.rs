//! Source of entries: a running server, a store that is not in use, or a file.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use keelson_stdx::clock::Clock;
use keelson_store::{At, Entry, Key, Revision, Store};

use super::dump::DumpReader;
use super::{root, socket};
use crate::config::{Config, StoreChoice};
use crate::data_folder::DataFolder;
use crate::error::Error;
use crate::storage::Storage;

/// The number of entries that are read at a time.
const PAGE: usize = 1000;

/// The entries of one state.
pub(super) enum Source {
    /// From a running server, or from a file.
    Dump(DumpReader<Box<dyn Read + Send>>),
    /// From a store that is locked for as long as this lives.
    Store(Opened),
}

/// A store that was opened for a command.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    root: Key,
    storage: Storage,
    _folder: Option<DataFolder>,
}

impl Opened {
    /// Opens the store that the config names.
    pub(super) async fn open(config: &Config, clock: &Clock) -> Result<Opened, Error> {
        let folder = match config.store {
            StoreChoice::Embedded => Some(DataFolder::open(&config.data_dir)?),
            _ => None,
        };
        let storage = Storage::open(config, clock, None).await?;
        Ok(Opened { store: storage.store(), root: Key::from(root(config)), storage, _folder: folder })
    }

    pub(super) async fn close(self) {
        self.storage.close().await;
    }
}

impl Source {
    /// The store that the config names: through its server if that is running.
    pub(super) async fn of(config: &Config, clock: &Clock) -> Result<Source, Error> {
        if config.store == StoreChoice::Embedded {
            let file = config.data_dir.join("store");
            if let Ok(stream) = socket::connect(&config.data_dir) {
                let unusable = |error: io::Error| Error::Unusable { path: file, reason: error.to_string() };
                let reader = DumpReader::new(Box::new(BufReader::new(stream)) as Box<dyn Read + Send>);
                return Ok(Source::Dump(reader.map_err(unusable)?));
            }
            if !file.exists() {
                return Err(Error::Unusable { path: file, reason: "there is no store".to_owned() });
            }
        }
        Ok(Source::Store(Opened::open(config, clock).await?))
    }

    /// A file.
    pub(super) fn file(path: &Path) -> Result<Source, Error> {
        let file = File::open(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let reader = DumpReader::new(Box::new(BufReader::new(file)) as Box<dyn Read + Send>);
        let unusable =
            |error: io::Error| Error::Unusable { path: path.to_owned(), reason: error.to_string() };
        Ok(Source::Dump(reader.map_err(unusable)?))
    }

    /// The entries as a blocking iterator, for a thread that may block.
    pub(super) async fn entries(self) -> Result<Entries, Error> {
        match self {
            Source::Dump(reader) => Ok(Entries {
                revision: reader.revision(),
                expected: reader.expected(),
                entries: Box::new(reader),
            }),
            Source::Store(opened) => from_store(opened).await,
        }
    }
}

/// The entries of one state, one after the other.
pub(super) struct Entries {
    pub(super) revision: Revision,
    pub(super) expected: Option<u64>,
    pub(super) entries: Box<dyn Iterator<Item = io::Result<Entry>> + Send>,
}

async fn from_store(opened: Opened) -> Result<Entries, Error> {
    let root = opened.root.clone();
    let first = opened.store.list(&root, None, PAGE, At::Latest).await.map_err(Error::Entries)?;
    let (revision, expected) = (first.revision, first.remaining.map(|it| it + first.entries.len() as u64));
    let (sender, receiver) = std::sync::mpsc::sync_channel(2);
    // A blocking thread takes the entries that this task reads.
    keelson_stdx::task::spawn("store command", async move {
        let mut page = Ok(first);
        loop {
            let (more, last) = match &page {
                Ok(page) => (page.more, page.entries.last().map(|entry| entry.key.clone())),
                Err(_) => (false, None),
            };
            let page_sender = sender.clone();
            let sent = tokio::task::spawn_blocking(move || page_sender.send(page)).await;
            if !matches!(sent, Ok(Ok(()))) || !more {
                break;
            }
            page = opened.store.list(&root, last.as_ref(), PAGE, At::Exactly(revision)).await;
        }
        opened.close().await;
    });
    let entries = receiver.into_iter().flat_map(|page| match page {
        Ok(page) => page.entries.into_iter().map(Ok).collect::<Vec<_>>(),
        Err(error) => vec![Err(io::Error::other(error))],
    });
    Ok(Entries { revision, expected, entries: Box::new(entries) })
}
