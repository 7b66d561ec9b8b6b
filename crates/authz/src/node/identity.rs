//! Node identity: the node name of a user.

use crate::Subject;

const PREFIX: &str = "system:node:";
const GROUP: &str = "system:nodes";

/// The node name of the user; empty if it is a node without a name.
///
/// Upstream: pkg/auth/nodeidentifier/default.go, NodeIdentity (v1.36.4).
#[must_use]
pub fn node_name<'a>(user: &Subject<'a>) -> Option<&'a str> {
    user.name.strip_prefix(PREFIX).filter(|_| user.is_in_group(GROUP))
}
