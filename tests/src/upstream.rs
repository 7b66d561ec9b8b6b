//! The real kube-apiserver with the real etcd, on loopback, to compare with.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::{self, Authority};
use keelson_testkit::tool::Tool;
use keelson_testkit::{Client, Connector, Credentials, Etcd, Identity, Protocol, free_port};
use tempfile::TempDir;

use crate::process::Processes;

const READY_WITHIN: Duration = Duration::from_secs(90);

/// The flags with which a server serves every version of every kind, and services of one range.
pub const EVERYTHING: [&str; 6] = [
    "--allow-privileged=true",
    "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--runtime-config=api/all=true",
    "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
    "--feature-gates=StorageVersionMigrator=true,GenericWorkload=true,ClusterTrustBundle=true,PodCertificateRequest=true",
];

/// An upstream server that stops when this is dropped, with its own etcd unless the caller has one.
pub struct Upstream {
    client: Client,
    anonymous: Client,
    connector: Connector,
    credentials: Credentials,
    url: String,
    endpoint: String,
    processes: Processes,
    _etcd: Option<Etcd>,
    _folder: TempDir,
}

/// Whether pods need service accounts, which no controller creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounts {
    /// No.
    Free,
    /// Yes: the plugin ServiceAccount is on.
    Needed,
}

impl Upstream {
    /// Starts both and waits until the server is ready, or notes that `test` cannot run.
    pub async fn for_test(test: &str) -> Option<Upstream> {
        Upstream::with(test, Accounts::Free, &[]).await
    }

    /// The same with more flags for the server, and with or without the plugin for service accounts.
    pub async fn with(test: &str, accounts: Accounts, flags: &[String]) -> Option<Upstream> {
        let mut flags = flags.to_vec();
        if accounts == Accounts::Free {
            flags.push(String::from("--disable-admission-plugins=ServiceAccount"));
        }
        let etcd = Etcd::for_test(test).await?;
        let started = Upstream::start(test, &etcd.endpoint(), &flags).await?;
        Some(Upstream { _etcd: Some(etcd), ..started })
    }

    /// Starts the server on an etcd that runs already, with more arguments than the usual ones.
    pub async fn on(etcd: &Etcd, arguments: &[&str], test: &str) -> Option<Upstream> {
        let mut flags: Vec<String> = arguments.iter().copied().map(String::from).collect();
        flags.push(String::from("--disable-admission-plugins=ServiceAccount"));
        Upstream::start(test, &etcd.endpoint(), &flags).await
    }

    /// Starts the server with its own defaults on a running etcd, for measurements.
    pub async fn plain(etcd: &Etcd, flags: &[String]) -> Result<Upstream> {
        let server = Tool::KubeApiserver.path().context("there is no kube-apiserver")?;
        // It does not start without an issuer and a range.
        let own = EVERYTHING[..3].iter().copied().map(String::from);
        let flags: Vec<String> = own.chain(flags.iter().cloned()).collect();
        Upstream::try_start(&server, &etcd.endpoint(), &flags).await
    }

    /// The administrator's credentials.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// `https://127.0.0.1:port`
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The process id.
    pub fn pid(&self) -> Option<u32> {
        self.processes.first()
    }

    /// Starts the server without an etcd, and returns its output when it gives up.
    pub async fn without_etcd(endpoint: &str, test: &str) -> Option<String> {
        let server = Tool::KubeApiserver.path_for(test)?;
        match Upstream::try_start(&server, endpoint, &EVERYTHING.map(String::from)).await {
            Ok(_) => panic!("upstream's server starts without an etcd"),
            Err(error) => Some(format!("{error:#}")),
        }
    }

    /// The administrator's client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The administrator's connector, for raw bytes.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    /// A client without a certificate.
    pub fn anonymous(&self) -> &Client {
        &self.anonymous
    }

    /// The address of its etcd: `127.0.0.1:port`.
    pub fn etcd(&self) -> &str {
        self.endpoint.trim_start_matches("http://")
    }

    async fn start(test: &str, endpoint: &str, flags: &[String]) -> Option<Upstream> {
        let server = Tool::KubeApiserver.path_for(test)?;
        let flags: Vec<String> =
            EVERYTHING.map(String::from).into_iter().chain(flags.iter().cloned()).collect();
        match Upstream::try_start(&server, endpoint, &flags).await {
            Ok(upstream) => Some(upstream),
            Err(error) => panic!("upstream's server does not start: {error:#}"),
        }
    }

    async fn try_start(server: &Path, endpoint: &str, flags: &[String]) -> Result<Upstream> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let files = Files::write(folder.path())?;
        let url = format!("https://127.0.0.1:{port}");
        let mut upstream = Upstream {
            client: Client::new(&url, &files.credentials, Protocol::Http1)?,
            anonymous: Client::new(&url, &files.credentials.anonymous(), Protocol::Http1)?,
            connector: Connector::new(&url, &files.credentials, Protocol::Http1)?,
            credentials: files.credentials.clone(),
            url,
            endpoint: endpoint.to_owned(),
            processes: Processes::default(),
            _etcd: None,
            _folder: folder,
        };
        let mut arguments = files.server_arguments(endpoint, port);
        let decides = ["--authorization-mode=", "--authorization-config="];
        if !flags.iter().any(|it| decides.iter().any(|flag| it.starts_with(flag))) {
            arguments.push(String::from("--authorization-mode=Node,RBAC"));
        }
        if flags.iter().any(|it| it.starts_with("--service-account-signing-endpoint=")) {
            arguments.retain(|it| !it.starts_with("--service-account-"));
        }
        arguments.extend_from_slice(flags);
        upstream.processes.spawn(server, &arguments, &files.path("server.log"))?;
        upstream.ready(&files).await?;
        Ok(upstream)
    }

    async fn ready(&mut self, files: &Files) -> Result<()> {
        let clock = Clock::real();
        let deadline = clock.monotonic() + READY_WITHIN;
        loop {
            let answer = self.client.call("GET", "/readyz").try_send().await;
            if answer.is_ok_and(|answer| answer.status == 200) {
                return Ok(());
            }
            if let Some(status) = self.processes.ended()? {
                let log = fs::read_to_string(files.path("server.log")).unwrap_or_default();
                bail!("ended with {status}:\n{log}");
            }
            if clock.monotonic() > deadline {
                bail!("not ready after {READY_WITHIN:?}");
            }
            clock.sleep(Duration::from_millis(50)).await;
        }
    }
}

/// The files of the server.
struct Files {
    folder: PathBuf,
    credentials: Credentials,
}

impl Files {
    fn write(folder: &Path) -> Result<Files> {
        let authority = Authority::new("kubernetes")?;
        let files = Files {
            folder: folder.to_owned(),
            credentials: Credentials {
                ca: Some(authority.certificate().to_owned()),
                identity: Some(authority.client("kubernetes-admin", &["system:masters"])?),
                token: None,
            },
        };
        let Identity { certificate, key } =
            authority.server(&["localhost", "kubernetes", "127.0.0.1", "10.96.0.1"])?;
        let (private, public) = pki::key_pair()?;
        for (name, text) in [
            ("ca.crt", authority.certificate()),
            ("server.crt", &certificate),
            ("server.key", &key),
            ("sa.key", &private),
            ("sa.pub", &public),
        ] {
            fs::write(files.path(name), text)?;
        }
        Ok(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn server_arguments(&self, etcd: &str, port: u16) -> Vec<String> {
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.path(name).display());
        vec![
            format!("--etcd-servers={etcd}"),
            format!("--secure-port={port}"),
            String::from("--bind-address=127.0.0.1"),
            String::from("--advertise-address=198.51.100.1"),
            file("service-account-key-file", "sa.pub"),
            file("service-account-signing-key-file", "sa.key"),
            file("client-ca-file", "ca.crt"),
            file("tls-cert-file", "server.crt"),
            file("tls-private-key-file", "server.key"),
        ]
    }
}
