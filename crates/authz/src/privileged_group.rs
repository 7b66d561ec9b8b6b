//! The group that may do everything.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Attributes, Authorizer, Decision, Verdict};

/// Allows everything to the members of some groups, and has no opinion about other users.
pub struct PrivilegedGroup(Vec<String>);

impl PrivilegedGroup {
    /// Members of any of `groups` are privileged.
    #[must_use]
    pub fn new(groups: Vec<String>) -> PrivilegedGroup {
        PrivilegedGroup(groups)
    }

    /// The members of `system:masters`.
    #[must_use]
    pub fn masters() -> PrivilegedGroup {
        PrivilegedGroup(vec!["system:masters".to_owned()])
    }
}

impl Authorizer for PrivilegedGroup {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        let is_member = self.0.iter().any(|group| attributes.user.is_in_group(group));
        let decision = if is_member { Decision::ALLOW } else { Decision::NO_OPINION };
        std::future::ready(decision.into()).boxed()
    }
}
