//! Files of keys and certificates: read completely, written completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The permissions of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Readable by the owner.
    Private,
    /// Readable by everyone.
    Public,
}

/// Files that are written together.
///
/// A crash leaves each of them either old or new, never half: all contents are on disk under temporary names before
/// the first file gets its name, and names are given in the order of [`Batch::add`].
#[derive(Debug, Default)]
pub(super) struct Batch(Vec<(PathBuf, String, Access)>);

impl Batch {
    /// Adds a file, to be written by [`Batch::commit`].
    pub(super) fn add(&mut self, path: &Path, content: String, access: Access) {
        self.0.push((path.to_owned(), content, access));
    }

    /// Writes all files. They must be in the same folder.
    pub(super) fn commit(self) -> Result<(), Error> {
        // Most of the time of a first start is spent waiting for the disk, which can write several files at
        // once.
        std::thread::scope(|scope| {
            let write = |(path, content, access): &(PathBuf, String, Access)| {
                write_synced(&temporary(path), content, *access).map_err(|source| failed(path, source))
            };
            let writers: Vec<_> = self.0.iter().map(|file| scope.spawn(move || write(file))).collect();
            writers.into_iter().try_for_each(|writer| writer.join().expect("writing a file does not panic"))
        })?;
        for (path, ..) in &self.0 {
            fs::rename(temporary(path), path).map_err(|source| failed(path, source))?;
        }
        // Without this, the names may be lost after a crash.
        match self.0.first().and_then(|(path, ..)| path.parent()) {
            Some(folder) => {
                File::open(folder).and_then(|it| it.sync_all()).map_err(|source| failed(folder, source))
            }
            None => Ok(()),
        }
    }
}

/// The content of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>, Error> {
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|_| Error::Unusable { path: path.to_owned(), reason: "it is not text".to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

fn write_synced(path: &Path, content: &str, access: Access) -> io::Result<()> {
    let mode = match access {
        Access::Private => 0o600,
        Access::Public => 0o644,
    };
    // A file that an earlier crash left may have another mode.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => (),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

/// `.ca.key.new` beside `ca.key`.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Write { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{Access, Batch, read};

    #[test]
    fn files_have_their_content_and_mode_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let (key, cert) = (folder.path().join("a.key"), folder.path().join("a.crt"));
        fs::write(folder.path().join(".a.key.new"), "left by a crash").expect("a file");
        fs::write(&cert, "old").expect("a file");
        let mut batch = Batch::default();
        batch.add(&key, "secret".to_owned(), Access::Private);
        batch.add(&cert, "new".to_owned(), Access::Public);
        batch.commit().expect("written");
        assert_eq!(read(&key).expect("readable").as_deref(), Some("secret"));
        assert_eq!(read(&cert).expect("readable").as_deref(), Some("new"));
        assert_eq!(fs::metadata(&key).expect("metadata").permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("a listing").count(), 2);
    }

    #[test]
    fn a_missing_file_is_no_error_and_binary_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.crt");
        assert_eq!(read(&path).expect("no error"), None);
        fs::write(&path, [0xff, 0xfe]).expect("a file");
        let refusal = read(&path).expect_err("must be refused").to_string();
        assert!(refusal.ends_with("a.crt is not usable: it is not text"), "{refusal}");
    }
}
