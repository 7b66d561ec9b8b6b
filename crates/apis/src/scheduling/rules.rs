//! Validation of PodGroups and their templates: rules that upstream declares in its types.
//!
//! They are immutable, so only new ones are validated.

use std::collections::HashSet;

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::catalog::Settings;
use crate::shared::edit::is_set;
use crate::shared::immutable::is_same;
use crate::shared::required;

/// A group has at most this many claims.
const CLAIMS_MAX: usize = 4;

/// A group has at most this many topologies.
const TOPOLOGIES_MAX: usize = 1;

/// The largest priority of groups, the same as that of user-defined classes.
const PRIORITY_MAX: i64 = 1_000_000_000;

/// Whether a group is disrupted pod by pod, or as a whole.
const DISRUPTION_MODES: [&str; 2] = ["Pod", "PodGroup"];

/// The enabled feature gates.
#[derive(Clone, Copy)]
pub(super) struct Gates {
    topology: bool,
    preemption: bool,
}

impl Gates {
    pub(super) fn of(settings: &Settings) -> Gates {
        Gates {
            topology: settings.is_on("TopologyAwareWorkloadScheduling"),
            preemption: settings.is_on("WorkloadAwarePreemption"),
        }
    }
}

/// Checks a new PodGroup, or a template of one. Fields of disabled features have been removed before.
///
/// Upstream: pkg/apis/scheduling/v1alpha2/zz_generated.validations.go, Validate_PodGroupSpec and
/// Validate_PodGroupTemplate (v1.36.4).
pub(super) fn check_group(group: &Map, gates: Gates, at: &Path<'_>, errors: &mut FieldErrors) {
    let policy = group.map("schedulingPolicy");
    check_policy(policy.unwrap_or(&Map::new()), &at.key("schedulingPolicy"), errors);
    if let Some(constraints) = group.map("schedulingConstraints") {
        check_topologies(constraints, &at.key("schedulingConstraints.topology"), errors);
    }
    check_claims(group, &at.key("resourceClaims"), errors);
    if !gates.preemption {
        return;
    }
    if let Some(mode) = group.str("disruptionMode").filter(|it| !DISRUPTION_MODES.contains(it)) {
        errors.not_supported(&at.key("disruptionMode"), mode, &DISRUPTION_MODES);
    }
    if let Some(class) = group.str("priorityClassName").filter(|it| !it.is_empty()) {
        errors.invalid_each(&at.key("priorityClassName"), class, name_rules::long_name(class));
    }
    if let Some(priority) = group.int("priority").filter(|it| *it > PRIORITY_MAX) {
        let detail = format!("must be less than or equal to {PRIORITY_MAX}");
        errors.invalid(&at.key("priority"), priority, detail);
    }
}

/// Checks that a group stays as it is.
pub(super) fn check_kept(group: &Map, old: &Map, gates: Gates, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    let fields = [
        ("podGroupTemplateRef", true),
        ("schedulingPolicy", true),
        ("schedulingConstraints", gates.topology),
        ("resourceClaims", true),
        ("disruptionMode", gates.preemption),
        ("priorityClassName", gates.preemption),
        ("priority", gates.preemption),
    ];
    for (field, is_on) in fields {
        let (new, old) = (group.get(field), old.get(field));
        if is_same(new, old) {
            continue;
        }
        if is_on {
            errors.invalid(&at.key(field), (), "field is immutable");
        } else if is_set(group, field) {
            errors.forbidden(&at.key(field), "");
        }
        if field == "resourceClaims" && group.list(field).len() > CLAIMS_MAX {
            errors.too_many(&at.key(field), group.list(field).len(), CLAIMS_MAX);
        }
    }
}

/// Checks the reference to the template of a group.
pub(super) fn check_reference(reference: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(workload) = reference.map("workload") else {
        return errors.invalid(at, "", "must specify one of: `workload`");
    };
    let at = at.key("workload");
    required::name(workload, "workloadName", name_rules::long_name, &at, errors);
    required::name(workload, "podGroupTemplateName", name_rules::short_name, &at, errors);
}

/// Checks that exactly one of `fields` is set.
///
/// Upstream: apimachinery/pkg/api/validate/union.go, Union (v1.36.4).
fn check_one_of(holder: &Map, fields: [&str; 2], at: &Path<'_>, errors: &mut FieldErrors) {
    let all = format!("`{}`, `{}`", fields[0], fields[1]);
    match fields.map(|field| is_set(holder, field)) {
        [true, true] => {
            let shown = format!("{{{}}}", fields.join(", "));
            errors.invalid(at, shown.as_str(), format!("must specify exactly one of: {all}"));
        }
        [false, false] => errors.invalid(at, "", format!("must specify one of: {all}")),
        _ => {}
    }
}

fn check_policy(policy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_one_of(policy, ["basic", "gang"], at, errors);
    let Some(gang) = policy.map("gang") else { return };
    let at = at.key("gang.minCount");
    match gang.int("minCount").unwrap_or_default() {
        0 => errors.required(&at, ""),
        count if count < 1 => errors.invalid(&at, count, "must be greater than or equal to 1"),
        _ => {}
    }
}

fn check_topologies(constraints: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let count = constraints.list("topology").len();
    if count > TOPOLOGIES_MAX {
        return errors.too_many(at, count, TOPOLOGIES_MAX);
    }
    for (position, topology) in constraints.maps("topology").enumerate() {
        required::name(topology, "key", name_rules::qualified_name, &at.index(position), errors);
    }
}

fn check_claims(group: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let count = group.list("resourceClaims").len();
    if count > CLAIMS_MAX {
        return errors.too_many(at, count, CLAIMS_MAX);
    }
    check_unique(group.list("resourceClaims"), at, errors);
    for (position, claim) in group.maps("resourceClaims").enumerate() {
        let at = at.index(position);
        let names = ["resourceClaimName", "resourceClaimTemplateName"];
        check_one_of(claim, names, &at, errors);
        required::name(claim, "name", name_rules::short_name, &at, errors);
        for field in names {
            if let Some(name) = claim.str(field) {
                errors.invalid_each(&at.key(field), name, name_rules::long_name(name));
            }
        }
    }
}

/// Checks the claims that were created for a group.
pub(super) fn check_claim_statuses(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let count = status.list("resourceClaimStatuses").len();
    if count > CLAIMS_MAX {
        return errors.too_many(at, count, CLAIMS_MAX);
    }
    check_unique(status.list("resourceClaimStatuses"), at, errors);
    for (position, claim) in status.maps("resourceClaimStatuses").enumerate() {
        if let Some(name) = claim.str("resourceClaimName") {
            let at = at.index(position);
            errors.invalid_each(&at.key("resourceClaimName"), name, name_rules::long_name(name));
        }
    }
}

/// Checks that no two items have the same name.
pub(super) fn check_unique(items: &[Value], at: &Path<'_>, errors: &mut FieldErrors) {
    let mut names = HashSet::new();
    for (position, item) in items.iter().enumerate() {
        let name = item.as_map().and_then(|it| it.str("name")).unwrap_or_default();
        if !names.insert(name) {
            errors.duplicate(&at.index(position), &shown(item));
        }
    }
}

/// The constraints of group templates are shown even if there are none.
fn shown(item: &Value) -> Value {
    const FIRST: [&str; 3] = ["name", "schedulingPolicy", "schedulingConstraints"];
    let Some(map) = item.as_map().filter(|it| it.contains("schedulingPolicy")) else { return item.clone() };
    let first = FIRST.iter().map(|field| ((*field).into(), map.get(field).cloned().unwrap_or_default()));
    let rest = map.iter().filter(|(key, _)| !FIRST.contains(&key.as_str()));
    Value::Map(first.chain(rest.map(|(key, value)| (key.clone(), value.clone()))).collect())
}
