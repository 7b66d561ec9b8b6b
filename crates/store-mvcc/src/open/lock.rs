//! The lock of a store's folder.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::Error;

/// While this exists, no other process can open the store. The system releases the lock when the process dies
/// for whatever reason; the file stays.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    pub(crate) fn take(dir: &Path) -> Result<Lock, Error> {
        let path = dir.join("lock");
        let failed = |source| Error::Io { path: path.clone(), source };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => (),
            Err(error) if error == rustix::io::Errno::WOULDBLOCK => {
                let mut text = String::new();
                let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
                return Err(Error::Locked { path, pid });
            }
            Err(error) => return Err(failed(error.into())),
        }
        sign(&mut file).map_err(failed)?;
        Ok(Lock { _file: file })
    }
}

/// Writes the process id of the holder into the file.
fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
