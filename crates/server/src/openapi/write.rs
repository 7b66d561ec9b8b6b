//! Common parts of both forms of OpenAPI. A document is written piece by piece: only one path or schema is a
//! tree at a time.

use keelson_codec::json;
use keelson_object::{Map, SmolStr, Value};
use keelson_schema::openapi::{Components, group_version_kind};

use super::operation_id::id_and_tag;
use super::route::Route;

/// A JSON object whose members are appended one after the other.
pub(super) struct Members<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl<'o> Members<'o> {
    pub(super) fn open(out: &'o mut Vec<u8>) -> Members<'o> {
        out.push(b'{');
        Members { out, is_first: true }
    }

    /// Writes a key, and returns the buffer for its value.
    pub(super) fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !self.is_first {
            self.out.push(b',');
        }
        self.is_first = false;
        json::write_text(key, self.out);
        self.out.push(b':');
        self.out
    }

    pub(super) fn set(&mut self, key: &str, value: impl Into<Value>) {
        json::write(&value.into(), self.key(key));
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }
}

/// Every schema by its name.
pub(super) fn schemas(components: &Components<'_>, out: &mut Vec<u8>) {
    let mut members = Members::open(out);
    for (name, schema) in components.schemas() {
        json::write_map(&schema, members.key(name));
    }
    members.close();
}

/// The header of a document.
pub(super) struct About<'s> {
    title: &'static str,
    version: &'s str,
    /// Whether it describes how clients authenticate.
    pub(super) has_security: bool,
}

impl About<'static> {
    /// A document of custom resources.
    pub(super) const CUSTOM: About<'static> =
        About { title: "Kubernetes CRD Swagger", version: "v0.1.0", has_security: false };
}

impl<'s> About<'s> {
    /// A document of the server.
    pub(super) fn kubernetes(version: &'s str) -> About<'s> {
        About { title: "Kubernetes", version, has_security: true }
    }

    /// `{"title":"Kubernetes","version":"1.36"}`.
    pub(super) fn info(&self) -> Map {
        map([("title", Value::from(self.title)), ("version", Value::from(self.version))])
    }
}

/// The security scheme of bearer tokens.
pub(super) fn bearer_token() -> Map {
    let token = map([
        ("description", Value::from("Bearer Token authentication")),
        ("in", Value::from("header")),
        ("name", Value::from("authorization")),
        ("type", Value::from("apiKey")),
    ]);
    map([("BearerToken", token.into())])
}

/// Sets the common fields of every operation.
pub(super) fn describe(operation: &mut Map, route: &Route) {
    let (id, tag) = id_and_tag(route.verb, &route.rest, &route.path);
    if !route.description.is_empty() {
        operation.push_new("description", route.description.as_str());
    }
    operation.push_new("operationId", id);
    operation.push_new("tags", vec![Value::from(tag)]);
    if !route.action.is_empty() {
        operation.push_new("x-kubernetes-action", route.action);
    }
    if let Some([group, version, kind]) = &route.kind {
        operation.push_new("x-kubernetes-group-version-kind", group_version_kind(group, version, kind));
    }
}

/// A map of these pairs.
pub(super) fn map<const N: usize>(pairs: [(&'static str, Value); N]) -> Map {
    pairs.into_iter().map(|(key, value)| (SmolStr::new_static(key), value)).collect()
}

/// A list of these texts.
pub(super) fn texts(texts: &[&'static str]) -> Value {
    Value::List(texts.iter().map(|it| Value::from(SmolStr::new_static(it))).collect())
}
