//! Node identity: the node name of a user.

use crate::Subject;

const PREFIX: &str = "system:node:";
const GROUP: &str = "system:nodes";

/// The name of the node that the user is; empty if it is a node but does not say which.
///
/// Upstream: pkg/auth/nodeidentifier/default.go, NodeIdentity (v1.36.4).
#[must_use]
pub fn node_name<'a>(user: &Subject<'a>) -> Option<&'a str> {
    user.name.strip_prefix(PREFIX).filter(|_| user.is_in_group(GROUP))
}
