//! Context: who acts, when, and what they are told besides the answer.

use std::sync::Arc;

use keelson_authn::User;
use keelson_object::SmolStr;
use keelson_object::scalar::Time;
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
    /// Who acts.
    pub user: User,
    /// Whether anything is written.
    pub dry_run: DryRun,
    /// The name under which fields are managed.
    pub field_manager: SmolStr,
    /// The version in which the client speaks: `apps/v1`.
    pub api_version: SmolStr,
    /// What time it is.
    pub clock: Clock,
    /// Everything that is served, for those who act on other resources, too.
    pub catalog: Option<Arc<Catalog>>,
    /// Who judges what is written; what the server does by itself is judged by nobody.
    pub admission: Option<Arc<Chain>>,
    warnings: Mutex<Vec<String>>,
}

impl Context {
    /// The context of an operation that writes.
    pub fn new(user: User, clock: Clock) -> Context {
        Context {
            user,
            dry_run: DryRun::Off,
            field_manager: SmolStr::default(),
            api_version: SmolStr::default(),
            clock,
            catalog: None,
            admission: None,
            warnings: Mutex::default(),
        }
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
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// What the client is told, in order.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.warnings.lock())
    }
}
