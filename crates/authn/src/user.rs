//! User: name, uid, groups and extra of the client that sent a request.

use std::collections::BTreeMap;

use keelson_object::{Map, Value};

/// Further facts about a user, by key.
pub type Extra = BTreeMap<String, Vec<String>>;

/// The user that sent a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name that policies refer to.
    pub name: String,
    /// Tells apart users that had the same name at different times; often empty.
    pub uid: String,
    /// The groups, in the order of the credentials.
    pub groups: Vec<String>,
    /// Further facts, for instance which credential was used.
    pub extra: Extra,
}

impl User {
    /// The name of users without credentials.
    pub const ANONYMOUS: &str = "system:anonymous";
    /// The group of all users that presented valid credentials.
    pub const ALL_AUTHENTICATED: &str = "system:authenticated";
    /// The group of all other users.
    pub const ALL_UNAUTHENTICATED: &str = "system:unauthenticated";
    /// The group that may do everything.
    pub const SYSTEM_PRIVILEGED_GROUP: &str = "system:masters";
    /// The key in `extra` that says which credential was used.
    pub const CREDENTIAL_ID_KEY: &str = "authentication.kubernetes.io/credential-id";

    /// The fields that identify a user.
    pub const FIELDS: [&str; 4] = ["username", "uid", "groups", "extra"];

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

    /// Reads a user from a review; `name` is the field of the name, `username` or `user`.
    #[must_use]
    pub fn read(map: &Map, name: &str) -> User {
        let text = |key: &str| map.str(key).unwrap_or_default().to_owned();
        let extra = map.map("extra");
        User {
            name: text(name),
            uid: text("uid"),
            groups: texts(map, "groups"),
            extra: extra.map_or_else(Extra::new, |it| {
                it.iter().map(|(key, _)| (key.to_string(), texts(it, key))).collect()
            }),
        }
    }

    /// `username`, `uid`, `groups` and `extra`, as in reviews; empty fields are left out.
    #[must_use]
    pub fn info(&self) -> Map {
        let list = |items: &[String]| items.iter().map(|it| Value::from(it.as_str())).collect::<Vec<_>>();
        let extra: Map =
            self.extra.iter().map(|(key, values)| (key.as_str().into(), list(values).into())).collect();
        let values: [Value; 4] =
            [self.name.as_str().into(), self.uid.as_str().into(), list(&self.groups).into(), extra.into()];
        let all = User::FIELDS.into_iter().zip(values);
        all.filter(|(_, value)| !value.is_empty()).map(|(key, value)| (key.into(), value)).collect()
    }

    /// Whether the user belongs to `group`.
    #[must_use]
    pub fn is_in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|it| it == group)
    }
}

/// The texts of a list in a map.
pub(crate) fn texts(map: &Map, key: &str) -> Vec<String> {
    map.list(key).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Value;

    use super::User;

    #[track_caller]
    fn check(text: &str) {
        let Value::Map(map) = json::read(text.as_bytes()).expect("it is JSON").value else {
            panic!("{text}")
        };
        let user = User::read(&map, "username");
        let written = json::to_bytes(&Value::Map(user.info()));
        assert_eq!(String::from_utf8_lossy(&written), text);
    }

    #[test]
    fn reviews_tell_of_users_without_what_is_empty() {
        check(r#"{"username":"jane","uid":"7","groups":["a","b"],"extra":{"k":["v","w"],"l":["x"]}}"#);
        check(r#"{"username":"jane"}"#);
        check("{}");
    }
}
