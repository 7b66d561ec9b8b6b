//! Claims of service account tokens.

use keelson_object::{Map, SmolStr, Value};

use super::names;

/// A name and a uid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ref {
    /// The name.
    pub name: String,
    /// The uid; empty where there is no object of that name.
    pub uid: String,
}

impl Ref {
    /// A reference to an object.
    #[must_use]
    pub fn new(name: impl Into<String>, uid: impl Into<String>) -> Ref {
        Ref { name: name.into(), uid: uid.into() }
    }

    fn to_map(&self) -> Map {
        let mut map = Map::new();
        for (key, value) in [("name", &self.name), ("uid", &self.uid)] {
            if !value.is_empty() {
                map.push_new(key, value.as_str());
            }
        }
        map
    }

    /// `None` if the key is absent; an error if the value is not a reference.
    fn read(map: &Map, key: &str) -> Result<Option<Ref>, Malformed> {
        match map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Map(it)) => Ok(Some(Ref { name: text(it, "name")?, uid: text(it, "uid")? })),
            Some(_) => Err(Malformed),
        }
    }
}

/// A claim of a type that it must not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The claims that every token may have. Times are in seconds since 1970.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Claims {
    pub(super) issuer: String,
    pub(super) subject: String,
    pub(super) audiences: Vec<String>,
    pub(super) expires: Option<i64>,
    pub(super) not_before: Option<i64>,
    pub(super) issued: Option<i64>,
    pub(super) id: String,
}

impl Claims {
    pub(super) fn read(map: &Map) -> Result<Claims, Malformed> {
        Ok(Claims {
            issuer: text(map, "iss")?,
            subject: text(map, "sub")?,
            audiences: audiences(map)?,
            expires: date(map, "exp")?,
            not_before: date(map, "nbf")?,
            issued: date(map, "iat")?,
            id: text(map, "jti")?,
        })
    }
}

/// The claims of a bound token about the objects it is bound to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Bound {
    pub(super) namespace: String,
    pub(super) account: Ref,
    pub(super) pod: Option<Ref>,
    pub(super) secret: Option<Ref>,
    pub(super) node: Option<Ref>,
    pub(super) warn_after: Option<i64>,
}

impl Bound {
    pub(super) fn read(map: &Map) -> Result<Bound, Malformed> {
        let Some(map) = map.get("kubernetes.io").filter(|it| !it.is_null()) else {
            return Ok(Bound::default());
        };
        let map = map.as_map().ok_or(Malformed)?;
        Ok(Bound {
            namespace: text(map, "namespace")?,
            account: Ref::read(map, "serviceaccount")?.unwrap_or_default(),
            pod: Ref::read(map, "pod")?,
            secret: Ref::read(map, "secret")?,
            node: Ref::read(map, "node")?,
            warn_after: date(map, "warnafter")?.filter(|it| *it != 0),
        })
    }

    /// Keys are in order, as upstream's library writes them.
    fn to_map(&self) -> Map {
        let mut map = Map::new();
        map.push_new("namespace", self.namespace.as_str());
        let mut reference = |key: &'static str, it: &Option<Ref>| {
            if let Some(it) = it {
                map.push_new(key, it.to_map());
            }
        };
        reference("node", &self.node);
        reference("pod", &self.pod);
        reference("secret", &self.secret);
        reference("serviceaccount", &Some(self.account.clone()));
        if let Some(warn_after) = self.warn_after {
            map.push_new("warnafter", warn_after);
        }
        map
    }
}

/// The claims of a token that is made, its keys in order.
pub(super) fn write(claims: &Claims, bound: &Bound) -> Map {
    let mut map = Map::new();
    let list: Vec<Value> = claims.audiences.iter().map(|it| Value::from(it.as_str())).collect();
    if !list.is_empty() {
        map.push_new("aud", list);
    }
    let mut number = |key: &'static str, value: Option<i64>| {
        if let Some(value) = value {
            map.push_new(key, value);
        }
    };
    number("exp", claims.expires);
    number("iat", claims.issued);
    map.push_new("iss", claims.issuer.as_str());
    if !claims.id.is_empty() {
        map.push_new("jti", claims.id.as_str());
    }
    map.push_new("kubernetes.io", bound.to_map());
    if let Some(not_before) = claims.not_before {
        map.push_new("nbf", not_before);
    }
    map.push_new("sub", names::username(&bound.namespace, &bound.account.name));
    map
}

/// A string; empty if the key is absent, an error for any other type.
pub(super) fn text(map: &Map, key: &str) -> Result<String, Malformed> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(_) => Err(Malformed),
    }
}

/// Fractions of a second are cut off, as upstream's library does.
fn date(map: &Map, key: &str) -> Result<Option<i64>, Malformed> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Int(seconds)) => Ok(Some(*seconds)),
        #[allow(clippy::cast_possible_truncation)] // what is beyond the range is at its end
        Some(Value::Float(seconds)) => Ok(Some(*seconds as i64)),
        Some(_) => Err(Malformed),
    }
}

fn audiences(map: &Map) -> Result<Vec<String>, Malformed> {
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or(Malformed);
    match map.get("aud") {
        None => Ok(Vec::new()),
        Some(Value::List(list)) => list.iter().map(text).collect(),
        Some(one) => Ok(vec![text(one)?]),
    }
}

/// The claims of a legacy token.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Legacy {
    pub(super) namespace: String,
    pub(super) account: Ref,
    pub(super) secret: String,
}

impl Legacy {
    pub(super) fn read(map: &Map) -> Result<Legacy, Malformed> {
        let claim = |name: &str| text(map, &SmolStr::from(format!("kubernetes.io/serviceaccount/{name}")));
        Ok(Legacy {
            namespace: claim("namespace")?,
            account: Ref::new(claim("service-account.name")?, claim("service-account.uid")?),
            secret: claim("secret.name")?,
        })
    }
}
