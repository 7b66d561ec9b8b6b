//! User names and groups of service accounts.
//!
//! Upstream: staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go (v1.36.4).

use crate::{Extra, User};

/// The key in `extra` of the pod that a token is bound to.
pub const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
/// The key in `extra` of that pod's uid.
pub const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
/// The key in `extra` of the node that a token is bound to, or that its pod is on.
pub const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// The key in `extra` of that node's uid.
pub const NODE_UID: &str = "authentication.kubernetes.io/node-uid";
/// The audit annotation that says which token was made.
pub const ISSUED_CREDENTIAL_ID: &str = "authentication.kubernetes.io/issued-credential-id";

const PREFIX: &str = "system:serviceaccount:";

/// `system:serviceaccount:ns:name`.
#[must_use]
pub fn username(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// Namespace and name of the account of a user name.
#[must_use]
pub fn split_username(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(PREFIX)?.split_once(':')?;
    (is_label(namespace) && is_subdomain(name)).then_some((namespace, name))
}

/// RFC 1123, as the names of namespaces are.
fn is_label(text: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && bytes.iter().all(|it| is_plain(*it) || *it == b'-')
        && is_plain(bytes[0])
        && is_plain(bytes[bytes.len() - 1])
}

fn is_subdomain(text: &str) -> bool {
    // The parts of a subdomain may be longer than a label: only the whole is limited.
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        !bytes.is_empty()
            && bytes.iter().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || *it == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

/// A service account that presented a token, and what the token says besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The namespace of the account.
    pub namespace: String,
    /// The name of the account.
    pub name: String,
    /// The uid of the account.
    pub uid: String,
    /// Name and uid of the pod that the token is bound to.
    pub pod: Option<(String, String)>,
    /// Name and uid of the node that it is bound to; the uid may be empty.
    pub node: Option<(String, String)>,
    /// The id of the token: `JTI=…`; may be empty.
    pub credential_id: String,
}

impl Account {
    /// The user that the account is.
    #[must_use]
    pub fn user(self) -> User {
        let mut extra = Extra::new();
        let mut tell = |key: &str, value: String| {
            if !value.is_empty() {
                extra.insert(key.to_owned(), vec![value]);
            }
        };
        if let Some((name, uid)) = self.pod.filter(|(name, uid)| !name.is_empty() && !uid.is_empty()) {
            tell(POD_NAME, name);
            tell(POD_UID, uid);
        }
        tell(User::CREDENTIAL_ID_KEY, self.credential_id);
        if let Some((name, uid)) = self.node.filter(|(name, _)| !name.is_empty()) {
            tell(NODE_NAME, name);
            tell(NODE_UID, uid);
        }
        User {
            name: username(&self.namespace, &self.name),
            uid: self.uid,
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{}", self.namespace),
            ],
            extra,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split_username;

    #[track_caller]
    fn check(user: &str, expected: Option<(&str, &str)>) {
        assert_eq!(split_username(user), expected, "{user}");
    }

    #[test]
    fn a_user_name_has_a_namespace_and_a_name() {
        check("system:serviceaccount:ns:robot", Some(("ns", "robot")));
        check("system:serviceaccount:ns:a.b-c", Some(("ns", "a.b-c")));
        check("system:serviceaccount:ns", None);
        check("system:serviceaccount:ns:", None);
        check("system:serviceaccount::robot", None);
        check("system:serviceaccount:ns:robot:x", None);
        check("system:serviceaccount:n.s:robot", None);
        check("system:serviceaccount:NS:robot", None);
        check("system:serviceaccount:ns:-robot", None);
        check("jane", None);
    }
}
