//! Updates of pods: images, the deadline and tolerations may change, and scheduling directives while the pod
//! is gated.

use std::collections::{HashMap, HashSet};

use keelson_object::{FieldErrors, Map, Path, Value};

use super::difference::{difference, fields};
use super::same::{same, same_but};
use crate::shared::go_form;
use crate::shared::lookup::Lookup;
use crate::shared::node_selector::TERM;
use crate::shared::pod_template::rules::{PodRules, check_image_of_pod, tolerations};

/// The message about a forbidden change; the difference follows.
const MUTABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks the changes of a spec that was `was`.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidatePodUpdate (v1.36.4).
pub(super) fn check(new: &Map, was: &Map, rules: &PodRules, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    for list in ["containers", "initContainers"] {
        if new.list(list).len() != was.list(list).len() {
            return errors.forbidden(&at.key(list), "pod updates may not add or remove containers");
        }
        check_images(new, list, &at.key(list), errors);
    }
    if !check_deadline(new, was, &at.key(DEADLINE), errors) {
        return;
    }
    check_tolerations(new, was, &at.key("tolerations"), (rules, errors));
    check_gates(new, was, &at.key("schedulingGates"), errors);
    let is_gated = !was.list("schedulingGates").is_empty();
    if is_gated {
        check_node_selector(new, was, &at.key("nodeSelector"), errors);
        check_node_affinity(new, was, &at.key("affinity.nodeAffinity"), errors);
    }
    let changed: Vec<&str> = fields(new, was).filter(|field| differs(field, new, was, is_gated)).collect();
    if !changed.is_empty() {
        errors.forbidden(&at, format!("{MUTABLE}\n{}", difference(&changed, new, was)));
    }
}

const DEADLINE: &str = "activeDeadlineSeconds";

/// Upstream: pkg/apis/core/validation/validation.go, ValidateContainerUpdates (v1.36.4).
fn check_images(new: &Map, list: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, container) in new.maps(list).enumerate() {
        let at = at.index(position);
        if container.str("image").is_none_or(str::is_empty) {
            errors.required(&at.key("image"), "");
        }
        check_image_of_pod(container, &at, errors);
    }
}

/// A deadline can be set, and be decreased. Returns whether there is more to check.
fn check_deadline(new: &Map, was: &Map, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    match (new.int(DEADLINE), was.int(DEADLINE)) {
        (Some(seconds), _) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            errors.invalid(at, seconds, "must be between 0 and 2147483647, inclusive");
            return false;
        }
        (Some(seconds), Some(old)) if old < seconds => {
            errors.invalid(at, seconds, "must be less than or equal to previous value");
            return false;
        }
        (None, Some(_)) => errors.invalid(at, (), "must not update from a positive integer to nil value"),
        _ => {}
    }
    true
}

/// Tolerations stay; only how long they last may change, and new ones may come.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateOnlyAddedTolerations (v1.36.4).
fn check_tolerations(new: &Map, was: &Map, at: &Path<'_>, (rules, errors): (&PodRules, &mut FieldErrors)) {
    fn meaning(toleration: &Map) -> [&str; 4] {
        ["key", "operator", "value", "effect"].map(|field| toleration.str(field).unwrap_or_default())
    }
    let there: HashSet<[&str; 4]> = new.maps("tolerations").map(meaning).collect();
    if !was.maps("tolerations").all(|it| there.contains(&meaning(it))) {
        return errors.forbidden(at, "existing toleration can not be modified except its tolerationSeconds");
    }
    tolerations::check(new.list("tolerations"), rules, at, errors);
}

/// Gates can be opened, not added.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateOnlyDeletedSchedulingGates (v1.36.4).
fn check_gates(new: &Map, was: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    fn names(spec: &Map) -> impl Iterator<Item = &str> {
        spec.maps("schedulingGates").map(|gate| gate.str("name").unwrap_or_default())
    }
    let old: HashSet<&str> = names(was).collect();
    // Of several with one name the last counts.
    let last: HashMap<&str, usize> =
        names(new).enumerate().map(|(position, name)| (name, position)).collect();
    for (position, name) in names(new).enumerate() {
        if !old.contains(name) && last.get(name) == Some(&position) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(&at.index(position).key("name"), detail);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNodeSelectorMutation (v1.36.4).
fn check_node_selector(new: &Map, was: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let selector = Lookup::of(new.map("nodeSelector"));
    let stays = |key: &str, value: &Value| selector.get(key) == Some(value);
    if !was.map("nodeSelector").into_iter().flat_map(Map::iter).all(|(key, value)| stays(key, value)) {
        let shown = new.get("nodeSelector").unwrap_or(&Value::Null);
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.invalid(at, shown, detail);
    }
}

fn affinity<'s>(spec: &'s Map, side: &str) -> Option<&'s Value> {
    spec.map("affinity")?.get(side)
}

/// The required node affinity may only become stricter.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateNodeAffinityMutation (v1.36.4).
fn check_node_affinity(new: &Map, was: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const TERMS: &str = "nodeSelectorTerms";
    fn terms(spec: &Map) -> &[Value] {
        let required = affinity(spec, "nodeAffinity").and_then(Value::as_map).and_then(|it| it.map(REQUIRED));
        required.map(|it| it.list(TERMS)).unwrap_or_default()
    }
    let (new, was, field_at) = (terms(new), terms(was), at.key(REQUIRED));
    let at = field_at.key(TERMS);
    if was.is_empty() {
        return;
    }
    if was.len() != new.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        return errors.invalid_as(&at, shown_terms(new), detail);
    }
    for (position, (new, was)) in new.iter().zip(was).enumerate() {
        if let (Some(new), Some(was)) = (new.as_map(), was.as_map())
            && !only_adds(new, was)
        {
            let detail = "only additions are allowed (no mutations or deletions)";
            errors.invalid_as(&at.index(position), go_form::shown(new, &TERM), detail);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNodeSelectorTermHasOnlyAdditions (v1.36.4).
fn only_adds(new: &Map, was: &Map) -> bool {
    const LISTS: [&str; 2] = ["matchExpressions", "matchFields"];
    if LISTS.iter().all(|list| was.list(list).is_empty()) {
        return LISTS.iter().all(|list| new.list(list).is_empty());
    }
    LISTS.iter().all(|list| new.list(list).starts_with(was.list(list)))
}

fn shown_terms(terms: &[Value]) -> String {
    if terms.is_empty() {
        return String::from("null");
    }
    let shown: Vec<String> =
        terms.iter().filter_map(Value::as_map).map(|term| go_form::shown(term, &TERM)).collect();
    format!("[{}]", shown.join(","))
}

/// Whether an immutable field changed.
fn differs(field: &str, new: &Map, was: &Map, is_gated: bool) -> bool {
    match field {
        DEADLINE | "schedulingGates" | "tolerations" => false,
        "nodeSelector" if is_gated => false,
        "affinity" if is_gated && !same(affinity(new, "nodeAffinity"), affinity(was, "nodeAffinity")) => {
            ["podAffinity", "podAntiAffinity"]
                .iter()
                .any(|side| !same(affinity(new, side), affinity(was, side)))
        }
        "containers" | "initContainers" => {
            !new.maps(field).zip(was.maps(field)).all(|(new, was)| same_but(new, was, "image"))
        }
        "terminationGracePeriodSeconds" if was.int(field).is_some_and(|it| it < 0) => {
            new.int(field) != Some(1) && new.int(field) != was.int(field)
        }
        _ => !same(new.get(field), was.get(field)),
    }
}
