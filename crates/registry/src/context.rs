//! Context: the user and the circumstances of an operation, and the warnings and annotations that it
//! collects.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::User;
use keelson_authz::{Attributes, Authorizer, Decision, Selectors, Subject, Target, Verdict};
use keelson_object::scalar::Time;
use keelson_object::selector::name_rules;
use keelson_object::{SmolStr, Value};
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use crate::admission::Chain;
use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::live::Live;

/// Whether the operation is a dry run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// The result is written.
    #[default]
    Off,
    /// Everything happens except the write.
    All,
}

/// The circumstances of one operation.
#[derive(Debug)]
pub struct Context {
    /// The user.
    pub user: Arc<User>,
    /// The verb of the request, as policies know it: `patch`. Empty for what the server does on its own
    /// behalf.
    pub verb: SmolStr,
    /// Whether the operation is a dry run.
    pub dry_run: DryRun,
    /// The field manager.
    pub field_manager: SmolStr,
    /// The version of the request: `apps/v1`.
    pub api_version: SmolStr,
    /// The clock.
    pub clock: Clock,
    /// The other options of the request: the fields of `CreateOptions`, `UpdateOptions` and so on.
    pub options: Value,
    /// Everything that is served, for operations that also need other resources.
    pub catalog: Option<Arc<Catalog>>,
    /// The admission chain; `None` for what the server does on its own behalf, which is not subject to
    /// admission.
    pub admission: Option<Arc<Chain>>,
    /// The authorizer for permissions beyond the verb of the request.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    warnings: Mutex<Warnings>,
    annotations: Mutex<BTreeMap<String, String>>,
    request_annotations: Mutex<BTreeMap<String, String>>,
    timings: Mutex<Vec<Timing>>,
}

/// The warnings for the client, in order. Webhooks may return very many.
#[derive(Debug, Default)]
struct Warnings {
    ordered: Vec<String>,
    known: HashSet<String>,
}

/// The duration of a call that the request waited for, such as a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The name of what was called.
    pub name: String,
    /// What it did.
    pub what: &'static str,
    /// The duration.
    pub elapsed: Duration,
    /// Whether it is reported to the client.
    pub is_told: bool,
}

impl Context {
    /// The context of an operation that writes.
    pub fn new(user: impl Into<Arc<User>>, clock: Clock) -> Context {
        Context {
            user: user.into(),
            verb: SmolStr::default(),
            dry_run: DryRun::Off,
            field_manager: SmolStr::default(),
            api_version: SmolStr::default(),
            clock,
            options: Value::Null,
            catalog: None,
            admission: None,
            authorizer: None,
            warnings: Mutex::default(),
            annotations: Mutex::default(),
            request_annotations: Mutex::default(),
            timings: Mutex::default(),
        }
    }

    /// The same context for what the server does on its own behalf because of a request that was admitted.
    #[must_use]
    pub fn unjudged(&self) -> Context {
        let mut same = Context::new(self.user.clone(), self.clock.clone());
        same.dry_run = self.dry_run;
        same.field_manager = self.field_manager.clone();
        same.api_version = self.api_version.clone();
        same.catalog = self.catalog.clone();
        same
    }

    /// The current time, in whole seconds.
    pub fn now(&self) -> Time {
        Time::from_unix(i64::try_from(self.clock.since_epoch().as_secs()).unwrap_or(i64::MAX))
    }

    /// Another resource of the catalog.
    pub fn reach(&self, group: &str, plural: &str) -> Result<&Arc<Live>> {
        let live = self.catalog.as_ref().and_then(|it| it.live(group, plural));
        live.ok_or_else(|| Error::Bug(format!("{plural} of the group {group:?} are out of reach")))
    }

    /// Adds a warning for the client; the same text only once.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.lock();
        if warnings.known.insert(text.clone()) {
            warnings.ordered.push(text);
        }
    }

    /// Takes the warnings for the client, in order.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock()).ordered
    }

    /// Adds an annotation to the audit event. The first value of a `key` stays. A key that is not a name with
    /// a prefix, which a webhook may send, is ignored.
    ///
    /// Upstream: apiserver/pkg/admission/attributes.go, AddAnnotation and checkKeyFormat (v1.36.4).
    pub fn annotate(&self, key: &str, value: impl Into<String>) {
        if !key.contains('/') || !name_rules::qualified_name(key).is_empty() {
            tracing::warn!(key, "an audit annotation with an invalid key is left out");
            return;
        }
        let mut annotations = self.annotations.lock();
        if !annotations.contains_key(key) {
            annotations.insert(key.to_owned(), value.into());
        }
    }

    /// Takes the annotations of the audit event.
    pub fn take_annotations(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.annotations.lock())
    }

    /// As [`Context::annotate`], for audit events that contain the request body: the annotation discloses as
    /// much.
    pub fn annotate_request(&self, key: &str, value: impl Into<String>) {
        self.request_annotations.lock().entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// Takes the annotations of audit events that contain the request body.
    pub fn take_request_annotations(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.request_annotations.lock())
    }

    /// Records the duration of a call.
    pub fn took(&self, timing: Timing) {
        self.timings.lock().push(timing);
    }

    /// Takes the durations of calls, in the order in which the calls ended.
    pub fn take_timings(&self) -> Vec<Timing> {
        std::mem::take(&mut self.timings.lock())
    }

    /// The user, as authorizers see it.
    pub fn subject(&self) -> Subject<'_> {
        let user = &self.user;
        Subject { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra }
    }

    /// Asks whether the user also has this permission. The server itself needs no permission.
    pub async fn authorize(&self, verb: &str, target: Target<'_>) -> Verdict {
        match &self.authorizer {
            Some(authorizer) => {
                let selectors = Selectors::default();
                let attributes = Attributes { user: self.subject(), verb, target, path: "", selectors };
                authorizer.authorize(&attributes).await
            }
            None => Verdict { decision: Decision::Allow { reason: "".into() }, error: None },
        }
    }
}
