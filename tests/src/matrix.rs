//! Matrices: who may do what, as upstream decides it. One row for each subject, one letter for each request.
//!
//! ```yaml
//! about: what is tried
//! modes: Node,RBAC                                 # as of --authorization-mode
//! objects: [{kind: ClusterRole, …}]                # beside the roles of every cluster
//! requests:
//! - get deployments.apps/scale in:web name:front   # verb, resource[.group][/subresource], namespace, name
//! - get /healthz
//! subjects:
//! - {user: jane, groups: [dev]}
//! answers:
//! - "y-"                                           # jane: y is yes, - nobody says anything, n is a refusal
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use keelson_authz::{Attributes, Authorizer, Decision, Selectors, Subject, Target};
use keelson_codec::{json, yaml};
use keelson_stdx::clock::Clock;
use keelson_testkit::Client;
use serde_json::{Value, json};

const GROUP: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// How long a server may take to learn of roles.
const LEARNS_WITHIN: Duration = Duration::from_secs(20);

/// One file.
pub struct Matrix {
    path: PathBuf,
    text: String,
    /// As of `--authorization-mode`.
    pub modes: String,
    /// Roles and bindings, in the form of the API.
    pub objects: Vec<Value>,
    requests: Vec<Request>,
    subjects: Vec<Who>,
    /// A row for each subject.
    pub answers: Vec<String>,
}

struct Who {
    user: String,
    groups: Vec<String>,
}

#[derive(Default)]
struct Request {
    verb: String,
    /// Empty for a resource.
    path: String,
    resource: String,
    group: String,
    subresource: String,
    namespace: String,
    name: String,
}

impl Matrix {
    /// All files.
    pub fn all() -> Result<Vec<Matrix>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/authz/testdata/matrix");
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).context("the matrices")? {
            paths.push(entry?.path());
        }
        paths.sort();
        paths.into_iter().map(Matrix::load).collect()
    }

    fn load(path: PathBuf) -> Result<Matrix> {
        let text = fs::read_to_string(&path)?;
        let document = yaml::read(text.as_bytes()).with_context(|| path.display().to_string())?;
        let file: Value = serde_json::from_slice(&json::to_bytes(&document.value))?;
        let texts = |key: &str| -> Result<Vec<String>> {
            Ok(serde_json::from_value(file[key].clone()).unwrap_or_default())
        };
        let who = |it: &Value| Who {
            user: it["user"].as_str().unwrap_or_default().to_owned(),
            groups: serde_json::from_value(it["groups"].clone()).unwrap_or_default(),
        };
        let list = |key: &str| file[key].as_array().cloned().unwrap_or_default();
        Ok(Matrix {
            modes: file["modes"].as_str().context("modes")?.to_owned(),
            objects: list("objects"),
            requests: texts("requests")?.iter().map(|it| Request::parse(it)).collect::<Result<_>>()?,
            subjects: list("subjects").iter().map(who).collect(),
            answers: texts("answers")?,
            path,
            text,
        })
    }

    /// The name of the file.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// How many answers there are.
    pub fn cells(&self) -> usize {
        self.subjects.len() * self.requests.len()
    }

    /// What an authorizer answers.
    pub async fn decided_by(&self, authorizer: &dyn Authorizer) -> Vec<String> {
        let mut rows = Vec::new();
        for who in &self.subjects {
            let extra = BTreeMap::new();
            let user = Subject { name: &who.user, uid: "", groups: &who.groups, extra: &extra };
            let mut row = String::new();
            for request in &self.requests {
                row.push(match authorizer.authorize(&request.attributes(user)).await.decision {
                    Decision::Allow { .. } => 'y',
                    Decision::Deny { .. } => 'n',
                    Decision::NoOpinion { .. } => '-',
                });
            }
            rows.push(row);
        }
        rows
    }

    /// What a server answers that has these modes, after it got the objects.
    pub async fn answered_by(&self, client: &Client) -> Result<Vec<String>> {
        self.prepare(client).await?;
        let mut rows = Vec::new();
        for who in &self.subjects {
            let mut row = String::new();
            for request in &self.requests {
                row.push(review(client, &request.review(who)).await?);
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Makes the objects, and waits until the server decides by them.
    async fn prepare(&self, client: &Client) -> Result<()> {
        for namespace in ["web", "other"] {
            let body = json!({"metadata": {"name": namespace}});
            client.post("/api/v1/namespaces", &body).await;
        }
        for object in self.objects.iter().chain(&sentinels()) {
            let (kind, meta) = (object["kind"].as_str().unwrap_or_default(), &object["metadata"]);
            let plural = format!("{}s", kind.to_lowercase());
            let path = match meta["namespace"].as_str() {
                Some(namespace) => format!("{GROUP}/namespaces/{namespace}/{plural}"),
                None => format!("{GROUP}/{plural}"),
            };
            let answer = client.post(&path, object).await;
            ensure!(matches!(answer.status.as_u16(), 201 | 409), "{path}: {}", answer.text());
        }
        if !self.modes.contains("RBAC") {
            return Ok(());
        }
        let sentinel = Who { user: "sentinel".to_owned(), groups: Vec::new() };
        let clock = Clock::real();
        let deadline = clock.monotonic() + LEARNS_WITHIN;
        for request in ["sentinel pods", "sentinel services in:web"] {
            let body = Request::parse(request)?.review(&sentinel);
            while review(client, &body).await? != 'y' {
                ensure!(clock.monotonic() < deadline, "the server does not learn of roles");
                clock.sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }

    /// Writes down what was answered.
    pub fn record(&self, answers: &[String]) -> Result<()> {
        let (head, _) = self.text.split_once("\nanswers:").unwrap_or((self.text.trim_end(), ""));
        let mut text = format!("{head}\nanswers:\n");
        for (row, who) in answers.iter().zip(&self.subjects) {
            text += &format!(
                "- \"{row}\" # {}\n",
                [&who.user[..]]
                    .into_iter()
                    .chain(who.groups.iter().map(|it| &it[..]))
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
        fs::write(&self.path, text).context("the matrix")
    }

    /// Where answers are not those of the file, in words.
    pub fn differences(&self, answers: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        if answers.len() != self.answers.len() {
            found.push(format!("{}: {} rows, {} expected", self.name(), answers.len(), self.answers.len()));
        }
        for ((who, seen), expected) in self.subjects.iter().zip(answers).zip(&self.answers) {
            for ((request, seen), expected) in self.requests.iter().zip(seen.chars()).zip(expected.chars()) {
                if seen != expected {
                    let about = request.review(who)["spec"].to_string();
                    found.push(format!("{}: {about}: {seen} and not {expected}", self.name()));
                }
            }
            if seen.len() != expected.len() {
                found.push(format!("{}: {}: {} answers", self.name(), who.user, seen.len()));
            }
        }
        found
    }
}

/// Made last: a server that knows them knows all that came before.
fn sentinels() -> [Value; 4] {
    let rule = |resource: &str| json!([{"verbs": ["sentinel"], "apiGroups": [""], "resources": [resource]}]);
    let subjects = json!([{"kind": "User", "name": "sentinel"}]);
    let reference = |kind: &str| json!({"kind": kind, "name": "sentinel"});
    let (there, everywhere) = (json!({"name": "sentinel", "namespace": "web"}), json!({"name": "sentinel"}));
    [
        json!({"kind": "ClusterRole", "metadata": everywhere, "rules": rule("pods")}),
        json!({"kind": "Role", "metadata": there, "rules": rule("services")}),
        json!({"kind": "ClusterRoleBinding", "metadata": everywhere, "roleRef": reference("ClusterRole"), "subjects": subjects}),
        json!({"kind": "RoleBinding", "metadata": there, "roleRef": reference("Role"), "subjects": subjects}),
    ]
}

async fn review(client: &Client, body: &Value) -> Result<char> {
    let answer = client.post(REVIEWS, body).await;
    ensure!(answer.status == 201, "{body}: {}", answer.text());
    let status = &answer.json()["status"];
    Ok(match (status["allowed"] == true, status["denied"] == true) {
        (true, _) => 'y',
        (false, true) => 'n',
        (false, false) => '-',
    })
}

impl Request {
    fn parse(text: &str) -> Result<Request> {
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
                _ => bail!("in:namespace or name:name, not {word}"),
            }
        }
        Ok(request)
    }

    fn attributes<'r>(&'r self, user: Subject<'r>) -> Attributes<'r> {
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
        Attributes { user, verb: &self.verb, target, path: &self.path, selectors: Selectors::default() }
    }

    fn review(&self, who: &Who) -> Value {
        let mut spec = json!({"user": who.user, "groups": who.groups});
        if self.path.is_empty() {
            spec["resourceAttributes"] = json!({
                "verb": self.verb, "namespace": self.namespace, "group": self.group, "resource": self.resource,
                "subresource": self.subresource, "name": self.name,
            });
        } else {
            spec["nonResourceAttributes"] = json!({"verb": self.verb, "path": self.path});
        }
        json!({"spec": spec})
    }
}
