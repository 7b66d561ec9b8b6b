//! Context: who acts, when, and what they are told besides the answer.

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

/// Whether anything is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    /// It is written.
    #[default]
    Off,
    /// Everything happens but the write.
    All,
}

/// The circumstances of one operation.
#[derive(Debug)]
pub struct Context {
    /// The user.
    pub user: Arc<User>,
    /// The verb of the request, as policies know it: `patch`. Empty where the server acts by itself.
    pub verb: SmolStr,
    /// Whether anything is written.
    pub dry_run: DryRun,
    /// The name under which fields are managed.
    pub field_manager: SmolStr,
    /// The version in which the client speaks: `apps/v1`.
    pub api_version: SmolStr,
    /// What time it is.
    pub clock: Clock,
    /// What else the client says of how it is to be done: the fields of `CreateOptions` and its like.
    pub options: Value,
    /// Everything that is served, for those who act on other resources, too.
    pub catalog: Option<Arc<Catalog>>,
    /// Who judges what is written; what the server does by itself is judged by nobody.
    pub admission: Option<Arc<Chain>>,
    /// Who is asked when a deed needs more rights than the request itself.
    pub authorizer: Option<Arc<dyn Authorizer>>,
    warnings: Mutex<Warnings>,
    annotations: Mutex<BTreeMap<String, String>>,
    request_annotations: Mutex<BTreeMap<String, String>>,
    timings: Mutex<Vec<Timing>>,
}

/// What the client is told, in order. Webhooks may have very much to say.
#[derive(Debug, Default)]
struct Warnings {
    ordered: Vec<String>,
    known: HashSet<String>,
}

/// How long somebody took who was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Who.
    pub name: String,
    /// What they did.
    pub what: &'static str,
    /// How long.
    pub elapsed: Duration,
    /// Whether the client is to know.
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

    /// The same circumstances for what the server does by itself because of a request that was judged.
    #[must_use]
    pub fn unjudged(&self) -> Context {
        let mut same = Context::new(self.user.clone(), self.clock.clone());
        same.dry_run = self.dry_run;
        same.field_manager = self.field_manager.clone();
        same.api_version = self.api_version.clone();
        same.catalog = self.catalog.clone();
        same
    }

    /// Now, to the second.
    pub fn now(&self) -> Time {
        Time::from_unix(i64::try_from(self.clock.since_epoch().as_secs()).unwrap_or(i64::MAX))
    }

    /// The objects of another resource.
    pub fn reach(&self, group: &str, plural: &str) -> Result<&Arc<Live>> {
        let live = self.catalog.as_ref().and_then(|it| it.live(group, plural));
        live.ok_or_else(|| Error::Bug(format!("{plural} of the group {group:?} are out of reach")))
    }

    /// Tells the client something; the same thing only once.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.lock();
        if warnings.known.insert(text.clone()) {
            warnings.ordered.push(text);
        }
    }

    /// What the client is told, in order.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock()).ordered
    }

    /// Tells the audit log something. Who says something first about `key` is right; a key that is no name with a
    /// prefix, such as a webhook may come with, is passed over.
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

    /// What the audit log is told.
    pub fn take_annotations(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.annotations.lock())
    }

    /// As [`Context::annotate`], for records that show what was sent: it tells as much.
    pub fn annotate_request(&self, key: &str, value: impl Into<String>) {
        self.request_annotations.lock().entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// What the audit log is told where it shows what was sent.
    pub fn take_request_annotations(&self) -> BTreeMap<String, String> {
        std::mem::take(&mut self.request_annotations.lock())
    }

    /// Somebody was waited for.
    pub fn took(&self, timing: Timing) {
        self.timings.lock().push(timing);
    }

    /// Who was waited for, in the order in which they were done.
    pub fn take_timings(&self) -> Vec<Timing> {
        std::mem::take(&mut self.timings.lock())
    }

    /// Who acts, as policies see them.
    pub fn subject(&self) -> Subject<'_> {
        let user = &self.user;
        Subject { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra }
    }

    /// Whether the user may also do this. The server itself needs no permission.
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
