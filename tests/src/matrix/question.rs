//! Subjects and requests of a matrix.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use keelson_authz::{Attributes, Selectors, Subject, Target};
use keelson_object::selector::field;
use keelson_testkit::Client;
use serde_json::{Value, json};

use super::Cell;

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The subject of a request.
pub struct Who {
    user: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// A request.
#[derive(Default)]
pub struct Request {
    verb: String,
    /// Empty for a resource.
    path: String,
    resource: String,
    group: String,
    subresource: String,
    namespace: String,
    name: String,
    fields: field::Selector,
    raw_fields: String,
}

impl Who {
    /// Reads `{user: jane, groups: [dev]}`.
    pub fn read(value: &Value) -> Who {
        Who {
            user: value["user"].as_str().unwrap_or_default().to_owned(),
            groups: serde_json::from_value(value["groups"].clone()).unwrap_or_default(),
            extra: BTreeMap::new(),
        }
    }

    /// Whether this is the subject of a binding in the form of reasons, `Group "dev"`.
    pub(super) fn is(&self, subject: &str) -> bool {
        let Some((kind, name)) = subject.split_once(' ') else { return false };
        let name = name.trim_matches('"');
        match (kind, name.split_once('/')) {
            ("ServiceAccount", Some((account, namespace))) => {
                self.user == format!("system:serviceaccount:{namespace}:{account}")
            }
            ("Group", _) => self.groups.iter().any(|it| it == name),
            _ => self.user == name,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.user)?;
        self.groups.iter().try_for_each(|it| write!(f, " {it}"))
    }
}

impl Request {
    /// Reads `get pods in:web name:front`.
    pub fn parse(text: &str) -> Result<Request> {
        let mut words = text.split(' ');
        let (Some(verb), Some(what)) = (words.next(), words.next()) else { bail!("verb what: {text}") };
        let mut request = Request { verb: verb.to_owned(), ..Request::default() };
        if what.starts_with('/') {
            request.path = what.to_owned();
        } else {
            let (resource, subresource) = what.split_once('/').unwrap_or((what, ""));
            let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
            request.resource = resource.to_owned();
            request.group = group.to_owned();
            request.subresource = subresource.to_owned();
        }
        for word in words {
            match word.split_once(':') {
                Some(("in", namespace)) => request.namespace = namespace.to_owned(),
                Some(("name", name)) => request.name = name.to_owned(),
                Some(("fields", selector)) => {
                    request.fields = field::Selector::parse(selector).ok().context("a selector")?;
                    request.raw_fields = selector.to_owned();
                }
                _ => bail!("in:namespace, name:name or fields:selector, not {word}"),
            }
        }
        Ok(request)
    }

    pub(super) fn attributes<'r>(&'r self, who: &'r Who) -> Attributes<'r> {
        let target = if self.path.is_empty() {
            Target::Resource {
                namespace: &self.namespace,
                api_group: &self.group,
                api_version: "*",
                resource: &self.resource,
                subresource: &self.subresource,
                name: &self.name,
            }
        } else {
            Target::Path
        };
        let user = Subject { name: &who.user, uid: "", groups: &who.groups, extra: &who.extra };
        let selectors = Selectors { fields: self.fields.terms(), labels: &[] };
        Attributes { user, verb: &self.verb, target, path: &self.path, selectors }
    }

    /// The review of this request.
    pub fn review(&self, who: &Who) -> Value {
        let mut spec = json!({"user": who.user, "groups": who.groups});
        if self.path.is_empty() {
            let mut attributes = json!({
                "verb": self.verb, "namespace": self.namespace, "group": self.group, "resource": self.resource,
                "subresource": self.subresource, "name": self.name,
            });
            if !self.raw_fields.is_empty() {
                attributes["fieldSelector"] = json!({"rawSelector": self.raw_fields});
            }
            spec["resourceAttributes"] = attributes;
        } else {
            spec["nonResourceAttributes"] = json!({"verb": self.verb, "path": self.path});
        }
        json!({"spec": spec})
    }
}

/// The answer of a server.
pub(super) async fn ask(client: &Client, body: &Value) -> Result<Cell> {
    let answer = client.post(REVIEWS, body).await;
    ensure!(answer.status == 201, "{body}: {}", answer.text());
    let status = &answer.json()["status"];
    let letter = match (status["allowed"] == true, status["denied"] == true) {
        (true, _) => 'y',
        (false, true) => 'n',
        (false, false) => '-',
    };
    let text = |key: &str| status[key].as_str().unwrap_or_default();
    Ok(Cell::new(letter, text("reason"), text("evaluationError")))
}
