//! WebhookAdmission: the configuration of the two webhook plugins in the admission configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use keelson_object::{FieldErrors, Map, Object, Path as FieldPath};
use keelson_webhook_client::Accounts;

use super::hook::Hook;

/// The configuration of a webhook plugin.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// The kubeconfig with the credentials for webhooks.
    pub kubeconfig: Option<PathBuf>,
    /// The credentials in it.
    pub accounts: Accounts,
    /// The folder with static configurations, which cannot be changed through the API.
    pub manifests_folder: Option<PathBuf>,
    /// The configurations in it.
    pub manifests: Manifests,
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/config/apis/webhookadmission/v1 (v1.36.4).
const KIND: (&str, &str) = ("apiserver.config.k8s.io/v1", "WebhookAdmissionConfiguration");

impl Configuration {
    /// Reads the configuration, or returns all errors. Whether the files exist is checked when they are
    /// opened.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/config/kubeconfig.go, LoadConfig (v1.36.4).
    pub(crate) fn read(map: &Map) -> Result<Configuration, Vec<String>> {
        if map.is_empty() {
            return Ok(Configuration::default());
        }
        let kind = (map.str("apiVersion").unwrap_or_default(), map.str("kind").unwrap_or_default());
        if kind != KIND {
            let (api_version, kind) = kind;
            return Err(vec![format!("no kind {kind:?} is registered for version {api_version:?}")]);
        }
        let known = ["apiVersion", "kind", "kubeConfigFile", "staticManifestsDir"];
        let strange = map.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        let mut problems: Vec<String> =
            strange.map(|(key, _)| format!("strict decoding error: unknown field {key:?}")).collect();
        let mut errors = FieldErrors::default();
        let mut file = |key: &'static str| {
            let text = map.str(key).filter(|it| !it.is_empty())?;
            if !Path::new(text).is_absolute() {
                errors.invalid(&FieldPath::root(key), text, "must be an absolute file path");
            }
            Some(PathBuf::from(text))
        };
        let (kubeconfig, manifests_folder) = (file("kubeConfigFile"), file("staticManifestsDir"));
        problems.extend(errors.iter().map(ToString::to_string));
        if problems.is_empty() {
            return Ok(Configuration { kubeconfig, manifests_folder, ..Configuration::default() });
        }
        Err(problems)
    }
}

/// The webhooks from files, set by the reader of the files.
#[derive(Clone, Default)]
pub struct Manifests(Arc<ArcSwap<Vec<Arc<Hook>>>>);

impl Manifests {
    /// Replaces the configurations; they apply in this order.
    pub fn set(&self, configurations: &[Object]) {
        self.0.store(Arc::new(configurations.iter().flat_map(Hook::all).map(Arc::new).collect()));
    }

    /// The webhooks.
    pub(crate) fn hooks(&self) -> Arc<Vec<Arc<Hook>>> {
        self.0.load_full()
    }
}

impl std::fmt::Debug for Manifests {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.hooks().iter().map(|it| &it.id)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Configuration;
    use crate::testing::map;

    #[track_caller]
    fn check(fields: &str, expected: Result<(&str, &str), &[&str]>) {
        let text = format!(
            r#"{{"apiVersion":"apiserver.config.k8s.io/v1","kind":"WebhookAdmissionConfiguration"{fields}}}"#
        );
        let shown = |it: &Option<std::path::PathBuf>| {
            it.as_ref().map(|it| it.display().to_string()).unwrap_or_default()
        };
        let found =
            Configuration::read(&map(&text)).map(|it| (shown(&it.kubeconfig), shown(&it.manifests_folder)));
        let expected = expected
            .map(|(kubeconfig, folder)| (kubeconfig.to_owned(), folder.to_owned()))
            .map_err(|it| it.iter().map(|&it| it.to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expected);
    }

    #[test]
    fn files_are_named_by_their_whole_path() {
        check("", Ok(("", "")));
        check(r#","kubeConfigFile":"/a","staticManifestsDir":"/b""#, Ok(("/a", "/b")));
        check(
            r#","kubeConfigFile":"a""#,
            Err(&[r#"kubeConfigFile: Invalid value: "a": must be an absolute file path"#]),
        );
        check(r#","kubeconfig":"/a""#, Err(&[r#"strict decoding error: unknown field "kubeconfig""#]));
    }

    #[test]
    fn other_kinds_are_refused() {
        let other = map(r#"{"apiVersion":"v1","kind":"WebhookAdmission"}"#);
        assert_eq!(
            Configuration::read(&other).expect_err("it is none"),
            [r#"no kind "WebhookAdmission" is registered for version "v1""#]
        );
    }
}
