//! SubjectAccessReview: encoding of the request and decoding of the response.

use bytes::Bytes;
use keelson_codec::json;
use keelson_object::selector::{field, label};
use keelson_object::{Map, Value};
use keelson_webhook_client::ReviewVersion;

use crate::{Attributes, Target};

const GROUP: &str = "authorization.k8s.io";
const KIND: &str = "SubjectAccessReview";

/// The decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) allowed: bool,
    pub(super) denied: bool,
    pub(super) reason: String,
}

/// The `spec`, written in upstream's order; equal questions give equal bytes.
pub(super) fn spec(attributes: &Attributes<'_>, version: ReviewVersion) -> Bytes {
    let mut spec = Map::new();
    let question = match attributes.target {
        Target::Resource { .. } => ("resourceAttributes", resource(attributes)),
        Target::Path => {
            let mut map = Map::new();
            put(&mut map, "path", attributes.path);
            put(&mut map, "verb", attributes.verb);
            ("nonResourceAttributes", map)
        }
    };
    spec.push_new(question.0, question.1);
    let user = &attributes.user;
    put(&mut spec, "user", user.name);
    if !user.groups.is_empty() {
        let key = if version == ReviewVersion::V1 { "groups" } else { "group" };
        spec.push_new(key, list(user.groups.iter().map(String::as_str)));
    }
    if !user.extra.is_empty() {
        let mut extra = Map::with_capacity(user.extra.len());
        for (key, values) in user.extra {
            extra.push_new(key.as_str(), list(values.iter().map(String::as_str)));
        }
        spec.push_new("extra", extra);
    }
    put(&mut spec, "uid", user.uid);
    json::to_bytes(&Value::Map(spec))
}

fn resource(attributes: &Attributes<'_>) -> Map {
    let Target::Resource { namespace, api_group, api_version, resource, subresource, name } =
        attributes.target
    else {
        return Map::new();
    };
    let mut map = Map::new();
    put(&mut map, "namespace", namespace);
    put(&mut map, "verb", attributes.verb);
    put(&mut map, "group", api_group);
    put(&mut map, "version", api_version);
    put(&mut map, "resource", resource);
    put(&mut map, "subresource", subresource);
    put(&mut map, "name", name);
    let selectors = &attributes.selectors;
    let fields: Vec<Value> = selectors.fields.iter().map(field_requirement).collect();
    let labels: Vec<Value> = selectors.labels.iter().filter_map(label_requirement).collect();
    for (key, requirements) in [("fieldSelector", fields), ("labelSelector", labels)] {
        if !requirements.is_empty() {
            let mut selector = Map::new();
            selector.push_new("requirements", requirements);
            map.push_new(key, selector);
        }
    }
    map
}

/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go, fieldSelectorToAuthorizationAPI
/// (v1.36.4).
fn field_requirement(term: &field::Term) -> Value {
    let operator = match term.operator {
        field::Operator::Equals => "In",
        field::Operator::NotEquals => "NotIn",
    };
    requirement(&term.field, operator, vec![term.value.clone().into()])
}

/// Requirements that the API cannot express are left out: the question then covers more objects than
/// requested.
///
/// Upstream: staging/src/k8s.io/apiserver/plugin/pkg/authorizer/webhook/webhook.go, labelSelectorToAuthorizationAPI
/// (v1.36.4).
fn label_requirement(wanted: &label::Requirement) -> Option<Value> {
    use label::Operator;
    let operator = match wanted.operator() {
        Operator::Equals | Operator::DoubleEquals | Operator::In => "In",
        Operator::NotEquals | Operator::NotIn => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        Operator::GreaterThan | Operator::LessThan => return None,
    };
    let values = wanted.values().iter().map(|it| it.clone().into()).collect();
    Some(requirement(wanted.key(), operator, values))
}

fn requirement(key: &str, operator: &'static str, values: Vec<Value>) -> Value {
    let mut map = Map::new();
    map.push_new("key", key);
    map.push_new("operator", operator);
    if !values.is_empty() {
        map.push_new("values", values);
    }
    Value::Map(map)
}

fn put(map: &mut Map, key: &'static str, text: &str) {
    if !text.is_empty() {
        map.push_new(key, text);
    }
}

fn list<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<Value> {
    texts.map(Value::from).collect()
}

/// The whole review around a `spec`.
pub(super) fn body(spec: &[u8], version: ReviewVersion) -> Bytes {
    let head = format!(r#"{{"kind":"{KIND}","apiVersion":"{}","metadata":{{}},"spec":"#, version.of(GROUP));
    let tail = br#","status":{"allowed":false}}"#;
    [head.as_bytes(), spec, tail].concat().into()
}

/// The `status` of the response.
pub(super) fn read(body: &[u8], version: ReviewVersion) -> Result<Status, String> {
    let document =
        json::read(body).map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let status = version.status((GROUP, KIND), document.value)?;
    Ok(Status {
        allowed: status.bool("allowed").unwrap_or_default(),
        denied: status.bool("denied").unwrap_or_default(),
        reason: status.str("reason").unwrap_or_default().to_owned(),
    })
}
