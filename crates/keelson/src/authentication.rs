//! External authenticators: front proxies, bootstrap tokens, token issuers, and a webhook.

mod numbers;
mod reload;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keelson_authn::jws::Algorithm;
use keelson_authn::oidc::{Issuers, JwtSettings, Oidc};
use keelson_authn::{
    AudienceAgnostic, BootstrapTokens, RequestHeader, ReviewVersion, TokenAuthenticator, WebhookTokens,
};
use keelson_object::Readers;
use keelson_object::scalar::quote;
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use keelson_webhook_client::Client;
use tokio::sync::Notify;

use crate::access::client_authorities;
use crate::authentication_config::{AnonymousSettings, AuthenticationConfiguration, overlap};
use crate::config::{Authentication, Authenticators, TokenWebhook};
use crate::error::Error;
use crate::{go_file, kubeconfig_file};
pub use numbers::Numbers;

/// The external authenticators.
pub struct Others {
    /// The front proxy; its CAs can be replaced while the server runs.
    pub request_header: Option<Arc<RequestHeader>>,
    /// Bootstrap tokens, then those of issuers, then those that a webhook reviews: upstream's order.
    pub tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// The settings of anonymous requests, if the file has any.
    pub anonymous: Option<AnonymousSettings>,
    /// The file of the front proxy's CAs.
    pub proxy_ca_file: Option<PathBuf>,
    /// The metrics.
    pub numbers: Arc<Numbers>,
    issuers: Arc<Issuers>,
    first_issuers: Vec<Arc<Oidc>>,
    file: Option<ConfigFile>,
    clock: Clock,
}

/// The configuration file in use.
struct ConfigFile {
    path: PathBuf,
    data: Vec<u8>,
    anonymous: Option<AnonymousSettings>,
    /// The issuers of service account tokens.
    disallowed: Vec<String>,
}

impl Others {
    /// Reads the files that the config names; reports everything that is wrong with them.
    pub fn new(config: &Authentication, readers: Arc<dyn Readers>, clock: &Clock) -> Result<Others, Error> {
        let wanted = &config.others;
        let mut problems = Vec::new();
        let mut kept = |outcome: Result<(), String>| problems.extend(outcome.err());
        let mut request_header = None;
        if let Some(proxy) = &wanted.request_header {
            let bundle = proxy_authorities(&proxy.ca_file);
            kept(bundle.map(|bundle| {
                let settings = proxy.settings.clone();
                request_header = Some(Arc::new(RequestHeader::new(bundle, settings, clock.clone())));
            }));
        }
        let mut tokens: Vec<Arc<dyn TokenAuthenticator>> = Vec::new();
        let agnostic = |inner: Arc<dyn TokenAuthenticator>| {
            Arc::new(AudienceAgnostic::new(inner, &config.api_audiences)) as Arc<dyn TokenAuthenticator>
        };
        if wanted.bootstrap_tokens {
            tokens.push(agnostic(Arc::new(BootstrapTokens::new(readers, clock.clone()))));
        }
        let numbers = Arc::new(Numbers::new(clock.clone()));
        let issuers = Arc::new(Issuers::default());
        let (mut first_issuers, mut anonymous, mut file) = (Vec::new(), None, None);
        kept(jwt(config, &numbers, clock).map(|found| {
            first_issuers = found.issuers;
            anonymous = found.file.as_ref().and_then(|it| it.anonymous.clone());
            file = found.file;
        }));
        issuers.replace(first_issuers.clone());
        tokens.push(agnostic(issuers.clone()));
        if let Some(webhook) = &wanted.webhook {
            kept(token_webhook(webhook, config, clock).map(|webhook| tokens.push(webhook)));
        }
        if !problems.is_empty() {
            return Err(Error::Invalid(problems));
        }
        let proxy_ca_file = wanted.request_header.as_ref().map(|it| it.ca_file.clone());
        let clock = clock.clone();
        Ok(Others {
            request_header,
            tokens,
            anonymous,
            proxy_ca_file,
            numbers,
            issuers,
            first_issuers,
            file,
            clock,
        })
    }

    /// Discovers issuers, and follows files that change. `trust_changed` is notified when the CAs of the
    /// front proxy change.
    pub fn start(&mut self, loops: &Tasks, trust_changed: &Arc<Notify>) {
        for issuer in self.first_issuers.drain(..) {
            loops.spawn("issuer", issuer.discover());
        }
        if let (Some(proxy), Some(path)) = (&self.request_header, &self.proxy_ca_file) {
            let (proxy, file, changed) = (proxy.clone(), path.clone(), trust_changed.clone());
            let replace = move || {
                let bundle = proxy_authorities(&file).map_err(|problem| Error::Invalid(vec![problem]))?;
                proxy.replace_bundle(bundle);
                changed.notify_one();
                Ok(())
            };
            let what = "authorities of the front proxy";
            loops.spawn(what, crate::reload::follow(what, vec![path.clone()], self.clock.clone(), replace));
        }
        if let Some(file) = self.file.take() {
            self.numbers.in_force(&file.data);
            let config = reload::Config {
                file,
                issuers: self.issuers.clone(),
                numbers: self.numbers.clone(),
                clock: self.clock.clone(),
            };
            loops.spawn("authentication config", config.follow());
        }
    }
}

fn proxy_authorities(path: &Path) -> Result<keelson_authn::CaBundle, String> {
    client_authorities(&[path.to_owned()]).map_err(|error| match error {
        Error::Read { source, .. } => go_file::words("open", path, &source),
        _ => format!(
            "error loading CA bundle for \"request-header::{}\": data does not contain any valid RSA or ECDSA \
             certificates",
            path.display()
        ),
    })
}

struct Jwt {
    issuers: Vec<Arc<Oidc>>,
    file: Option<ConfigFile>,
}

/// The issuers of the file, or the one of the flags.
///
/// Upstream: pkg/kubeapiserver/options/authentication.go, ToAuthenticationConfig (v1.36.4).
fn jwt(config: &Authentication, numbers: &Arc<Numbers>, clock: &Clock) -> Result<Jwt, String> {
    let wanted = &config.others;
    let disallowed = config.disallowed_issuers();
    let (configuration, algorithms, file) = match (&wanted.config_file, &wanted.oidc) {
        (Some(path), _) => {
            let (configuration, data) = read_config(path)?;
            check_anonymous(&configuration, wanted)?;
            let anonymous = configuration.anonymous.clone();
            let file = ConfigFile { path: path.clone(), data, anonymous, disallowed: disallowed.to_vec() };
            (configuration, Algorithm::ALL.to_vec(), Some(file))
        }
        (None, Some(oidc)) => {
            let mut settings = oidc.settings.clone();
            if let Some(path) = &oidc.ca_file {
                let pem = go_file::read(path)?;
                settings.issuer.certificate_authority = String::from_utf8_lossy(&pem).into_owned();
            }
            let configuration = AuthenticationConfiguration { jwt: vec![settings], anonymous: None };
            (configuration, algorithms(&oidc.algorithms)?, None)
        }
        (None, None) => return Ok(Jwt { issuers: Vec::new(), file: None }),
    };
    let errors = configuration.validate(&[]);
    if !errors.is_empty() {
        return Err(format!("invalid authentication configuration: {}", errors.aggregate()));
    }
    if let Some(problem) = configuration.jwt.iter().find_map(|jwt| overlap(jwt, disallowed)) {
        return Err(problem);
    }
    Ok(Jwt { issuers: issuers(&configuration.jwt, &algorithms, numbers, clock)?, file })
}

fn read_config(path: &Path) -> Result<(AuthenticationConfiguration, Vec<u8>), String> {
    let wrong = |problem: String| {
        let path = quote(&path.display().to_string());
        format!("failed to load authentication configuration from file {path}: {problem}")
    };
    let data = go_file::read(path).map_err(wrong)?;
    let configuration = AuthenticationConfiguration::parse(&data).map_err(wrong)?;
    Ok((configuration, data))
}

fn check_anonymous(
    configuration: &AuthenticationConfiguration,
    wanted: &Authenticators,
) -> Result<(), String> {
    if configuration.anonymous.is_some() && wanted.anonymous_was_set {
        return Err(
            "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in \
             authentication configuration file"
                .to_owned(),
        );
    }
    Ok(())
}

fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, String> {
    if names.is_empty() {
        return Ok(vec![Algorithm::Rs256]);
    }
    let known = |name: &String| {
        Algorithm::parse(name).ok_or_else(|| format!("oidc: unsupported signing alg: {}", quote(name)))
    };
    names.iter().map(known).collect()
}

fn issuers(
    settings: &[JwtSettings],
    algorithms: &[Algorithm],
    numbers: &Arc<Numbers>,
    clock: &Clock,
) -> Result<Vec<Arc<Oidc>>, String> {
    let one = |settings: &JwtSettings| {
        let oidc = Oidc::new(settings.clone(), algorithms, numbers.clone(), clock);
        oidc.map(Arc::new).map_err(|error| error.to_string())
    };
    settings.iter().map(one).collect()
}

fn token_webhook(
    webhook: &TokenWebhook,
    config: &Authentication,
    clock: &Clock,
) -> Result<Arc<dyn TokenAuthenticator>, String> {
    let mut target = kubeconfig_file::target(&webhook.kubeconfig)?;
    target.proxy = webhook.proxy.clone();
    let client = Client::new(target, clock).map_err(|error| error.to_string())?;
    let version = ReviewVersion::parse(&webhook.version).ok_or_else(|| {
        format!(
            "unsupported authentication webhook version {}, supported versions are \"v1\", \"v1beta1\"",
            quote(&webhook.version)
        )
    })?;
    let tokens = Arc::new(WebhookTokens::new(client, version, &config.api_audiences, clock.clone()));
    Ok(crate::access::remembering(tokens, webhook.cache_ttl, clock))
}

#[cfg(test)]
mod tests;
