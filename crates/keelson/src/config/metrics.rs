//! Metrics flags: metrics that are disabled, and allowed values of labels.

use std::path::Path;

use keelson_codec::{json, yaml};
use keelson_object::scalar::quote;
use keelson_object::{Map, SmolStr, Value};
use keelson_server::metrics::Restrictions;

use super::compatibility::BINARY;
use crate::flags::Flags;
use crate::go_file;

/// The restrictions of metrics. Invalid values were refused before.
pub(super) fn read(flags: &Flags) -> Restrictions {
    let mut restrictions = Restrictions::default();
    restrictions.disabled.extend(flags.list("disabled-metrics").iter().cloned());
    let manifest = flags.text("allow-metric-labels-manifest");
    let pairs = match flags.pairs("allow-metric-labels") {
        [] if !manifest.is_empty() => of_manifest(manifest).unwrap_or_default(),
        pairs => pairs.to_vec(),
    };
    for (key, values) in pairs {
        if let Some((family, label)) = key.split_once(',') {
            let labels = restrictions.allowed.entry(family.to_owned()).or_default();
            labels.insert(label.to_owned(), values.split(',').map(str::to_owned).collect());
        }
    }
    restrictions
}

/// Upstream: staging/src/k8s.io/component-base/metrics/api/v1/config.go, Validate (v1.36.4).
pub(super) fn errors(flags: &Flags, errors: &mut Vec<String>) {
    let version = flags.text("show-hidden-metrics-for-version");
    // Hidden metrics can be shown for one version back. None is hidden here.
    let previous = format!("1.{}", BINARY.number() - 1);
    if !version.is_empty() && version != previous {
        errors.push(format!(
            "metrics.showHiddenMetricsForVersion: Invalid value: {}: must be omitted or have the value \
             '{previous}'; only the previous minor version is allowed",
            quote(version)
        ));
    }
    let disabled = flags.list("disabled-metrics");
    if let Some(bad) = disabled.iter().find(|it| !is_metric(it)) {
        let list: Vec<Value> = disabled.iter().map(|it| Value::from(it.as_str())).collect();
        errors.push(format!(
            "metrics.disabledMetrics: Invalid value: {}: must be fully qualified metric names matching \
             \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got {}",
            shown(&Value::from(list)),
            quote(bad)
        ));
    }
    let pairs = flags.pairs("allow-metric-labels");
    errors.extend(bad_key(pairs, "metrics.allowListMapping"));
    let manifest = flags.text("allow-metric-labels-manifest");
    if manifest.is_empty() {
        return;
    }
    let refuse =
        |why: String| format!("metrics.allowListMappingManifest: Invalid value: {}: {why}", quote(manifest));
    match of_manifest(manifest) {
        Err(why) => errors.push(refuse(why)),
        Ok(pairs) => errors.extend(
            bad_key(&pairs, "metrics.allowListMappingManifest")
                .map(|why| refuse(format!("invalid allow list mapping in manifest: [{why}]"))),
        ),
    }
    if !pairs.is_empty() {
        let mut both = Map::new();
        both.push_new("allowListMapping", map(pairs));
        both.push_new("allowListMappingManifest", manifest);
        errors.push(format!(
            "metrics: Invalid value: {}: cannot specify both allowListMapping and allowListMappingManifest",
            shown(&Value::Map(both))
        ));
    }
}

fn bad_key(pairs: &[(String, String)], at: &str) -> Option<String> {
    let is_key =
        |key: &str| key.split_once(',').is_some_and(|(metric, label)| is_metric(metric) && is_label(label));
    pairs.iter().find(|(key, _)| !is_key(key))?;
    Some(format!(
        "{at}: Invalid value: {}: must have keys with format `metricName,labelName` where metricName matches \
         \"[a-zA-Z_:][a-zA-Z0-9_:]*\" and labelName matches \"[a-zA-Z_][a-zA-Z0-9_]*\"",
        shown(&Value::Map(map(pairs)))
    ))
}

/// Sorted by key, as Go writes maps.
fn map(pairs: &[(String, String)]) -> Map {
    let mut pairs = pairs.to_vec();
    pairs.sort();
    let mut map = Map::new();
    for (key, value) in pairs {
        map.set(key.as_str(), value.as_str());
    }
    map
}

fn shown(value: &Value) -> String {
    String::from_utf8_lossy(&json::to_bytes(value)).into_owned()
}

fn is_metric(name: &str) -> bool {
    is_name(name, |it| it == ':')
}

fn is_label(name: &str) -> bool {
    is_name(name, |_| false)
}

fn is_name(name: &str, is_also: impl Fn(char) -> bool) -> bool {
    !name.starts_with(|it: char| it.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || is_also(it))
}

/// A file with a map of texts.
fn of_manifest(path: &str) -> Result<Vec<(String, String)>, String> {
    let bytes = go_file::read(Path::new(path))
        .map_err(|error| format!("failed to read allow list manifest: {error}"))?;
    let document =
        yaml::read(&bytes).map_err(|error| format!("failed to parse allow list manifest: {error}"))?;
    let entries = match document.value {
        Value::Map(entries) => entries,
        Value::Null => Map::new(),
        _ => return Err("failed to parse allow list manifest: it is no map".to_owned()),
    };
    let pair = |(key, value): (&SmolStr, &Value)| match value {
        Value::String(text) => Ok((key.to_string(), text.to_string())),
        other => Err(format!("failed to parse allow list manifest: {} is no text", shown(other))),
    };
    entries.iter().map(pair).collect()
}
