//! The volumes of a pod.

mod files;
mod projected;
mod source;

use std::collections::{HashMap, HashSet};

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, ObjectMeta, Path};

use super::{PodRules, visit};

/// Checks the volumes and returns the valid ones, by name.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateVolumes (v1.36.4).
pub(super) fn check<'s>(
    spec: &'s Map,
    pod: Option<&ObjectMeta>,
    rules: &PodRules,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) -> HashMap<&'s str, &'s Map> {
    let mut good = HashMap::new();
    let pod_name = pod.map_or("", |pod| pod.name.as_str());
    let made = claims_to_make(spec, pod_name);
    for (position, volume) in spec.maps("volumes").enumerate() {
        let at = at.index(position);
        let name = volume.str("name").unwrap_or_default();
        let before = errors.iter().len();
        source::check(volume, pod_name, rules, &at, errors);
        if name.is_empty() {
            errors.required(&at.key("name"), "");
        } else {
            errors.invalid_each(&at.key("name"), name, name_rules::dns1123_label(name));
        }
        if good.contains_key(name) {
            errors.duplicate(&at.key("name"), name);
        }
        if errors.iter().len() == before {
            good.insert(name, volume);
        }
        let claim = volume.map("persistentVolumeClaim").map(|it| it.str("claimName").unwrap_or_default());
        if let Some(claim) = claim.filter(|it| made.contains(*it)) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            errors.invalid(&at.key("persistentVolumeClaim.claimName"), claim, detail);
        }
    }
    good
}

/// The names of the claims that will be created for volumes of the pod; unknown before the pod has a name.
fn claims_to_make(spec: &Map, pod_name: &str) -> HashSet<String> {
    if pod_name.is_empty() {
        return HashSet::new();
    }
    let ephemeral = spec.maps("volumes").filter(|it| it.map("ephemeral").is_some());
    ephemeral.map(|it| format!("{pod_name}-{}", it.str("name").unwrap_or_default())).collect()
}

/// Files that variables are read from are in volumes that are empty at first.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateFileKeyRefVolumes (v1.36.4).
pub(super) fn check_file_refs(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut empty_at_first: Option<HashMap<&str, bool>> = None;
    for place in visit::placed(spec) {
        for (variable, env) in place.container.maps("env").enumerate() {
            let Some(file) = env.map("valueFrom").and_then(|it| it.map("fileKeyRef")) else { continue };
            let volumes = empty_at_first.get_or_insert_with(|| {
                let volumes = spec.maps("volumes");
                volumes.map(|it| (it.str("name").unwrap_or_default(), it.map("emptyDir").is_some())).collect()
            });
            let name = file.str("volumeName").unwrap_or_default();
            let list_at = at.key(place.list);
            let at = list_at.index(place.position);
            let list_at = at.key("env");
            let at = list_at.index(variable);
            let at = at.key("valueFrom.fileKeyRef.volumeName");
            match volumes.get(name) {
                None => errors.not_found(&at, name),
                Some(false) => errors.invalid(&at, name, "referenced volume must be of type emptyDir"),
                Some(true) => {}
            }
        }
    }
}
