//! Preparation of the disk: locks the data folder, if there is one, and prepares keys and certificates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use keelson_stdx::clock::Clock;

use crate::config::{CertificateChoice, Config, Environment, StoreChoice};
use crate::data_folder::DataFolder;
use crate::error::Error;
use crate::flags::Face;
use crate::machine;
use crate::pki::{CertificateFiles, Pki, ServerNames, prepare_cert_dir};

/// The files that a server needs.
#[derive(Debug)]
pub struct Prepared {
    /// The data folder, locked until this is dropped. Servers with upstream's flags that store nothing in it
    /// have none, so that several of them may share `--cert-dir`.
    pub folder: Option<DataFolder>,
    /// The serving certificate.
    pub certificate: CertificateFiles,
    /// The files of the standalone face.
    pub pki: Option<Pki>,
}

impl Prepared {
    /// Finds or creates everything.
    pub fn new(config: &Config, environment: &Environment, clock: &Clock) -> Result<Prepared, Error> {
        let is_needed = config.face == Face::Standalone || config.store == StoreChoice::Embedded;
        let folder = is_needed.then(|| DataFolder::open(&config.data_dir)).transpose()?;
        let pki = match config.face {
            Face::Standalone => {
                Some(Pki::prepare(&config.data_dir, &standalone_names(config, environment), clock)?)
            }
            Face::KubeApiserver => None,
        };
        let certificate = match (&config.certificate, &pki) {
            (CertificateChoice::Files { cert, key }, _) => {
                CertificateFiles { cert: cert.clone(), key: key.clone() }
            }
            (CertificateChoice::CertDir(path), _) => prepare_cert_dir(path, &upstream_names(config), clock)?,
            (CertificateChoice::DataFolder, Some(pki)) => pki.server.clone(),
            (CertificateChoice::DataFolder, None) => {
                prepare_cert_dir(&config.data_dir, &upstream_names(config), clock)?
            }
        };
        Ok(Prepared { folder, certificate, pki })
    }

    /// Finds or writes the kubeconfig of the administrator when the port is known; only the standalone face
    /// has one.
    pub fn write_kubeconfig(&self, address: SocketAddr) -> Result<Option<PathBuf>, Error> {
        let Some(pki) = &self.pki else { return Ok(None) };
        if self.certificate == pki.server {
            return pki.write_kubeconfig(address).map(Some);
        }
        let path = &self.certificate.cert;
        let pem =
            std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.clone(), source })?;
        pki.write_kubeconfig_trusting(address, &pem).map(Some)
    }
}

/// All names by which clients may reach a standalone server.
fn standalone_names(config: &Config, environment: &Environment) -> ServerNames {
    let mut dns: Vec<String> = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        .into_iter()
        .chain(["kubernetes.default.svc.cluster.local"])
        .map(str::to_owned)
        .collect();
    dns.extend(machine::host_name());
    let mut addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    addresses.extend(&environment.addresses);
    addresses.extend([
        config.listen.address,
        config.advertise_address,
        config.service_ranges.kubernetes_service(),
    ]);
    match config.external_host.parse() {
        Ok(address) => addresses.push(address),
        Err(_) => dns.push(config.external_host.clone()),
    }
    without_repetition(ServerNames { dns, addresses })
}

/// The names in upstream's self-signed certificate.
fn upstream_names(config: &Config) -> ServerNames {
    let mut dns =
        vec!["kubernetes.default.svc".to_owned(), "kubernetes.default".to_owned(), "kubernetes".to_owned()];
    let mut addresses = vec![config.advertise_address, config.service_ranges.kubernetes_service()];
    if config.listen.address.is_unspecified() {
        dns.push("localhost".to_owned());
    } else {
        addresses.push(config.listen.address);
    }
    without_repetition(ServerNames { dns, addresses })
}

fn without_repetition(names: ServerNames) -> ServerNames {
    let mut once = ServerNames::default();
    for name in names.dns {
        if !once.dns.contains(&name) {
            once.dns.push(name);
        }
    }
    for address in names.addresses {
        if !address.is_unspecified() && !once.addresses.contains(&address) {
            once.addresses.push(address);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use keelson_stdx::clock::Clock;

    use super::Prepared;
    use crate::config::{Config, Environment};
    use crate::flags::{Face, parse};

    fn prepare(face: Face, arguments: &[String]) -> Prepared {
        let flags = parse(face, arguments).expect("flags");
        let environment = Environment { addresses: vec![[10, 1, 2, 3].into()], ..Environment::default() };
        let config = Config::new(&flags, &environment).expect("a config");
        Prepared::new(&config, &environment, &Clock::real()).expect("prepared")
    }

    #[test]
    fn a_standalone_server_has_everything_in_its_folder() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("data");
        let prepared = prepare(Face::Standalone, &[format!("--data-dir={}", folder.display())]);
        assert_eq!(prepared.certificate.cert, folder.join("apiserver.crt"));
        let address = "127.0.0.1:6443".parse().expect("an address");
        let kubeconfig = prepared.write_kubeconfig(address).expect("no error").expect("a kubeconfig");
        assert_eq!(kubeconfig, folder.join("admin.kubeconfig"));
    }

    /// The flags that upstream requires, and `storage`.
    fn drop_in(cert_dir: &Path, storage: &str) -> Vec<String> {
        let folder = cert_dir.display();
        vec![
            format!("--cert-dir={folder}"),
            storage.to_owned(),
            "--service-account-issuer=https://example.com".to_owned(),
            format!("--service-account-key-file={folder}/sa.crt"),
            format!("--service-account-signing-key-file={folder}/sa.key"),
        ]
    }

    #[test]
    fn a_drop_in_uses_its_cert_dir() {
        let parent = tempfile::tempdir().expect("a folder");
        let arguments = drop_in(parent.path(), "--etcd-servers=http://127.0.0.1:2379");
        let prepared = prepare(Face::KubeApiserver, &arguments);
        assert_eq!(prepared.certificate.cert, parent.path().join("apiserver.crt"));
        assert!(prepared.pki.is_none());
        let address = "127.0.0.1:6443".parse().expect("an address");
        assert!(prepared.write_kubeconfig(address).expect("no error").is_none());
    }

    #[test]
    fn drop_ins_with_etcd_share_their_cert_dir() {
        let parent = tempfile::tempdir().expect("a folder");
        for storage in ["--etcd-servers=unix:///run/kine.sock", "--store=memory"] {
            let arguments = drop_in(parent.path(), storage);
            let first = prepare(Face::KubeApiserver, &arguments);
            let second = prepare(Face::KubeApiserver, &arguments);
            assert_eq!(first.certificate, second.certificate, "{storage}");
        }
        assert!(!parent.path().join("keelson").exists(), "nothing is kept there");
    }

    #[test]
    fn a_drop_in_with_an_embedded_store_needs_no_etcd() {
        let parent = tempfile::tempdir().expect("a folder");
        let prepared = prepare(Face::KubeApiserver, &drop_in(parent.path(), "--store=embedded"));
        let folder = prepared.folder.expect("the folder of the store");
        assert_eq!(folder.path(), parent.path().join("keelson"));
    }
}
