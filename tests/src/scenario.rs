//! Scenarios: HTTP dialogues in files, the same for us and for upstream.
//!
//! ```json
//! {
//!   "about": "what is compared",
//!   "steps": [
//!     {"ask": "POST /api/v1/namespaces/$NS/configmaps", "body": {…}, "status": 201},
//!     {"ask": "GET /api/v1/namespaces/$NS/configmaps/a", "status": 200, "compare": ["/metadata/labels"]},
//!     {"ask": "GET /apis", "status": 200, "compare": [], "because": "we serve fewer groups"}
//!   ]
//! }
//! ```
//!
//! `$NS` is a namespace that is made for the scenario. `body` is JSON, `text` any text; `headers` are
//! added. `status` is what both must answer. The whole bodies are compared, without what differs from
//! server to server, unless `compare` names the parts (JSON pointers); an empty list needs a `because`.
//! A body that is not JSON is compared as text. `ours` is the status that we answer where we differ, and
//! needs a `because` as well; then bodies are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use keelson_testkit::{Answer, Client, fixture};
use serde_json::Value;

/// A dialogue.
pub struct Scenario {
    /// `writes/conflict`
    pub name: String,
    /// Its questions, in order.
    pub steps: Vec<Step>,
}

/// A question and what is compared of the answers.
pub struct Step {
    /// `GET /api/v1`
    pub ask: String,
    /// What both answer.
    pub status: u16,
    /// What we answer instead, for a known difference.
    pub ours: Option<u16>,
    /// Parts of the body; `None` is all of it.
    pub compare: Option<Vec<String>>,
    headers: BTreeMap<String, String>,
    body: Option<String>,
}

/// What is compared of an answer.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// The status code.
    pub status: u16,
    /// The media type.
    pub media_type: String,
    /// The body, or the parts that are compared.
    pub body: Value,
}

impl Scenario {
    /// All scenarios of the folder, in the order of their names.
    pub fn all() -> Result<Vec<Scenario>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let mut files = Vec::new();
        for area in fs::read_dir(&root).context("the scenarios")? {
            for file in fs::read_dir(area?.path())? {
                files.push(file?.path());
            }
        }
        files.sort();
        files.iter().map(|path| load(&root, path)).collect()
    }

    /// Runs the dialogue in a namespace of its own, and gives what each step saw.
    pub async fn run(&self, client: &Client) -> Result<Vec<Seen>> {
        let namespace = format!("scenario-{}", self.name.replace(['/', '_'], "-"));
        client.post("/api/v1/namespaces", &fixture::namespace(&namespace)).await.expect(201);
        let mut seen = Vec::new();
        for step in &self.steps {
            seen.push(step.run(client, &namespace).await.with_context(|| step.ask.clone())?);
        }
        Ok(seen)
    }
}

impl Step {
    async fn run(&self, client: &Client, namespace: &str) -> Result<Seen> {
        let (method, path) = self.ask.split_once(' ').context("METHOD PATH")?;
        let mut call = client.call(method, &path.replace("$NS", namespace));
        if let Some(body) = &self.body {
            call = call.header("content-type", "application/json").body(body.replace("$NS", namespace));
        }
        for (name, value) in &self.headers {
            call = call.header(name, value);
        }
        Ok(self.seen(&call.try_send().await?))
    }

    fn seen(&self, answer: &Answer) -> Seen {
        let media_type = answer.header("content-type").to_owned();
        let body = match serde_json::from_slice(&answer.body) {
            Ok(body) => body,
            Err(_) => Value::from(answer.text()),
        };
        let body = normalized(body);
        let body = match &self.compare {
            None => body,
            Some(parts) => {
                parts.iter().map(|part| body.pointer(part).cloned().unwrap_or(Value::Null)).collect()
            }
        };
        Seen { status: answer.status.as_u16(), media_type, body }
    }
}

/// Without what differs from one server to the next.
fn normalized(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                *value = match (name.as_str(), value.take()) {
                    (
                        "uid" | "resourceVersion" | "creationTimestamp" | "deletionTimestamp" | "continue"
                        | "time",
                        Value::String(_),
                    ) => Value::from("*"),
                    ("managedFields", Value::Array(entries)) => managers(entries),
                    (_, value) => normalized(value),
                };
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = normalized(item.take());
            }
        }
        _ => (),
    }
    value
}

/// The order of managers is that of the times at which they wrote, as far as seconds go.
fn managers(entries: Vec<Value>) -> Value {
    let mut entries: Vec<Value> = entries.into_iter().map(normalized).collect();
    entries.sort_by_key(Value::to_string);
    Value::from(entries)
}

fn load(root: &Path, path: &PathBuf) -> Result<Scenario> {
    let shown = path.strip_prefix(root).unwrap_or(path).with_extension("").display().to_string();
    let text = fs::read_to_string(path).with_context(|| shown.clone())?;
    let file: Value = serde_json::from_str(&text).with_context(|| shown.clone())?;
    ensure!(file["about"].is_string(), "{shown}: says not what it is about");
    let steps = file["steps"].as_array().with_context(|| format!("{shown}: no steps"))?;
    let steps: Result<Vec<Step>> = steps.iter().map(step).collect();
    Ok(Scenario { steps: steps.with_context(|| shown.clone())?, name: shown })
}

fn step(step: &Value) -> Result<Step> {
    let known = ["ask", "status", "ours", "compare", "because", "headers", "body", "text"];
    let fields = step.as_object().context("a step is an object")?;
    if let Some(name) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        bail!("{name} means nothing");
    }
    let number = |name: &str| step[name].as_u64().and_then(|code| u16::try_from(code).ok());
    let compare: Option<Vec<String>> = match &step["compare"] {
        Value::Null => None,
        parts => Some(serde_json::from_value(parts.clone()).context("compare is a list of pointers")?),
    };
    let differs = step.get("ours").is_some() || compare.as_ref().is_some_and(Vec::is_empty);
    ensure!(!differs || step["because"].is_string(), "a difference needs a reason");
    let body = match (&step["body"], step["text"].as_str()) {
        (_, Some(text)) => Some(text.to_owned()),
        (Value::Null, None) => None,
        (body, None) => Some(body.to_string()),
    };
    Ok(Step {
        ask: step["ask"].as_str().context("a step asks")?.to_owned(),
        status: number("status").context("a step has a status")?,
        ours: number("ours"),
        compare,
        headers: match &step["headers"] {
            Value::Null => BTreeMap::new(),
            headers => serde_json::from_value(headers.clone()).context("headers are texts")?,
        },
        body,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_scenario_can_be_read() {
        assert!(Scenario::all().unwrap().len() > 5);
    }

    #[test]
    fn a_difference_needs_a_reason() {
        for (text, expected) in [
            (json!({"ask": "GET /", "status": 200}), true),
            (json!({"ask": "GET /", "status": 200, "compare": []}), false),
            (json!({"ask": "GET /", "status": 200, "compare": [], "because": "x"}), true),
            (json!({"ask": "GET /", "status": 200, "ours": 404}), false),
            (json!({"ask": "GET /", "status": 200, "nope": 1}), false),
            (json!({"ask": "GET /"}), false),
        ] {
            assert_eq!(step(&text).is_ok(), expected, "{text}");
        }
    }

    #[test]
    fn it_does_not_matter_which_manager_comes_first() {
        let (one, two) = (json!({"manager": "one"}), json!({"manager": "two"}));
        let object = |managers: [&Value; 2]| json!({"metadata": {"managedFields": managers}});
        assert_eq!(normalized(object([&one, &two])), normalized(object([&two, &one])));
        assert_ne!(normalized(object([&one, &two])), normalized(object([&one, &one])));
    }

    #[test]
    fn what_differs_from_server_to_server_is_not_compared() {
        let managers = |time: &str| json!([{"manager": "m", "time": time}]);
        let object = json!({"metadata": {"uid": "1", "name": "a", "managedFields": managers("now")}, "data": {"x": "y"}});
        let expected = json!({"metadata": {"uid": "*", "name": "a", "managedFields": managers("*")}, "data": {"x": "y"}});
        assert_eq!(normalized(object), expected);
    }
}
