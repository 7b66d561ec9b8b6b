//! Peer lease: a key under which other API servers find the address of this one.
//!
//! ```text
//! peerserverleases/apiserver-eqt2xq…    Endpoints with one address and one port; expires after 15 s
//! ```
//!
//! Upstream: apiserver/pkg/reconcilers/peer_endpoint_lease.go and pkg/controlplane/apiserver/peer.go (v1.36.4).

use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Map, Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::{Result, form};
use keelson_stdx::clock::Clock;
use keelson_store::{Expect, Form, StoreError, Write};
use tokio::sync::Mutex;

const KEYS: &str = "peerserverleases";
const LABEL: &str = "apiserverIdentity";
const INTERVAL: Duration = Duration::from_secs(10);
const LIVES: Duration = Duration::from_secs(15);

/// The address for other servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// `--peer-advertise-ip`, or the advertised address.
    pub ip: String,
    /// `--peer-advertise-port`, or the port that is listened on.
    pub port: u16,
}

impl PeerAddress {
    /// `192.0.2.1:6443`, `[2001:db8::1]:6443`.
    pub fn joined(&self) -> String {
        if self.ip.contains(':') {
            format!("[{}]:{}", self.ip, self.port)
        } else {
            format!("{}:{}", self.ip, self.port)
        }
    }
}

/// The lease of this server. Clones share it.
#[derive(Clone)]
pub struct PeerLease {
    server: String,
    address: PeerAddress,
    ground: Ground,
    /// The number of writes of the lease; `None` once it is removed for good.
    written: Arc<Mutex<Option<i64>>>,
}

impl PeerLease {
    /// The lease of the server called `server`, which is not written yet.
    pub fn new(server: String, address: PeerAddress, ground: Ground) -> PeerLease {
        PeerLease { server, address, ground, written: Arc::new(Mutex::new(Some(0))) }
    }

    /// Keeps the lease for as long as it is polled.
    pub async fn run(self, clock: Clock) {
        loop {
            if let Err(error) = self.renew().await {
                tracing::warn!(%error, "the peer lease of this server could not be kept");
            }
            clock.sleep(INTERVAL).await;
        }
    }

    /// Writes the lease, unless this server has left.
    pub async fn renew(&self) -> Result<()> {
        let mut written = self.written.lock().await;
        let Some(count) = *written else { return Ok(()) };
        let key = self.ground.layout.resource(KEYS).cluster(&self.server);
        let there = self.ground.store.get(&key).await?;
        let expect = there.map_or(Expect::Absent, |it| Expect::Unchanged(it.modified));
        let write = Write::put_for(self.endpoints(count + 1, self.ground.layout.form())?, LIVES);
        self.ground.store.commit(&key, expect, write).await?;
        *written = Some(count + 1);
        Ok(())
    }

    /// Removes the lease for good.
    pub async fn leave(&self) -> Result<()> {
        let mut written = self.written.lock().await;
        *written = None;
        let key = self.ground.layout.resource(KEYS).cluster(&self.server);
        let Some(there) = self.ground.store.get(&key).await? else { return Ok(()) };
        match self.ground.store.commit(&key, Expect::Unchanged(there.modified), Write::Delete).await {
            // The lease has expired already.
            Ok(_) | Err(StoreError::Changed { current: None, .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn endpoints(&self, generation: i64, form: Form) -> Result<bytes::Bytes> {
        let (mut address, mut port, mut subset) = (Map::new(), Map::new(), Map::new());
        address.set("ip", self.address.ip.as_str());
        port.set("name", "https");
        port.set("port", i64::from(self.address.port));
        port.set("protocol", "TCP");
        subset.set("addresses", vec![Value::Map(address)]);
        subset.set("ports", vec![Value::Map(port)]);
        let mut object = Object { kind: "Endpoints".into(), api_version: "v1".into(), ..Object::default() };
        object.meta.generation = generation;
        object.meta.labels.set(LABEL, self.server.as_str());
        object.fields.set("subsets", vec![Value::Map(subset)]);
        form::write(&object, form)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keelson_registry::live::Ground;
    use keelson_stdx::clock::Clock;
    use keelson_store::{Layout, MemoryStore};

    use super::{PeerAddress, PeerLease};

    #[test]
    fn an_address_is_joined_with_its_port() {
        let check = |ip: &str, expected: &str| {
            assert_eq!(PeerAddress { ip: ip.to_owned(), port: 6443 }.joined(), expected);
        };
        check("192.0.2.1", "192.0.2.1:6443");
        check("2001:db8::1", "[2001:db8::1]:6443");
    }

    #[tokio::test]
    async fn a_server_that_has_left_writes_no_lease() {
        let (clock, _) = Clock::manual();
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let ground = Ground::new(store, Layout::default(), clock);
        let address = PeerAddress { ip: "192.0.2.1".to_owned(), port: 6443 };
        let lease = PeerLease::new("apiserver-a".to_owned(), address, ground.clone());
        let key = ground.layout.resource("peerserverleases").cluster("apiserver-a");
        let text = async || {
            let there = ground.store.get(&key).await.expect("a store");
            there.map(|it| String::from_utf8_lossy(&it.value).into_owned())
        };
        lease.renew().await.expect("a lease");
        lease.renew().await.expect("a lease");
        let written = text().await.expect("it was written");
        for part in ["192.0.2.1", "apiserverIdentity", "https", "\"generation\":2"] {
            assert!(written.contains(part), "{part} is missing in {written}");
        }
        lease.leave().await.expect("it goes");
        assert_eq!(text().await, None);
        lease.renew().await.expect("nothing is done");
        assert_eq!(text().await, None);
    }
}
