//! Admission flags: the enabled plugins, and the file with their configuration.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use keelson_codec::config_file::{self, ConfigKind};
use keelson_codec::yaml;
use keelson_kube_admission::webhook::{Accounts, Breaker, Timings, Webhooks};
use keelson_kube_admission::{Configurations, Selection, Settings, is_known};
use keelson_object::scalar::quote;
use keelson_object::{Map, Value};
use keelson_schema::Schema;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::Client;

use super::{FeatureGates, path};
use crate::flags::{Face, Flags};
use crate::{go_file, kubeconfig_file};

const NODE_RESTRICTION: &str = "NodeRestriction";

/// The flags that enable and disable plugins.
pub(super) fn selection(flags: &Flags) -> Selection {
    let list = |name| flags.list(name).to_vec();
    let mut selection = Selection {
        // An empty list counts, too: some programs want no admission at all.
        only: flags.was_set("admission-control").then(|| list("admission-control")),
        enabled: list("enable-admission-plugins"),
        disabled: list("disable-admission-plugins"),
    };
    // Upstream leaves this to operators, and every installer enables it: without it a node may change other
    // nodes.
    if flags.face() == Face::Standalone && !selection.disabled.iter().any(|it| it == NODE_RESTRICTION) {
        selection.enabled.push(NODE_RESTRICTION.to_owned());
    }
    selection
}

/// The settings of plugins, or everything that is wrong with them.
pub(super) fn plugins(flags: &Flags, gates: &FeatureGates) -> Result<Settings, Vec<String>> {
    let file = path(flags, "admission-control-config-file");
    Ok(Settings {
        not_ready_toleration_seconds: flags.int("default-not-ready-toleration-seconds"),
        unreachable_toleration_seconds: flags.int("default-unreachable-toleration-seconds"),
        configurations: configurations(file.as_deref(), &selection(flags), gates)?,
        webhooks: webhooks(flags)?,
        ..Settings::default()
    })
}

/// The entries of the file that no enabled plugin reads. Upstream ignores them silently.
pub(super) fn warnings(flags: &Flags) -> Vec<String> {
    let Some(Ok(entries)) = path(flags, "admission-control-config-file").map(|it| entries(&it)) else {
        return Vec::new();
    };
    let selection = selection(flags);
    let reason = |name: &str| match is_known(name) {
        true => (!selection.names().any(|it| it == name)).then_some("is not on"),
        false => Some("does not exist"),
    };
    let told = entries.iter().filter_map(|it| Some((&it.name, reason(&it.name)?)));
    let text =
        |(name, why): (&String, &str)| format!("--admission-control-config-file: the plugin {name} {why}");
    told.map(text).collect()
}

/// How webhooks are called, if it differs from upstream's default.
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

/// The configurations of the enabled plugins.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugins.go, NewFromPlugins (v1.36.4).
fn configurations(
    file: Option<&Path>,
    selection: &Selection,
    gates: &FeatureGates,
) -> Result<Configurations, Vec<String>> {
    let failed = |error: String| format!("failed to apply admission: {error}");
    let entries = file.map(entries).transpose();
    let entries = entries.map_err(|error| vec![failed(format!("failed to read plugin config: {error}"))])?;
    let entries = entries.unwrap_or_default();
    let (mut configurations, mut errors) = (Configurations::default(), Vec::new());
    for name in selection.names() {
        let entry = entries.iter().find(|it| it.name == name);
        let problems = match entry.map_or(Ok(None), Entry::configuration) {
            Ok(Some(map)) => configurations.add(name, &map).err().unwrap_or_default(),
            Ok(None) => Configurations::without(name).err().into_iter().collect(),
            Err(problem) => vec![problem],
        };
        errors.extend(problems.into_iter().map(|problem| (name, problem)));
    }
    let open = |file: &Path| {
        let target = kubeconfig_file::target(file)?;
        Client::new(target, &Clock::real()).map_err(|error| error.to_string())
    };
    errors.extend(open_files(&mut configurations, gates));
    errors.extend(configurations.connect(open).err().map(|problem| ("ImagePolicyWebhook", problem)));
    if errors.is_empty() {
        return Ok(configurations);
    }
    let text = |(name, problem): (&str, String)| {
        failed(format!("couldn't init admission plugin {}: {problem}", quote(name)))
    };
    Err(errors.into_iter().map(text).collect())
}

/// Reads the kubeconfigs in the configuration, and checks that the folders exist.
fn open_files(configurations: &mut Configurations, gates: &FeatureGates) -> Vec<(&'static str, String)> {
    let mut errors = Vec::new();
    for (plugin, configuration) in configurations.webhooks() {
        if let Some(file) = &configuration.kubeconfig {
            match read(file).and_then(|it| document(&it)) {
                Ok(map) => {
                    let folder = file.parent().unwrap_or(Path::new("/")).to_owned();
                    configuration.accounts = Accounts::new(map.into(), folder);
                }
                Err(problem) => errors.push((plugin, format!("kubeConfigFile: {problem}"))),
            }
        }
        if let Some(folder) = &configuration.manifests_folder
            && let Err(problem) = manifests_folder(folder, gates)
        {
            errors.push((plugin, format!("staticManifestsDir: {problem}")));
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

/// The configuration of one plugin in the file.
struct Entry {
    name: String,
    inline: Option<Map>,
    path: Option<PathBuf>,
}

impl Entry {
    /// The inline configuration, or that in a separate file.
    fn configuration(&self) -> Result<Option<Map>, String> {
        match (&self.inline, &self.path) {
            (Some(map), _) => Ok(Some(map.clone())),
            (None, Some(path)) => document(&read(path)?).map(Some),
            (None, None) => Ok(None),
        }
    }
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::by_hand(
        "v1",
        &[
            ("AdmissionPluginConfiguration", "name string; path string; configuration any"),
            (
                "AdmissionConfiguration",
                "kind string; apiVersion string; plugins []AdmissionPluginConfiguration",
            ),
        ],
    )
});

/// The configuration files of these plugins before there was a common one.
const OLD: [(&str, &str); 2] =
    [("imagePolicy", "ImagePolicyWebhook"), ("podNodeSelectorPluginConfig", "PodNodeSelector")];

/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/config.go, ReadAdmissionConfiguration (v1.36.4).
fn entries(file: &Path) -> Result<Vec<Entry>, String> {
    let unreadable = |error| {
        format!(
            "unable to read admission control configuration from {} [{error}]",
            quote(&file.display().to_string())
        )
    };
    let data = read(file).map_err(unreadable)?;
    let kinds = ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"].map(|api_version| ConfigKind {
        api_version,
        kind: "AdmissionConfiguration",
        schema: &SCHEMA,
    });
    match config_file::read(&data, &kinds) {
        Ok((_, map)) => Ok(map.maps("plugins").map(|it| entry(file, it)).collect()),
        Err(error @ (config_file::Error::Unnamed { .. } | config_file::Error::OtherKind { .. })) => {
            let whole = document(&data).unwrap_or_default();
            if !OLD.iter().any(|(field, _)| whole.contains(field)) {
                return Err(error.to_string());
            }
            let entry = |name: &str| Entry { name: name.to_owned(), inline: Some(whole.clone()), path: None };
            Ok(OLD.iter().map(|(_, name)| entry(name)).collect())
        }
        Err(error) => Err(error.to_string()),
    }
}

fn entry(file: &Path, plugin: &Map) -> Entry {
    let path = plugin.str("path").filter(|it| !it.is_empty());
    let beside = |path: &str| file.parent().unwrap_or(Path::new("")).join(path);
    Entry {
        name: plugin.str("name").unwrap_or_default().to_owned(),
        inline: plugin.map("configuration").cloned(),
        path: path.map(beside),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    go_file::read(file)
}

fn document(data: &[u8]) -> Result<Map, String> {
    match yaml::read(data).map_err(|error| error.to_string())?.value {
        Value::Map(map) => Ok(map),
        other => Err(format!("json: cannot unmarshal {} into Go value", other.json_type())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use keelson_kube_admission::Selection;

    use super::configurations;
    use crate::config::{Compatibility, FeatureGates};

    #[track_caller]
    fn check(enabled: &str, text: &str, expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("admission.yaml");
        fs::write(folder.path().join("limits.yaml"), LIMITS).expect("a file");
        fs::write(&file, text).expect("a file");
        let enabled = enabled.split(',').map(String::from).collect();
        let selection = Selection { enabled, ..Selection::default() };
        let gates = FeatureGates::read(&[], &Compatibility::default()).expect("no gates");
        let found = configurations(Some(&file), &selection, &gates).err().unwrap_or_default();
        let place = format!("{}/", folder.path().display());
        let found: Vec<String> = found.iter().map(|it| it.replace(&place, "")).collect();
        let expected: Vec<String> =
            expected.iter().map(|it| format!("failed to apply admission: {it}")).collect();
        assert_eq!(found, expected);
    }

    const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n";
    const LIMITS: &str = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n\
                          limits: [{type: Server, qps: 0, burst: 1}]";

    #[test]
    fn plugins_are_configured_here_or_in_files_of_their_own() {
        let pods = "apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration";
        check(
            "",
            &format!(
                "{HEAD}plugins: [{{name: PodSecurity, configuration: {{{pods}, defaults: {{enforce: baseline}}}}}}]"
            ),
            &[],
        );
        check(
            "EventRateLimit",
            &format!("{HEAD}plugins: [{{name: EventRateLimit, path: limits.yaml}}]"),
            &[
                "couldn't init admission plugin \"EventRateLimit\": limits[0].qps: Invalid value: 0: must be positive",
            ],
        );
    }

    #[test]
    fn only_who_is_on_is_told_anything() {
        check(
            "",
            &format!("{HEAD}plugins: [{{name: EventRateLimit, path: limits.yaml}}, {{name: Nobody}}]"),
            &[],
        );
        check("", "imagePolicy: {allowTTL: 4000}", &[]);
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        check(
            "EventRateLimit,ImagePolicyWebhook",
            &format!("{HEAD}plugins: [{{name: PodSecurity, configuration: {{defaults: {{}}}}}}]"),
            &[
                "couldn't init admission plugin \"ImagePolicyWebhook\": no config specified",
                "couldn't init admission plugin \"PodSecurity\": Object 'Kind' is missing in '{\"defaults\":{}}'",
                "couldn't init admission plugin \"EventRateLimit\": limits: Invalid value: null: must not be empty",
            ],
        );
        check(
            "ImagePolicyWebhook",
            "imagePolicy: {allowTTL: 4000}",
            &[
                "couldn't init admission plugin \"ImagePolicyWebhook\": valid value is between 1s and 30m0s, got 1h6m40s",
            ],
        );
        check(
            "ImagePolicyWebhook",
            "imagePolicy: {kubeConfigFile: /nowhere}",
            &[
                "couldn't init admission plugin \"ImagePolicyWebhook\": stat /nowhere: no such file or directory",
            ],
        );
    }

    #[test]
    fn the_file_is_read_strictly() {
        check(
            "",
            "kind: Other\n",
            &["failed to read plugin config: Object 'apiVersion' is missing in 'kind: Other\n'"],
        );
        check(
            "",
            &format!("{HEAD}plugins: [{{name: AlwaysDeny, foo: bar}}]"),
            &["failed to read plugin config: strict decoding error: unknown field \"plugins[0].foo\""],
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
            "",
            &webhooks("kubeConfigFile: /nowhere/at/all"),
            &[
                "couldn't init admission plugin \"ValidatingAdmissionWebhook\": kubeConfigFile: open /nowhere/at/all: no such file or directory",
            ],
        );
        check(
            "",
            &webhooks("staticManifestsDir: /nowhere"),
            &[
                "couldn't init admission plugin \"ValidatingAdmissionWebhook\": staticManifestsDir: Forbidden: staticManifestsDir requires the \
                 ManifestBasedAdmissionControlConfig feature gate to be enabled",
            ],
        );
    }
}
