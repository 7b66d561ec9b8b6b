//! Vault: the transforms of all resources, according to the latest configuration.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use keelson_stdx::clock::Clock;
use keelson_store::{Key, Opened, Transform, TransformError, Transforming, Transforms};
use tokio::sync::watch;

use crate::chain::{self, Chain, Keys, Provider, Purpose};
use crate::cipher::{AesCbc, AesGcm, Cipher, Secretbox};
use crate::config::{Configuration, KmsRule, NamedKey, Problem, ProviderRule, group_resource};
use crate::error::Error;
use crate::kms::{OldService, Service, ServiceSettings};
use crate::meter::Meter;

/// New services are waited for at least so long before a new configuration counts.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// The settings of a vault, apart from the configuration.
#[derive(Clone)]
pub struct Settings {
    /// The clock.
    pub clock: Clock,
    /// The metrics.
    pub meter: Arc<dyn Meter>,
    /// Whether errors name the key of an unreadable value, because it can be deleted.
    pub names_unreadable: bool,
    /// Whether key management services of version 1 may be used.
    pub old_services: bool,
}

/// Encrypts and decrypts the values of every resource. Clones are the same vault.
#[derive(Clone)]
pub struct Vault {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Settings,
    current: ArcSwap<Current>,
    /// The number of replacements of the configuration.
    replacements: watch::Sender<u64>,
}

/// The providers and services of a configuration.
#[derive(Default)]
struct Current {
    /// The chains by group and resource, either of which may be `*`.
    chains: HashMap<(String, String), Arc<Chain>>,
    services: Vec<Watched>,
    /// Twice the timeout of all services: concurrent calls to them take no longer.
    patience: Duration,
}

/// A service with a health check.
enum Watched {
    Service(Arc<Service>),
    OldService(Arc<OldService>),
}

impl Watched {
    async fn check(&self) -> Result<(), String> {
        match self {
            Watched::Service(service) => service.check().await,
            Watched::OldService(service) => service.check().await,
        }
    }
}

impl Vault {
    /// Makes the vault of a configuration. Services need not be there yet.
    pub async fn load(configuration: &Configuration, settings: Settings) -> Result<Vault, Problem> {
        let current = Current::new(configuration, &settings).await?;
        let current = ArcSwap::from_pointee(current);
        Ok(Vault { shared: Arc::new(Shared { settings, current, replacements: watch::Sender::new(0) }) })
    }

    /// Takes over another configuration, if its services are well.
    ///
    /// Upstream: encryptionconfig/controller/controller.go, processWorkItem (v1.36.4).
    pub async fn replace(&self, configuration: &Configuration) -> Result<(), Problem> {
        let settings = &self.shared.settings;
        let new = Current::new(configuration, settings).await?;
        let deadline = settings.clock.monotonic() + new.patience.max(LEAST_PATIENCE);
        while let Err(error) = new.health().await {
            if settings.clock.monotonic() >= deadline {
                return Err(Problem::Build(format!(
                    "health check for new transformers failed, polling error context deadline exceeded: {error}"
                )));
            }
            settings.clock.sleep(PAUSE).await;
        }
        self.shared.current.store(Arc::new(new));
        self.shared.replacements.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Whether all services are healthy.
    pub async fn health(&self) -> Result<(), String> {
        let current = self.shared.current.load_full();
        current.health().await
    }

    /// The number of services.
    #[must_use]
    pub fn services(&self) -> usize {
        self.shared.current.load().services.len()
    }

    /// Whether one of the services is of version 1.
    #[must_use]
    pub fn has_old_services(&self) -> bool {
        let current = self.shared.current.load();
        current.services.iter().any(|it| matches!(it, Watched::OldService(_)))
    }

    /// Whether this service is healthy.
    pub async fn service_health(&self, position: usize) -> Result<(), String> {
        let current = self.shared.current.load_full();
        match current.services.get(position) {
            Some(service) => service.check().await,
            None => Ok(()),
        }
    }
}

impl Transforms for Vault {
    fn of(&self, group: &str, resource: &str) -> Arc<dyn Transform> {
        let name = if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") };
        let exact = (group.to_owned(), resource.to_owned());
        let of_group = (group.to_owned(), "*".to_owned());
        let of_all = ("*".to_owned(), "*".to_owned());
        Arc::new(OfResource { shared: self.shared.clone(), name, rules: [exact, of_group, of_all] })
    }

    fn names_unreadable(&self) -> bool {
        self.shared.settings.names_unreadable
    }
}

impl Current {
    async fn new(configuration: &Configuration, settings: &Settings) -> Result<Current, Problem> {
        let mut current = Current::default();
        let mut providers: HashMap<(String, String), Vec<Provider>> = HashMap::new();
        for rule in &configuration.rules {
            let mut made = Vec::with_capacity(rule.providers.len());
            for provider in &rule.providers {
                made.push(current.provider(provider, settings).await.map_err(Problem::Build)?);
            }
            for name in &rule.resources {
                let (group, resource) = group_resource(name);
                for (mask_group, mask) in [(group, "*"), ("*", "*")] {
                    if providers.contains_key(&(mask_group.to_owned(), mask.to_owned())) {
                        let mask = if mask_group.is_empty() {
                            "*.".to_owned()
                        } else {
                            format!("{mask}.{mask_group}")
                        };
                        return Err(Problem::Build(format!(
                            "resource {name:?} is masked by earlier rule {mask:?}"
                        )));
                    }
                }
                providers.entry((group.to_owned(), resource.to_owned())).or_default().extend(made.clone());
            }
        }
        current.chains = providers.into_iter().map(|(at, made)| (at, Arc::new(Chain(made)))).collect();
        Ok(current)
    }

    async fn provider(&mut self, rule: &ProviderRule, settings: &Settings) -> Result<Provider, String> {
        if let Some(keys) = &rule.aes_gcm {
            let cipher = |bytes: &[u8]| AesGcm::new(bytes).map(Cipher::AesGcm);
            return keyed(("k8s:enc:aesgcm:v1:", "AES"), keys, cipher);
        }
        if let Some(keys) = &rule.aes_cbc {
            let cipher = |bytes: &[u8]| AesCbc::new(bytes).map(|it| Cipher::AesCbc(Box::new(it)));
            return keyed(("k8s:enc:aescbc:v1:", "AES"), keys, cipher);
        }
        if let Some(keys) = &rule.secretbox {
            let cipher = |bytes: &[u8]| Secretbox::new(bytes).map(|it| Cipher::Secretbox(Box::new(it)));
            return keyed(("k8s:enc:secretbox:v1:", "Secretbox"), keys, cipher);
        }
        match &rule.kms {
            Some(kms) => self.service(kms, settings).await,
            None => Ok(Provider::Identity),
        }
    }

    async fn service(&mut self, kms: &KmsRule, settings: &Settings) -> Result<Provider, String> {
        let name = &kms.name;
        let made = ServiceSettings {
            name,
            endpoint: &kms.endpoint,
            timeout: kms.timeout(),
            clock: settings.clock.clone(),
            meter: settings.meter.clone(),
        };
        if kms.api_version == "v1" && settings.old_services {
            tracing::info!(
                "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead."
            );
            let service = OldService::new(made, kms.cache_size.unwrap_or_default());
            let service = Arc::new(service.map_err(|error| {
                format!("could not configure KMSv1-Plugin's probe {name:?}, error: {error}")
            })?);
            self.patience += 4 * kms.timeout();
            self.services.push(Watched::OldService(service.clone()));
            return Ok(Provider::OldService(service));
        }
        if kms.api_version == "v1" {
            return Err("KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  \
                        Set --feature-gates=KMSv1=true to use the deprecated KMSv1 feature."
                .to_owned());
        }
        let service = Service::start(made).await;
        let service = service
            .map_err(|error| format!("could not configure KMSv2-Plugin's probe {name:?}, error: {error}"))?;
        self.patience += 2 * kms.timeout();
        self.services.push(Watched::Service(service.clone()));
        Ok(Provider::Service(service))
    }

    async fn health(&self) -> Result<(), String> {
        let mut problems = Vec::new();
        for (position, service) in self.services.iter().enumerate() {
            if let Err(problem) = service.check().await {
                problems.push(format!("kms-provider-{position}: {problem}"));
            }
        }
        match problems.len() {
            0 => Ok(()),
            1 => Err(problems.remove(0)),
            _ => Err(format!("[{}]", problems.join(", "))),
        }
    }
}

fn keyed(
    (prefix, provider): (&'static str, &'static str),
    keys: &[NamedKey],
    cipher: impl Fn(&[u8]) -> Option<Cipher>,
) -> Result<Provider, String> {
    let key = |key: &NamedKey| {
        let cipher = key.bytes().and_then(|bytes| cipher(&bytes));
        let cipher =
            cipher.ok_or_else(|| format!("error while creating cipher for named key {}", key.name))?;
        Ok((format!("{}:", key.name), cipher))
    };
    let keys = keys.iter().map(key).collect::<Result<_, String>>()?;
    Ok(Provider::Keys(Arc::new(Keys { prefix, provider, keys })))
}

/// The transform of one resource, whatever the configuration is by then.
struct OfResource {
    shared: Arc<Shared>,
    /// `deployments.apps`
    name: String,
    /// The keys under which its chain may be found, the most specific first.
    rules: [(String, String); 3],
}

impl OfResource {
    fn chain(&self) -> Option<Arc<Chain>> {
        let current = self.shared.current.load();
        self.rules.iter().find_map(|rule| current.chains.get(rule)).cloned()
    }

    fn purpose<'p>(&'p self, key: &'p Key) -> Purpose<'p> {
        let Settings { clock, meter, .. } = &self.shared.settings;
        Purpose { resource: &self.name, place: key.as_str(), meter: &**meter, clock }
    }
}

impl Transform for OfResource {
    fn open<'t>(&'t self, key: &'t Key, stored: &'t Bytes) -> Transforming<'t, Opened> {
        Box::pin(async move {
            let opened = match self.chain() {
                Some(chain) => chain.open(stored, &self.purpose(key)).await,
                None => chain::open_plain(stored),
            };
            opened.map_err(|error| failed(&error))
        })
    }

    fn seal<'t>(&'t self, key: &'t Key, value: &'t Bytes) -> Transforming<'t, Bytes> {
        Box::pin(async move {
            match self.chain() {
                Some(chain) => chain.seal(value, &self.purpose(key)).await.map_err(|error| failed(&error)),
                None => Ok(value.clone()),
            }
        })
    }

    fn replacements(&self) -> watch::Receiver<u64> {
        self.shared.replacements.subscribe()
    }
}

fn failed(error: &Error) -> TransformError {
    TransformError { problem: error.to_string(), passing: error.is_passing() }
}

#[cfg(test)]
mod tests;
