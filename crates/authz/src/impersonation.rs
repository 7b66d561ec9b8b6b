//! Impersonation: checks the permission to impersonate, and builds the impersonated user.
//!
//! A request names a user, and may name a uid, groups and extra. The authorizer is asked about each of them.
//! There are five modes; the narrow ones are tried first:
//!
//! ```text
//! associated-node   a service account as the node that its pod runs on     impersonate:associated-node  nodes *
//! arbitrary-node    system:node:n1                                         impersonate:arbitrary-node   nodes n1
//! serviceaccount    system:serviceaccount:ns:bot                           impersonate:serviceaccount   serviceaccounts ns/bot
//! user-info         any other user                                         impersonate:user-info        users, groups, uids, userextras
//! legacy            any user                                               impersonate                  users, groups, …
//! ```
//!
//! All modes but the last one also ask whether the request itself may be made by impersonation, for example
//! `impersonate-on:user-info:list` on the resource to be listed.
//!
//! Upstream: apiserver/pkg/endpoints/filters/impersonation (v1.36.4).

mod check;
mod mode;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use keelson_object::GroupResource;

use self::check::Check;
use self::mode::{Mode, Order};
use crate::{Attributes, Authorizer, Subject, deny_message};

pub use self::mode::mode_of;

/// The user to be impersonated, exactly as the request names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The user name; never empty.
    pub name: String,
    /// The uid, often empty.
    pub uid: String,
    /// The groups, in the order of the request.
    pub groups: Vec<String>,
    /// Further facts by key.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The result of a permitted impersonation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acting {
    /// The impersonated user: as requested, plus the groups that belong to the name.
    pub user: Wanted,
    /// The verb that allowed it; empty for `impersonate`, which constrains nothing.
    pub constraint: &'static str,
}

/// The impersonation is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The resource.
    pub resource: GroupResource,
    /// The name.
    pub name: String,
    /// The whole message.
    pub message: String,
}

/// Decides about impersonation.
pub struct Impersonator {
    authorizer: Arc<dyn Authorizer>,
    /// The mode that was last allowed for a user: it is tried first.
    remembered: Mutex<HashMap<String, Mode>>,
}

/// So many users are remembered.
const REMEMBERED: usize = 10_000;

impl Impersonator {
    /// Asks `authorizer` about every part.
    pub fn new(authorizer: Arc<dyn Authorizer>) -> Impersonator {
        Impersonator { authorizer, remembered: Mutex::default() }
    }

    /// Used if the gate `ConstrainedImpersonation` is on. `request` is the original request of the original
    /// user.
    ///
    /// Upstream: constrained_impersonation.go, impersonationModesTracker.getImpersonatedUser (v1.36.4).
    pub async fn constrained(&self, wanted: &Wanted, request: &Attributes<'_>) -> Result<Acting, Refused> {
        let last = self.last_way_of(request.user.name);
        let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
        let mut first_refusal = None;
        for mode in last.into_iter().chain(others) {
            if !mode.is_for(wanted, &request.user) {
                continue;
            }
            match self.by(mode, wanted, request).await {
                Ok(acting) => {
                    if last != Some(mode) {
                        self.remember(request.user.name, mode);
                    }
                    return Ok(acting);
                }
                Err(refused) => {
                    first_refusal.get_or_insert(refused);
                }
            }
        }
        // The last mode applies to every user, so there is a refusal.
        Err(first_refusal.unwrap_or_else(|| refusal(request, "all impersonation modes failed")))
    }

    /// The gate `ConstrainedImpersonation` is closed.
    ///
    /// Upstream: impersonation.go, WithImpersonation (v1.36.4).
    pub async fn plain(&self, wanted: &Wanted, user: Subject<'_>) -> Result<Acting, Refused> {
        let check = Check { authorizer: &*self.authorizer, mode: Mode::Legacy, user };
        check.parts(wanted, Order::GroupsFirst).await
    }

    async fn by(&self, mode: Mode, wanted: &Wanted, request: &Attributes<'_>) -> Result<Acting, Refused> {
        let hidden;
        let mut user = request.user;
        if mode == Mode::AssociatedNode {
            hidden = check::keys_only(user.extra);
            user.extra = &hidden;
        }
        let check = Check { authorizer: &*self.authorizer, mode, user };
        check.request(request).await?;
        check.parts(wanted, Order::UidFirst).await
    }

    fn last_way_of(&self, user: &str) -> Option<Mode> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).get(user).copied()
    }

    fn remember(&self, user: &str, mode: Mode) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED && !remembered.contains_key(user) {
            remembered.clear();
        }
        remembered.insert(user.to_owned(), mode);
    }
}

fn refusal(attributes: &Attributes<'_>, reason: &str) -> Refused {
    let (resource, name) = match attributes.target {
        crate::Target::Resource { api_group, resource, name, .. } => {
            (GroupResource::new(api_group, resource), name.to_owned())
        }
        crate::Target::Path => (GroupResource::new("", ""), String::new()),
    };
    Refused { resource, name, message: deny_message(attributes, reason) }
}

#[cfg(test)]
mod tests;
