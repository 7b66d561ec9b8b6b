//! PKI: keys and certificates in a folder, created on the first start.
//!
//! ```text
//! ca.key  ca.crt                    the CA of this server; ten years
//! apiserver.key  apiserver.crt      the serving certificate; one year, renewed in time
//! admin.key  admin.crt              the client certificate of the administrator; one year, renewed in time
//! sa.key  sa.pub                    the keys that sign and verify service account tokens
//! admin.kubeconfig                  the kubeconfig of the administrator
//! ```
//!
//! Existing files are used. Files that are missing, about to expire or lack a name are created again.
//! Unreadable files are never overwritten.

mod files;
mod inspect;
mod issue;
pub(crate) mod kubeconfig;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use keelson_stdx::clock::Clock;
use rcgen::{Issuer, KeyPair};
use rustls_pki_types::CertificateDer;
use tracing::info;

pub use issue::ServerNames;

use crate::error::Error;
use files::{Access, Batch, read};
use issue::Holder;

/// The files of a standalone server, all of them in place.
#[derive(Clone, Debug)]
pub struct Pki {
    /// The CA of the server and of its administrator.
    pub ca_cert: PathBuf,
    /// The key of the CA.
    pub ca_key: PathBuf,
    /// The serving certificate.
    pub server: CertificateFiles,
    /// The client certificate of the administrator.
    pub admin: CertificateFiles,
    /// The key that signs service account tokens.
    pub service_account_key: PathBuf,
    /// The key that verifies them.
    pub service_account_public_key: PathBuf,
    folder: PathBuf,
    contents: Contents,
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate in PEM, followed by its intermediates.
    pub cert: PathBuf,
    /// The key in PEM.
    pub key: PathBuf,
}

/// The parts of the kubeconfig, in PEM.
#[derive(Clone)]
struct Contents {
    authority: String,
    admin_certificate: String,
    admin_key: String,
}

const ADMIN: Holder<'static> = Holder::Client { name: "kubernetes-admin", group: "system:masters" };

impl Pki {
    /// Finds or creates everything but the kubeconfig. The folder must be locked by the caller.
    pub fn prepare(folder: &Path, names: &ServerNames, clock: &Clock) -> Result<Pki, Error> {
        let mut making = Making { folder, clock, batch: Batch::default() };
        let authority = making.authority()?;
        let (server, ..) = making.pair("apiserver", &Holder::Server(names), &authority)?;
        let (admin, admin_certificate, admin_key) = making.pair("admin", &ADMIN, &authority)?;
        let (service_account_key, service_account_public_key) = making.service_account_keys()?;
        making.batch.commit()?;
        Ok(Pki {
            ca_cert: folder.join("ca.crt"),
            ca_key: folder.join("ca.key"),
            server,
            admin,
            service_account_key,
            service_account_public_key,
            folder: folder.to_owned(),
            contents: Contents { authority: authority.pem, admin_certificate, admin_key },
        })
    }

    /// Finds or writes the kubeconfig of the administrator for a server that listens at `address`.
    pub fn write_kubeconfig(&self, address: SocketAddr) -> Result<PathBuf, Error> {
        self.write_kubeconfig_trusting(address, "")
    }

    /// The same for a server with a serving certificate that our CA did not sign; `also` is its CA in PEM.
    pub fn write_kubeconfig_trusting(&self, address: SocketAddr, also: &str) -> Result<PathBuf, Error> {
        let path = self.folder.join("admin.kubeconfig");
        let access = kubeconfig::Access {
            address,
            authority: &format!("{}{also}", self.contents.authority),
            certificate: &self.contents.admin_certificate,
            key: &self.contents.admin_key,
        };
        if !read(&path)?.is_some_and(|text| access.is_in(&text)) {
            let mut batch = Batch::default();
            batch.add(&path, access.kubeconfig(), Access::Private);
            batch.commit()?;
            info!(path = %path.display(), "wrote the kubeconfig of the administrator");
        }
        Ok(path)
    }
}

/// Finds `apiserver.crt` and `apiserver.key` in the folder of `--cert-dir`, or creates a self-signed pair
/// there.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/serving.go, MaybeDefaultWithSelfSignedCerts (v1.36.4).
pub fn prepare_cert_dir(
    folder: &Path,
    names: &ServerNames,
    clock: &Clock,
) -> Result<CertificateFiles, Error> {
    let files = CertificateFiles { cert: folder.join("apiserver.crt"), key: folder.join("apiserver.key") };
    if files.cert.exists() && files.key.exists() {
        return Ok(files);
    }
    std::fs::create_dir_all(folder).map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
    // Of several servers that start at the same time one creates the pair, and the others wait for it. If the
    // file system has no locks, the server starts nevertheless.
    let lock = std::fs::File::open(folder);
    let _locked = lock.as_ref().map(std::fs::File::lock);
    match (files.cert.exists(), files.key.exists()) {
        (true, true) => return Ok(files),
        (true, false) => {
            return Err(Error::Missing { path: files.key, partner: files.cert });
        }
        (false, true) => {
            return Err(Error::Missing { path: files.cert, partner: files.key });
        }
        (false, false) => (),
    }
    let seconds = clock.unix_seconds();
    let name = names.addresses.first().map_or_else(|| "localhost".to_owned(), ToString::to_string);
    let key = issue::new_key()?;
    let certificate = issue::self_signed(&format!("{name}@{seconds}"), names, &key, clock.now())?;
    let mut batch = Batch::default();
    batch.add(&files.key, key.serialize_pem(), Access::Private);
    batch.add(&files.cert, certificate, Access::Public);
    batch.commit()?;
    info!(cert = %files.cert.display(), key = %files.key.display(), "generated self-signed cert");
    Ok(files)
}

/// One run of [`Pki::prepare`]; new files wait in `batch`.
struct Making<'a> {
    folder: &'a Path,
    clock: &'a Clock,
    batch: Batch,
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: CertificateDer<'static>,
    pem: String,
}

impl Making<'_> {
    fn authority(&mut self) -> Result<Authority, Error> {
        let (key_path, cert_path) = (self.folder.join("ca.key"), self.folder.join("ca.crt"));
        let existing = read(&cert_path)?;
        if existing.is_some() && !key_path.exists() {
            return Err(Error::Missing { path: key_path, partner: cert_path });
        }
        let (key, _) = self.key(&key_path)?;
        let pem = match existing {
            Some(pem) => pem,
            None => {
                let name = format!("keelson-ca@{}", self.clock.unix_seconds());
                let pem = issue::authority(&name, &key, self.clock.now())?;
                info!(path = %cert_path.display(), "made a certificate authority");
                self.batch.add(&cert_path, pem.clone(), Access::Public);
                pem
            }
        };
        let der = inspect::certificate(&cert_path, &pem)?;
        inspect::check_authority(&cert_path, &der, &key, self.clock.since_epoch())?;
        let issuer = Issuer::from_ca_cert_der(&der, key)
            .map_err(|source| Error::Issue { what: "an issuer".to_owned(), source })?;
        Ok(Authority { issuer, der, pem })
    }

    /// A certificate and its key, as files and in PEM.
    fn pair(
        &mut self,
        name: &str,
        holder: &Holder<'_>,
        authority: &Authority,
    ) -> Result<(CertificateFiles, String, String), Error> {
        let files = CertificateFiles {
            cert: self.folder.join(format!("{name}.crt")),
            key: self.folder.join(format!("{name}.key")),
        };
        let (key, key_pem) = self.key(&files.key)?;
        if let Some(pem) = read(&files.cert)? {
            let der = inspect::certificate(&files.cert, &pem)?;
            if inspect::is_good(&der, holder, &key, &authority.der, self.clock.since_epoch()) {
                return Ok((files, pem, key_pem));
            }
        }
        let pem = issue::certificate(holder, &key, &authority.issuer, self.clock.now())?;
        info!(path = %files.cert.display(), "issued a certificate");
        self.batch.add(&files.cert, pem.clone(), Access::Public);
        Ok((files, pem, key_pem))
    }

    fn service_account_keys(&mut self) -> Result<(PathBuf, PathBuf), Error> {
        let (key_path, public_path) = (self.folder.join("sa.key"), self.folder.join("sa.pub"));
        let (key, _) = self.key(&key_path)?;
        if read(&public_path)?.is_none() {
            self.batch.add(&public_path, key.public_key_pem(), Access::Public);
        }
        Ok((key_path, public_path))
    }

    /// Keys are added before their certificates, so that a crash leaves no certificate without its key.
    fn key(&mut self, path: &Path) -> Result<(KeyPair, String), Error> {
        if let Some(pem) = read(path)? {
            return Ok((inspect::key(path, &pem)?, pem));
        }
        let key = issue::new_key()?;
        let pem = key.serialize_pem();
        self.batch.add(path, pem.clone(), Access::Private);
        Ok((key, pem))
    }
}

impl std::fmt::Debug for Contents {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The content has a private key, so it is not printed.
        formatter.write_str("Contents")
    }
}

#[cfg(test)]
mod tests;
