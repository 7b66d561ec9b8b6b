//! Preflight: the files in the flags are opened before anything is created, in upstream's order.
//!
//! Errors are in upstream's words, which contain the purpose of the flag; the parts of the server read the
//! same files again later.

use std::path::Path;

use keelson_authn::{TokenFile, jws};
use keelson_codec::{config_file, yaml};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::{CertificateChoice, Config};
use crate::error::Error;
use crate::flags::Face;
use crate::go_file;

/// Opens the files, and stops at the first error.
pub fn check(config: &Config) -> Result<(), Error> {
    first_problem(config).map_err(|problem| Error::Invalid(vec![problem]))
}

fn first_problem(config: &Config) -> Result<(), String> {
    cert_dir(config)?;
    signing_key(config)?;
    serving_certificates(config)?;
    if let Some(path) = &config.files.tracing {
        tracing(path).map_err(|problem| format!("failed to read tracing config: {problem}"))?;
    }
    etcd(config).map_err(|problem| format!("error creating storage factory: {problem}"))?;
    authentication(config)?;
    kubelet(config).map_err(|problem| format!("problem initializing API group \"\": {problem}"))?;
    if let (Some(cert), Some(key)) = (&config.files.proxy_client_cert, &config.files.proxy_client_key) {
        key_pair(cert, key)?;
    }
    Ok(())
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/serving.go, MaybeDefaultWithSelfSignedCerts (v1.36.4).
fn cert_dir(config: &Config) -> Result<(), String> {
    let CertificateChoice::CertDir(folder) = &config.certificate else { return Ok(()) };
    if config.face != Face::KubeApiserver || folder.is_dir() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        let is_in_the_way = |path: &&Path| path.exists() && !path.is_dir();
        let problem = match folder.ancestors().find(is_in_the_way) {
            Some(file) => format!("mkdir {}: not a directory", file.display()),
            None => go_file::words("mkdir", folder, &error),
        };
        format!("error creating self-signed certificates: {problem}")
    })
}

fn signing_key(config: &Config) -> Result<(), String> {
    let Some(path) = &config.authentication.service_accounts.signing_key_file else { return Ok(()) };
    let failed = |problem: String| format!("failed to parse service-account-issuer-key-file: {problem}");
    let data = go_file::read(path).map_err(failed)?;
    jws::signing_key(&data).map(drop).map_err(|_| {
        let path = path.display();
        failed(format!(
            "error reading private key file {path}: data does not contain a valid RSA or ECDSA private key"
        ))
    })
}

fn serving_certificates(config: &Config) -> Result<(), String> {
    if let CertificateChoice::Files { cert, key } = &config.certificate {
        key_pair(cert, key)?;
    }
    for pair in &config.sni {
        key_pair(Path::new(&pair.cert_file), Path::new(&pair.key_file))
            .map_err(|problem| format!("failed to load SNI cert and key: {problem}"))?;
    }
    Ok(())
}

/// Upstream: crypto/tls, X509KeyPair.
fn key_pair(cert: &Path, key: &Path) -> Result<(), String> {
    let missing = |what: &str| format!("tls: failed to find any PEM data in {what} input");
    let (cert, key) = (go_file::read(cert)?, go_file::read(key)?);
    if CertificateDer::from_pem_slice(&cert).is_err() {
        return Err(missing("certificate"));
    }
    PrivateKeyDer::from_pem_slice(&key).map(drop).map_err(|_| missing("key"))
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/tracing.go, ReadTracingConfiguration (v1.36.4).
fn tracing(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let data = go_file::read(path)
        .map_err(|error| format!("unable to read tracing configuration from \"{shown}\": {error}"))?;
    let undecodable = |problem: String| format!("unable to decode tracing configuration data: {problem}");
    let document = yaml::read(&data).map_err(|error| undecodable(error.to_string()))?;
    match document.value.json_type() {
        "null" | "object" => Ok(()),
        found => Err(undecodable(config_file::Error::NoObject { found }.to_string())),
    }
}

fn etcd(config: &Config) -> Result<(), String> {
    if let Some(path) = &config.etcd.ca_file {
        go_file::read(path)?;
    }
    match (&config.etcd.cert_file, &config.etcd.key_file) {
        (Some(cert), Some(key)) => key_pair(cert, key),
        _ => Ok(()),
    }
}

/// Upstream: pkg/kubeapiserver/options/authentication.go, ApplyTo (v1.36.4).
fn authentication(config: &Config) -> Result<(), String> {
    let wanted = &config.authentication;
    if let Some(path) = &wanted.client_ca_file {
        bundle("client-ca-bundle", path)?;
    }
    if let Some(proxy) = &wanted.others.request_header {
        bundle("request-header", &proxy.ca_file)?;
    }
    if let Some(path) = &wanted.token_file {
        token_file(path)?;
    }
    wanted.service_accounts.key_files.iter().try_for_each(|path| public_keys(path))
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/dynamiccertificates/dynamic_cafile_content.go, loadCABundle (v1.36.4).
fn bundle(purpose: &str, path: &Path) -> Result<(), String> {
    let data = go_file::read(path)?;
    let name = format!("\"{purpose}::{}\"", path.display());
    if data.is_empty() {
        return Err(format!("missing content for CA bundle {name}"));
    }
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&data).collect();
    if certificates.is_ok_and(|it| !it.is_empty()) {
        return Ok(());
    }
    Err(format!(
        "error loading CA bundle for {name}: data does not contain any valid RSA or ECDSA certificates"
    ))
}

fn token_file(path: &Path) -> Result<(), String> {
    let data = String::from_utf8_lossy(&go_file::read(path)?).into_owned();
    TokenFile::parse(&data).map(drop).map_err(|error| match error {
        keelson_authn::AuthError::BadTokenFile { reason, .. } => {
            format!("token file '{}' {reason}", path.display())
        }
        other => other.to_string(),
    })
}

fn public_keys(path: &Path) -> Result<(), String> {
    let data = go_file::read(path)?;
    jws::public_keys(&data).map(drop).map_err(|_| {
        let path = path.display();
        format!(
            "error reading public key file {path}: data does not contain any valid RSA or ECDSA public keys"
        )
    })
}

/// Upstream: pkg/kubelet/client/kubelet_client.go, NewNodeConnectionInfoGetter (v1.36.4).
fn kubelet(config: &Config) -> Result<(), String> {
    let files = &config.files;
    if let Some(path) = &files.kubelet_ca {
        let data = go_file::read(path)?;
        if !data.is_empty() && CertificateDer::from_pem_slice(&data).is_err() {
            return Err("unable to load root certificates: unable to parse bytes as PEM block".to_owned());
        }
    }
    for path in files.kubelet_client_cert.iter().chain(&files.kubelet_client_key) {
        go_file::read(path)?;
    }
    Ok(())
}
