//! Accounts: the credentials for each webhook. A kubeconfig whose users are named like the webhooks'
//! addresses.
//!
//! ```text
//! call: a.example.com:443       users, in the order in which they are looked up
//!                               a.example.com:443, *.example.com:443, *.com:443,
//!                               a.example.com, *.example.com, *.com  (the port is 443),
//!                               *, the user of the current context; otherwise no credentials
//! ```

use std::fmt;
use std::path::PathBuf;

use keelson_object::Value;

use crate::kubeconfig::Reader;
use crate::{Error, Target};

/// The credentials for each address; none by default.
#[derive(Clone, Default)]
pub struct Accounts(Option<(Value, PathBuf)>);

impl Accounts {
    /// The users of a kubeconfig. Relative paths are relative to `folder`.
    #[must_use]
    pub fn new(config: Value, folder: PathBuf) -> Accounts {
        Accounts(Some((config, folder)))
    }

    /// Gives `target` the credentials for `address`, which is a host and a port.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/authentication.go, clientConfig (v1.36.4).
    pub fn equip(&self, address: &str, target: &mut Target) -> Result<(), Error> {
        let Some((config, folder)) = &self.0 else { return Ok(()) };
        let Some(root) = config.as_map() else { return Ok(()) };
        let reader = Reader { root, folder };
        let own = names(address).find_map(|name| reader.user_named(&name));
        match own.or_else(|| reader.user().ok().flatten()) {
            Some(user) => reader.add_user(user, target),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Accounts {
    /// Does not print secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Accounts").field(&self.0.as_ref().map(|(_, folder)| folder)).finish()
    }
}

/// The names of users for an address, the most specific first.
fn names(address: &str) -> impl Iterator<Item = String> {
    let without_port = address.strip_suffix(":443").map(|it| it.trim_matches(['[', ']']));
    let everybody = std::iter::once("*".to_owned());
    std::iter::once(address).chain(without_port).flat_map(with_stars).chain(everybody)
}

/// `a.b.c` is `a.b.c`, `*.b.c`, `*.c`.
fn with_stars(name: &str) -> impl Iterator<Item = String> {
    let ends = name.match_indices('.').map(move |(at, _)| format!("*{}", &name[at..]));
    std::iter::once(name.to_owned()).chain(ends)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use keelson_object::{Map, Value};

    use super::{Accounts, names};
    use crate::{Bearer, Target};

    #[test]
    fn the_best_name_comes_first() {
        let found: Vec<String> = names("a.example.com:443").collect();
        let expected = [
            "a.example.com:443",
            "*.example.com:443",
            "*.com:443",
            "a.example.com",
            "*.example.com",
            "*.com",
            "*",
        ];
        assert_eq!(found, expected);
        assert_eq!(names("[::1]:443").collect::<Vec<_>>(), ["[::1]:443", "::1", "*"]);
        assert_eq!(names("host:8443").collect::<Vec<_>>(), ["host:8443", "*"]);
    }

    /// A kubeconfig whose users have their own names as tokens.
    fn users(names: &[&str], current: &str) -> Accounts {
        let map = |pairs: Vec<(&str, Value)>| {
            Value::Map(Map::from_distinct(
                pairs.into_iter().map(|(key, value)| (key.into(), value)).collect(),
            ))
        };
        let user =
            |name: &&str| map(vec![("name", (*name).into()), ("user", map(vec![("token", (*name).into())]))]);
        let context = map(vec![("name", "it".into()), ("context", map(vec![("user", current.into())]))]);
        let config = map(vec![
            ("users", Value::List(names.iter().map(user).collect())),
            ("contexts", Value::List(vec![context])),
            ("current-context", "it".into()),
        ]);
        Accounts::new(config, PathBuf::from("/nowhere"))
    }

    #[track_caller]
    fn check(accounts: &Accounts, address: &str, expected: &str) {
        let mut target = Target::new("https://x");
        accounts.equip(address, &mut target).expect("they can be read");
        let token = if let Bearer::Fixed(token) = target.bearer { token } else { String::new() };
        assert_eq!(token, expected, "{address}");
    }

    #[test]
    fn everybody_sees_the_account_that_is_for_them() {
        let accounts = users(&["a.n.svc:443", "*.n.svc", "*.svc:8443", "b.n.svc", "*", "other"], "other");
        check(&accounts, "a.n.svc:443", "a.n.svc:443");
        check(&accounts, "b.n.svc:443", "b.n.svc");
        check(&accounts, "c.n.svc:443", "*.n.svc");
        check(&accounts, "c.n.svc:8443", "*.svc:8443");
        check(&accounts, "c.m.svc:443", "*");
    }

    #[test]
    fn who_is_not_named_sees_the_current_user_or_nobody() {
        check(&users(&["a:443", "other"], "other"), "b:443", "other");
        check(&users(&["a:443"], "lost"), "b:443", "");
        check(&Accounts::default(), "b:443", "");
    }
}
