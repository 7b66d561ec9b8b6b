//! Authentication and authorization: from the config to an authenticator and an authorizer.

mod authorization;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::{
    Anonymous, AnonymousAt, AudienceAgnostic, AuthenticatedGroup, Authenticator, Bearer, CaBundle,
    FailOnError, Kept, TokenAuthenticator, TokenCache, TokenCacheMetrics, TokenFile, TokenUnion, Union,
    Unmeasured, X509,
};
use keelson_stdx::clock::Clock;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use crate::authentication::Others;
use crate::config::Authentication;
use crate::error::Error;

pub use authorization::Authz;

/// Authentication of the server.
pub struct Authn {
    /// All authenticators in upstream's order: certificates, tokens, then anonymous.
    pub authenticator: Arc<dyn Authenticator>,
    /// The authenticator of client certificates; its CAs can be replaced while the server runs.
    pub x509: Option<Arc<X509>>,
    /// The files of these CAs.
    pub client_ca_files: Vec<PathBuf>,
    /// The cache of token reviews.
    pub token_cache: Arc<TokenCache>,
}

/// What authentication needs besides its config.
pub struct Setup<'a> {
    /// Our own CA, on the standalone face.
    pub own_authority: Option<&'a Path>,
    /// The authenticator of service account tokens.
    pub service_accounts: Option<Arc<dyn TokenAuthenticator>>,
    /// The authenticators of external users.
    pub others: &'a Others,
    /// The metrics of the token cache.
    pub cache_metrics: Arc<dyn TokenCacheMetrics>,
    /// The clock.
    pub clock: &'a Clock,
}

impl Authn {
    /// Reads the files that the config names. The order is upstream's: pkg/kubeapiserver/authenticator/config.go, New
    /// (v1.36.4).
    pub fn new(config: &Authentication, setup: &Setup<'_>) -> Result<Authn, Error> {
        let own_authority = setup.own_authority.map(Path::to_owned);
        let client_ca_files: Vec<PathBuf> =
            own_authority.into_iter().chain(config.client_ca_file.clone()).collect();
        let mut known: Vec<Arc<dyn Authenticator>> = Vec::new();
        known.extend(setup.others.request_header.clone().map(|it| it as Arc<dyn Authenticator>));
        let mut x509 = None;
        if !client_ca_files.is_empty() {
            let mut authenticator = X509::new(client_authorities(&client_ca_files)?, setup.clock.clone());
            if !config.uid_from_certificates {
                authenticator = authenticator.without_uids();
            }
            let authenticator = Arc::new(authenticator);
            known.push(authenticator.clone());
            x509 = Some(authenticator);
        }
        let tokens = Arc::new(TokenUnion::new(token_authenticators(config, setup)?));
        let token_cache = Arc::new(TokenCache::new(tokens, setup.cache_metrics.clone(), setup.clock.clone()));
        known.push(Arc::new(Bearer::new(token_cache.clone(), &config.api_audiences)));
        let authenticated = Arc::new(AuthenticatedGroup::new(Arc::new(Union::new(known))));
        let authenticator: Arc<dyn Authenticator> = match anonymous(config, setup.others) {
            Some(anonymous) => Arc::new(FailOnError::new(vec![authenticated, anonymous])),
            None => authenticated,
        };
        Ok(Authn { authenticator, x509, client_ca_files, token_cache })
    }
}

/// The authenticator of anonymous requests: the file takes precedence over the flag.
fn anonymous(config: &Authentication, others: &Others) -> Option<Arc<dyn Authenticator>> {
    match &others.anonymous {
        None if config.anonymous => Some(Arc::new(Anonymous)),
        Some(settings) if settings.enabled && settings.paths.is_empty() => Some(Arc::new(Anonymous)),
        Some(settings) if settings.enabled => Some(Arc::new(AnonymousAt { paths: settings.paths.clone() })),
        None | Some(_) => None,
    }
}

/// Caches the results of a remote authenticator, so that it is not called with every request; errors are not
/// cached.
#[must_use]
pub fn remembering(
    tokens: Arc<dyn TokenAuthenticator>,
    time: Duration,
    clock: &Clock,
) -> Arc<dyn TokenAuthenticator> {
    let kept = Kept { good: time, bad: time, errors: Duration::ZERO };
    Arc::new(TokenCache::keeping(kept, tokens, Arc::new(Unmeasured), clock.clone()))
}

/// The token authenticators: the local ones first, then the external ones.
fn token_authenticators(
    config: &Authentication,
    setup: &Setup<'_>,
) -> Result<Vec<Arc<dyn TokenAuthenticator>>, Error> {
    let mut known: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
    if let Some(path) = &config.token_file {
        let tokens = TokenFile::parse(&read(path)?)
            .map_err(|source| Error::Credentials { path: path.clone(), source })?;
        known.push(Arc::new(AudienceAgnostic::new(Arc::new(tokens), &config.api_audiences)));
    }
    known.extend(setup.service_accounts.clone());
    known.extend(setup.others.tokens.iter().cloned());
    Ok(known)
}

/// Reads all CAs of client certificates, at the start and when a file has changed.
pub fn client_authorities(files: &[PathBuf]) -> Result<CaBundle, Error> {
    let mut certificates: Vec<CertificateDer<'static>> = Vec::new();
    for path in files {
        let pem = read(path)?;
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
        match found {
            Ok(found) if !found.is_empty() => certificates.extend(found),
            _ => {
                let reason = "it holds no certificate".to_owned();
                return Err(Error::Unusable { path: path.clone(), reason });
            }
        }
    }
    CaBundle::new(&certificates).map_err(|source| {
        let path = files.last().cloned().unwrap_or_default();
        Error::Credentials { path, source }
    })
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use http::HeaderMap;
    use keelson_authn::{Credentials, Unmeasured};
    use keelson_stdx::clock::Clock;
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject as _;

    use super::{Authn, Setup};
    use crate::authentication::Others;
    use crate::config::{Authentication, Authenticators, ServiceAccounts};
    use crate::error::Error;
    use crate::pki::{Pki, ServerNames};

    fn settings() -> Authentication {
        Authentication {
            client_ca_file: None,
            token_file: None,
            uid_from_certificates: true,
            anonymous: true,
            api_audiences: Vec::new(),
            service_accounts: ServiceAccounts::default(),
            others: Authenticators::default(),
        }
    }

    fn authn(config: &Authentication, own_authority: Option<&Path>) -> Result<Authn, Error> {
        let clock = &Clock::real();
        let others = Others::new(config, Arc::new(keelson_registry::CatalogHandle::default()), clock)?;
        let setup = Setup {
            own_authority,
            service_accounts: None,
            others: &others,
            cache_metrics: Arc::new(Unmeasured),
            clock,
        };
        Authn::new(config, &setup)
    }

    /// `name [groups]`, or why not.
    fn ask(authn: &Authn, chain: &[CertificateDer<'static>], authorization: &str) -> String {
        let mut headers = HeaderMap::new();
        if !authorization.is_empty() {
            headers.insert("authorization", authorization.parse().expect("a header"));
        }
        let credentials =
            Credentials { peer_certificates: chain, headers: &headers, path: "", audiences: &[] };
        match authn.authenticator.authenticate(&credentials).now_or_never().expect("nothing waits") {
            Ok(Some(it)) => format!("{} {:?}", it.user.name, it.user.groups),
            Ok(None) => "nobody".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_administrator_of_the_data_folder_is_known() {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Clock::real();
        let pki = Pki::prepare(folder.path(), &ServerNames::default(), &clock).expect("prepared");
        let authn = self::authn(&settings(), Some(&pki.ca_cert)).expect("an authenticator");
        let chain = [CertificateDer::from_pem_file(&pki.admin.cert).expect("a certificate")];
        assert_eq!(
            ask(&authn, &chain, ""),
            "kubernetes-admin [\"system:masters\", \"system:authenticated\"]"
        );
        assert_eq!(ask(&authn, &[], ""), "system:anonymous [\"system:unauthenticated\"]");
    }

    #[test]
    fn bad_credentials_are_not_anonymous() {
        let folder = tempfile::tempdir().expect("a folder");
        let tokens = folder.path().join("tokens.csv");
        fs::write(&tokens, "secret,jane,1,dev\n").expect("a file");
        let config = Authentication { token_file: Some(tokens), ..settings() };
        let authn = self::authn(&config, None).expect("an authenticator");
        assert_eq!(ask(&authn, &[], "Bearer secret"), "jane [\"dev\", \"system:authenticated\"]");
        assert_eq!(ask(&authn, &[], "Bearer guess"), "invalid bearer token");
        let config = Authentication { anonymous: false, ..config };
        let authn = self::authn(&config, None).expect("an authenticator");
        assert_eq!(ask(&authn, &[], ""), "nobody");
    }

    #[test]
    fn files_that_are_no_certificates_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ca.pem");
        fs::write(&path, "rubbish").expect("a file");
        let config = Authentication { client_ca_file: Some(path.clone()), ..settings() };
        let refusal = authn(&config, None).err().expect("must be refused").to_string();
        assert_eq!(refusal, format!("{} is not usable: it holds no certificate", path.display()));
    }
}
