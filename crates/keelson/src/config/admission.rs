//! Which admission plugins there are, and what the file of all plugins says to them.

use std::path::{Path, PathBuf};

use keelson_codec::yaml;
use keelson_kube_admission::webhook::{Accounts, Breaker, Timings, Webhooks};
use keelson_kube_admission::{Configurations, Selection, Settings, is_known};
use keelson_object::scalar::quote;
use keelson_object::{Map, Value};

use super::{FeatureGates, path};
use crate::flags::{Face, Flags};

const NODE_RESTRICTION: &str = "NodeRestriction";

/// The flags that switch plugins.
pub(super) fn selection(flags: &Flags) -> Selection {
    let list = |name| flags.list(name).to_vec();
    let mut selection = Selection {
        only: list("admission-control"),
        enabled: list("enable-admission-plugins"),
        disabled: list("disable-admission-plugins"),
    };
    // Upstream leaves it to operators, and every installer enables it: without it a node may change other nodes.
    if flags.face() == Face::Standalone && !selection.disabled.iter().any(|it| it == NODE_RESTRICTION) {
        selection.enabled.push(NODE_RESTRICTION.to_owned());
    }
    selection
}

/// What plugins are made with, or everything that is wrong with it.
pub(super) fn plugins(flags: &Flags, gates: &FeatureGates) -> Result<Settings, Vec<String>> {
    Ok(Settings {
        not_ready_toleration_seconds: flags.int("default-not-ready-toleration-seconds"),
        unreachable_toleration_seconds: flags.int("default-unreachable-toleration-seconds"),
        configurations: match path(flags, "admission-control-config-file") {
            Some(file) => configurations(&file, gates)?,
            None => Configurations::default(),
        },
        webhooks: webhooks(flags)?,
        ..Settings::default()
    })
}

/// How webhooks are asked, where that is not upstream's way.
fn webhooks(flags: &Flags) -> Result<Webhooks, Vec<String>> {
    let (name, pause) = ("webhook-circuit-breaker-failures", flags.duration("webhook-circuit-breaker-pause"));
    let failures = u32::try_from(flags.int(name))
        .map_err(|_| vec![format!("--{name}: {} is no number of failures", flags.int(name))])?;
    Ok(Webhooks {
        observer: None,
        breaker: (failures > 0).then(|| Breaker { failures, pause: pause.to_std() }),
        timings: if flags.is_on("webhook-server-timing") { Timings::Told } else { Timings::Hidden },
    })
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/config.go, ReadAdmissionConfiguration (v1.36.4).
fn configurations(file: &Path, gates: &FeatureGates) -> Result<Configurations, Vec<String>> {
    let document = read(file).map_err(|error| vec![error])?;
    let kind = (document.str("apiVersion").unwrap_or_default(), document.str("kind").unwrap_or_default());
    let known = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"];
    if !known.contains(&kind.0) || kind.1 != "AdmissionConfiguration" {
        let (api_version, kind) = kind;
        return Err(vec![format!(
            "{}: no kind {} is registered for version {}: it must be AdmissionConfiguration of apiserver.config.k8s.io/v1",
            file.display(),
            quote(kind),
            quote(api_version)
        )]);
    }
    let (mut configurations, mut errors) = (Configurations::default(), Vec::new());
    for (position, plugin) in document.maps("plugins").enumerate() {
        let name = plugin.str("name").unwrap_or_default();
        let at = format!("{}: plugins[{position}]", file.display());
        if !is_known(name) {
            errors.push(format!("{at}.name: unknown admission plugin {}", quote(name)));
            continue;
        }
        match configuration(file, plugin) {
            Ok(map) => {
                let problems = configurations.add(name, &map).err().unwrap_or_default();
                errors.extend(problems.iter().map(|it| format!("{at} ({name}): {it}")));
            }
            Err(problem) => errors.push(format!("{at} ({name}): {problem}")),
        }
    }
    errors.extend(open_files(&mut configurations, gates));
    if errors.is_empty() { Ok(configurations) } else { Err(errors) }
}

/// Reads the kubeconfigs that are named, and looks whether the folders are there.
fn open_files(configurations: &mut Configurations, gates: &FeatureGates) -> Vec<String> {
    let mut errors = Vec::new();
    for (plugin, configuration) in configurations.webhooks() {
        if let Some(file) = &configuration.kubeconfig {
            match read(file) {
                Ok(map) => {
                    let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
                    configuration.accounts = Accounts::new(map.into(), folder);
                }
                Err(problem) => errors.push(format!("{plugin}: kubeConfigFile: {problem}")),
            }
        }
        if let Some(folder) = &configuration.manifests_folder
            && let Err(problem) = manifests_folder(folder, gates)
        {
            errors.push(format!("{plugin}: staticManifestsDir: {problem}"));
        }
    }
    errors
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/manifest/validation.go, ValidateStaticManifestsDir (v1.36.4).
fn manifests_folder(folder: &Path, gates: &FeatureGates) -> Result<(), String> {
    const GATE: &str = "ManifestBasedAdmissionControlConfig";
    if !gates.is_on(GATE) {
        return Err(format!("Forbidden: staticManifestsDir requires the {GATE} feature gate to be enabled"));
    }
    let invalid = |why: String| format!("Invalid value: {}: {why}", quote(&folder.display().to_string()));
    match std::fs::metadata(folder) {
        Err(error) => Err(invalid(format!("unable to read: {error}"))),
        Ok(it) if !it.is_dir() => Err(invalid("must be a directory".to_owned())),
        Ok(_) => Ok(()),
    }
}

/// What a plugin is told: here, or in a file of its own beside this one.
fn configuration(file: &Path, plugin: &Map) -> Result<Map, String> {
    match (plugin.map("configuration"), plugin.str("path").filter(|it| !it.is_empty())) {
        (Some(map), _) => Ok(map.clone()),
        (None, Some(path)) => read(&beside(file, path)),
        (None, None) => Ok(Map::new()),
    }
}

fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().map_or_else(|| PathBuf::from(path), |folder| folder.join(path))
}

fn read(file: &Path) -> Result<Map, String> {
    let shown = file.display();
    let text = std::fs::read(file).map_err(|error| {
        format!("unable to read admission control configuration from {} [{error}]", quote(&shown.to_string()))
    })?;
    match yaml::read(&text).map(|it| it.value) {
        Ok(Value::Map(map)) => Ok(map),
        Ok(_) => Err(format!("{shown}: it is not an object")),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::configurations;
    use crate::config::FeatureGates;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("admission.yaml");
        fs::write(folder.path().join("pods.yaml"), "defaults: {enforce: everything}").expect("a file");
        fs::write(&file, text).expect("a file");
        let gates = FeatureGates::read(&[]).expect("no gates");
        let found = configurations(&file, &gates).err().unwrap_or_default();
        let place = format!("{}/", folder.path().display());
        let found: Vec<String> = found.iter().map(|it| it.replace(&place, "")).collect();
        assert_eq!(found, expected);
    }

    const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";

    #[test]
    fn plugins_are_configured_here_or_in_files_of_their_own() {
        check(
            &format!(
                "{HEAD}plugins: [{{name: PodSecurity, configuration: {{defaults: {{enforce: baseline}}}}}}]"
            ),
            &[],
        );
        check(
            &format!("{HEAD}plugins: [{{name: PodSecurity, path: pods.yaml}}]"),
            &[
                "admission.yaml: plugins[0] (PodSecurity): defaults.enforce: Invalid value: \"everything\": must be one of privileged, baseline, restricted",
            ],
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        check(
            &format!("{HEAD}plugins: [{{name: Nobody}}, {{name: AlwaysDeny, configuration: {{a: b}}}}]"),
            &[
                "admission.yaml: plugins[0].name: unknown admission plugin \"Nobody\"",
                "admission.yaml: plugins[1] (AlwaysDeny): admission plugin \"AlwaysDeny\" takes no configuration",
            ],
        );
        check(
            "kind: Other",
            &[
                "admission.yaml: no kind \"Other\" is registered for version \"\": it must be AdmissionConfiguration of apiserver.config.k8s.io/v1",
            ],
        );
    }
    #[test]
    fn files_of_webhooks_are_opened() {
        let webhooks = |fields: &str| {
            format!(
                "{HEAD}plugins: [{{name: ValidatingAdmissionWebhook, configuration: {{apiVersion: apiserver.config.k8s.io/v1, \
                 kind: WebhookAdmissionConfiguration, {fields}}}}}]"
            )
        };
        check(
            &webhooks("kubeConfigFile: /nowhere/at/all"),
            &[
                "ValidatingAdmissionWebhook: kubeConfigFile: unable to read admission control configuration from \
                 \"/nowhere/at/all\" [No such file or directory (os error 2)]",
            ],
        );
        check(
            &webhooks("staticManifestsDir: /nowhere"),
            &["ValidatingAdmissionWebhook: staticManifestsDir: Forbidden: staticManifestsDir requires the \
                 ManifestBasedAdmissionControlConfig feature gate to be enabled"],
        );
    }
}
