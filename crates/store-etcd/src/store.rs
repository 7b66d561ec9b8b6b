//! EtcdStore: the public face.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt};
use keelson_stdx::clock::Clock;
use keelson_store::{At, Entry, Event, Expect, Key, Page, Result, Revision, Store, Tip, Write};

use crate::client::Client;
use crate::compact::Forgotten;
use crate::error::Error;
use crate::lease::{Filled, Leases};
use crate::messages::{StatusRequest, StatusResponse, path};
use crate::tls::Tls;
use crate::watch::{self, Pokes, Watching};

/// How to connect to a cluster.
#[derive(Clone)]
pub struct Options {
    /// The addresses of its members: `https://10.0.0.1:2379`, `unix:///run/kine.sock`. The first one decides whether
    /// all of them are reached with TLS.
    pub endpoints: Vec<String>,
    /// The certificates, for when there is TLS.
    pub tls: Tls,
    /// The clock.
    pub clock: Clock,
    /// How long new entries share a lease at most.
    pub lease_reuse: Duration,
    /// Hears how many entries shared a lease.
    pub lease_filled: Filled,
    /// How long a watch may be silent before it requests a progress notification.
    pub progress_interval: Duration,
}

impl Options {
    /// The usual bounds.
    #[must_use]
    pub fn new(endpoints: Vec<String>, clock: Clock) -> Options {
        Options {
            endpoints,
            tls: Tls::default(),
            clock,
            lease_reuse: Duration::from_secs(60),
            lease_filled: Arc::new(|_| ()),
            progress_interval: Duration::from_secs(10),
        }
    }
}

/// A cluster of etcd. Clones are the same store.
#[derive(Clone)]
pub struct EtcdStore {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) client: Client,
    pub(crate) leases: Leases,
    pub(crate) clock: Clock,
    pub(crate) progress_interval: Duration,
    /// The watches that can be asked to check their progress.
    pub(crate) pokes: Pokes,
    /// The revision up to which the store is known to be compacted.
    pub(crate) forgotten: Forgotten,
}

impl EtcdStore {
    /// Connects on the first request. Must be called within a runtime.
    pub fn new(options: Options) -> std::result::Result<EtcdStore, Error> {
        let Options { endpoints, tls, clock, lease_reuse, lease_filled, progress_interval } = options;
        let client = Client::new(&endpoints, &tls)?;
        let leases = Leases::new(clock.clone(), lease_reuse, lease_filled);
        let pokes = Pokes::default();
        let forgotten = Forgotten::default();
        let shared = Shared { client, leases, clock, progress_interval, pokes, forgotten };
        Ok(EtcdStore { shared: Arc::new(shared) })
    }

    /// The addresses of the members.
    #[must_use]
    pub fn endpoints(&self) -> Vec<String> {
        self.shared.client.endpoints()
    }

    /// Sends one request to one member: a caller that waits for etcd to start needs the reason of a failure.
    pub async fn reach(&self, member: usize) -> Result<()> {
        let client = &self.shared.client;
        let status: std::result::Result<StatusResponse, _> =
            client.ask_member(member, path::STATUS, StatusRequest {}).await;
        Ok(status.map(drop).map_err(Error::from)?)
    }

    /// The size of a member's database on disk, in bytes.
    pub async fn size(&self, member: usize) -> Result<u64> {
        let status: StatusResponse = self
            .shared
            .client
            .ask_member(member, path::STATUS, StatusRequest {})
            .await
            .map_err(Error::from)?;
        Ok(u64::try_from(status.db_size).unwrap_or_default())
    }
}

impl Store for EtcdStore {
    fn tip<'s>(&'s self, prefix: &'s Key) -> BoxFuture<'s, Result<Tip>> {
        Box::pin(async move {
            let latest = self.shared.latest(prefix).await?;
            // The caller is about to wait until its watch has reached this revision.
            self.shared.pokes.poke(prefix, latest);
            Ok(Tip { latest, changed: latest })
        })
    }

    fn get<'s>(&'s self, key: &'s Key) -> BoxFuture<'s, Result<Option<Entry>>> {
        Box::pin(self.shared.get(key))
    }

    fn list<'s>(
        &'s self,
        prefix: &'s Key,
        after: Option<&'s Key>,
        limit: usize,
        at: At,
    ) -> BoxFuture<'s, Result<Page>> {
        Box::pin(self.shared.list(prefix, after, limit, at))
    }

    fn commit<'s>(&'s self, key: &'s Key, expect: Expect, write: Write) -> BoxFuture<'s, Result<Revision>> {
        Box::pin(self.shared.commit(key, expect, write))
    }

    fn watch(&self, prefix: &Key, after: Revision) -> BoxStream<'static, Result<Event>> {
        watch::events(Watching::new(self.shared.clone(), prefix.clone(), after)).boxed()
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.shared.compact(before))
    }

    fn forgotten_before(&self, _: &Key) -> Option<Revision> {
        self.shared.forgotten.before()
    }

    fn health(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.shared.latest(&Key::from("/registry/health")).await.map(drop) })
    }
}
