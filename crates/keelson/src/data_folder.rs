//! Data folder: created if missing, and used by one server at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A folder that is locked while this value lives.
#[derive(Debug)]
pub struct DataFolder {
    path: PathBuf,
    /// The lock is released with the file, also when the process is killed.
    _lock: File,
}

const LOCK_FILE: &str = "keelson.lock";

impl DataFolder {
    /// Creates the folder if it is missing, and locks it. An existing folder keeps its mode.
    pub fn open(path: &Path) -> Result<DataFolder, Error> {
        let unusable = |source| Error::Folder { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.join(LOCK_FILE))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => (),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::FolderLocked { path: path.to_owned(), pid: read_pid(&mut lock) });
            }
            Err(TryLockError::Error(source)) => return Err(unusable(source)),
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(unusable)?;
        Ok(DataFolder { path: path.to_owned(), _lock: lock })
    }

    /// The path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file or folder in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn read_pid(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    lock.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::DataFolder;
    use crate::error::Error;

    #[test]
    fn a_new_folder_is_private() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("deep/data");
        let folder = DataFolder::open(&path).expect("a data folder");
        assert_eq!(folder.path(), path);
        let mode = std::fs::metadata(&path).expect("metadata").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn one_server_at_a_time_uses_a_folder() {
        let parent = tempfile::tempdir().expect("a folder");
        let first = DataFolder::open(parent.path()).expect("a data folder");
        let refusal = DataFolder::open(parent.path()).expect_err("must be refused");
        let own = std::process::id();
        assert!(matches!(refusal, Error::FolderLocked { pid: Some(pid), .. } if pid == own), "{refusal}");
        assert!(refusal.to_string().ends_with(&format!("is in use by another Keelson (pid {own})")));
        drop(first);
        DataFolder::open(parent.path()).expect("free again");
    }

    #[test]
    fn a_file_is_no_folder() {
        let parent = tempfile::tempdir().expect("a folder");
        let path = parent.path().join("file");
        std::fs::write(&path, "x").expect("a file");
        let refusal = DataFolder::open(&path).expect_err("must be refused");
        assert_eq!(refusal.to_string(), format!("data folder {} is not usable", path.display()));
    }
}
