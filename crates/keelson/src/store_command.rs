//! `keelson store …`: commands on the store as a whole.

mod check;
mod dump;
mod progress;
pub(crate) mod socket;
mod source;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use keelson_stdx::clock::Clock;
use keelson_store::{At, Entry, Expect, Key, Revision, Store, StoreError, Transforms, Write};
use keelson_store_mvcc::{MvccStore, Options, RestoreError, Restored};

use self::check::Checker;
use self::dump::DumpWriter;
use self::progress::Progress;
use self::source::{Entries, Opened, Source};
use crate::config::{Config, StoreChoice};
use crate::data_folder::DataFolder;
use crate::encryption::Encryption;
use crate::error::Error;

/// How far a restored store is ahead of its snapshot: more revisions than any server writes between a
/// snapshot and its loss, so that no revision that a client has seen is ever used again.
const BUMP: u64 = 1_000_000_000;

/// The number of concurrent writes when a store is filled.
const AT_ONCE: usize = 64;

/// A command on a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write a consistent dump of the store into a new file; the server may run.
    Snapshot(PathBuf),
    /// Create an embedded store from a snapshot.
    Restore(PathBuf),
    /// Write a dump for another store.
    Export(PathBuf),
    /// Fill an empty store with a dump.
    Import(PathBuf),
    /// Validate every value of the store, or of a dump.
    Check(Option<PathBuf>),
}

/// The usage text of `keelson store`.
pub const USAGE: &str = "Usage:
  keelson store snapshot FILE   write a consistent copy of the store into FILE; the server may run
  keelson store restore FILE    make a new embedded store of a snapshot; all clients list again
  keelson store export FILE     write the entries of the store into FILE, to take them elsewhere
  keelson store import FILE     fill an empty store with the entries of FILE
  keelson store check [FILE]    look at every value of the store, or of FILE

The store is that of --data-dir, or of --etcd-servers if they are given. FILE is never overwritten, nor is a store.
With --encryption-provider-config, check looks into what is encrypted, too.
";

impl Action {
    /// Parses the words after `keelson store`.
    pub fn read(words: &[String]) -> Result<Action, Error> {
        let refuse = |problem: String| Error::Usage { problem, usage: USAGE };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["snapshot", file] => Ok(Action::Snapshot(file.into())),
            ["restore", file] => Ok(Action::Restore(file.into())),
            ["export", file] => Ok(Action::Export(file.into())),
            ["import", file] => Ok(Action::Import(file.into())),
            ["check"] => Ok(Action::Check(None)),
            ["check", file] => Ok(Action::Check(Some(file.into()))),
            [] => Err(refuse("store needs a command".to_owned())),
            ["snapshot" | "restore" | "export" | "import"] => {
                Err(refuse(format!("{} needs a file", words[0])))
            }
            ["snapshot" | "restore" | "export" | "import" | "check", ..] => {
                Err(refuse(format!("{} takes one file", words[0])))
            }
            [other, ..] => Err(refuse(format!("store has no command {other:?}"))),
        }
    }

    /// Runs the command, and returns its output.
    pub async fn run(&self, config: &Config, clock: &Clock) -> Result<String, Error> {
        if config.store == StoreChoice::Memory {
            let problem = "a store in memory is gone when its server is".to_owned();
            return Err(Error::Usage { problem, usage: USAGE });
        }
        match self {
            Action::Snapshot(file) | Action::Export(file) => save(config, file, clock).await,
            Action::Restore(file) => restore(config, file, BUMP, clock).await,
            Action::Import(file) if config.store == StoreChoice::Embedded => {
                restore(config, file, 0, clock).await
            }
            Action::Import(file) => import(config, file, clock).await,
            Action::Check(file) => check(config, file.as_deref(), clock).await,
        }
    }
}

/// Runs blocking work on a thread for it.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Runtime(error.into()))?
}

async fn save(config: &Config, path: &Path, clock: &Clock) -> Result<String, Error> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = file.map_err(|source| Error::Write { path: path.to_owned(), source })?;
    let saved = save_into(file, config, path, clock).await;
    if saved.is_err() {
        let _ = fs::remove_file(path);
    }
    saved
}

async fn save_into(file: File, config: &Config, path: &Path, clock: &Clock) -> Result<String, Error> {
    let entries = Source::of(config, clock).await?.entries().await?;
    let (revision, path, clock) = (entries.revision, path.to_owned(), clock.clone());
    blocking(move || match write(file, entries, &clock) {
        Ok(count) => Ok(format!("{count} entries of revision {revision} in {}\n", path.display())),
        Err(source) => Err(Error::Write { path, source }),
    })
    .await
}

fn write(file: File, entries: Entries, clock: &Clock) -> io::Result<u64> {
    let mut progress = Progress::new("entries", entries.expected, clock);
    let mut writer = DumpWriter::new(BufWriter::new(file), entries.revision, entries.expected)?;
    for entry in entries.entries {
        writer.entry(&entry?)?;
        progress.add(1);
    }
    let mut out = writer.finish()?;
    out.flush()?;
    out.get_ref().sync_all()?;
    Ok(progress.end())
}

/// Creates an embedded store that continues `bump` revisions after the dump.
async fn restore(config: &Config, path: &Path, bump: u64, clock: &Clock) -> Result<String, Error> {
    let entries = Source::file(path)?.entries().await?;
    let folder = DataFolder::open(&config.data_dir)?;
    let options = Options::new(config.data_dir.join("store"), clock.clone());
    let revision = Revision::new(entries.revision.get() + bump).unwrap_or(entries.revision);
    let (path, clock, lives) = (path.to_owned(), clock.clone(), Lives::new(config, clock));
    blocking(move || {
        let _folder = folder;
        let mut progress = Progress::new("entries", entries.expected, &clock);
        let restored = entries.entries.map(|entry| {
            progress.add(1);
            entry.map(|entry| Restored { expires: lives.end(&entry), entry })
        });
        let count = MvccStore::restore(&options, revision, restored).map_err(|error| match error {
            RestoreError::Store(error) => Error::Store(error),
            RestoreError::Entries(error) => Error::Unusable { path, reason: error.to_string() },
            other => Error::Unusable { path, reason: other.to_string() },
        });
        progress.end();
        Ok(format!("{} entries at revision {revision} in {}\n", count?, options.dir.display()))
    })
    .await
}

/// The prefix of all keys.
pub(crate) fn root(config: &Config) -> String {
    format!("/{}/", config.etcd.prefix.trim_matches('/'))
}

/// The TTLs of entries, which a dump does not contain.
struct Lives {
    root: String,
    events: Duration,
    now: u64,
}

/// The TTL of the master lease of a server.
///
/// Upstream: pkg/controlplane/reconcilers/lease.go (v1.36.4).
const MASTER_LEASE: Duration = Duration::from_secs(15);

impl Lives {
    fn new(config: &Config, clock: &Clock) -> Lives {
        Lives { root: root(config), events: config.event_ttl, now: clock.unix_millis() }
    }

    fn of(&self, entry: &Entry) -> Option<Duration> {
        let rest = entry.key.as_str().strip_prefix(&*self.root)?;
        if rest.starts_with("events/") {
            Some(self.events)
        } else {
            rest.starts_with("masterleases/").then_some(MASTER_LEASE)
        }
    }

    fn end(&self, entry: &Entry) -> Option<u64> {
        self.of(entry).map(|lives| self.now + u64::try_from(lives.as_millis()).unwrap_or(u64::MAX / 2))
    }
}

/// Fills a store that is not embedded: it assigns the revisions itself.
async fn import(config: &Config, path: &Path, clock: &Clock) -> Result<String, Error> {
    let Entries { revision, expected, entries } = Source::file(path)?.entries().await?;
    let opened = Opened::open(config, clock).await?;
    let store = opened.store.clone();
    let there = store.list(&Key::from(root(config)), None, 1, At::Latest).await.map_err(Error::Entries)?;
    if !there.entries.is_empty() {
        let reason = format!("the store is not empty: it has {}", there.entries[0].key);
        return Err(Error::Unusable { path: path.to_owned(), reason });
    }
    raise(&*store, &root(config), revision, clock).await.map_err(Error::Entries)?;
    let lives = Lives::new(config, clock);
    let mut progress = Progress::new("entries", expected, clock);
    let mut writes = futures_util::stream::iter(entries)
        .map(|entry| {
            let (store, lives) = (store.clone(), &lives);
            async move {
                let entry = entry?;
                let put = Write::Put { value: entry.value.clone(), lives: lives.of(&entry) };
                store.commit(&entry.key, Expect::Absent, put).await.map_err(io::Error::other)
            }
        })
        .buffer_unordered(AT_ONCE);
    while let Some(written) = writes.next().await {
        let reason = |error: io::Error| Error::Unusable { path: path.to_owned(), reason: error.to_string() };
        written.map_err(reason)?;
        progress.add(1);
    }
    drop(writes);
    let count = progress.end();
    let reached = store.tip(&Key::from(root(config))).await.map_err(Error::Entries)?.latest;
    // Clients that watched the old store have missed events: they must list again.
    store.compact(reached).await.map_err(Error::Entries)?;
    opened.close().await;
    Ok(format!("{count} entries at revision {reached} in the store\n"))
}

/// Writes until the store is past `target`, so that no revision that a client has seen is used again.
async fn raise(store: &dyn Store, root: &str, target: Revision, clock: &Clock) -> Result<(), StoreError> {
    let key = Key::from(format!("{root}keelson-import"));
    let mut latest = store.tip(&key).await?.latest;
    if latest > target {
        return Ok(());
    }
    let mut progress = Progress::new("revisions", Some(target.get() - latest.get()), clock);
    let mut expect = Expect::Absent;
    while latest <= target {
        let next = store.commit(&key, expect, Write::put("{}")).await?;
        progress.add(next.get().saturating_sub(latest.get()));
        (latest, expect) = (next, Expect::Unchanged(next));
    }
    progress.end();
    store.commit(&key, expect, Write::Delete).await.map(drop)
}

async fn check(config: &Config, file: Option<&Path>, clock: &Clock) -> Result<String, Error> {
    let encryption = Encryption::load(config, clock).await?;
    let transforms = encryption.map(|it| Arc::new(it.vault().clone()) as Arc<dyn Transforms>);
    let source = match file {
        Some(file) => Source::file(file)?,
        None => Source::of(config, clock).await?,
    };
    let place = file.map_or_else(|| config.data_dir.join("store"), Path::to_owned);
    let Entries { revision, expected, entries } = source.entries().await?;
    let mut progress = Progress::new("entries", expected, clock);
    let mut checker = Checker::new(root(config), transforms);
    let mut entries = futures_util::stream::iter(entries);
    while let Some(entry) = entries.next().await {
        let entry =
            entry.map_err(|error| Error::Unusable { path: place.clone(), reason: error.to_string() })?;
        checker.look(entry).await;
        progress.add(1);
    }
    progress.end();
    let report = checker.end();
    let text = format!("{} at revision {revision}\n{}", place.display(), report.text());
    if report.is_good() { Ok(text) } else { Err(Error::Unusable { path: place, reason: report.text() }) }
}

#[cfg(test)]
mod tests;
