//! RunningServer: the real binary as a process with its own data folder.

use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use keelson_stdx::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::binary::Binary;
use crate::client::Client;
use crate::connect::{Credentials, Identity, Protocol};
use crate::kubeconfig::Kubeconfig;
use crate::memory;
use crate::pki::Authority;

const STARTS_WITHIN: Duration = Duration::from_secs(15);
const ENDS_WITHIN: Duration = Duration::from_secs(60);
const LOG_TAIL: usize = 60;

/// How to start a server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    arguments: Vec<String>,
    binary: Option<PathBuf>,
    folder: Option<PathBuf>,
    accounts: Accounts,
}

/// Whether the server creates a service account and a config map in every namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Accounts {
    /// The server creates nothing in namespaces, and pods need no account.
    #[default]
    None,
    /// As by default for users.
    Made,
}

/// A server that runs, and is killed when this is dropped.
pub struct RunningServer {
    options: Options,
    folder: TempDir,
    port: u16,
    child: Option<Child>,
    kubeconfig: Kubeconfig,
    started_in: Duration,
}

/// The condition that the start waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Ready,
    Any,
}

impl Accounts {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Accounts::None => {
                &["--default-service-accounts=false", "--disable-admission-plugins=ServiceAccount"]
            }
            Accounts::Made => &[],
        }
    }
}

impl Options {
    /// One more argument on the command line.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Options {
        self.arguments.push(argument.into());
        self
    }

    /// The server creates its objects in every namespace, and all pods have service accounts, as by default
    /// for users.
    #[must_use]
    pub fn with_service_accounts(mut self) -> Options {
        self.accounts = Accounts::Made;
        self
    }

    /// Another binary than [`Binary::path`].
    #[must_use]
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Options {
        self.binary = Some(path.into());
        self
    }

    /// The parent of the server's folder, instead of the folder for temporary files.
    #[must_use]
    pub fn folder(mut self, path: impl Into<PathBuf>) -> Options {
        self.folder = Some(path.into());
        self
    }
}

impl RunningServer {
    /// Starts a server and waits until it is ready; fails with the tail of its log.
    pub async fn start(options: Options) -> RunningServer {
        match RunningServer::try_start(options).await {
            Ok(server) => server,
            Err(error) => panic!("{error:#}"),
        }
    }

    /// The same, but returns errors.
    pub async fn try_start(options: Options) -> Result<RunningServer> {
        const ATTEMPTS: usize = 3;
        let folder = match &options.folder {
            Some(parent) => tempfile::tempdir_in(parent),
            None => tempfile::tempdir(),
        }
        .context("a folder for the server")?;
        let mut server = RunningServer {
            options,
            folder,
            port: 0,
            child: None,
            kubeconfig: Kubeconfig { server: String::new(), credentials: Credentials::default() },
            started_in: Duration::ZERO,
        };
        let mut attempt = 1;
        loop {
            server.port = free_port()?;
            match server.run().await {
                Ok(()) => return Ok(server),
                // Another process may have taken the port after we checked it.
                Err(error) if attempt == ATTEMPTS || !server.log().contains("in use") => return Err(error),
                Err(_) => attempt += 1,
            }
        }
    }

    /// A server that is shared by the tests of this process that run at the same time.
    ///
    /// It stops with its last user, so that no process outlives the tests. Tests that share it use their own
    /// namespaces.
    pub async fn shared() -> Arc<RunningServer> {
        static SHARED: Mutex<Weak<RunningServer>> = Mutex::const_new(Weak::new());
        let mut shared = SHARED.lock().await;
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(RunningServer::start(Options::default()).await);
        *shared = Arc::downgrade(&server);
        server
    }

    /// `https://127.0.0.1:port`
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The time from the start of the process to the first `ok` of `/readyz`.
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// Its data folder.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A folder for files that shall go away with the server.
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.data_dir().join("admin.kubeconfig")
    }

    /// The administrator's credentials.
    pub fn credentials(&self) -> &Credentials {
        &self.kubeconfig.credentials
    }

    /// The administrator over HTTP/1.1.
    pub fn client(&self) -> Client {
        self.client_as(self.credentials(), Protocol::Http1)
    }

    /// The administrator over HTTP/2.
    pub fn client2(&self) -> Client {
        self.client_as(self.credentials(), Protocol::Http2)
    }

    /// An anonymous client over HTTP/1.1.
    pub fn anonymous(&self) -> Client {
        self.client_as(&self.credentials().anonymous(), Protocol::Http1)
    }

    /// A client with these credentials.
    pub fn client_as(&self, credentials: &Credentials, protocol: Protocol) -> Client {
        Client::new(&self.url(), credentials, protocol).expect("the server wrote usable credentials")
    }

    /// A client certificate of the server's own authority.
    pub fn issue(&self, user: &str, groups: &[&str]) -> Identity {
        let read = |name: &str| fs::read_to_string(self.data_dir().join(name)).expect("a file of the server");
        let authority = Authority::load(&read("ca.crt"), &read("ca.key")).expect("the server's authority");
        authority.client(user, groups).expect("a certificate")
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    /// Its resident memory in bytes.
    pub fn resident(&self) -> u64 {
        memory::resident(self.pid()).expect("the server runs")
    }

    /// Its output to stdout and stderr.
    pub fn log(&self) -> String {
        let text = fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// SIGKILL, as a power failure would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends a signal without waiting.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process has an id"), signal).expect("the server runs");
    }

    /// Waits for the exit of a server that was asked to stop.
    pub async fn ended(&mut self) -> ExitStatus {
        let clock = Clock::real();
        let deadline = clock.monotonic() + ENDS_WITHIN;
        let mut child = self.child.take().expect("the server runs");
        loop {
            if let Some(status) = child.try_wait().expect("the process is ours") {
                return status;
            }
            if clock.monotonic() > deadline {
                self.child = Some(child);
                panic!("the server does not end\n{}", self.log_tail());
            }
            clock.sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends SIGTERM, and waits for the exit.
    pub async fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended().await
    }

    /// Starts it again with the same folder, port and arguments; kills it before, if it runs.
    pub async fn restart(&mut self) {
        self.kill();
        if let Err(error) = self.run().await {
            panic!("{error:#}");
        }
    }

    /// The same for a server that will not become ready: waits until it answers at all.
    pub async fn restart_unready(&mut self) {
        self.kill();
        if let Err(error) = self.run_until(Answer::Any).await {
            panic!("{error:#}");
        }
    }

    async fn run(&mut self) -> Result<()> {
        self.run_until(Answer::Ready).await
    }

    async fn run_until(&mut self, wanted: Answer) -> Result<()> {
        let clock = Clock::real();
        let log = File::create(self.log_path()).context("the server's log")?;
        let binary = self.options.binary.clone().unwrap_or_else(Binary::path);
        let started = clock.monotonic();
        let child = Command::new(&binary)
            .arg("--data-dir")
            .arg(self.data_dir())
            .args(["--bind-address", "127.0.0.1", "--secure-port"])
            .arg(self.port.to_string())
            .args(self.options.accounts.arguments())
            .args(&self.options.arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("the server's log")?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not start", binary.display()))?;
        self.child = Some(child);
        loop {
            if self.is_ready(wanted).await {
                self.started_in = clock.monotonic() - started;
                return Ok(());
            }
            let child = self.child.as_mut().expect("it was just started");
            if let Some(status) = child.try_wait()? {
                self.child = None;
                bail!("the server ended at its start with {status}\n{}", self.log_tail());
            }
            if clock.monotonic() > started + STARTS_WITHIN {
                self.kill();
                bail!("the server is not ready after {STARTS_WITHIN:?}\n{}", self.log_tail());
            }
            clock.sleep(Duration::from_millis(2)).await;
        }
    }

    async fn is_ready(&mut self, wanted: Answer) -> bool {
        // The port is closed while the files are being written; they are complete before it opens.
        if tokio::net::TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            return false;
        }
        let Ok(kubeconfig) = Kubeconfig::load(&self.kubeconfig()) else {
            return false;
        };
        self.kubeconfig = kubeconfig;
        let Ok(client) = Client::new(&self.url(), self.credentials(), Protocol::Http1) else {
            return false;
        };
        let answer = client.call("GET", "/readyz").try_send().await;
        answer.is_ok_and(|answer| wanted == Answer::Any || answer.status == 200)
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(LOG_TAIL)..];
        format!("--- the end of its log\n{}\n---", tail.join("\n"))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.log_tail());
        }
        self.kill();
    }
}

/// Ports below those that the kernel gives to outgoing connections.
const QUIET_PORTS: Range<u32> = 10_000..30_000;

/// A free port. The kernel does not give it to outgoing connections, and each call returns another port.
pub fn free_port() -> Result<u16> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let count = QUIET_PORTS.end - QUIET_PORTS.start;
    for _ in 0..count {
        // Processes that run at the same time begin at different ports.
        let step = std::process::id().wrapping_mul(97).wrapping_add(CALLS.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(QUIET_PORTS.start + step % count)?;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port is free")
}
