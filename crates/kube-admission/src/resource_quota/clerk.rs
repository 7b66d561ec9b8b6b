//! Clerk: charges quotas, for all waiting requests of a namespace at once.
//!
//! ```text
//! a ─┐                  ┌─ b, c, d wait while a is charged ─┐
//!    ├─> charge a, write the quota ─> charge b, c and d, write the quota once ─> …
//! ```
//!
//! A namespace has one task while requests wait there, so that a cancelled request does not leave others
//! waiting, and there is a single writer of its quotas. Other servers have clerks, too: on a conflict the
//! quota is read again.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::User;
use keelson_object::SmolStr;
use keelson_registry::context::DryRun;
use keelson_registry::options::Part;
use keelson_registry::{Catalog, Context, Error, Live, Place, operation};
use keelson_status::Status;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::check::{self, Charge, Refusal};
use super::configuration::Configuration;
use super::ledger::{Ledger, Promise};
use super::quota::{self, Quota};

/// How often a quota is read again after a conflict.
const RETRIES: usize = 3;

/// The longest time a request waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// Charges quotas.
pub(super) struct Clerk {
    pub(super) configuration: Configuration,
    ledger: Option<Ledger>,
    /// The waiting requests, by namespace. A namespace with a list, even an empty one, has a task that serves
    /// it.
    waiting: Mutex<HashMap<SmolStr, Vec<Caller>>>,
}

/// A request that waits.
pub(super) struct Waiter {
    pub(super) charge: Charge,
    /// The uid of the object, and the version that it replaces.
    pub(super) uid: SmolStr,
    pub(super) replaces: Option<u64>,
    pub(super) dry_run: DryRun,
    pub(super) catalog: Arc<Catalog>,
    pub(super) clock: Clock,
}

/// A waiting request and the channel for its answer.
struct Caller {
    waiter: Waiter,
    /// Whether it is in the ledger.
    is_noted: bool,
    answer: oneshot::Sender<Result<(), Refusal>>,
}

impl Clerk {
    pub(super) fn new(configuration: Configuration, ledger: Option<Ledger>) -> Arc<Clerk> {
        Arc::new(Clerk { configuration, ledger, waiting: Mutex::default() })
    }

    /// Charges the quotas of a namespace for a request.
    pub(super) async fn charge(
        self: &Arc<Clerk>,
        namespace: &SmolStr,
        waiter: Waiter,
    ) -> Result<(), Refusal> {
        let clock = waiter.clock.clone();
        let (answer, told) = oneshot::channel();
        let caller = Caller { waiter, is_noted: false, answer };
        let is_first = match self.waiting.lock().entry(namespace.clone()) {
            Entry::Occupied(mut line) => {
                line.get_mut().push(caller);
                false
            }
            Entry::Vacant(line) => {
                line.insert(vec![caller]);
                true
            }
        };
        if is_first {
            let desk = Desk { clerk: self.clone(), namespace: namespace.clone() };
            task::spawn("quota", desk.serve());
        }
        match clock.timeout(PATIENCE, told).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) | None => {
                let status = Status::internal_error("resource quota evaluation timed out");
                Err(Refusal::Failed(Error::Rejected(Box::new(status))))
            }
        }
    }

    /// Answers all of these requests, and charges quotas for those that fit.
    ///
    /// Upstream: apiserver/pkg/admission/plugin/resourcequota/controller.go, checkQuotas (v1.36.4). Upstream
    /// checks rejected requests again when a quota had to be written again; here an answer is final.
    async fn answer(&self, namespace: &SmolStr, mut callers: Vec<Caller>) {
        // Cancelled requests are not charged.
        callers.retain(|it| !it.answer.is_closed());
        let Some(catalog) = callers.first().map(|it| it.waiter.catalog.clone()) else { return };
        let Some(live) = quota::live(&catalog) else { return tell_all(callers, &Error::Timeout) };
        let mut unwritten: Option<BTreeSet<SmolStr>> = None;
        for retries in (0..=RETRIES).rev() {
            let mut quotas = match quota::all(live, namespace).await {
                Ok(quotas) => quotas,
                Err(error) => return self.fail(namespace, callers, &error),
            };
            if let Some(names) = &unwritten {
                quotas.retain(|it| names.contains(it.name()));
            }
            callers = self.decide(namespace, &mut quotas, callers);
            if callers.is_empty() {
                return;
            }
            let clock = callers[0].waiter.clock.clone();
            match write(live, &catalog, &clock, quotas).await {
                None => return callers.into_iter().for_each(|it| it.tell(Ok(()))),
                Some((_, error)) if retries == 0 => return self.fail(namespace, callers, &error),
                Some((names, _)) => unwritten = Some(names),
            }
        }
    }

    /// Answers the requests that are decided; returns those that are admitted if the quotas can be written.
    fn decide(&self, namespace: &SmolStr, quotas: &mut [Quota], callers: Vec<Caller>) -> Vec<Caller> {
        let mut left = Vec::new();
        for mut caller in callers {
            let (waiter, limited) = (&caller.waiter, &self.configuration.limited);
            let charged = match waiter.dry_run {
                DryRun::Off => check::charge(quotas, &waiter.charge, limited),
                DryRun::All => check::charge(&mut quotas.to_vec(), &waiter.charge, limited).map(|_| false),
            };
            match charged {
                Ok(true) => {
                    if !caller.is_noted {
                        self.note(namespace, waiter);
                        caller.is_noted = true;
                    }
                    left.push(caller);
                }
                Ok(false) => caller.tell(Ok(())),
                Err(refusal) => {
                    self.strike(namespace, waiter);
                    caller.tell(Err(refusal));
                }
            }
        }
        left
    }

    fn note(&self, namespace: &SmolStr, waiter: &Waiter) {
        if let Some(ledger) = &self.ledger {
            let promise = Promise {
                resource: waiter.charge.resource.clone(),
                replaces: waiter.replaces,
                measured: waiter.charge.after.clone(),
                since: waiter.clock.monotonic(),
                is_repeated: false,
            };
            ledger.note(namespace, &waiter.uid, promise);
        }
    }

    fn strike(&self, namespace: &str, waiter: &Waiter) {
        if let Some(ledger) = &self.ledger {
            ledger.strike(namespace, &waiter.uid);
        }
    }

    fn fail(&self, namespace: &str, callers: Vec<Caller>, error: &Error) {
        callers.iter().for_each(|it| self.strike(namespace, &it.waiter));
        tell_all(callers, error);
    }
}

impl Caller {
    /// A client that has disconnected gets no answer.
    fn tell(self, answer: Result<(), Refusal>) {
        let _ = self.answer.send(answer);
    }
}

fn tell_all(callers: Vec<Caller>, error: &Error) {
    for caller in callers {
        caller.tell(Err(Refusal::Failed(again(error))));
    }
}

/// A copy of the error for another waiting request.
fn again(error: &Error) -> Error {
    match error {
        Error::Conflict { resource, name, reason } => {
            Error::Conflict { resource: resource.clone(), name: name.clone(), reason: reason.clone() }
        }
        Error::Timeout => Error::Timeout,
        other => Error::Unclassified(other.to_string()),
    }
}

/// Writes the changed quotas; returns those that could not be written, and why.
async fn write(
    live: &Live,
    catalog: &Arc<Catalog>,
    clock: &Clock,
    quotas: Vec<Quota>,
) -> Option<(BTreeSet<SmolStr>, Error)> {
    let mut context = Context::new(User::new("system:apiserver", &["system:masters"]), clock.clone());
    context.catalog = Some(catalog.clone());
    context.field_manager = "kube-apiserver".into();
    let mut failed: Option<(BTreeSet<SmolStr>, Error)> = None;
    for quota in quotas.into_iter().filter(|it| it.is_charged) {
        let object = quota.into_object();
        let place = Place::new(object.meta.namespace.clone(), object.meta.name.clone());
        if let Err(error) = operation::update(live, &context, &place, Part::Status, object).await {
            let mut names = failed.take().map(|(names, _)| names).unwrap_or_default();
            names.insert(place.name);
            failed = Some((names, error));
        }
    }
    failed
}

/// The queue of one namespace.
struct Desk {
    clerk: Arc<Clerk>,
    namespace: SmolStr,
}

impl Desk {
    /// Serves until no request waits.
    async fn serve(self) {
        loop {
            let next = {
                let mut waiting = self.clerk.waiting.lock();
                match waiting.get_mut(&self.namespace) {
                    Some(line) if !line.is_empty() => std::mem::take(line),
                    // Closed here and not on drop, so that no request is queued in between.
                    _ => return drop(waiting.remove(&self.namespace)),
                }
            };
            let _turn = match &self.clerk.ledger {
                Some(ledger) => Some(ledger.turn(&self.namespace).await),
                None => None,
            };
            self.clerk.answer(&self.namespace, next).await;
        }
    }
}

/// If a clerk panics, its waiting requests get an error, and the next request starts another clerk.
impl Drop for Desk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.clerk.waiting.lock().remove(&self.namespace);
        }
    }
}
