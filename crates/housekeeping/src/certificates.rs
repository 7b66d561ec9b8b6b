//! CertificateSigningRequests: approves those of nodes, signs approved ones, and deletes old ones.
//!
//! Upstream leaves this to kube-controller-manager. A standalone server has none, and a node that waits for
//! its certificate for ever is useless; beside a controller manager only one of both should sign.

mod approver;
mod authority;
mod cleaner;
mod der;
mod policy;
mod request;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_authz::Authorizer;
use keelson_object::{Follower, Frozen, Map, Object, SmolStr, Value};
use keelson_registry::options::Part;
use keelson_registry::{CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;

use authority::Authority;
pub(crate) use authority::pem;
use request::Request;

const GROUP: &str = "certificates.k8s.io";
const PLURAL: &str = "certificatesigningrequests";

/// The pause before a request is looked at again that could not be handled: the permission may have been
/// granted since.
const RETRY: Duration = Duration::from_secs(5);

/// The approver and signer.
pub struct Certificates {
    /// The catalog of the requests.
    pub catalog: CatalogHandle,
    /// Decides which requests are approved automatically.
    pub authorizer: Arc<dyn Authorizer>,
    /// The certificate of the authority that signs; read again for each signature, because it may be renewed.
    pub authority_certificate: PathBuf,
    /// Its key.
    pub authority_key: PathBuf,
    /// Time.
    pub clock: Clock,
}

/// Requests that have to be handled.
#[derive(Default)]
struct Pending {
    names: Mutex<BTreeSet<SmolStr>>,
    news: Notify,
}

impl Pending {
    fn add(&self, names: impl IntoIterator<Item = SmolStr>) {
        self.names.lock().extend(names);
        self.news.notify_one();
    }
}

impl Follower for Pending {
    fn reset(&self, objects: Vec<Object>) {
        self.add(objects.into_iter().map(|it| it.meta.name));
    }

    fn put(&self, object: Object) {
        self.add([object.meta.name]);
    }

    fn remove(&self, _: &Frozen) {}
}

impl Certificates {
    /// Runs for as long as it is polled.
    pub async fn run(self) {
        let pending = Arc::new(Pending::default());
        let follow = crate::follow::run(
            self.catalog.clone(),
            GROUP,
            PLURAL,
            Arc::clone(&pending) as Arc<dyn Follower>,
            self.clock.clone(),
        );
        tokio::join!(follow, self.work(&pending), cleaner::run(&self.catalog, &self.clock));
    }

    async fn work(&self, pending: &Pending) {
        let mut waiting = BTreeSet::new();
        loop {
            tokio::select! {
                () = pending.news.notified() => {}
                () = self.clock.sleep(RETRY), if !waiting.is_empty() => pending.names.lock().append(&mut waiting),
            }
            let names = std::mem::take(&mut *pending.names.lock());
            for name in names {
                match self.handle(&name).await {
                    Ok(Done::Yes) => (),
                    Ok(Done::NotYet) => drop(waiting.insert(name)),
                    Err(error) => {
                        tracing::warn!(%error, %name, "a request for a certificate was not dealt with");
                        waiting.insert(name);
                    }
                }
            }
        }
    }

    async fn handle(&self, name: &SmolStr) -> Result<Done> {
        let Some(live) = self.catalog.load().live(GROUP, PLURAL).cloned() else { return Ok(Done::Yes) };
        let Some(frozen) = live.cache()?.fresh().await?.get("", name).cloned() else { return Ok(Done::Yes) };
        let object = live.thaw(&frozen)?;
        let Some(request) = Request::of(&object) else { return Ok(Done::Yes) };
        if request.is_issued() || request.has("Denied") || request.has("Failed") {
            return Ok(Done::Yes);
        }
        if !request.has("Approved") {
            return match approver::decide(&request, self.authorizer.as_ref()).await {
                approver::Decision::Approve(message) => self.approve(&live, name, message).await,
                approver::Decision::NotAllowed => Ok(Done::NotYet),
                approver::Decision::NotMine => Ok(Done::Yes),
            };
        }
        match policy::check(&request) {
            None => Ok(Done::Yes),
            Some(Err(problem)) => {
                let failed = condition("Failed", "SignerValidationFailure", &problem);
                self.write(&live, name, Part::Status, |status| add_condition(status, &failed)).await
            }
            Some(Ok(())) => self.sign(&live, name, &request).await,
        }
    }

    /// The approval is news, so that the signature follows.
    async fn approve(&self, live: &Live, name: &SmolStr, message: &str) -> Result<Done> {
        let approved = condition("Approved", "AutoApproved", message);
        self.write(live, name, Part::Named("approval"), |status| add_condition(status, &approved)).await
    }

    async fn sign(&self, live: &Live, name: &SmolStr, request: &Request) -> Result<Done> {
        let signed = Authority::load(&self.authority_certificate, &self.authority_key)
            .and_then(|authority| authority.sign(request, self.clock.since_epoch()));
        match signed {
            Ok(pem) => {
                let certificate = STANDARD.encode(pem);
                let set = |status: &mut Map| status.set("certificate", certificate.as_str());
                self.write(live, name, Part::Status, set).await
            }
            Err(error) => {
                tracing::warn!(%error, %name, "a certificate could not be signed");
                Ok(Done::NotYet)
            }
        }
    }

    async fn write(&self, live: &Live, name: &SmolStr, part: Part, edit: impl Fn(&mut Map)) -> Result<Done> {
        let context = crate::context(&self.catalog, &self.clock);
        let rewrite = |old: &Object| {
            let mut object = old.clone();
            edit(object.fields.map_mut("status"));
            Ok(object)
        };
        match operation::patch(live, &context, &Place::new("", name.clone()), part, rewrite).await {
            Ok(_) | Err(Error::NotFound { .. }) => Ok(Done::Yes),
            Err(error) => Err(error),
        }
    }
}

/// Whether a request needs to be looked at again.
enum Done {
    Yes,
    NotYet,
}

fn condition(kind: &str, reason: &str, message: &str) -> Map {
    let mut condition = Map::new();
    condition.set("type", kind);
    condition.set("status", "True");
    condition.set("reason", reason);
    condition.set("message", message);
    condition
}

fn add_condition(status: &mut Map, condition: &Map) {
    match status.get_mut("conditions") {
        Some(Value::List(conditions)) => conditions.push(Value::Map(condition.clone())),
        _ => status.set("conditions", Value::List(vec![Value::Map(condition.clone())])),
    }
}
