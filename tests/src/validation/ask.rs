//! Requests of validation cases: creates and updates are sent as dry runs.

use anyhow::{Context, Result, bail, ensure};
use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_testkit::{Answer, Client, fixture};

use super::case::{Case, Outcome};
use super::{File, edit};

/// The prefix of our own warnings, which do not count as a difference.
const OWN_WARNING: &str = "stored without effect: ";

pub(super) async fn file(file: &File, client: &Client) -> Result<Vec<Outcome>> {
    let namespace = format!("validation-{}-{}", file.name.replace(['/', '_'], "-"), std::process::id());
    let place = Place::find(client, &file.object, &namespace).await?;
    let mut outcomes = Vec::new();
    for case in &file.cases {
        let mut object = Value::Map(file.object.clone());
        edit::apply(&mut object, &case.set).with_context(|| case.name.clone())?;
        let outcome = match &case.update {
            None => outcome(&send(client, "POST", &format!("{}?dryRun=All", place.all), &object).await?)?,
            Some(_) => place.change(client, case, &object).await.with_context(|| case.name.clone())?,
        };
        outcomes.push(outcome);
    }
    if place.is_namespaced {
        client.delete(&format!("/api/v1/namespaces/{namespace}")).await;
    }
    Ok(outcomes)
}

/// Creates an object and returns its path; `None` if nothing is stored.
pub(super) async fn create(object: &Map, client: &Client, namespace: &str) -> Result<Option<String>> {
    let place = Place::find(client, object, namespace).await?;
    let created = send(client, "POST", &place.all, &Value::Map(object.clone())).await?;
    ensure!(created.status.is_success(), "cannot be created: {}", created.text());
    let created = created.json();
    let at = created["metadata"]["name"].as_str().map(|name| format!("{}/{name}", place.all));
    // Responses to reviews look like objects, too.
    Ok(at.filter(|_| created["metadata"]["uid"].is_string()))
}

/// The paths of objects of a kind.
struct Place {
    all: String,
    is_namespaced: bool,
}

impl Place {
    async fn find(client: &Client, object: &Map, namespace: &str) -> Result<Place> {
        let (version, kind) = (object.str("apiVersion").unwrap_or_default(), object.str("kind"));
        let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
        let list = client.get(&root).await.json();
        let resources = list["resources"].as_array().with_context(|| format!("{root} lists nothing"))?;
        let is_it = |it: &&serde_json::Value| {
            it["kind"].as_str() == kind && !it["name"].as_str().is_some_and(|name| name.contains('/'))
        };
        let found = resources.iter().find(is_it).with_context(|| format!("{root} has no {kind:?}"))?;
        let plural = found["name"].as_str().unwrap_or_default();
        let is_namespaced = found["namespaced"] == true;
        if !is_namespaced {
            return Ok(Place { all: format!("{root}/{plural}"), is_namespaced });
        }
        client.post("/api/v1/namespaces", &fixture::namespace(namespace)).await.expect(201);
        Ok(Place { all: format!("{root}/namespaces/{namespace}/{plural}"), is_namespaced })
    }

    /// Creates the object, changes it as the case says, and removes it.
    async fn change(&self, client: &Client, case: &Case, object: &Value) -> Result<Outcome> {
        let name = object.as_map().and_then(|it| it.map("metadata")).and_then(|it| it.str("name"));
        let at = format!("{}/{}", self.all, name.context("an object that is updated has a name")?);
        remove(client, &at).await?;
        let created = send(client, "POST", &self.all, object).await?;
        ensure!(created.status.is_success(), "cannot be created: {}", created.text());
        let outcome = self.judge(client, case, &at).await;
        remove(client, &at).await?;
        outcome
    }

    async fn judge(&self, client: &Client, case: &Case, at: &str) -> Result<Outcome> {
        for given in &case.given {
            let done = put(client, at, &part(at, &given.part), &given.set).await?;
            ensure!(done.status.is_success(), "cannot be brought about: {}", done.text());
        }
        let change = case.update.as_ref().context("a change")?;
        outcome(&put(client, at, &format!("{}?dryRun=All", part(at, &change.part)), &change.set).await?)
    }
}

/// Puts the object at `at` with changes to `to`. Upstream's own controllers write some kinds, too: conflicts
/// are retried.
async fn put(client: &Client, at: &str, to: &str, changes: &Map) -> Result<Answer> {
    const ATTEMPTS: usize = 10;
    let mut attempt = 1;
    loop {
        let mut object = current(client, at).await?;
        edit::apply(&mut object, changes)?;
        let answer = send(client, "PUT", to, &object).await?;
        let has_lost = answer.status == 409 && answer.text().contains("the object has been modified");
        if !has_lost || attempt == ATTEMPTS {
            return Ok(answer);
        }
        attempt += 1;
    }
}

fn part(at: &str, part: &str) -> String {
    if part.is_empty() { at.to_owned() } else { format!("{at}/{part}") }
}

async fn current(client: &Client, at: &str) -> Result<Value> {
    let answer = client.get(at).await;
    ensure!(answer.status.is_success(), "cannot be read: {}", answer.text());
    Ok(json::read(&answer.body).map_err(|error| anyhow::anyhow!("{error}"))?.value)
}

async fn send(client: &Client, method: &str, path: &str, object: &Value) -> Result<Answer> {
    let call = client.call(method, path).header("content-type", "application/json");
    call.body(json::to_bytes(object)).try_send().await
}

/// Removes an object, whatever holds it.
async fn remove(client: &Client, at: &str) -> Result<()> {
    let mut answer = client.get(at).await;
    if answer.status == 404 {
        return Ok(());
    }
    let release = serde_json::json!({"metadata": {"finalizers": null}});
    client.patch(at, "application/merge-patch+json", &release).await;
    client.delete(&format!("{at}?gracePeriodSeconds=0&propagationPolicy=Background")).await;
    answer = client.get(at).await;
    if answer.status == 200 && answer.json()["kind"] == "Namespace" {
        let mut object = answer.json();
        object["spec"]["finalizers"] = serde_json::Value::Null;
        client.put(&format!("{at}/finalize"), &object).await;
        answer = client.get(at).await;
    }
    match answer.status.as_u16() {
        404 => Ok(()),
        _ => bail!("cannot be removed: {}", answer.text()),
    }
}

fn outcome(answer: &Answer) -> Result<Outcome> {
    let warnings = answer.headers.get_all("warning").iter().filter_map(|it| warning(it.to_str().ok()?));
    let warnings = warnings.filter(|it| !it.starts_with(OWN_WARNING)).collect();
    if answer.status.is_success() {
        return Ok(Outcome { code: 0, errors: Vec::new(), warnings });
    }
    let status = serde_json::from_slice::<serde_json::Value>(&answer.body).context("no Status")?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let causes = status["details"]["causes"].as_array().filter(|_| answer.status == 422);
    let errors = match causes {
        Some(causes) => {
            causes.iter().map(|it| format!("{}: {}", text(&it["field"]), text(&it["message"]))).collect()
        }
        None => vec![text(&status["message"])],
    };
    Ok(Outcome { code: answer.status.as_u16(), errors, warnings })
}

/// The text of `299 - "text"`.
fn warning(header: &str) -> Option<String> {
    let quoted = header.strip_prefix("299 - \"")?.strip_suffix('"')?;
    let mut text = String::new();
    let mut rest = quoted.chars();
    while let Some(character) = rest.next() {
        text.push(if character == '\\' { rest.next()? } else { character });
    }
    Some(text)
}
