//! A user as objects tell of one: in reviews and in requests for certificates.

use keelson_authn::User;
use keelson_object::{Map, Value};

/// The fields that say who somebody is.
pub(crate) const FIELDS: [&str; 4] = ["username", "uid", "groups", "extra"];

/// `username`, `uid`, `groups` and `extra`; what is empty is left out.
pub(crate) fn user_info(user: &User) -> Map {
    let texts = |items: &[String]| items.iter().map(|it| Value::from(it.as_str())).collect::<Vec<_>>();
    let extra: Map =
        user.extra.iter().map(|(key, values)| (key.as_str().into(), texts(values).into())).collect();
    let values: [Value; 4] =
        [user.name.as_str().into(), user.uid.as_str().into(), texts(&user.groups).into(), extra.into()];
    let all = FIELDS.into_iter().zip(values);
    all.filter(|(_, value)| !value.is_empty()).map(|(key, value)| (key.into(), value)).collect()
}
