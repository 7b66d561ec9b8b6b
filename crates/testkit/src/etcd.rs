//! Etcd: a real etcd on loopback with its own folder, which can be killed, paused and restarted.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_stdx::clock::Clock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::free_port;
use crate::tool::Tool;

/// One member, which is a cluster. Ends when this is dropped.
pub struct Etcd {
    program: PathBuf,
    folder: TempDir,
    ports: Ports,
    arguments: Vec<String>,
    scheme: &'static str,
    process: Option<Child>,
}

#[derive(Clone, Copy)]
struct Ports {
    clients: u16,
    peers: u16,
}

/// The time limit of the start on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// Free ports are sometimes taken by another process before etcd uses them.
const ATTEMPTS: usize = 5;

impl Etcd {
    /// Starts one, or notes that `test` cannot run.
    pub async fn for_test(test: &str) -> Option<Etcd> {
        Etcd::with_arguments(test, &[]).await
    }

    /// Starts one with more arguments than the usual ones, or notes that `test` cannot run.
    pub async fn with_arguments(test: &str, arguments: &[&str]) -> Option<Etcd> {
        Etcd::with_scheme("http", test, arguments).await
    }

    /// The same for clients with TLS; the arguments name the certificates. Whether it answers is for the test to see.
    pub async fn with_tls(test: &str, arguments: &[&str]) -> Option<Etcd> {
        Etcd::with_scheme("https", test, arguments).await
    }

    async fn with_scheme(scheme: &'static str, test: &str, arguments: &[&str]) -> Option<Etcd> {
        let program = Tool::Etcd.path_for(test)?;
        let arguments: Vec<String> = arguments.iter().copied().map(String::from).collect();
        let mut attempt = 1;
        loop {
            match Etcd::new(program.clone(), arguments.clone(), scheme).await {
                Ok(etcd) => return Some(etcd),
                Err(error) if attempt == ATTEMPTS => panic!("etcd does not start: {error:#}"),
                Err(_) => attempt += 1,
            }
        }
    }

    async fn new(program: PathBuf, arguments: Vec<String>, scheme: &'static str) -> Result<Etcd> {
        let ports = Ports { clients: free_port()?, peers: free_port()? };
        let mut etcd =
            Etcd { program, folder: tempfile::tempdir()?, ports, arguments, scheme, process: None };
        etcd.start().await?;
        Ok(etcd)
    }

    /// The endpoint for clients: `http://127.0.0.1:2379`.
    pub fn endpoint(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.ports.clients)
    }

    /// Puts a value there, past every server.
    pub async fn put(&self, key: &str, value: &str) {
        self.gateway("kv/put", &json!({"key": STANDARD.encode(key), "value": STANDARD.encode(value)}));
    }

    /// The value of a key, read directly from etcd.
    pub fn value(&self, key: &str) -> Option<Vec<u8>> {
        let answer = self.gateway("kv/range", &json!({"key": STANDARD.encode(key)}));
        let value = answer["kvs"][0]["value"].as_str()?;
        Some(STANDARD.decode(value).expect("base64"))
    }

    /// The number of keys with a prefix that ends with a slash.
    pub fn count(&self, prefix: &str) -> u64 {
        let end = format!("{}0", prefix.trim_end_matches('/'));
        let range =
            json!({"key": STANDARD.encode(prefix), "range_end": STANDARD.encode(end), "count_only": true});
        let count = self.gateway("kv/range", &range);
        count["count"].as_str().and_then(|it| it.parse().ok()).unwrap_or_default()
    }

    /// Compacts everything before the latest revision.
    pub fn compact(&self) {
        let now = self.gateway("kv/range", &json!({"key": STANDARD.encode("/"), "count_only": true}));
        self.gateway("kv/compaction", &json!({"revision": now["header"]["revision"], "physical": true}));
    }

    /// The same in the way of a server, so that other servers notice it.
    pub fn compact_as_server(&self) {
        let now = self.gateway("kv/range", &json!({"key": STANDARD.encode("/"), "count_only": true}));
        let revision = now["header"]["revision"].as_str().expect("a revision").to_owned();
        let (key, value) = (STANDARD.encode("compact_rev_key"), STANDARD.encode(&revision));
        self.gateway("kv/put", &json!({"key": key, "value": value}));
        self.gateway("kv/compaction", &json!({"revision": revision, "physical": true}));
    }

    /// Frees space by compaction and defragmentation, and clears the alarm.
    pub fn make_space(&self) {
        self.compact();
        self.gateway("maintenance/defragment", &json!({}));
        let member = &self.gateway("maintenance/status", &json!({}))["header"]["member_id"];
        let disarm = json!({"action": "DEACTIVATE", "memberID": member, "alarm": "NOSPACE"});
        self.gateway("maintenance/alarm", &disarm);
    }

    /// Whether it is the leader.
    pub fn is_leader(&self) -> bool {
        let status = self.gateway("maintenance/status", &json!({}));
        status["leader"] == status["header"]["member_id"]
    }

    /// Asks etcd in JSON.
    fn gateway(&self, method: &str, body: &Value) -> Value {
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports.clients));
        let body = body.to_string();
        let question = format!("POST /v3/{method} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let answer = ask(address, &question);
        match answer.as_deref().ok().and_then(|it| it.split_once("\r\n\r\n")) {
            Some((head, body)) if head.contains(" 200 ") => serde_json::from_str(body).expect("JSON"),
            _ => panic!("etcd does not do {method}: {answer:?}"),
        }
    }

    /// The folder of its data and its log.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Three members of one cluster, or notes that `test` cannot run.
    pub async fn cluster(test: &str) -> Option<Vec<Etcd>> {
        let program = Tool::Etcd.path_for(test)?;
        let mut attempt = 1;
        loop {
            match Etcd::three(&program).await {
                Ok(members) => return Some(members),
                Err(error) if attempt == ATTEMPTS => panic!("etcd does not start: {error:#}"),
                Err(_) => attempt += 1,
            }
        }
    }

    async fn three(program: &Path) -> Result<Vec<Etcd>> {
        let mut all = Vec::new();
        for _ in 0..3 {
            all.push(Ports { clients: free_port()?, peers: free_port()? });
        }
        let peers: Vec<String> =
            all.iter().enumerate().map(|(at, it)| format!("m{at}=http://127.0.0.1:{}", it.peers)).collect();
        let mut members = Vec::new();
        for (at, ports) in all.into_iter().enumerate() {
            let arguments = vec![format!("--name=m{at}"), format!("--initial-cluster={}", peers.join(","))];
            let folder = tempfile::tempdir()?;
            let program = program.to_owned();
            let mut member = Etcd { program, folder, ports, arguments, scheme: "http", process: None };
            member.spawn()?;
            members.push(member);
        }
        // No member answers before the majority is running.
        for member in &mut members {
            member.answers().await?;
        }
        Ok(members)
    }

    /// Starts it with its old data, and waits until it answers.
    pub async fn start(&mut self) -> Result<()> {
        self.spawn()?;
        self.answers().await
    }

    fn spawn(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.folder.path().join("etcd.log"))?;
        let child = Command::new(&self.program)
            .args(self.command_line())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} does not start", self.program.display()))?;
        self.process = Some(child);
        Ok(())
    }

    async fn answers(&mut self) -> Result<()> {
        let clock = Clock::real();
        let deadline = clock.monotonic() + READY_WITHIN;
        while !self.is_healthy() {
            if let Some(process) = &mut self.process
                && let Some(status) = process.try_wait()?
            {
                let log = std::fs::read_to_string(self.folder.path().join("etcd.log")).unwrap_or_default();
                bail!("ended with {status}:\n{log}");
            }
            if clock.monotonic() > deadline {
                bail!("not ready after {READY_WITHIN:?}");
            }
            clock.sleep(BETWEEN_LOOKS).await;
        }
        Ok(())
    }

    /// Ends it at once, as a power failure does.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Stops the process with SIGSTOP: connections stay open, nothing is answered.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Resumes it after a pause.
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let process = self.process.as_ref().context("etcd does not run")?;
        let pid = i32::try_from(process.id()).ok().and_then(Pid::from_raw).context("no such process")?;
        Ok(kill_process(pid, signal)?)
    }

    fn command_line(&self) -> Vec<String> {
        let (Ports { clients, peers }, scheme) = (self.ports, self.scheme);
        let mut all = vec![
            format!("--data-dir={}", self.folder.path().join("data").display()),
            format!("--listen-client-urls={scheme}://127.0.0.1:{clients}"),
            format!("--advertise-client-urls={scheme}://127.0.0.1:{clients}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{peers}"),
            format!("--initial-cluster=default=http://127.0.0.1:{peers}"),
            String::from("--log-level=warn"),
        ];
        all.extend(self.arguments.iter().cloned());
        all
    }

    fn is_healthy(&self) -> bool {
        let address = SocketAddr::from(([127, 0, 0, 1], self.ports.clients));
        match self.scheme {
            "http" => ask_health(address).unwrap_or_default(),
            _ => TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok(),
        }
    }
}

fn ask_health(address: SocketAddr) -> io::Result<bool> {
    let answer = ask(address, "GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    Ok(answer.contains("\"health\":\"true\""))
}

fn ask(address: SocketAddr, question: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(question.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}
