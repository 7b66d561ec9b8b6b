//! The node ports of the cluster: a set of bits in the store that all servers change by compare and swap.
//!
//! Upstream: pkg/registry/core/service/allocator/storage/storage.go (v1.36.4).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::{Error, Result, form};
use keelson_store::{Entry, Expect, Form, Key, Store, StoreError, Write};
use tokio::sync::Mutex;

use super::counts::ServiceCounts;
use super::port_set::{PortRange, PortSet};

/// The number of conflicts in a row after which a change is given up.
const ATTEMPTS: usize = 1000;

/// The allocator of node ports.
pub struct NodePorts {
    store: Arc<dyn Store>,
    key: Key,
    range: PortRange,
    form: Form,
    /// The last known stored value. A writer holds the lock, so that a server does not conflict with itself.
    known: Mutex<Option<Entry>>,
    counts: Arc<ServiceCounts>,
}

/// The stored value.
pub struct Stored {
    /// The range of which the set was written.
    pub range: PortRange,
    /// The allocated ports.
    pub ports: PortSet,
}

impl NodePorts {
    /// The ports of `range`, as they are in the store of `ground`.
    pub fn new(ground: &Ground, range: PortRange) -> NodePorts {
        let key = ground.layout.resource("ranges").cluster("servicenodeports");
        let form = ground.layout.form();
        NodePorts {
            store: ground.store.clone(),
            key,
            range,
            form,
            known: Mutex::default(),
            counts: Arc::default(),
        }
    }

    /// The same with these metrics.
    #[must_use]
    pub fn counted(self, counts: Arc<ServiceCounts>) -> NodePorts {
        NodePorts { counts, ..self }
    }

    /// The metrics.
    pub fn counts(&self) -> &ServiceCounts {
        &self.counts
    }

    /// The operator's range.
    pub fn range(&self) -> PortRange {
        self.range
    }

    /// The ports as they are.
    pub async fn look(&self) -> Result<PortSet> {
        self.ports(self.store.get(&self.key).await?.as_ref())
    }

    /// Changes the ports with `edit`, which is called again after a conflict. If it fails, nothing changes.
    pub(super) async fn change<T>(&self, mut edit: impl FnMut(&mut PortSet) -> Result<T>) -> Result<T> {
        let mut known = self.known.lock().await;
        if known.is_none() {
            *known = self.store.get(&self.key).await?;
        }
        for _ in 0..ATTEMPTS {
            let before = self.ports(known.as_ref())?;
            let mut ports = before.clone();
            let done = edit(&mut ports);
            // Only the stored value counts: an outdated one may be the reason of a failure.
            let nothing_to_do = ports == before || done.is_err();
            match self.swap(&mut known, (!nothing_to_do).then_some(&ports)).await? {
                Swap::Done => {
                    self.counts.ports_seen(if done.is_ok() { &ports } else { &before });
                    return done;
                }
                Swap::Lost => {}
            }
        }
        Err(Error::Timeout)
    }

    /// Replaces everything by `edit`, which gets the stored value, if there is one. For the repair loop.
    pub async fn rebuild(&self, mut edit: impl FnMut(Option<Stored>) -> PortSet) -> Result<()> {
        let mut known = self.known.lock().await;
        for _ in 0..ATTEMPTS {
            *known = self.store.get(&self.key).await?;
            let stored = known.as_ref().and_then(|it| read(&it.value));
            let is_current = stored.as_ref().is_some_and(|it| it.range == self.range);
            let before = stored.as_ref().map(|it| it.ports.clone());
            let ports = edit(stored);
            let is_same = is_current && before.as_ref() == Some(&ports);
            if is_same || matches!(self.swap(&mut known, Some(&ports)).await?, Swap::Done) {
                self.counts.ports_seen(&ports);
                return Ok(());
            }
        }
        Err(Error::Timeout)
    }

    /// Writes `ports`, or checks that the known value is still stored.
    async fn swap(&self, known: &mut Option<Entry>, ports: Option<&PortSet>) -> Result<Swap> {
        let Some(ports) = ports else {
            let there = self.store.get(&self.key).await?;
            let is_known = there.as_ref().map(|it| it.modified) == known.as_ref().map(|it| it.modified);
            *known = there;
            return Ok(if is_known { Swap::Done } else { Swap::Lost });
        };
        let expect = known.as_ref().map_or(Expect::Absent, |it| Expect::Unchanged(it.modified));
        let value = write(self.range, ports, self.form)?;
        let write = Write::Put { value: value.clone(), lives: None };
        let before = known.take();
        match self.store.commit(&self.key, expect, write).await {
            Ok(modified) => {
                let (created, version) = before.map_or((modified, 0), |it| (it.created, it.version));
                *known =
                    Some(Entry { key: self.key.clone(), value, created, modified, version: version + 1 });
                Ok(Swap::Done)
            }
            Err(StoreError::Changed { current, .. }) => {
                *known = current.map(|it| *it);
                Ok(Swap::Lost)
            }
            Err(StoreError::Exists(_)) => {
                *known = self.store.get(&self.key).await?;
                Ok(Swap::Lost)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn ports(&self, entry: Option<&Entry>) -> Result<PortSet> {
        let stored = entry.and_then(|it| read(&it.value)).ok_or_else(|| {
            Error::Unclassified(String::from(
                "cannot allocate resources of type servicenodeportallocations at this time",
            ))
        })?;
        if stored.range != self.range {
            let text = "the provided range does not match the current range";
            return Err(Error::Unclassified(String::from(text)));
        }
        Ok(stored.ports)
    }
}

enum Swap {
    Done,
    /// Another writer was faster.
    Lost,
}

fn write(range: PortRange, ports: &PortSet, form: Form) -> Result<bytes::Bytes> {
    let mut object = Object { kind: "RangeAllocation".into(), api_version: "v1".into(), ..Object::default() };
    object.fields.set("range", range.to_string());
    object.fields.set("data", STANDARD.encode(ports.to_bytes()));
    form::write(&object, form)
}

fn read(value: &bytes::Bytes) -> Option<Stored> {
    let fields = form::read(value).ok()?.fields;
    let range = PortRange::parse(fields.str("range")?)?;
    let data = STANDARD.decode(fields.get("data").and_then(Value::as_str).unwrap_or_default()).ok()?;
    Some(Stored { range, ports: PortSet::from_bytes(range, &data) })
}

#[cfg(test)]
mod tests {
    use super::{NodePorts, PortRange, PortSet};
    use crate::shared::testing::ground;

    const RANGE: PortRange = PortRange { first: 30000, last: 30099 };

    #[tokio::test]
    async fn two_servers_never_give_the_same_port() {
        let ground = ground();
        let servers = [NodePorts::new(&ground, RANGE), NodePorts::new(&ground, RANGE)];
        servers[0].rebuild(|_| PortSet::new(RANGE)).await.expect("a new set");
        let mut given = std::collections::BTreeSet::new();
        for round in 0..100 {
            let port = servers[round % 2].change(|ports| Ok(ports.take_any().expect("a free one"))).await;
            assert!(given.insert(port.expect("a port")), "given twice");
        }
        let full = servers[0].change(|ports| Ok(ports.take_any().is_err())).await.expect("an answer");
        assert!(full);
    }

    #[tokio::test]
    async fn what_another_server_gave_back_can_be_had() {
        let ground = ground();
        let [one, two] = [NodePorts::new(&ground, RANGE), NodePorts::new(&ground, RANGE)];
        one.rebuild(|_| PortSet::new(RANGE)).await.expect("a new set");
        let take = |ports: &mut PortSet| Ok(ports.take(30050).is_ok());
        assert!(one.change(take).await.expect("an answer"));
        assert!(!two.change(take).await.expect("an answer"));
        two.change(|ports| {
            ports.give_back(30050);
            Ok(())
        })
        .await
        .expect("given back");
        assert!(one.change(take).await.expect("an answer"));
    }

    #[tokio::test]
    async fn nothing_is_given_before_anybody_has_looked() {
        let ports = NodePorts::new(&ground(), RANGE);
        assert!(ports.change(|ports| Ok(ports.take_any().is_ok())).await.is_err());
    }
}
