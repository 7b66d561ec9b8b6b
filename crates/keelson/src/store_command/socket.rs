//! Snapshot socket: a running server sends a dump of its store over a unix socket in the data folder.
//!
//! Only the owner can open the socket, and the owner can also read the data file, so no other check is
//! needed. There is no request: a client that connects gets a dump of the current state.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keelson_store::{At, Key, Store};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

use super::dump::DumpWriter;

/// The name of the socket in the data folder.
const NAME: &str = "store.sock";
/// The number of entries that are read at a time.
const PAGE: usize = 500;

/// Serves dumps until it is dropped; then the socket is removed.
pub(crate) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens in `folder`, which we have locked: an existing socket was left by a server that died.
    pub(crate) fn listen(folder: &Path) -> io::Result<Socket> {
        let path = folder.join(NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => (),
        }
        let listener = at(folder, |path| UnixListener::bind(path))?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Socket { listener, path })
    }

    /// Sends every client a dump of the entries of `store` under `root`.
    pub(crate) async fn serve(self, store: Arc<dyn Store>, root: Key) {
        // They end with the server.
        let mut under_way = JoinSet::new();
        loop {
            let mut stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "the socket for snapshots is gone");
                    return;
                }
            };
            while under_way.try_join_next().is_some() {}
            let (store, root) = (store.clone(), root.clone());
            under_way.spawn(async move {
                if let Err(error) = send(&*store, &root, &mut stream).await {
                    tracing::warn!(%error, "a snapshot was not finished");
                }
            });
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A connection to a running server, if there is one.
pub(crate) fn connect(folder: &Path) -> io::Result<BlockingStream> {
    at(folder, |path| BlockingStream::connect(path))
}

/// The path of a socket is limited in length: the folder is addressed by its file descriptor.
fn at<T>(folder: &Path, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let opened = File::open(folder)?;
    work(&PathBuf::from(format!("/proc/self/fd/{}/{NAME}", opened.as_raw_fd())))
}

async fn send(store: &dyn Store, root: &Key, stream: &mut UnixStream) -> io::Result<()> {
    let failed = |error: keelson_store::StoreError| io::Error::other(error);
    let mut page = store.list(root, None, PAGE, At::Latest).await.map_err(failed)?;
    let expected = page.remaining.map(|rest| rest + page.entries.len() as u64);
    let mut writer = DumpWriter::new(Vec::new(), page.revision, expected)?;
    loop {
        for entry in &page.entries {
            writer.entry(entry)?;
        }
        stream.write_all(&std::mem::take(writer.out())).await?;
        let Some(last) = page.entries.last().filter(|_| page.more) else { break };
        let (after, at) = (last.key.clone(), At::Exactly(page.revision));
        page = store.list(root, Some(&after), PAGE, at).await.map_err(failed)?;
    }
    stream.write_all(&writer.finish()?).await?;
    stream.shutdown().await
}
