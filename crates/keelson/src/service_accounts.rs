//! Service account tokens: from the config to a signer and a verifier.

mod external;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::BoxFuture;
use keelson_apis::Tokens;
use keelson_authn::TokenCache;
use keelson_authn::jws;
use keelson_authn::service_account::{
    Counts, Discovery, EXTENDED_SECONDS, ExternalSigner, Issuer, KeySet, LegacyUse, Objects,
    ServiceAccountTokens, Settings,
};
use keelson_housekeeping::token_secrets::TokenSecrets;
use keelson_housekeeping::{legacy_tokens, service_accounts};
use keelson_object::Frozen;
use keelson_registry::CatalogHandle;
use keelson_server::metrics::{Computed, Kind, Registry, Sample};
use keelson_server::{IssuerDocuments, OpenId};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use tokio::sync::mpsc;
use tracing::{error, info};

use crate::config::{Authentication, ServiceAccounts as Config};
use crate::error::Error;
use crate::pki::Pki;
use crate::reload;
use crate::service_accounts::external::Numbers;

/// The signer and the verifier of service account tokens.
pub struct ServiceAccounts {
    /// Verifies tokens.
    pub tokens: Arc<ServiceAccountTokens>,
    /// Issues tokens.
    pub issue: Option<Tokens>,
    /// The OpenID documents by which others verify tokens; `None` if the issuer is not a valid OpenID issuer.
    pub openid: Option<OpenId>,
    /// Uses of legacy tokens.
    uses: Option<mpsc::Receiver<LegacyUse>>,
    keys: Keys,
    issuer: PublishedIssuer,
    signer_numbers: Arc<Numbers>,
}

/// The source of keys.
enum Keys {
    /// Files, which may change.
    Files(Vec<PathBuf>),
    /// An external signer, which sets the refresh interval.
    External(Arc<ExternalSigner>),
}

/// The OpenID documents of the issuer.
#[derive(Clone)]
struct PublishedIssuer {
    name: String,
    jwks_uri: String,
    external_address: String,
}

/// The limit of uses of legacy tokens that wait to be recorded; beyond it, the next use is recorded.
const WAITING_USES: usize = 64;

impl ServiceAccounts {
    /// Reads the keys, or gets them from an external signer. Without settings, a standalone server uses those
    /// of its data folder.
    pub async fn new(
        config: &Authentication,
        pki: Option<&Pki>,
        external_address: String,
        catalog: &CatalogHandle,
        clock: &Clock,
    ) -> Result<ServiceAccounts, Error> {
        let accounts = &config.service_accounts;
        let issuer = PublishedIssuer {
            name: accounts.issuers.first().cloned().unwrap_or_default(),
            jwks_uri: accounts.jwks_uri.clone(),
            external_address,
        };
        let (sender, uses) = mpsc::channel(WAITING_USES);
        let settings = Settings {
            issuers: accounts.issuers.clone(),
            api_audiences: config.api_audiences.clone(),
            lookup: accounts.lookup,
            objects: Arc::new(LiveObjects(catalog.clone())),
            // If the queue is full, the next use of the token is recorded.
            on_legacy_use: Some(Arc::new(move |it| drop(sender.try_send(it)))),
            clock: clock.clone(),
        };
        let signer_numbers = Arc::new(Numbers::new(clock.clone()));
        let (tokens, issue, keys, openid) = match &accounts.signing_endpoint {
            Some(socket) => {
                let connected = external::connect(accounts, socket, clock, &signer_numbers).await?;
                let signer = connected.signer;
                let issue = Tokens {
                    issuer: Arc::new(Issuer::external(&issuer.name, signer.clone())),
                    max_seconds: Some(connected.max_seconds),
                    extended: accounts.extended,
                    extended_seconds: connected.extended_seconds,
                };
                let aged = signer.clone();
                let openid = issuer.documents(&signer.discoverable()).map(OpenId::new);
                let openid = openid.map(|it| it.kept_for(move || aged.max_age()));
                let tokens = ServiceAccountTokens::external(settings, signer.clone());
                (tokens, Some(issue), Keys::External(signer), openid)
            }
            None => {
                let files = key_files(accounts, pki);
                let set = read_keys(&files)?;
                let openid = issuer.documents(&set).map(OpenId::new);
                let issue = issue(accounts, pki, &issuer.name)?;
                (ServiceAccountTokens::new(settings, set), issue, Keys::Files(files), openid)
            }
        };
        Ok(ServiceAccounts {
            tokens: Arc::new(tokens),
            issue,
            openid,
            uses: Some(uses),
            keys,
            issuer,
            signer_numbers,
        })
    }

    /// Starts the background loops: they record uses of legacy tokens and reload keys.
    pub fn start(&mut self, catalog: &CatalogHandle, cache: &Arc<TokenCache>, clock: &Clock, loops: &Tasks) {
        if let Some(uses) = self.uses.take() {
            let noting = legacy_tokens::note_uses(catalog.clone(), clock.clone(), uses);
            loops.spawn("uses of legacy tokens", noting);
        }
        let (issuer, tokens, openid) = (self.issuer.clone(), self.tokens.clone(), self.openid.clone());
        let cache = cache.clone();
        let publish = move |set: &KeySet| {
            if let (Some(openid), Some(documents)) = (&openid, issuer.documents(set)) {
                openid.replace(documents);
            }
            cache.clear();
        };
        match &self.keys {
            Keys::Files(files) => {
                let watched = files.clone();
                let replace = move || {
                    let set = read_keys(&watched)?;
                    tokens.replace_keys(set.clone());
                    publish(&set);
                    Ok(())
                };
                loops.spawn(
                    "keys of service account tokens",
                    reload::follow("keys of service account tokens", files.clone(), clock.clone(), replace),
                );
            }
            Keys::External(signer) => {
                let told = Arc::downgrade(signer);
                signer.on_change(move || {
                    if let Some(signer) = told.upgrade() {
                        publish(&signer.discoverable());
                    }
                });
                let signer = signer.clone();
                loops.spawn("keys of the external signer", async move { signer.follow().await });
            }
        }
    }

    /// Does the work of the controller manager: every namespace gets its default service account and root CA
    /// ConfigMap, and token secrets get their tokens.
    pub fn make_defaults(
        &self,
        pki: &Pki,
        catalog: &CatalogHandle,
        clock: &Clock,
        loops: &Tasks,
    ) -> Result<(), Error> {
        let path = &pki.ca_cert;
        let pem = std::fs::read_to_string(path);
        let authority = pem.map_err(|source| Error::Read { path: path.clone(), source })?;
        let accounts = service_accounts::run(catalog.clone(), authority.clone(), clock.clone());
        loops.spawn("service accounts", accounts);
        if let Some(tokens) = self.issue.as_ref().filter(|it| it.issuer.has_key()) {
            let secrets = TokenSecrets { issuer: tokens.issuer.clone(), authority };
            loops.spawn("secrets with tokens", secrets.run(catalog.clone(), clock.clone()));
        }
        Ok(())
    }

    /// Counts the uses of tokens.
    ///
    /// Upstream: pkg/serviceaccount/metrics.go (v1.36.4).
    pub fn add_metrics(&self, registry: &Registry) {
        self.signer_numbers.add_to(registry);
        for (name, help, count) in COUNTERS {
            let tokens = self.tokens.clone();
            let sample = move || {
                let value = count(tokens.counts()).load(Ordering::Relaxed) as f64;
                vec![Sample { labels: Vec::new(), value }]
            };
            registry.add(Arc::new(Computed::new(name, help, Kind::Counter, sample)));
        }
    }
}

type Counter = (&'static str, &'static str, fn(&Counts) -> &AtomicU64);

const COUNTERS: [Counter; 6] = [
    ("serviceaccount_legacy_tokens_total", "[ALPHA] Uses of tokens without audiences.", |it| &it.legacy),
    ("serviceaccount_stale_tokens_total", "[ALPHA] Uses of tokens that should have been read again.", |it| {
        &it.stale
    }),
    ("serviceaccount_valid_tokens_total", "[ALPHA] Uses of tokens of pods in time.", |it| &it.valid),
    (
        "serviceaccount_legacy_manual_token_uses_total",
        "[ALPHA] Uses of tokens in secrets that somebody made.",
        |it| &it.manually_created,
    ),
    (
        "serviceaccount_legacy_auto_token_uses_total",
        "[ALPHA] Uses of tokens in secrets that a controller made.",
        |it| &it.auto_generated,
    ),
    (
        "serviceaccount_invalid_legacy_auto_token_uses_total",
        "[ALPHA] Uses of tokens in secrets that are marked as invalid.",
        |it| &it.invalidated,
    ),
];

fn key_files(config: &Config, pki: Option<&Pki>) -> Vec<PathBuf> {
    match (config.key_files.as_slice(), pki) {
        ([], Some(pki)) => {
            // A signing key must also verify; it may be the operator's.
            let own = pki.service_account_public_key.clone();
            std::iter::once(own).chain(config.signing_key_file.clone()).collect()
        }
        (files, _) => files.to_vec(),
    }
}

fn issue(config: &Config, pki: Option<&Pki>, issuer: &str) -> Result<Option<Tokens>, Error> {
    let own = pki.map(|it| it.service_account_key.clone());
    let Some(path) = config.signing_key_file.clone().or(own) else { return Ok(None) };
    let key = jws::signing_key(&read(&path)?).map_err(|source| Error::Credentials { path, source })?;
    Ok(Some(Tokens {
        issuer: Arc::new(Issuer::new(issuer, key)),
        max_seconds: config.max_seconds,
        extended: config.extended,
        extended_seconds: EXTENDED_SECONDS,
    }))
}

/// All keys of all files.
fn read_keys(files: &[PathBuf]) -> Result<KeySet, Error> {
    let mut keys = Vec::new();
    for path in files {
        let found = jws::public_keys(&read(path)?)
            .map_err(|source| Error::Credentials { path: path.clone(), source })?;
        keys.extend(found);
    }
    Ok(KeySet::new(keys))
}

impl PublishedIssuer {
    /// The OpenID documents; `None` if the issuer is not a URL that others could find.
    ///
    /// Upstream: pkg/controlplane/apiserver/server.go, New (v1.36.4).
    fn documents(&self, keys: &KeySet) -> Option<IssuerDocuments> {
        match Discovery::new(&self.name, &self.jwks_uri, &self.external_address, keys) {
            Ok(found) => Some(IssuerDocuments { configuration: found.configuration, keys: found.keys }),
            Err(problem) if self.name.starts_with("https:") => {
                error!(%problem, "could not construct pre-rendered responses for ServiceAccountIssuerDiscovery endpoints");
                None
            }
            Err(problem) => {
                info!(%problem, "the issuer of service account tokens cannot be discovered");
                None
            }
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// The objects of the server itself. An object that seems to be missing is looked up once more, because the
/// cache may be a moment behind.
struct LiveObjects(CatalogHandle);

impl Objects for LiveObjects {
    fn find<'a>(
        &'a self,
        plural: &'static str,
        namespace: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Option<Arc<Frozen>>> {
        Box::pin(async move {
            let live = self.0.load().live("", plural)?.clone();
            let cache = live.cache().ok()?;
            if let Some(found) = cache.snapshot().get(namespace, name) {
                return Some(found.clone());
            }
            cache.fresh().await.ok()?.get(namespace, name).cloned()
        })
    }
}
