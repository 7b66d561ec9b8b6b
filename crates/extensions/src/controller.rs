//! Controller of CustomResourceDefinitions: one loop that follows all definitions, accepts their names, serves their
//! objects, establishes them, and empties those that are deleted.
//!
//! ```text
//! definition changes ──> status (names, schema, approval) ──> serve ──> Established
//!                              │                                │
//!                              └── deletionTimestamp ──> delete all objects ──> remove the finalizer
//! ```
//!
//! What a definition should be is a pure function of its object and of the names that its group has accepted
//! ([`conditions`]). The loop writes what differs. A definition is served before it says that it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::User;
use keelson_cel::goregex::CompiledPatterns;
use keelson_object::scalar::Time;
use keelson_object::{Frozen, Map, Object, SmolStr};
use keelson_registry::live::Ground;
use keelson_registry::operation::{Change, Watch};
use keelson_registry::options::{InitialEvents, Part, WatchOptions};
use keelson_registry::{CatalogHandle, Context, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use keelson_structural::Interner;
use keelson_watch_cache::EventKind;
use tokio::sync::mpsc;
use tracing::{debug, warn};

use crate::conditions::terminating::TERMINATING;
use crate::conditions::{self, ESTABLISHED, NAMES_ACCEPTED};
use crate::conversion::Converters;
use crate::definition::Definition;
use crate::finalizer;
use crate::known::Known;
use crate::resource::{Stage, Surroundings, resources};
use crate::served::{Served, Serving};

/// The group of definitions.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The resource of definitions.
pub const PLURAL: &str = "customresourcedefinitions";

/// The delay before a watch that ended starts again, and before a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// How many times the status of a definition is computed in a row: each step brings it closer to its end.
const MAX_STEPS: usize = 8;

/// What the controller needs.
#[derive(Clone)]
pub struct Controller {
    /// Everything served; the controller publishes custom resources in it.
    pub catalog: CatalogHandle,
    /// Where objects are stored.
    pub ground: Ground,
    /// Tasks that end with the server.
    pub tasks: Tasks,
    /// The delay between serving a resource and saying so: other servers need time to serve it too.
    pub establish_delay: Duration,
    /// Makes converters of definitions.
    pub converters: Converters,
}

/// The definitions as the loop knows them.
struct State {
    known: Known,
    serving: Serving,
    interner: Interner,
    patterns: Arc<CompiledPatterns>,
    /// Definitions whose delay before Established has passed, or that are to be looked at again.
    due: (mpsc::UnboundedSender<SmolStr>, mpsc::UnboundedReceiver<SmolStr>),
    /// The definitions that will be sent to `due`.
    later: HashSet<SmolStr>,
    /// Definitions whose objects are being deleted, by uid.
    emptied: HashMap<SmolStr, SmolStr>,
}

impl State {
    fn new() -> State {
        State {
            known: Known::default(),
            serving: Serving::default(),
            interner: Interner::new(),
            patterns: Arc::default(),
            due: mpsc::unbounded_channel(),
            later: HashSet::new(),
            emptied: HashMap::new(),
        }
    }
}

impl Controller {
    /// Serves all definitions that are there, calls `synced`, and follows changes for as long as it is polled.
    pub async fn run(self, synced: impl Fn() + Send) {
        let mut state = State::new();
        loop {
            match self.follow(&mut state, &synced).await {
                Ok(()) => {}
                Err(error) => warn!(%error, "following custom resource definitions was interrupted"),
            }
            self.clock().sleep(RETRY).await;
        }
    }

    fn clock(&self) -> &Clock {
        &self.ground.clock
    }

    fn now(&self) -> Time {
        Time::from_unix(i64::try_from(self.clock().unix_seconds()).unwrap_or(i64::MAX))
    }

    async fn follow(&self, state: &mut State, synced: &(impl Fn() + Send)) -> Result<()> {
        let Some(live) = self.catalog.load().live(GROUP, PLURAL).cloned() else {
            // Definitions are switched off.
            synced();
            return Ok(());
        };
        let options = WatchOptions {
            bookmarks: true,
            initial_events: InitialEvents::Marked,
            ..WatchOptions::default()
        };
        let mut watch = operation::watch(&live, "", &options).await?;
        let Some(all) = initial(&mut watch).await? else { return Ok(()) };
        self.reset(state, &live, &all).await?;
        synced();
        loop {
            tokio::select! {
                change = watch.next() => match change {
                    None => return Ok(()),
                    Some(change) => self.changed(state, &live, &change?).await?,
                },
                name = state.due.1.recv() => if let Some(name) = name {
                    state.later.remove(&name);
                    self.look_at(state, &live, &name).await;
                },
            }
        }
    }

    /// Looks at all definitions of a new watch, and stops serving those that are gone.
    async fn reset(&self, state: &mut State, live: &Arc<Live>, all: &[Arc<Frozen>]) -> Result<()> {
        let names: Vec<SmolStr> = all.iter().map(|it| it.index().name.clone()).collect();
        let there: HashSet<&SmolStr> = names.iter().collect();
        for gone in state.known.names().iter().filter(|it| !there.contains(it)) {
            self.forget(state, gone);
        }
        for frozen in all {
            state.known.set(live, frozen)?;
        }
        for name in &names {
            self.look_at(state, live, name).await;
        }
        Ok(())
    }

    async fn changed(&self, state: &mut State, live: &Arc<Live>, change: &Change) -> Result<()> {
        let (kind, frozen) = match change {
            Change::Shared(event) => (event.kind(), event.object()),
            Change::Own { kind, object } => (*kind, object),
            Change::Bookmark(_) | Change::InitialEventsEnd(_) => return Ok(()),
        };
        let name = frozen.index().name.clone();
        if kind == EventKind::Deleted {
            if let Some(group) = self.forget(state, &name) {
                self.look_at_group(state, live, &group).await;
            }
            return Ok(());
        }
        // The loop has seen what it wrote itself.
        if state.known.revision(&name).is_some_and(|known| known >= frozen.revision()) {
            return Ok(());
        }
        state.known.set(live, frozen)?;
        self.look_at(state, live, &name).await;
        Ok(())
    }

    /// Stops serving a definition that is gone; gives its group, in which names have become free.
    fn forget(&self, state: &mut State, name: &SmolStr) -> Option<SmolStr> {
        let group = state.known.remove(name);
        state.emptied.remove(name);
        state.serving.stop(&self.catalog, name);
        state.interner.sweep();
        group
    }

    /// Looks at the definitions of a group whose names may have become free.
    async fn look_at_group(&self, state: &mut State, live: &Arc<Live>, group: &str) {
        for name in state.known.waiting(group) {
            self.look_at(state, live, &name).await;
        }
    }

    /// Brings one definition to what it should be. A write that fails is tried again.
    async fn look_at(&self, state: &mut State, live: &Arc<Live>, name: &SmolStr) {
        match self.settle(state, live, name).await {
            Ok(()) => {}
            Err(Error::NotFound { .. } | Error::Conflict { .. }) => {}
            Err(error) => {
                warn!(%error, definition = %name, "a custom resource definition is looked at again");
                self.look_at_later(state, name, RETRY);
            }
        }
    }

    fn look_at_later(&self, state: &mut State, name: &SmolStr, delay: Duration) {
        // A definition waits once, so that the queue is not longer than the list of definitions.
        if !state.later.insert(name.clone()) {
            return;
        }
        let (due, name, clock) = (state.due.0.clone(), name.clone(), self.clock().clone());
        self.tasks.spawn("custom resource definition", async move {
            clock.sleep(delay).await;
            // Without a receiver the loop is over.
            let _ = due.send(name);
        });
    }

    async fn settle(&self, state: &mut State, live: &Arc<Live>, name: &SmolStr) -> Result<()> {
        for _ in 0..MAX_STEPS {
            let Some(definition) = state.known.definition(live, name)? else { return Ok(()) };
            let names = state.known.names_beside(&definition);
            if let Some(status) = conditions::next_status(&definition, &names, self.now()) {
                self.write_status(state, live, &definition, status).await?;
                continue;
            }
            if !self.serve(state, &definition).await? {
                return Ok(());
            }
            if definition.meta.is_being_deleted() {
                self.empty(state, live, &definition);
                return Ok(());
            }
            match conditions::establish(&definition, self.now()) {
                None => return Ok(()),
                Some(_) if self.waits(state, name) => return Ok(()),
                Some(status) => self.write_status(state, live, &definition, status).await?,
            }
        }
        Ok(())
    }

    /// Whether the delay before Established has not passed yet. It begins when this is first asked.
    fn waits(&self, state: &mut State, name: &SmolStr) -> bool {
        if self.establish_delay.is_zero() {
            return false;
        }
        let waits = state.serving.waits_to_establish(name, self.clock().monotonic(), self.establish_delay);
        if waits {
            self.look_at_later(state, name, self.establish_delay);
        }
        waits
    }

    /// Publishes what a definition defines; whether there is more to do for it.
    async fn serve(&self, state: &mut State, object: &Object) -> Result<bool> {
        let name = &object.meta.name;
        let is_accepted =
            conditions::is_true(object, NAMES_ACCEPTED) || conditions::is_true(object, ESTABLISHED);
        if !is_accepted {
            state.serving.stop(&self.catalog, name);
            return Ok(object.meta.is_being_deleted());
        }
        let stage = match conditions::is_true(object, TERMINATING) {
            true => Stage::Terminating,
            false => Stage::Established,
        };
        let fingerprint = Served::fingerprint(object, stage);
        if state.serving.is_current(name, &fingerprint) {
            return Ok(true);
        }
        let definition = match Definition::read(object, &mut state.interner) {
            Ok(definition) => definition,
            Err(error) => {
                warn!(%error, definition = %name, "a custom resource definition cannot be served");
                state.serving.stop(&self.catalog, name);
                return Ok(object.meta.is_being_deleted());
            }
        };
        let convert = self.converters.of(&definition);
        let around = Surroundings { catalog: self.catalog.clone(), patterns: state.patterns.clone() };
        let resources = resources(&definition, stage, &around);
        let lives = Live::start_custom(resources, convert, &self.ground).await?;
        debug!(definition = %name, versions = lives.len(), "custom resources are served");
        state.serving.replace(&self.catalog, name, Served { fingerprint, lives });
        state.interner.sweep();
        Ok(true)
    }

    /// Deletes the objects of a definition in a task of its own.
    fn empty(&self, state: &mut State, live: &Arc<Live>, definition: &Object) {
        let Object { meta, .. } = definition;
        if !finalizer::is_pending(definition)
            || state.emptied.insert(meta.name.clone(), meta.uid.clone()) == Some(meta.uid.clone())
        {
            return;
        }
        let emptying = finalizer::Emptying {
            catalog: self.catalog.clone(),
            clock: self.clock().clone(),
            definitions: live.clone(),
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            objects: state.serving.first(&meta.name),
        };
        self.tasks.spawn("custom resource finalizer", emptying.run());
    }

    async fn write_status(
        &self,
        state: &mut State,
        live: &Arc<Live>,
        definition: &Object,
        status: Map,
    ) -> Result<()> {
        let Object { meta, .. } = definition;
        let edit = |old: &Object| {
            let mut object = old.clone();
            // Another writer was faster: the loop computes the status again when it sees what that one wrote.
            if old.meta.resource_version != meta.resource_version {
                return Err(live_conflict(&meta.name));
            }
            object.fields.set("status", status.clone());
            Ok(object)
        };
        let context = context(&self.catalog, self.clock());
        let place = Place::new("", meta.name.clone());
        let written = operation::patch(live, &context, &place, Part::Status, edit).await?;
        state.known.set(live, &written.object)
    }
}

fn live_conflict(name: &str) -> Error {
    let resource = keelson_object::GroupResource { group: GROUP.into(), resource: PLURAL.into() };
    Error::Conflict { resource, name: name.to_owned(), reason: String::from("it has changed") }
}

/// The server itself.
pub(crate) fn context(catalog: &CatalogHandle, clock: &Clock) -> Context {
    let mut context = Context::new(User::new("system:apiserver", &["system:masters"]), clock.clone());
    context.catalog = Some(catalog.load());
    context.field_manager = "kube-apiserver".into();
    context
}

/// The definitions with which a watch begins; `None` if it ended before.
async fn initial(watch: &mut Watch) -> Result<Option<Vec<Arc<Frozen>>>> {
    let mut all = Vec::new();
    while let Some(change) = watch.next().await {
        match change? {
            Change::InitialEventsEnd(_) => return Ok(Some(all)),
            Change::Shared(event) => all.push(event.object().clone()),
            Change::Own { object, .. } => all.push(object),
            Change::Bookmark(_) => {}
        }
    }
    Ok(None)
}
