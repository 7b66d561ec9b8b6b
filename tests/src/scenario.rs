//! Scenarios: HTTP dialogues in files, the same for us and for upstream.
//!
//! ```yaml
//! about: what is compared
//! steps:
//! - {ask: "POST /api/v1/namespaces/$NS/configmaps", body: {…}, status: 201, save: {RV: /metadata/resourceVersion}}
//! - {ask: "GET /api/v1/namespaces/$NS/configmaps/a", status: 200, compare: [/metadata/labels]}
//! - {ask: "GET /api/v1/namespaces/$NS/configmaps?watch=1&resourceVersion=$RV", status: 200, watch: 3}
//! - {ask: "GET /apis", status: 200, compare: [], because: we serve fewer groups}
//! ```
//!
//! `$NS` is a namespace that is created for the scenario; `save` names parts of a response for later steps.
//! `body` is JSON, `text` any text; `headers` are added. `status` is the expected status of both servers. The
//! whole bodies are compared, without the parts that differ from server to server, unless `compare` names the
//! parts (JSON pointers); an empty list needs a `because`. A body that is not JSON is compared as text. With
//! `watch` the body is the list of the first events, up to that number; `the end` comes last if there are no
//! more. Warnings are compared in any order. `ours` is our status where we differ, and needs a `because` as
//! well; then bodies are not compared.
//!
//! Both servers see roles, classes, limits and other inputs of their decisions through watches, a moment
//! after they are written. In scenarios about such decisions each step is first sent as a dry run, until it
//! has the status of the file and the parts that `until` names have their values, such as
//! `until: {/spec/priority: 7}`. Then it is sent once, and that response is compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderMap, HeaderValue, StatusCode};
use keelson_codec::{json, yaml};
use keelson_stdx::clock::Clock;
use keelson_testkit::{Answer, Call, Client, fixture};
use serde_json::Value;

/// The time limit for a server to see a new object, on a busy machine.
const LEARNS_WITHIN: Duration = Duration::from_secs(20);

/// The scenarios about decisions that depend on objects which servers see a moment later.
const FOLLOWING: [&str; 5] = ["admission", "customresources/", "nodes/", "permissions/", "rbac/escalation"];

/// A dialogue.
pub struct Scenario {
    /// `writes/conflict`
    pub name: String,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// A request, and the compared parts of the responses.
pub struct Step {
    /// `GET /api/v1`
    pub ask: String,
    /// The expected status of both servers.
    pub status: u16,
    /// Our status, for a known difference.
    pub ours: Option<u16>,
    /// Parts of the body; `None` is all of it.
    pub compare: Option<Vec<String>>,
    headers: BTreeMap<String, String>,
    body: Option<String>,
    /// The number of events to wait for.
    watch: Option<usize>,
    /// The parts of a dry run's response that show that the server knows what this step depends on.
    until: BTreeMap<String, Value>,
    /// The names that later steps use for parts of the response, and the parts.
    save: BTreeMap<String, String>,
}

/// The variables of later steps: `$NS`, and what was saved.
type Names = BTreeMap<String, String>;

/// The compared parts of a response.
#[derive(Debug, PartialEq)]
pub struct Seen {
    /// The status code.
    pub status: u16,
    /// The media type.
    pub media_type: String,
    /// The warnings, sorted.
    pub warnings: Vec<String>,
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

    /// Runs the scenario in its own namespace, and returns what each step saw.
    pub async fn run(&self, client: &Client) -> Result<Vec<Seen>> {
        let namespace = format!("scenario-{}", self.name.replace(['/', '_'], "-"));
        client.post("/api/v1/namespaces", &fixture::namespace(&namespace)).await.expect(201);
        let mut names = Names::from([("NS".to_owned(), namespace)]);
        let mut seen = Vec::new();
        let follows = FOLLOWING.iter().any(|it| self.name.starts_with(it));
        for step in &self.steps {
            if follows || !step.until.is_empty() {
                step.wait(client, &names).await.with_context(|| step.ask.clone())?;
            }
            seen.push(step.run(client, &mut names).await.with_context(|| step.ask.clone())?);
        }
        Ok(seen)
    }
}

/// How long the next event of a watch may take.
const NEXT_EVENT: Duration = Duration::from_secs(10);

impl Step {
    /// The request, with `more` in its query.
    fn call(&self, client: &Client, names: &Names, more: &str) -> Result<Call> {
        let (method, path) = self.ask.split_once(' ').context("METHOD PATH")?;
        let path = match (more, path.contains('?')) {
            ("", _) => path.to_owned(),
            (_, true) => format!("{path}&{more}"),
            (_, false) => format!("{path}?{more}"),
        };
        let mut call = client.call(method, &filled(&path, names));
        if let Some(body) = &self.body {
            call = call.header("content-type", "application/json").body(filled(body, names));
        }
        for (name, value) in &self.headers {
            call = call.header(name, &filled(value, names));
        }
        Ok(call)
    }

    /// Sends dry runs until the server shows that it knows what the step depends on.
    async fn wait(&self, client: &Client, names: &Names) -> Result<()> {
        // Connections to nodes and watches have no dry runs.
        let connects = ["/exec", "/attach", "/portforward", "/proxy"].iter().any(|it| self.ask.contains(it));
        if connects || self.watch.is_some() {
            return Ok(());
        }
        let more = if self.ask.contains("dryRun=") { "" } else { "dryRun=All" };
        let clock = Clock::real();
        let deadline = clock.monotonic() + LEARNS_WITHIN;
        loop {
            let seen = whole(&self.call(client, names, more)?.try_send().await?);
            let is_status = seen.status == self.status || Some(seen.status) == self.ours;
            if is_status && self.until.iter().all(|(part, value)| seen.body.pointer(part) == Some(value)) {
                return Ok(());
            }
            ensure!(clock.monotonic() < deadline, "the dry run is still {} {}", seen.status, seen.body);
            clock.sleep(Duration::from_millis(10)).await;
        }
    }

    async fn run(&self, client: &Client, names: &mut Names) -> Result<Seen> {
        let call = self.call(client, names, "")?;
        let mut seen = match self.watch {
            Some(count) => follow(call, count).await?,
            None => whole(&call.try_send().await?),
        };
        let body = seen.body.take();
        for (name, part) in &self.save {
            let found = body.pointer(part).with_context(|| format!("nothing at {part} of {body}"))?;
            let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            names.insert(name.clone(), text);
        }
        let body = normalized(body, names);
        seen.body = match &self.compare {
            None => body,
            Some(parts) => {
                parts.iter().map(|part| body.pointer(part).cloned().unwrap_or(Value::Null)).collect()
            }
        };
        for warning in &mut seen.warnings {
            *warning = message(std::mem::take(warning), names);
        }
        Ok(seen)
    }
}

/// Replaces `$NS` and other variables; the longest first, so that a prefix of a name is not replaced.
fn filled(text: &str, names: &Names) -> String {
    let mut pairs: Vec<_> = names.iter().collect();
    pairs.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    pairs.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
}

fn whole(answer: &Answer) -> Seen {
    let seen = Seen::of(answer.status, &answer.headers);
    let body = serde_json::from_slice(&answer.body).unwrap_or_else(|_| Value::from(answer.text()));
    Seen { body, ..seen }
}

impl Seen {
    /// The parts before the body.
    fn of(status: StatusCode, headers: &HeaderMap) -> Seen {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        // Warnings that only we send.
        let is_ours = |text: &String| {
            ["stored without effect: ", "the body is no JSON at "].iter().any(|ours| text.contains(ours))
        };
        let mut warnings: Vec<String> =
            headers.get_all("warning").iter().map(text).filter(|it| !is_ours(it)).collect();
        warnings.sort();
        let media_type = headers.get("content-type").map(text).unwrap_or_default();
        Seen { status: status.as_u16(), media_type, warnings, body: Value::Null }
    }
}

/// The first `count` events of a watch, or the refusal.
async fn follow(call: Call, count: usize) -> Result<Seen> {
    let mut stream = call.stream().await;
    let seen = Seen::of(stream.status, &stream.headers);
    if seen.status != 200 {
        let text = stream.text().await?;
        return Ok(Seen { body: serde_json::from_str(&text).unwrap_or(Value::from(text)), ..seen });
    }
    let mut events = Vec::new();
    while events.len() < count {
        match stream.try_event(NEXT_EVENT).await? {
            Some(event) => events.push(event),
            None => {
                events.push(Value::from("the end"));
                break;
            }
        }
    }
    Ok(Seen { body: Value::from(events), ..seen })
}

/// Removes the parts that differ from one server to the next.
fn normalized(mut value: Value, names: &Names) -> Value {
    match &mut value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                *value = match (name.as_str(), value.take()) {
                    (
                        "uid"
                        | "resourceVersion"
                        | "creationTimestamp"
                        | "deletionTimestamp"
                        | "continue"
                        | "time"
                        | "lastPhaseTransitionTime",
                        Value::String(_),
                    ) => Value::from("*"),
                    ("expirationTimestamp", Value::String(_)) => Value::from("*"),
                    ("authentication.kubernetes.io/pod-uid" | "authentication.kubernetes.io/node-uid", _) => {
                        Value::from("*")
                    }
                    ("token", Value::String(text)) => token(text, names),
                    ("message", Value::String(text)) => Value::from(message(text, names)),
                    ("managedFields", Value::Array(entries)) => managers(entries, names),
                    ("causes", Value::Array(causes)) if are_conflicts(&causes) => managers(causes, names),
                    (_, value) => normalized(value, names),
                };
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = normalized(item.take(), names);
            }
        }
        Value::String(text) => {
            for prefix in ["kube-api-access-", "JTI="] {
                if text.starts_with(prefix) {
                    *text = format!("{prefix}*");
                }
            }
        }
        _ => (),
    }
    value
}

/// A signed token is replaced by its claims; times are relative to `iat`.
fn token(text: String, names: &Names) -> Value {
    let payload = text.split('.').nth(1).and_then(|it| URL_SAFE_NO_PAD.decode(it).ok());
    let claims = payload.and_then(|it| serde_json::from_slice::<Value>(&it).ok());
    let Some(mut claims) = claims.filter(|_| text.starts_with("eyJ")) else { return Value::from(text) };
    let begin = claims["iat"].as_i64().unwrap_or_default();
    for pointer in ["/exp", "/nbf", "/iat", "/kubernetes.io/warnafter"] {
        if let Some(time) = claims.pointer_mut(pointer) {
            *time = Value::from(time.as_i64().unwrap_or_default() - begin);
        }
    }
    if claims["jti"].is_string() {
        claims["jti"] = Value::from("*");
    }
    normalized(claims, names)
}

/// Replaces saved values by their names, and revisions by a constant.
fn message(mut text: String, names: &Names) -> String {
    // Whole objects are repeated, with all that differs.
    if let (Some(start), Some(end)) = (text.find("Invalid value: \"{"), text.rfind("\": "))
        && start < end
    {
        text.replace_range(start + "Invalid value: \"{".len()..end, "*");
    }
    if text.to_lowercase().contains("resource version: ") {
        let mut out = String::new();
        for letter in text.chars() {
            match letter {
                '0'..='9' if out.ends_with('*') => (),
                '0'..='9' => out.push('*'),
                other => out.push(other),
            }
        }
        return out;
    }
    let saved = names.iter().filter(|(name, value)| *name != "NS" && !value.is_empty());
    saved.fold(text, |text, (name, value)| text.replace(value.as_str(), &format!("${name}")))
}

/// Whether these are apply conflicts, which upstream lists in any order.
fn are_conflicts(causes: &[Value]) -> bool {
    causes.iter().all(|cause| cause["reason"] == "FieldManagerConflict")
}

/// Sorts field managers, whose order depends on the seconds at which they wrote.
fn managers(entries: Vec<Value>, names: &Names) -> Value {
    let mut entries: Vec<Value> = entries.into_iter().map(|entry| normalized(entry, names)).collect();
    entries.sort_by_key(Value::to_string);
    Value::from(entries)
}

fn load(root: &Path, path: &PathBuf) -> Result<Scenario> {
    let shown = path.strip_prefix(root).unwrap_or(path).with_extension("").display().to_string();
    ensure!(path.extension().is_some_and(|it| it == "yaml"), "{}: scenarios are YAML", path.display());
    let text = fs::read_to_string(path).with_context(|| shown.clone())?;
    let document = yaml::read(text.as_bytes()).with_context(|| shown.clone())?;
    let file: Value = serde_json::from_slice(&json::to_bytes(&document.value))?;
    ensure!(file["about"].is_string(), "{shown}: says not what it is about");
    let steps = file["steps"].as_array().with_context(|| format!("{shown}: no steps"))?;
    let steps: Result<Vec<Step>> = steps.iter().map(step).collect();
    Ok(Scenario { steps: steps.with_context(|| shown.clone())?, name: shown })
}

fn step(step: &Value) -> Result<Step> {
    let known = [
        "ask", "status", "ours", "compare", "because", "headers", "body", "text", "watch", "save", "note",
        "until",
    ];
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
        headers: texts(&step["headers"]).context("headers are texts")?,
        body,
        until: match &step["until"] {
            Value::Null => BTreeMap::new(),
            parts => serde_json::from_value(parts.clone()).context("until has pointers and values")?,
        },
        watch: step["watch"].as_u64().and_then(|count| usize::try_from(count).ok()),
        save: texts(&step["save"]).context("save has pointers")?,
    })
}

fn texts(map: &Value) -> Result<BTreeMap<String, String>> {
    Ok(if map.is_null() { BTreeMap::new() } else { serde_json::from_value(map.clone())? })
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
    fn it_does_not_matter_which_conflict_comes_first() {
        let cause = |reason: &str, field: &str| json!({"reason": reason, "field": field});
        let status = |one: &Value, other: &Value| json!({"details": {"causes": [one, other]}});
        let shown = |status: Value| normalized(status, &Names::new());
        let (a, b) = (cause("FieldManagerConflict", "a"), cause("FieldManagerConflict", "b"));
        assert_eq!(shown(status(&a, &b)), shown(status(&b, &a)));
        let (a, b) = (cause("FieldValueInvalid", "a"), cause("FieldValueInvalid", "b"));
        assert_ne!(shown(status(&a, &b)), shown(status(&b, &a)));
    }

    #[test]
    fn it_does_not_matter_which_manager_comes_first() {
        let (one, two) = (json!({"manager": "one"}), json!({"manager": "two"}));
        let object = |managers: [&Value; 2]| json!({"metadata": {"managedFields": managers}});
        let normalized = |value| normalized(value, &Names::new());
        assert_eq!(normalized(object([&one, &two])), normalized(object([&two, &one])));
        assert_ne!(normalized(object([&one, &two])), normalized(object([&one, &one])));
    }

    #[test]
    fn what_differs_from_server_to_server_is_not_compared() {
        let managers = |time: &str| json!([{"manager": "m", "time": time}]);
        let object = json!({"metadata": {"uid": "1", "name": "a", "managedFields": managers("now")}, "data": {"x": "y"}});
        let expected = json!({"metadata": {"uid": "*", "name": "a", "managedFields": managers("*")}, "data": {"x": "y"}});
        assert_eq!(normalized(object, &Names::new()), expected);
    }

    #[test]
    fn saved_names_stand_in_questions_and_messages() {
        let names = Names::from([("A", "7"), ("AB", "x-y")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        assert_eq!(filled("/$A/$AB", &names), "/7/x-y");
        assert_eq!(message("not x-y".to_owned(), &names), "not $AB");
        let found = message("too old resource version: 12 (345)".to_owned(), &names);
        assert_eq!(found, "too old resource version: * (*)");
    }
}
