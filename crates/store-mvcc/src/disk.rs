//! The file under redb.
//!
//! redb's own file backend would do; this one can simulate a full or broken disk in tests. It takes no lock:
//! the store's folder is locked as a whole.

mod shadow;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use redb::StorageBackend;

pub(crate) use self::shadow::Shadow;

/// A file with simulated faults.
#[derive(Debug)]
pub(crate) struct Disk {
    file: File,
    faults: Faults,
}

/// The simulated faults of a disk. Clones refer to the same disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(Arc<AtomicU8>);

const FULL: u8 = 1;
const BROKEN_SYNC: u8 = 2;
const READ_ONLY: u8 = 3;

impl Disk {
    pub(crate) fn new(file: File, faults: Faults) -> Disk {
        Disk { file, faults }
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.faults.0.load(Ordering::Relaxed) {
            FULL => Err(io::Error::from(io::ErrorKind::StorageFull)),
            READ_ONLY => Err(io::Error::from(io::ErrorKind::ReadOnlyFilesystem)),
            _ => Ok(()),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.check_writable()?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.faults.0.load(Ordering::Relaxed) {
            BROKEN_SYNC => Err(io::Error::other("sync failed")),
            _ => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.check_writable()?;
        self.file.write_all_at(data, offset)
    }
}

#[cfg(test)]
impl Faults {
    /// From now on the disk is full.
    pub(crate) fn fill_disk(&self) {
        self.0.store(FULL, Ordering::Relaxed);
    }

    /// From now on the disk is read-only, as when the system has found errors on it and remounted it.
    pub(crate) fn forbid_writes(&self) {
        self.0.store(READ_ONLY, Ordering::Relaxed);
    }

    /// From now on fsync fails.
    pub(crate) fn break_sync(&self) {
        self.0.store(BROKEN_SYNC, Ordering::Relaxed);
    }

    /// Everything is well again.
    pub(crate) fn heal(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}
