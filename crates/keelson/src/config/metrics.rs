//! Metrics: what is wrong with the flags that choose which metrics are shown.

use std::collections::BTreeMap;
use std::path::Path;

use keelson_codec::yaml;
use keelson_object::scalar::quote;

use super::compatibility::BINARY;
use crate::flags::Flags;
use crate::go_file;

const LABEL: &str = "[a-zA-Z_][a-zA-Z0-9_]*";
const METRIC: &str = "[a-zA-Z_:][a-zA-Z0-9_:]*";

/// Everything that is wrong.
///
/// Upstream: staging/src/k8s.io/component-base/metrics/api/v1/config.go, Validate (v1.36.4).
pub(super) fn errors(flags: &Flags) -> Vec<String> {
    let mut errors = Vec::new();
    errors.extend(hidden(flags.text("show-hidden-metrics-for-version")));
    errors.extend(disabled(flags.list("disabled-metrics")));
    let allowed: BTreeMap<&str, &str> = flags
        .pairs("allow-metric-labels")
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    errors.extend(
        mapping_problem(&allowed)
            .map(|problem| format!("metrics.allowListMapping: Invalid value: {problem}")),
    );
    let manifest = flags.text("allow-metric-labels-manifest");
    if !manifest.is_empty()
        && let Err(problem) = check_manifest(Path::new(manifest))
    {
        let manifest = quote(manifest);
        errors.push(format!("metrics.allowListMappingManifest: Invalid value: {manifest}: {problem}"));
    }
    if !manifest.is_empty() && !allowed.is_empty() {
        errors.push(
            "metrics: Invalid value: cannot specify both allowListMapping and allowListMappingManifest"
                .to_owned(),
        );
    }
    errors
}

fn hidden(version: &str) -> Option<String> {
    let previous = format!("1.{}", BINARY.number() - 1);
    (!version.is_empty() && version != previous).then(|| {
        format!(
            "metrics.showHiddenMetricsForVersion: Invalid value: {}: must be omitted or have the value '{previous}'; only \
             the previous minor version is allowed",
            quote(version)
        )
    })
}

fn disabled(names: &[String]) -> Option<String> {
    let wrong = names.iter().find(|name| !is_metric(name))?;
    let all = names.iter().map(|name| quote(name)).collect::<Vec<_>>().join(",");
    Some(format!(
        "metrics.disabledMetrics: Invalid value: [{all}]: must be fully qualified metric names matching \"^{METRIC}$\", got \
         {}",
        quote(wrong)
    ))
}

/// What is wrong with the keys, after the mapping as JSON.
fn mapping_problem(mapping: &BTreeMap<&str, &str>) -> Option<String> {
    let is_key = |key: &str| match key.split_once(',') {
        Some((metric, label)) => is_metric(metric) && is_name(label, "_"),
        None => false,
    };
    if mapping.keys().all(|key| is_key(key)) {
        return None;
    }
    let pairs: Vec<String> =
        mapping.iter().map(|(key, value)| format!("{}:{}", quote(key), quote(value))).collect();
    Some(format!(
        "{{{}}}: must have keys with format `metricName,labelName` where metricName matches {} and labelName matches {}",
        pairs.join(","),
        quote(METRIC),
        quote(LABEL)
    ))
}

fn check_manifest(path: &Path) -> Result<(), String> {
    let data = go_file::read(path).map_err(|error| format!("failed to read allow list manifest: {error}"))?;
    let unreadable = |why: String| format!("failed to parse allow list manifest: {why}");
    let document = yaml::read(&data).map_err(|error| unreadable(error.to_string()))?;
    let mut mapping = BTreeMap::new();
    if !document.value.is_null() {
        let map = document.value.as_map().ok_or_else(|| unreadable("it is no map".to_owned()))?;
        for (key, value) in map.iter() {
            let value = value.as_str().ok_or_else(|| unreadable(format!("{key} is no string")))?;
            mapping.insert(key.as_str(), value);
        }
    }
    match mapping_problem(&mapping) {
        Some(problem) => Err(format!(
            "invalid allow list mapping in manifest: [metrics.allowListMappingManifest: Invalid value: {problem}]"
        )),
        None => Ok(()),
    }
}

fn is_metric(name: &str) -> bool {
    is_name(name, "_:")
}

/// Letters, digits and `others`, no digit at the front.
fn is_name(name: &str, others: &str) -> bool {
    let is_good = |it: char| it.is_ascii_alphanumeric() || others.contains(it);
    name.starts_with(|it: char| is_good(it) && !it.is_ascii_digit()) && name.chars().all(is_good)
}
