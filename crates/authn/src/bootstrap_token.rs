//! Bootstrap tokens, with which new nodes join: secrets of type `bootstrap.kubernetes.io/token` in
//! `kube-system`.
//!
//! The token `abcdef.0123456789abcdef` is the secret `bootstrap-token-abcdef`:
//!
//! ```text
//! token-id                        abcdef
//! token-secret                    0123456789abcdef
//! usage-bootstrap-authentication  true
//! expiration                      2026-03-10T03:22:11Z         or nothing
//! auth-extra-groups               system:bootstrappers:workers or nothing, separated by commas
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::scalar::Time;
use keelson_object::{Map, Object, Readers};
use keelson_stdx::clock::Clock;
use tracing::debug;

use crate::{Authenticated, Outcome, TokenAuthenticator, User};

/// Knows the tokens with which new nodes join.
///
/// Upstream: plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go (v1.36.4).
pub struct BootstrapTokens {
    readers: Arc<dyn Readers>,
    clock: Clock,
}

const NAMESPACE: &str = "kube-system";
const NAME_PREFIX: &str = "bootstrap-token-";
const TYPE: &str = "bootstrap.kubernetes.io/token";
const USER_PREFIX: &str = "system:bootstrap:";
const GROUP: &str = "system:bootstrappers";

impl BootstrapTokens {
    /// Looks for secrets with `readers`.
    #[must_use]
    pub fn new(readers: Arc<dyn Readers>, clock: Clock) -> BootstrapTokens {
        BootstrapTokens { readers, clock }
    }

    fn user_of(&self, token: &str) -> Option<User> {
        let (id, secret) = split(token)?;
        let name = format!("{NAME_PREFIX}{id}");
        let reader = self.readers.reader("", "secrets")?;
        let object = reader.thaw(&*reader.get(NAMESPACE, &name)?)?;
        match self.judge(&object, id, secret) {
            Ok(user) => Some(user),
            Err(problem) => {
                debug!(secret = name, problem, "bootstrap token is refused");
                None
            }
        }
    }

    fn judge(&self, object: &Object, id: &str, secret: &str) -> Result<User, &'static str> {
        if object.meta.deletion_timestamp.is_some() {
            return Err("is deleted and awaiting removal");
        }
        let data = object.fields.map("data").filter(|_| object.fields.str("type") == Some(TYPE));
        let data = data.ok_or("has invalid type, expected bootstrap.kubernetes.io/token")?;
        if verify_slices_are_equal(&value(data, "token-secret"), secret.as_bytes()).is_err() {
            return Err("has invalid value for key token-secret");
        }
        if value(data, "token-id") != id.as_bytes() {
            return Err("has invalid value for key token-id");
        }
        if self.has_expired(&text(data, "expiration")) {
            return Err("is expired, or says in no known way when it will be");
        }
        if value(data, "usage-bootstrap-authentication") != b"true" {
            return Err("not marked usage-bootstrap-authentication=true");
        }
        let groups = groups(&text(data, "auth-extra-groups"));
        let groups = groups.ok_or("has invalid value for key auth-extra-groups")?;
        Ok(User { name: format!("{USER_PREFIX}{id}"), groups, ..User::default() })
    }

    fn has_expired(&self, expiration: &str) -> bool {
        if expiration.is_empty() {
            return false;
        }
        let now = i64::try_from(self.clock.unix_seconds()).unwrap_or(i64::MAX);
        Time::parse(expiration).map_or(true, |until| until.unix() <= now)
    }
}

impl TokenAuthenticator for BootstrapTokens {
    fn authenticate_token<'a>(&'a self, token: &'a str, _: &'a [String]) -> BoxFuture<'a, Outcome> {
        let user = self.user_of(token).map(|user| Authenticated::new(Arc::new(user)));
        std::future::ready(Ok(user)).boxed()
    }
}

/// Six and sixteen letters or digits.
fn split(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let fits = |text: &str, length| {
        text.len() == length && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    (fits(id, 6) && fits(secret, 16)).then_some((id, secret))
}

fn value(data: &Map, key: &str) -> Vec<u8> {
    data.str(key).and_then(|it| STANDARD.decode(it).ok()).unwrap_or_default()
}

fn text(data: &Map, key: &str) -> String {
    String::from_utf8(value(data, key)).unwrap_or_else(|_| "?".to_owned())
}

/// Sorted, each once; `None` if one of them is not a group for new nodes.
fn groups(extra: &str) -> Option<Vec<String>> {
    let mut groups = BTreeSet::from([GROUP.to_owned()]);
    for group in extra.split(',').filter(|_| !extra.is_empty()) {
        let rest = group.strip_prefix("system:bootstrappers:")?;
        let last = rest.bytes().last()?;
        let is_word = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
        let fits = |it: u8| is_word(it) || it == b':' || it == b'-';
        if rest.len() > 256 || !is_word(last) || !rest.bytes().all(fits) {
            return None;
        }
        groups.insert(group.to_owned());
    }
    Some(groups.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use futures_util::FutureExt;
    use keelson_object::{Frozen, Map, Object, Reader, Readers, Value};
    use keelson_stdx::clock::Clock;

    use super::{BootstrapTokens, TYPE};
    use crate::TokenAuthenticator;

    /// An object source that holds a single secret.
    struct Only {
        frozen: Arc<Frozen>,
        object: Object,
    }

    #[derive(Clone)]
    struct Window(Arc<Only>);

    impl Readers for Window {
        fn reader(&self, group: &str, plural: &str) -> Option<Arc<dyn Reader>> {
            ((group, plural) == ("", "secrets")).then(|| Arc::new(self.clone()) as Arc<dyn Reader>)
        }
    }

    impl Reader for Window {
        fn get(&self, namespace: &str, name: &str) -> Option<Arc<Frozen>> {
            ((namespace, name) == ("kube-system", "bootstrap-token-abcdef")).then(|| self.0.frozen.clone())
        }

        fn list(&self, _: &str) -> Vec<Arc<Frozen>> {
            Vec::new()
        }

        fn thaw(&self, _: &Frozen) -> Option<Object> {
            Some(self.0.object.clone())
        }
    }

    const TOKEN: &str = "abcdef.0123456789abcdef";

    /// `changes` are `key=value` of the secret; `name [groups]` is expected, or `nobody`.
    #[track_caller]
    fn check(changes: &[(&str, &str)], token: &str, expected: &str) {
        let mut data = Map::new();
        let good = [
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        let mut object = Object::default();
        object.fields.set("type", TYPE);
        for (key, value) in good.iter().chain(changes) {
            match *key {
                "type" => object.fields.set("type", *value),
                "deleted" => {
                    object.meta.deletion_timestamp = Some(keelson_object::scalar::Time::from_unix(1))
                }
                key => data.set(key, STANDARD.encode(value)),
            }
        }
        object.fields.set("data", Value::Map(data));
        let only = Arc::new(Only { frozen: Arc::new(frozen()), object });
        let (clock, _hand) = Clock::manual();
        let tokens = BootstrapTokens::new(Arc::new(Window(only)), clock);
        let found = tokens.authenticate_token(token, &[]).now_or_never().expect("nothing waits");
        let found = found.expect("no error").map(|it| format!("{} {:?}", it.user.name, it.user.groups));
        assert_eq!(found.as_deref().unwrap_or("nobody"), expected, "{changes:?} {token}");
    }

    fn frozen() -> Frozen {
        Frozen::new(1, keelson_object::Index::default(), "\"metadata\":{}}".into(), 11..13)
    }

    #[test]
    fn a_token_is_a_node_that_joins() {
        check(&[], TOKEN, "system:bootstrap:abcdef [\"system:bootstrappers\"]");
        check(
            &[("auth-extra-groups", "system:bootstrappers:b,system:bootstrappers:a:1-x")],
            TOKEN,
            "system:bootstrap:abcdef [\"system:bootstrappers\", \"system:bootstrappers:a:1-x\", \
             \"system:bootstrappers:b\"]",
        );
        let in_an_hour = [("expiration", "2026-01-01T01:00:00Z")];
        check(&in_an_hour, TOKEN, "system:bootstrap:abcdef [\"system:bootstrappers\"]");
        check(&[("expiration", "")], TOKEN, "system:bootstrap:abcdef [\"system:bootstrappers\"]");
    }

    #[test]
    fn other_tokens_are_nobodys() {
        for token in
            ["", "abcdef", "abcdef.0123456789abcdeF", "abcdef.0123456789abcde", "ABCDEF.0123456789abcdef"]
        {
            check(&[], token, "nobody");
        }
        check(&[], "abcdef.0123456789abcdee", "nobody");
        check(&[], "abcdeg.0123456789abcdef", "nobody");
        check(&[], "abcdef.0123456789abcdef.x", "nobody");
    }

    #[test]
    fn secrets_that_are_not_in_order_are_refused() {
        check(&[("type", "Opaque")], TOKEN, "nobody");
        check(&[("deleted", "")], TOKEN, "nobody");
        check(&[("token-id", "abcdeg")], TOKEN, "nobody");
        check(&[("token-secret", "")], TOKEN, "nobody");
        check(&[("usage-bootstrap-authentication", "TRUE")], TOKEN, "nobody");
        check(&[("expiration", "2026-01-01T00:00:00Z")], TOKEN, "nobody");
        check(&[("expiration", "tomorrow")], TOKEN, "nobody");
        check(&[("auth-extra-groups", "system:masters")], TOKEN, "nobody");
        check(&[("auth-extra-groups", "system:bootstrappers:")], TOKEN, "nobody");
        check(&[("auth-extra-groups", "system:bootstrappers:a,")], TOKEN, "nobody");
        check(&[("auth-extra-groups", "system:bootstrappers:A")], TOKEN, "nobody");
    }

    #[test]
    fn tokens_expire() {
        let object = Object::default();
        let only = Arc::new(Only { frozen: Arc::new(frozen()), object });
        let (clock, hand) = Clock::manual();
        let tokens = BootstrapTokens::new(Arc::new(Window(only)), clock);
        assert!(!tokens.has_expired("2026-01-01T00:00:02Z"));
        hand.advance(Duration::from_secs(2));
        assert!(tokens.has_expired("2026-01-01T00:00:02Z"));
    }
}
