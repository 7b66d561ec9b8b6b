//! The real kube-apiserver with a command line.
//!
//! A start takes seconds. Therefore most cases get a file of admission plugins that does not exist: it is
//! opened after nearly everything else has been checked, so a server that reports it has found no other
//! error. The server really starts only for flags that are checked later.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::cases::{Case, Outcome};
use crate::fixture::{Fixture, free_port};

/// The name of the file that does not exist.
const LAST: &str = "opened-last";

/// Flags that are only checked by a server that is fully built.
const LATE: &[&str] = &[
    "--endpoint-reconciler-type",
    "--kubelet-c",
    "--kubelet-p",
    "--proxy-client",
    "--peer-",
    "--admission-control-config-file",
    "--debug-socket-path",
    "--etcd-c",
    "--etcd-k",
    "--etcd-prefix",
    "--requestheader-client-ca-file",
    "--tracing",
    "--allow-metric-labels-manifest",
    "--enable-admission-plugins=ImagePolicyWebhook",
    "--service-cluster-ip-range=1",
    "--service-cluster-ip-range=f",
    "--runtime-config=api",
    "--runtime-config=r",
];

/// The oracle and its etcd.
pub(crate) struct Upstream<'f> {
    fixture: &'f Fixture,
    program: String,
    etcd: Child,
    etcd_port: u16,
}

impl Drop for Upstream<'_> {
    fn drop(&mut self) {
        let _ = self.etcd.kill();
        let _ = self.etcd.wait();
    }
}

impl<'f> Upstream<'f> {
    pub(crate) fn new(fixture: &'f Fixture) -> Upstream<'f> {
        let variable = |name| std::env::var(name).unwrap_or_else(|_| panic!("{name} names the binary"));
        let (client, peer) = (free_port(), free_port());
        let etcd = Command::new(variable("KEELSON_ETCD"))
            .arg(format!("--data-dir={}/etcd", fixture.folder()))
            .arg(format!("--listen-client-urls=http://127.0.0.1:{client}"))
            .arg(format!("--advertise-client-urls=http://127.0.0.1:{client}"))
            .arg(format!("--listen-peer-urls=http://127.0.0.1:{peer}"))
            .arg("--unsafe-no-fsync")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd runs");
        Upstream { fixture, program: variable("KEELSON_KUBE_APISERVER"), etcd, etcd_port: client }
    }

    /// Upstream's result of a case.
    pub(crate) fn ask(&self, case: &Case) -> Outcome {
        let words = case.words(&self.fixture.folder());
        let is_late = LATE.iter().any(|prefix| case.arguments.starts_with(prefix));
        if is_late { self.start(&words) } else { self.check(&words) }
    }

    fn command(&self, words: &[String], port: u16) -> Command {
        let mut command = Command::new(&self.program);
        let nobody = "--etcd-servers=http://127.0.0.1:1";
        let somebody = format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port);
        let required = self.fixture.required(words, port).into_iter();
        command.args(required.map(|it| if it == nobody { somebody.clone() } else { it })).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn check(&self, words: &[String]) -> Outcome {
        let port = free_port();
        let mut command = self.command(words, port);
        command.arg(format!("--admission-control-config-file={}/{LAST}", self.fixture.folder()));
        match self.fixture.ended(&command.output().expect("the oracle runs"), port) {
            Outcome::Ends { text, .. } if text.contains(LAST) => Outcome::Starts,
            other => other,
        }
    }

    fn start(&self, words: &[String]) -> Outcome {
        let port = free_port();
        let mut command = self.command(words, port);
        let mut process = command.spawn().expect("the oracle runs");
        let stderr = process.stderr.take().expect("it is piped");
        let mut said = String::new();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if line.contains("Serving securely on") {
                process.kill().expect("it can be ended");
                let _ = process.wait();
                return Outcome::Starts;
            }
            said.push_str(&line);
            said.push('\n');
        }
        let mut output = process.wait_with_output().expect("it ends");
        output.stderr = said.into_bytes();
        self.fixture.ended(&output, port)
    }
}
