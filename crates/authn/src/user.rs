//! User: a name, groups, and what else is known about who asks.

use std::collections::BTreeMap;

/// Further facts about a user, by key.
pub type Extra = BTreeMap<String, Vec<String>>;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// What policies are written about.
    pub name: String,
    /// Tells apart users that had the same name at different times; often empty.
    pub uid: String,
    /// The groups, in the order of the credentials.
    pub groups: Vec<String>,
    /// Further facts, for instance which credential was used.
    pub extra: Extra,
}

impl User {
    /// The name of who presents no credentials.
    pub const ANONYMOUS: &str = "system:anonymous";
    /// The group of everybody who presented good credentials.
    pub const ALL_AUTHENTICATED: &str = "system:authenticated";
    /// The group of everybody else.
    pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
    /// The group that may do everything.
    pub const SYSTEM_PRIVILEGED_GROUP: &str = "system:masters";
    /// The key in `extra` that says which credential was used.
    pub const CREDENTIAL_ID_KEY: &str = "authentication.kubernetes.io/credential-id";

    /// A user with nothing but a name and groups.
    #[must_use]
    pub fn new(name: &str, groups: &[&str]) -> User {
        User {
            name: name.to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..User::default()
        }
    }

    /// The user of a request without credentials.
    #[must_use]
    pub fn anonymous() -> User {
        User::new(User::ANONYMOUS, &[User::ALL_UNAUTHENTICATED])
    }

    /// Whether the user belongs to `group`.
    #[must_use]
    pub fn is_in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|it| it == group)
    }
}
