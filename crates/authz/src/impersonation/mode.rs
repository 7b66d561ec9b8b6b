//! Modes of impersonation, and the users each one applies to.

use keelson_object::selector::name_rules;

use super::Wanted;
use crate::Subject;

/// A mode of impersonation. They are tried in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    AssociatedNode,
    ArbitraryNode,
    ServiceAccount,
    UserInfo,
    Legacy,
}

/// Which part is checked first after the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    UidFirst,
    GroupsFirst,
}

/// The key of the extra facts that names the node of a service account's pod.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";

impl Mode {
    pub(super) const ALL: [Mode; 5] =
        [Mode::AssociatedNode, Mode::ArbitraryNode, Mode::ServiceAccount, Mode::UserInfo, Mode::Legacy];

    /// The verb that is checked for each part of the impersonated user.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Mode::AssociatedNode => "impersonate:associated-node",
            Mode::ArbitraryNode => "impersonate:arbitrary-node",
            Mode::ServiceAccount => "impersonate:serviceaccount",
            Mode::UserInfo => "impersonate:user-info",
            Mode::Legacy => "impersonate",
        }
    }

    /// The prefix of the verb that is checked for the request itself; `None` if the mode does not check it.
    pub(super) fn request_verb(self) -> Option<&'static str> {
        match self {
            Mode::AssociatedNode => Some("impersonate-on:associated-node:"),
            Mode::ArbitraryNode => Some("impersonate-on:arbitrary-node:"),
            Mode::ServiceAccount => Some("impersonate-on:serviceaccount:"),
            Mode::UserInfo => Some("impersonate-on:user-info:"),
            Mode::Legacy => None,
        }
    }

    pub(super) fn is_constrained(self) -> bool {
        self != Mode::Legacy
    }

    /// Whether this mode applies when `user` impersonates `wanted`.
    pub(super) fn is_for(self, wanted: &Wanted, user: &Subject<'_>) -> bool {
        let is_name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        match self {
            Mode::AssociatedNode => is_name_only && node(&wanted.name).is_some_and(|it| runs_on(user, it)),
            Mode::ArbitraryNode => is_name_only && node(&wanted.name).is_some(),
            Mode::ServiceAccount => is_name_only && service_account(&wanted.name).is_some(),
            Mode::UserInfo => node(&wanted.name).is_none() && service_account(&wanted.name).is_none(),
            Mode::Legacy => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Mode::Legacy => "legacy",
            mode => mode.verb().trim_start_matches("impersonate:"),
        }
    }
}

/// The name of the way that a verb belongs to, for metrics.
///
/// Upstream: constrained_impersonation.go, modeFromVerb (v1.36.4).
pub fn mode_of(verb: &str) -> &'static str {
    let is_its = |mode: &Mode| {
        verb == mode.verb() || mode.request_verb().is_some_and(|prefix| verb.starts_with(prefix))
    };
    Mode::ALL.into_iter().find(is_its).map_or("unknown", Mode::name)
}

/// The node name of a user name.
pub(super) fn node(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| name_rules::dns1123_subdomain(name).is_empty())
}

/// Namespace and name of the service account of a user name.
///
/// Upstream: apiserver/pkg/authentication/serviceaccount/util.go, SplitUsername (v1.36.4).
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_good =
        name_rules::dns1123_label(namespace).is_empty() && name_rules::dns1123_subdomain(name).is_empty();
    is_good.then_some((namespace, name))
}

fn runs_on(user: &Subject<'_>, node: &str) -> bool {
    let said = user.extra.get(NODE_NAME).map(Vec::as_slice);
    service_account(user.name).is_some() && matches!(said, Some([only]) if only == node)
}
