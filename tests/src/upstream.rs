//! The real kube-apiserver with the real etcd, on loopback, to compare with.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use keelson_stdx::clock::Clock;
use keelson_testkit::pki::{self, Authority};
use keelson_testkit::tool::Tool;
use keelson_testkit::{Client, Credentials, Etcd, Identity, Protocol, free_port};
use tempfile::TempDir;

use crate::process::Processes;

const READY_WITHIN: Duration = Duration::from_secs(90);

/// The flags with which a server serves every version of every kind, and services of one range.
pub const EVERYTHING: [&str; 4] = [
    "--allow-privileged=true",
    "--service-cluster-ip-range=10.96.0.0/16",
    "--runtime-config=api/all=true",
    "--feature-gates=StorageVersionMigrator=true,GenericWorkload=true,ClusterTrustBundle=true,PodCertificateRequest=true",
];

/// Two processes that end when this is dropped.
pub struct Upstream {
    client: Client,
    processes: Processes,
    _folder: TempDir,
}

impl Upstream {
    /// Starts both and waits until the server is ready, or notes that `test` cannot run.
    pub async fn for_test(test: &str) -> Option<Upstream> {
        let etcd = Tool::Etcd.path_for(test)?;
        let server = Tool::KubeApiserver.path_for(test)?;
        match Upstream::start(&etcd, &server).await {
            Ok(upstream) => Some(upstream),
            Err(error) => panic!("upstream's server does not start: {error:#}"),
        }
    }

    /// Starts the server on an etcd that runs already, with more arguments than the usual ones.
    pub async fn on(etcd: &Etcd, arguments: &[&str], test: &str) -> Option<Upstream> {
        let server = Tool::KubeApiserver.path_for(test)?;
        match Upstream::start_on(&server, &etcd.endpoint(), arguments).await {
            Ok(upstream) => Some(upstream),
            Err(error) => panic!("upstream's server does not start: {error:#}"),
        }
    }

    async fn start_on(server: &Path, endpoint: &str, arguments: &[&str]) -> Result<Upstream> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let files = Files::write(folder.path())?;
        let mut upstream = Upstream {
            client: Client::new(&format!("https://127.0.0.1:{port}"), &files.credentials, Protocol::Http1)?,
            processes: Processes::default(),
            _folder: folder,
        };
        let mut all = files.server_arguments(endpoint, port);
        all.extend(arguments.iter().copied().map(String::from));
        upstream.processes.spawn(server, &all, &files.path("server.log"))?;
        upstream.ready(&files).await?;
        Ok(upstream)
    }

    /// Its administrator.
    pub fn client(&self) -> &Client {
        &self.client
    }

    async fn start(etcd: &Path, server: &Path) -> Result<Upstream> {
        let folder = tempfile::tempdir()?;
        let (etcd_port, peer_port, port) = (free_port()?, free_port()?, free_port()?);
        let files = Files::write(folder.path())?;
        let mut upstream = Upstream {
            client: Client::new(&format!("https://127.0.0.1:{port}"), &files.credentials, Protocol::Http1)?,
            processes: Processes::default(),
            _folder: folder,
        };
        upstream.processes.spawn(
            etcd,
            &files.etcd_arguments(etcd_port, peer_port),
            &files.path("etcd.log"),
        )?;
        upstream.processes.spawn(
            server,
            &files.server_arguments(&format!("http://127.0.0.1:{etcd_port}"), port),
            &files.path("server.log"),
        )?;
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

/// What the two need on disk.
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

    fn etcd_arguments(&self, port: u16, peer_port: u16) -> Vec<String> {
        let (client, peer) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer_port}"));
        vec![
            format!("--data-dir={}", self.path("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            String::from("--unsafe-no-fsync"),
        ]
    }

    fn server_arguments(&self, etcd: &str, port: u16) -> Vec<String> {
        let file = |flag: &str, name: &str| format!("--{flag}={}", self.path(name).display());
        let everything = EVERYTHING.map(String::from);
        let own = [
            format!("--etcd-servers={etcd}"),
            format!("--secure-port={port}"),
            String::from("--bind-address=127.0.0.1"),
            String::from("--advertise-address=198.51.100.1"),
            String::from("--authorization-mode=Node,RBAC"),
            // Nobody makes the service accounts that this plugin wants; we have no admission yet either.
            String::from("--disable-admission-plugins=ServiceAccount"),
            String::from("--service-account-issuer=https://kubernetes.default.svc.cluster.local"),
            file("service-account-key-file", "sa.pub"),
            file("service-account-signing-key-file", "sa.key"),
            file("client-ca-file", "ca.crt"),
            file("tls-cert-file", "server.crt"),
            file("tls-private-key-file", "server.key"),
        ];
        everything.into_iter().chain(own).collect()
    }
}
