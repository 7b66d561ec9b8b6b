//! Log file backend, with rotation.
//!
//! `audit.log` becomes `audit-2026-11-16T05-43-42.968.log`; old files are compressed and deleted as
//! configured. Names and rules are those of the library that upstream uses, so that programs that read its
//! files can read ours.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;
use tracing::warn;

use crate::Error;

/// When a log file is rotated, and what happens to rotated files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The size limit in bytes; 0 means no limit, and the file is never rotated.
    pub max_size: u64,
    /// Files that are older are deleted; zero is never.
    pub max_age: Duration,
    /// The number of rotated files to keep; 0 means no limit.
    pub max_backups: usize,
    /// Whether rotated files are compressed.
    pub compress: bool,
}

/// A log file, or standard output.
pub struct LogFile {
    format: Format,
    to: To,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Legacy,
}

enum To {
    Stdout,
    File(Box<Rotating>),
}

impl LogFile {
    /// Lines on standard output.
    pub fn stdout() -> LogFile {
        LogFile { format: Format::Json, to: To::Stdout }
    }

    /// Appends to the file at `path`, which is created with its folder if it does not exist.
    ///
    /// Upstream: apiserver/pkg/server/options/audit.go, ensureLogFile (v1.36.4).
    pub fn open(path: &Path, rotation: Rotation, clock: &Clock) -> Result<LogFile, Error> {
        let unusable = |source| Error::File { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            make_folder(folder).map_err(unusable)?;
        }
        append(path).map_err(unusable)?;
        let files = Arc::new(Files {
            path: path.to_owned(),
            rotation,
            clock: clock.clone(),
            tidying: Mutex::new(()),
        });
        Ok(LogFile {
            format: Format::Json,
            to: To::File(Box::new(Rotating { files, open: Mutex::new(None) })),
        })
    }

    /// The same with the `legacy` format, lines for people.
    #[must_use]
    pub fn legacy(self) -> LogFile {
        LogFile { format: Format::Legacy, ..self }
    }

    pub(crate) fn is_legacy(&self) -> bool {
        self.format == Format::Legacy
    }

    /// Writes a line with its end.
    pub(crate) fn write(&self, line: &[u8]) -> Result<(), Error> {
        match &self.to {
            To::Stdout => {
                let mut out = io::stdout().lock();
                let written = out.write_all(line).and_then(|()| out.flush());
                written.map_err(|source| Error::File { path: PathBuf::from("-"), source })
            }
            To::File(file) => file.write(line),
        }
    }
}

struct Rotating {
    files: Arc<Files>,
    open: Mutex<Option<Open>>,
}

struct Open {
    file: File,
    size: u64,
}

/// The log file and the rotated files.
struct Files {
    path: PathBuf,
    rotation: Rotation,
    clock: Clock,
    /// Held while rotated files are compressed and deleted.
    tidying: Mutex<()>,
}

impl Rotating {
    fn write(&self, line: &[u8]) -> Result<(), Error> {
        let length = line.len() as u64;
        let limit = self.files.rotation.max_size;
        if limit > 0 && length > limit {
            return Err(Error::TooLong { length, limit });
        }
        let unusable = |source| Error::File { path: self.files.path.clone(), source };
        let mut open = self.open.lock();
        if open.is_none() {
            let file = append(&self.files.path).map_err(unusable)?;
            let size = file.metadata().map_err(unusable)?.len();
            *open = Some(Open { file, size });
            self.files.tidy();
        }
        let is_full = |it: &Open| limit > 0 && it.size + length > limit;
        if open.as_ref().is_some_and(is_full) {
            *open = None;
            let file = self.files.put_aside().map_err(unusable)?;
            *open = Some(Open { file, size: 0 });
            self.files.tidy();
        }
        let Some(current) = open.as_mut() else { return Ok(()) };
        match current.file.write_all(line) {
            Ok(()) => {
                current.size += length;
                Ok(())
            }
            Err(source) => {
                // The next line gets a new chance.
                *open = None;
                Err(unusable(source))
            }
        }
    }
}

impl Files {
    /// Renames the file and begins a new one with the same rights.
    fn put_aside(&self) -> io::Result<File> {
        let mode = fs::metadata(&self.path).map_or(0o600, |it| it.permissions().mode() & 0o7777);
        let now = i64::try_from(self.clock.unix_millis()).unwrap_or(i64::MAX);
        // Two files of the same millisecond must not be one.
        let free = (now..).map(|millis| self.backup_path(millis)).find(|it| !it.exists());
        if let Some(backup) = free {
            fs::rename(&self.path, backup)?;
        }
        OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(&self.path)
    }

    fn backup_path(&self, millis: i64) -> PathBuf {
        let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC);
        let (prefix, suffix) = self.name_parts();
        self.path.with_file_name(format!("{prefix}{}{suffix}", time.strftime(STAMP)))
    }

    /// `audit-` and `.log`.
    fn name_parts(&self) -> (String, String) {
        let part = |it: Option<&std::ffi::OsStr>| it.unwrap_or_default().to_string_lossy().into_owned();
        let extension = self.path.extension().map(|it| format!(".{}", it.to_string_lossy()));
        (format!("{}-", part(self.path.file_stem())), extension.unwrap_or_default())
    }

    /// Compresses and deletes old files, off the threads that serve connections.
    fn tidy(self: &Arc<Files>) {
        let Rotation { max_age, max_backups, compress, .. } = self.rotation;
        if max_age.is_zero() && max_backups == 0 && !compress {
            return;
        }
        let files = Arc::clone(self);
        let work = move || {
            let _only_one = files.tidying.lock();
            if let Err(error) = files.tidy_now() {
                warn!(%error, "old audit logs cannot be tidied up");
            }
        };
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(work)),
            Err(_) => work(),
        }
    }

    fn tidy_now(&self) -> io::Result<()> {
        let Rotation { max_age, max_backups, compress, .. } = self.rotation;
        let oldest = self.clock.since_epoch().saturating_sub(max_age);
        let oldest = i64::try_from(oldest.as_millis()).unwrap_or(i64::MAX);
        let mut kept = 0;
        let mut last = None;
        for (millis, path) in self.backups()? {
            // A file and its compressed form are one.
            if last != Some(millis) {
                kept += 1;
                last = Some(millis);
            }
            let is_old = !max_age.is_zero() && millis < oldest;
            let is_one_too_many = max_backups > 0 && kept > max_backups;
            if is_old || is_one_too_many {
                fs::remove_file(&path)?;
            } else if compress && path.extension().is_none_or(|it| it != "gz") {
                pack(&path)?;
            }
        }
        Ok(())
    }

    /// The files that were put aside, the newest first.
    fn backups(&self) -> io::Result<Vec<(i64, PathBuf)>> {
        let (prefix, suffix) = self.name_parts();
        let folder = self.path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let plain = name.strip_suffix(".gz").unwrap_or(&name);
            let stamp = plain.strip_prefix(&prefix).and_then(|it| it.strip_suffix(&suffix));
            if let Some(millis) = stamp.and_then(millis_of) {
                found.push((millis, entry.path()));
            }
        }
        found.sort_by(|a, b| b.cmp(a));
        Ok(found)
    }
}

/// `2026-11-16T05-43-42.968`
const STAMP: &str = "%Y-%m-%dT%H-%M-%S.%3f";

fn millis_of(stamp: &str) -> Option<i64> {
    // Three digits of a second, always.
    let is_whole = stamp.len() == "2006-01-02T15-04-05.000".len();
    let time = DateTime::strptime("%Y-%m-%dT%H-%M-%S.%f", stamp).ok().filter(|_| is_whole)?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// `audit-….log` becomes `audit-….log.gz`.
fn pack(path: &Path) -> io::Result<()> {
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    let packed = PathBuf::from(packed);
    let mode = fs::metadata(path)?.permissions().mode() & 0o7777;
    let to = OpenOptions::new().create(true).write(true).truncate(true).mode(mode).open(&packed)?;
    let mut encoder = GzEncoder::new(to, Compression::default());
    let done = io::copy(&mut File::open(path)?, &mut encoder).and_then(|_| encoder.finish()?.sync_all());
    match done {
        Ok(()) => fs::remove_file(path),
        Err(error) => {
            fs::remove_file(&packed)?;
            Err(error)
        }
    }
}
