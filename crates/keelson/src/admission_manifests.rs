//! Static admission manifests: webhooks from a folder of files, which cannot be changed or removed through
//! the API.
//!
//! ```text
//! folder ──> documents of .yaml, .yml, .json ──> configurations, defaulted and checked ──> Manifests, by name
//!    ▲                                            one that is wrong: none of the new ones count
//!    └── looked at again and again
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::User;
use keelson_codec::yaml;
use keelson_kube_admission::Settings;
use keelson_kube_admission::webhook::Manifests;
use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Object, Value};
use keelson_registry::decode::{self, Draft};
use keelson_registry::options::FieldValidation;
use keelson_registry::{CatalogHandle, Context, Live};
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;

use crate::error::Error;
use crate::webhook_metrics::WebhookMetrics;

/// How often the folder is checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// The suffix of all names in the files.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/manifest/validation.go, StaticConfigSuffix (v1.36.4).
const SUFFIX: &str = ".static.k8s.io";

/// Loads the folders that plugins have, and follows them.
pub(crate) fn start(
    plugins: &mut Settings,
    catalog: &CatalogHandle,
    (clock, tasks): (&Clock, &Tasks),
    metrics: &Arc<WebhookMetrics>,
) -> Result<(), Error> {
    for (plugin, configuration) in plugins.configurations.webhooks() {
        let Some(folder) = configuration.manifests_folder.clone() else { continue };
        let plural = match plugin {
            "MutatingAdmissionWebhook" => "mutatingwebhookconfigurations",
            _ => "validatingwebhookconfigurations",
        };
        let live = catalog.load().live("admissionregistration.k8s.io", plural).cloned();
        let Some(live) = live else {
            return Err(Error::Invalid(vec![format!("{plugin} has manifests, and {plural} are not served")]));
        };
        let loader =
            Loader { plugin, folder, live, clock: clock.clone(), to: configuration.manifests.clone() };
        let seen = loader.load().map_err(|why| {
            let folder = quote(&loader.folder.display().to_string());
            Error::Invalid(vec![format!("failed to load static webhook manifests from {folder}: {why}")])
        })?;
        tasks.spawn("admission manifests", loader.follow(seen, metrics.clone()));
    }
    Ok(())
}

/// Everything in a folder: the file and a document in it.
type Documents = Vec<(PathBuf, String)>;

struct Loader {
    plugin: &'static str,
    folder: PathBuf,
    live: Arc<Live>,
    clock: Clock,
    to: Manifests,
}

impl Loader {
    async fn follow(self, mut seen: Documents, metrics: Arc<WebhookMetrics>) {
        let clock = self.clock.clone();
        let mut refused = None;
        loop {
            clock.sleep(INTERVAL).await;
            let now = documents(&self.folder);
            if now.as_ref().is_ok_and(|it| *it == seen) || refused.as_ref() == Some(&now) {
                continue;
            }
            let status = match now.clone().and_then(|it| self.accept(it)) {
                Ok(accepted) => {
                    tracing::info!(plugin = self.plugin, "admission manifests were read again");
                    (seen, refused) = (accepted, None);
                    "success"
                }
                Err(error) => {
                    tracing::warn!(plugin = self.plugin, error, "admission manifests stay as they were");
                    refused = Some(now);
                    "failure"
                }
            };
            metrics.reloads.with(&[status, self.plugin, ""]).inc();
        }
    }

    fn load(&self) -> Result<Documents, String> {
        self.accept(documents(&self.folder)?)
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/manifest/loader/loader.go, LoadManifests (v1.36.4).
    fn accept(&self, documents: Documents) -> Result<Documents, String> {
        let mut found: Vec<(Object, &Path)> = Vec::new();
        for (file, text) in &documents {
            let fail = |why: String| format!("error loading {}: {why}", file.display());
            let document = yaml::read(text.as_bytes()).map_err(|error| fail(error.to_string()))?;
            if let Some(problem) = document.strict_problem() {
                return Err(fail(problem));
            }
            for value in self.unpack(document.value).map_err(fail)? {
                let object = self.read(value).map_err(fail)?;
                self.check(&object, file, &found).map_err(fail)?;
                found.push((object, file));
            }
        }
        found.sort_by(|a, b| a.0.meta.name.cmp(&b.0.meta.name));
        let configurations: Vec<Object> = found.into_iter().map(|(object, _)| object).collect();
        self.to.set(&configurations);
        Ok(documents)
    }

    /// A configuration, or those in a list.
    fn unpack(&self, value: Value) -> Result<Vec<Value>, String> {
        let map = value.as_map();
        let text = |key| map.and_then(|it| it.str(key)).unwrap_or_default();
        let own = &self.live.resource.kind;
        match (text("apiVersion"), text("kind")) {
            ("admissionregistration.k8s.io/v1", kind) if kind == own => Ok(vec![value]),
            ("admissionregistration.k8s.io/v1", kind) if kind.strip_suffix("List") == Some(own) => {
                let items = map.map(|it| it.list("items").to_vec()).unwrap_or_default();
                Ok(items)
            }
            ("v1", "List") => {
                let items = map.map(|it| it.list("items").to_vec()).unwrap_or_default();
                let unpacked: Result<Vec<_>, _> = items.into_iter().map(|it| self.unpack(it)).collect();
                Ok(unpacked?.into_iter().flatten().collect())
            }
            (api_version, kind) => Err(format!("unsupported resource type {kind} of {api_version:?}")),
        }
    }

    /// Reads and defaults a configuration, or returns everything that is wrong with it.
    fn read(&self, value: Value) -> Result<Object, String> {
        let resource = &self.live.resource;
        let context = Context::new(User::new("system:apiserver", &[]), self.clock.clone());
        let version = resource.served_versions().find(|it| it.name == "v1").ok_or("v1 is not served")?;
        let draft = Draft { value, ..Draft::default() };
        let object = decode::object(&context, resource, version, draft, FieldValidation::Strict)
            .map_err(|error| error.to_string())?;
        let mut errors = FieldErrors::default();
        resource.strategy.validate(&context, &object, &mut errors);
        if errors.is_empty() {
            return Ok(object);
        }
        Err(format!("{} {}: {}", resource.kind, quote(&object.meta.name), errors.aggregate()))
    }

    /// Upstream: validation.go, ValidateManifestName, and loader.go, ValidateWebhookClientConfig (v1.36.4).
    fn check(&self, object: &Object, file: &Path, known: &[(Object, &Path)]) -> Result<(), String> {
        let (name, file) = (quote(&object.meta.name), quote(&file.display().to_string()));
        if object.meta.name.is_empty() {
            return Err(format!("resource in file {file} must have a name"));
        }
        if !object.meta.name.ends_with(SUFFIX) {
            return Err(format!("{name} in file {file} must have a name ending with {}", quote(SUFFIX)));
        }
        if let Some((_, other)) = known.iter().find(|(it, _)| it.meta.name == object.meta.name) {
            let other = quote(&other.display().to_string());
            return Err(format!("duplicate name {name} found in file {file} (previously seen in {other})"));
        }
        for webhook in object.fields.maps("webhooks") {
            let at =
                format!("webhook {} in {name} (file {file})", quote(webhook.str("name").unwrap_or_default()));
            let client = webhook.map("clientConfig");
            if client.is_some_and(|it| it.contains("service")) {
                return Err(format!(
                    "{at}: clientConfig.service is not supported for static manifests; use clientConfig.url instead"
                ));
            }
            if client.and_then(|it| it.str("url")).is_none_or(str::is_empty) {
                return Err(format!("{at}: clientConfig.url is required for static manifests"));
            }
        }
        Ok(())
    }
}

/// All documents of a folder, by the names of their files.
fn documents(folder: &Path) -> Result<Documents, String> {
    let shown = quote(&folder.display().to_string());
    let unreadable = |error: std::io::Error| format!("failed to read manifest directory {shown}: {error}");
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let extension = path.extension().map(|it| it.to_ascii_lowercase());
        let is_manifest =
            extension.is_some_and(|it| ["yaml", "yml", "json"].iter().any(|known| it == *known));
        if is_manifest && !path.is_dir() {
            files.push(path);
        }
    }
    files.sort();
    let mut documents = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(|error| {
            format!("failed to read file {}: {error}", quote(&file.display().to_string()))
        })?;
        documents.extend(split(&text).into_iter().map(|it| (file.clone(), it)));
    }
    Ok(documents)
}

/// The documents of a file that are not empty.
fn split(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            documents.push(String::new());
        } else if let Some(last) = documents.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    documents.retain(|it| !it.trim().is_empty());
    documents
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_file_has_many_documents() {
        assert_eq!(split("---\na: 1\n---\n---  \nb: 2\n"), ["a: 1\n", "b: 2\n"]);
        assert_eq!(split("\n\n"), [""; 0]);
        assert_eq!(split("{\"a\": 1}"), ["{\"a\": 1}\n"]);
    }
}
