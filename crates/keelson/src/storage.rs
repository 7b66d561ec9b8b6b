//! Storage: selects, opens, monitors and closes the store.

mod cache_metrics;
mod measured;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use keelson_server::{Builder, Check, NamedCheck};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use keelson_store::{Form, Key, Layout, MemoryStore, RoutedStore, Store, StoreError};
use keelson_store_etcd::{EtcdStore, Filled, Tls, follow_compactions, keep_compacting};
use keelson_store_mvcc::MvccStore;
use keelson_webhook_client::system_authorities;

use crate::config::{Config, Etcd, StoreChoice};
use crate::error::Error;

pub(crate) use measured::Measures;

/// How long etcd may be unreachable when the server starts.
///
/// Upstream: apiserver/pkg/storage/storagebackend/factory/etcd3.go, dialTimeout (v1.36.4).
const REACHED_WITHIN: Duration = Duration::from_secs(20);
const ONE_ATTEMPT: Duration = Duration::from_secs(2);
/// A refused connection fails at once, so wait between attempts.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);

/// The store, and how to close it.
pub(crate) enum Storage {
    Embedded(Arc<MvccStore>),
    Memory(Arc<MemoryStore>),
    Etcd(Clusters),
}

/// The etcd clusters: one for most resources, and one for each resource with its own.
pub(crate) struct Clusters {
    store: Arc<dyn Store>,
    all: Vec<EtcdStore>,
}

impl Storage {
    /// Opens the store; waits for an etcd that is unreachable. Its metrics are recorded in `measures`.
    pub(crate) async fn open(
        config: &Config,
        clock: &Clock,
        measures: Option<&Arc<Measures>>,
    ) -> Result<Storage, Error> {
        match config.store {
            StoreChoice::Memory => Ok(Storage::Memory(Arc::new(MemoryStore::new(clock.clone())))),
            StoreChoice::Embedded => {
                let options = keelson_store_mvcc::Options {
                    compaction_interval: config.compaction_interval,
                    ..keelson_store_mvcc::Options::new(config.data_dir.join("store"), clock.clone())
                };
                Ok(Storage::Embedded(Arc::new(MvccStore::open(options).await?)))
            }
            StoreChoice::Etcd => Clusters::open(&config.etcd, clock, measures).await.map(Storage::Etcd),
        }
    }

    /// The store of objects; its latency is measured if it is remote.
    pub(crate) fn measured(&self, measures: &Arc<Measures>) -> Arc<dyn Store> {
        match self {
            Storage::Embedded(_) | Storage::Memory(_) => self.store(),
            Storage::Etcd(_) => measures.of(self.store()),
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Storage::Embedded(store) => store.clone(),
            Storage::Memory(store) => store.clone(),
            Storage::Etcd(clusters) => clusters.store.clone(),
        }
    }

    /// The form in which objects of built-in kinds are stored: only etcd is shared with upstream's servers.
    pub(crate) fn form(&self, config: &Config) -> Form {
        match self {
            Storage::Embedded(_) | Storage::Memory(_) => Form::Json,
            Storage::Etcd(_) => config.etcd.form,
        }
    }

    /// Starts the background loops of the store.
    pub(crate) fn start_loops(&self, config: &Config, measures: &Arc<Measures>, loops: &Tasks) {
        let Storage::Etcd(clusters) = self else { return };
        for cluster in &clusters.all {
            loops.spawn("compactions of etcd", follow_compactions(cluster.clone()));
        }
        if let Some(interval) = config.compaction_interval {
            for cluster in &clusters.all {
                loops.spawn("etcd compaction", keep_compacting(cluster.clone(), interval));
            }
        }
        if let Some(interval) = config.etcd.size_interval {
            loops.spawn("etcd sizes", measures.clone().keep_sizes(clusters.all.clone(), interval));
        }
    }

    /// Health and readiness checks, separate ones for each etcd cluster. The names are upstream's.
    ///
    /// Upstream: apiserver/pkg/server/options/etcd.go, addEtcdHealthEndpoint (v1.36.4).
    pub(crate) fn checks(&self, config: &Etcd, clock: &Clock, builder: Builder) -> Builder {
        let stores: Vec<Arc<dyn Store>> = match self {
            Storage::Etcd(clusters) => {
                clusters.all.iter().map(|it| Arc::new(it.clone()) as Arc<dyn Store>).collect()
            }
            Storage::Embedded(_) | Storage::Memory(_) => vec![self.store()],
        };
        stores.into_iter().enumerate().fold(builder, |builder, (number, store)| {
            let (health, ready) = match number.checked_sub(1) {
                None => (String::from("etcd"), String::from("etcd-readiness")),
                Some(number) => {
                    (format!("etcd-override-{number}"), format!("etcd-override-readiness-{number}"))
                }
            };
            let check = |timeout| StoreCheck { store: store.clone(), timeout, clock: clock.clone() };
            builder
                .check(NamedCheck::new(health, check(config.health_timeout)).in_group("etcd"))
                .readyz_check(NamedCheck::new(ready, check(config.ready_timeout)).in_group("etcd-readiness"))
        })
    }

    /// Whether other servers may use the same store.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Storage::Etcd(_))
    }

    pub(crate) async fn close(&self) {
        if let Storage::Embedded(store) = self {
            store.close().await;
        }
    }
}

impl Clusters {
    async fn open(config: &Etcd, clock: &Clock, measures: Option<&Arc<Measures>>) -> Result<Clusters, Error> {
        let tls = tls(config)?;
        let measures = measures.cloned();
        let lease_filled: Filled = Arc::new(move |entries| {
            if let Some(measures) = &measures {
                measures.lease_filled(entries);
            }
        });
        let cluster = |servers: &[String]| {
            EtcdStore::new(keelson_store_etcd::Options {
                tls: tls.clone(),
                lease_reuse: config.lease_reuse,
                lease_filled: lease_filled.clone(),
                ..keelson_store_etcd::Options::new(servers.to_vec(), clock.clone())
            })
        };
        let main = cluster(&config.servers)?;
        let mut all = vec![main.clone()];
        let mut known: Vec<(Vec<String>, EtcdStore)> = Vec::new();
        let mut others: Vec<(Key, Arc<dyn Store>)> = Vec::new();
        for other in &config.overrides {
            let mut servers = other.servers.clone();
            servers.sort_unstable();
            let store = match known.iter().find(|it| it.0 == servers) {
                Some((_, store)) => store.clone(),
                None => {
                    let store = cluster(&other.servers)?;
                    known.push((servers, store.clone()));
                    all.push(store.clone());
                    store
                }
            };
            let keys = Layout::new(&config.prefix).resource(storage_path(&other.group, &other.resource));
            others.push((keys.all().clone(), Arc::new(store)));
        }
        for cluster in &all {
            wait_for(cluster, clock).await?;
        }
        let store: Arc<dyn Store> = match others.is_empty() {
            true => Arc::new(main),
            false => Arc::new(RoutedStore::new(Arc::new(main), others)),
        };
        Ok(Clusters { store, all })
    }
}

/// Waits until a cluster responds, or gives up.
async fn wait_for(cluster: &EtcdStore, clock: &Clock) -> Result<(), Error> {
    let deadline = clock.monotonic() + REACHED_WITHIN;
    let endpoints = cluster.endpoints().join(",");
    loop {
        let Err(error) = ask(cluster, clock, ONE_ATTEMPT).await else { return Ok(()) };
        if clock.monotonic() >= deadline {
            return Err(Error::EtcdUnreachable { endpoints, waited: REACHED_WITHIN, source: error });
        }
        // The error of one member says more than a timeout.
        let error = match clock.timeout(ONE_ATTEMPT, cluster.reach(0)).await {
            Some(Err(reason)) => reason,
            _ => error,
        };
        let cause = std::error::Error::source(&error).map(tracing::field::display);
        tracing::warn!(endpoints, cause, "etcd does not answer and is asked again");
        clock.sleep(BETWEEN_ATTEMPTS).await;
    }
}

/// Checks that a store works, within a timeout.
async fn ask(store: &dyn Store, clock: &Clock, time: Duration) -> Result<(), StoreError> {
    let late = || StoreError::Unavailable(std::io::ErrorKind::TimedOut.into());
    clock.timeout(time, store.health()).await.unwrap_or_else(|| Err(late()))
}

/// The TLS settings of etcd; without a CA file the CAs of the system are trusted.
fn tls(config: &Etcd) -> Result<Tls, Error> {
    let read =
        |path: &Path| std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source });
    let authorities = match &config.ca_file {
        Some(path) => read(path)?,
        None => system_authorities(),
    };
    let identity = config.cert_file.clone().zip(config.key_file.clone()).map(|(certificate, key)| {
        let read = move || Ok((std::fs::read(&certificate)?, std::fs::read(&key)?));
        Arc::new(read) as keelson_store_etcd::Identity
    });
    let is_given = config.ca_file.is_some() || config.cert_file.is_some() || config.key_file.is_some();
    Ok(Tls { authorities, identity, is_given })
}

/// Upstream: pkg/kubeapiserver/default_storage_factory_builder.go, SpecialDefaultResourcePrefixes (v1.36.4).
fn storage_path<'r>(group: &str, resource: &'r str) -> &'r str {
    match (group, resource) {
        ("", "replicationcontrollers") => "controllers",
        ("", "endpoints") => "services/endpoints",
        ("", "nodes") => "minions",
        ("", "services") => "services/specs",
        ("extensions" | "networking.k8s.io", "ingresses") => "ingress",
        ("events.k8s.io", "events") => "events",
        _ => resource,
    }
}

/// The health check of the store itself.
struct StoreCheck {
    store: Arc<dyn Store>,
    timeout: Duration,
    clock: Clock,
}

impl Check for StoreCheck {
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async {
            ask(&*self.store, &self.clock, self.timeout).await.map_err(|error| match &error {
                StoreError::Unavailable(cause) => format!("error getting data from etcd: {cause}"),
                other => other.to_string(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::storage_path;

    #[test]
    fn some_resources_lie_under_old_names() {
        assert_eq!(storage_path("", "nodes"), "minions");
        assert_eq!(storage_path("events.k8s.io", "events"), "events");
        assert_eq!(storage_path("apps", "deployments"), "deployments");
    }
}
