//! Opening: lock, format version, recovery, refusal of unknown formats.
//!
//! ```text
//! <dir>/lock             held as long as the store is open; has the number of the process in it
//! <dir>/store.redb       the store; it gets this name when it is whole
//! <dir>/store.redb.new   a store that is being made; thrown away if the process died meanwhile
//! ```
//!
//! A store that exists but cannot be read is never replaced by an empty one.

mod lock;

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::Duration;

use keelson_stdx::clock::Clock;
use keelson_store::{Key, Revision, VALUE_LIMIT};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend};

pub(crate) use self::lock::Lock;
use crate::Error;
use crate::disk::{Disk, Faults, Shadow};
use crate::error::Damage;
use crate::index::{Index, Live, Mark, Recovery};
use crate::tables::{COMPACTED, CURRENT_FORMAT, FORMAT, HISTORY, Kind, LIVE, META, Record, SWEPT};

/// The location and the settings of a store.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the store; created if it does not exist.
    pub dir: PathBuf,
    /// The clock for expiry and compaction.
    pub clock: Clock,
    /// The interval of compaction; the history is compacted to the state one interval ago. `None` means
    /// never.
    pub compaction_interval: Option<Duration>,
    /// The largest accepted value, in bytes.
    pub max_value_bytes: usize,
    /// The number of commits that may wait for the writer before callers wait for a place in the queue.
    pub queue: usize,
    /// The number of events that may wait for a slow watch before it has to read them from the file.
    pub watch_queue: usize,
    /// How long a watch may be silent before it sends a progress event.
    pub progress_interval: Duration,
    /// The part of the file that is kept in memory, in bytes.
    pub cache_bytes: usize,
}

impl Options {
    /// The settings of a server: compaction every five minutes.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>, clock: Clock) -> Options {
        Options {
            dir: dir.into(),
            clock,
            compaction_interval: Some(Duration::from_secs(5 * 60)),
            max_value_bytes: VALUE_LIMIT,
            queue: 4096,
            watch_queue: 1024,
            progress_interval: Duration::from_secs(5),
            cache_bytes: 64 * 1024 * 1024,
        }
    }
}

/// The result of opening.
pub(crate) struct Opened {
    pub(crate) lock: Lock,
    pub(crate) database: Database,
    pub(crate) recovered: Recovered,
}

/// The content of the file.
pub(crate) struct Recovered {
    pub(crate) index: Index,
    pub(crate) latest: Revision,
    pub(crate) oldest: Revision,
    /// Below `oldest` if the process died while it compacted.
    pub(crate) swept: Revision,
}

/// Takes the lock, and opens the existing store or creates a new one.
pub(crate) fn open(options: &Options, faults: &Faults) -> Result<Opened, Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    };
    let lock = prepare(options)?;
    let path = file_of(&options.dir);
    if !path.try_exists().map_err(failed(&path))? {
        create(options, faults, &path).map_err(failed(&path))?;
    }
    let database = open_database(options, faults)?;
    let recovered = guarded(&path, || recover(&database, &path))?;
    Ok(Opened { lock, database, recovered })
}

/// Creates the folder if it does not exist, and locks it.
pub(crate) fn prepare(options: &Options) -> Result<Lock, Error> {
    let dir = &options.dir;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|source| Error::Io { path: dir.clone(), source })?;
    Lock::take(dir)
}

pub(crate) fn file_of(dir: &Path) -> PathBuf {
    dir.join("store.redb")
}

/// Makes an empty store under another name, so that a file with the right name is a whole one.
fn create(options: &Options, faults: &Faults, path: &Path) -> io::Result<()> {
    let unfinished = path.with_extension("redb.new");
    let file = open_file(OpenOptions::new().create(true).truncate(true), &unfinished)?;
    let database = builder(options)
        .create_with_backend(Disk::new(file, faults.clone()))
        .map_err(|error| into_io(error.into()))?;
    initialize(&database).map_err(into_io)?;
    drop(database);
    File::open(&unfinished)?.sync_all()?;
    fs::rename(&unfinished, path)?;
    File::open(&options.dir)?.sync_all()
}

pub(crate) fn initialize(database: &Database) -> Result<(), redb::Error> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut meta = transaction.open_table(META)?;
        for (name, number) in
            [(FORMAT, CURRENT_FORMAT), (COMPACTED, Revision::FIRST.get()), (SWEPT, Revision::FIRST.get())]
        {
            meta.insert(name, number.to_le_bytes().as_slice())?;
        }
        transaction.open_table(LIVE)?;
        transaction.open_table(HISTORY)?;
    }
    transaction.commit()?;
    Ok(())
}

pub(crate) fn into_io(error: redb::Error) -> io::Error {
    match error {
        redb::Error::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// The file contains the values of secrets: only its owner may read it.
pub(crate) fn open_file(how: &mut OpenOptions, path: &Path) -> io::Result<File> {
    how.read(true).write(true).mode(0o600).open(path)
}

pub(crate) fn builder(options: &Options) -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(options.cache_bytes);
    builder
}

/// Opens the file of a store that exists.
fn open_database(options: &Options, faults: &Faults) -> Result<Database, Error> {
    open_existing(options, |file| Ok(Disk::new(file, faults.clone())))
}

/// Opens the file of a store whose disk cannot be written any more. It contains everything that was
/// acknowledged, and perhaps more.
pub(crate) fn open_for_reading(options: &Options) -> Result<Database, Error> {
    open_existing(options, Shadow::new)
}

fn open_existing<B: StorageBackend>(
    options: &Options,
    backend: impl FnOnce(File) -> io::Result<B>,
) -> Result<Database, Error> {
    let path = file_of(&options.dir);
    let failed = |source| Error::Io { path: path.clone(), source };
    let file = open_file(&mut OpenOptions::new(), &path).map_err(failed)?;
    if file.metadata().map_err(failed)?.len() == 0 {
        return Err(Error::Damaged { path, what: Damage::Empty });
    }
    let backend = backend(file).map_err(failed)?;
    guarded(&path, || {
        builder(options).create_with_backend(backend).map_err(|error| refusal(&path, error.into()))
    })
}

/// A damaged file may make the database panic: that counts as damage, too.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let what = Damage::Database(text.unwrap_or_else(|| String::from("the database panicked")));
        Err(Error::Damaged { path: path.to_owned(), what })
    })
}

fn refusal(path: &Path, error: redb::Error) -> Error {
    let path = path.to_owned();
    match error {
        redb::Error::Io(source)
            if !matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            Error::Io { path, source }
        }
        other => Error::Damaged { path, what: Damage::Database(format!("{other}")) },
    }
}

/// Reads what is needed to continue: all live keys without values, and the history since the last sweep.
fn recover(database: &Database, path: &Path) -> Result<Recovered, Error> {
    let transaction = database.begin_read().map_err(|error| refusal(path, error.into()))?;
    let damaged = |what| Error::Damaged { path: path.to_owned(), what };

    let format = number(&transaction, FORMAT, path)?.get();
    if format > CURRENT_FORMAT {
        return Err(Error::NewerFormat { path: path.to_owned(), found: format, supported: CURRENT_FORMAT });
    }
    let oldest = number(&transaction, COMPACTED, path)?;
    let swept = number(&transaction, SWEPT, path)?;
    let mut recovery = Recovery::default();
    read_live(&transaction, &mut recovery).map_err(|error| refusal(path, error))?.map_err(damaged)?;
    let latest = read_history(&transaction, &mut recovery, (swept, oldest))
        .map_err(|error| refusal(path, error))?
        .map_err(damaged)?;
    let index = recovery.finish(swept).map_err(|key| damaged(Damage::Disagreement(format!("{key}"))))?;
    Ok(Recovered { index, latest, oldest, swept })
}

fn number(transaction: &ReadTransaction, name: &'static str, path: &Path) -> Result<Revision, Error> {
    let bytes = || -> Result<_, redb::Error> {
        let found = transaction.open_table(META)?.get(name)?;
        Ok(found.map(|bytes| bytes.value().to_vec()))
    };
    let bytes = bytes().map_err(|error| refusal(path, error))?;
    let number = bytes.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    number
        .and_then(Revision::new)
        .ok_or(Error::Damaged { path: path.to_owned(), what: Damage::Missing(name) })
}

type Read<T> = Result<Result<T, Damage>, redb::Error>;

fn read_live(transaction: &ReadTransaction, recovery: &mut Recovery) -> Read<()> {
    for row in transaction.open_table(LIVE)?.iter()? {
        let (key, value) = row?;
        let (modified, created, version, expires) = value.value();
        let (Some(modified), Some(created)) = (Revision::new(modified), Revision::new(created)) else {
            return Ok(Err(Damage::Disagreement(key.value().to_owned())));
        };
        let expires = (expires != 0).then_some(expires);
        recovery.live(Key::from(key.value()), Live { modified, created, version, expires });
    }
    Ok(Ok(()))
}

/// Gives the latest revision.
fn read_history(
    transaction: &ReadTransaction,
    recovery: &mut Recovery,
    (swept, oldest): (Revision, Revision),
) -> Read<Revision> {
    let mut latest = oldest;
    for row in transaction.open_table(HISTORY)?.range(swept.get() + 1..)? {
        let (number, bytes) = row?;
        let decoded = Record::decode(number.value(), bytes.value());
        let (Some(record), Some(revision)) = (decoded, Revision::new(number.value())) else {
            return Ok(Err(Damage::Record(number.value())));
        };
        if revision > latest.next() {
            return Ok(Err(Damage::Gap(latest.next().get())));
        }
        latest = latest.max(revision);
        let mark = Mark { revision, alive: record.kind == Kind::Put };
        recovery.record(record.key, mark, Revision::new(record.previous));
    }
    Ok(Ok(latest))
}
