//! Validation of nodes.

use std::collections::HashSet;

use keelson_object::field_error::FieldErrorKind;
use keelson_object::selector::name_rules;
use keelson_object::{FieldError, FieldErrors, Map, Object, Path, Value};

use super::annotations;
use crate::shared::addresses::{self, Family, Strictness};
use crate::shared::go_form::{Field, Form, Shape, shown};
use crate::shared::pod_template::rules::tolerations;
use crate::shared::{amounts, required};

/// Upstream: pkg/apis/core/types.go, Taint (v1.36.4).
const TAINT: [Field; 4] = [
    Field("Key", "key", Form::Text),
    Field("Value", "value", Form::Text),
    Field("Effect", "effect", Form::Text),
    Field("TimeAdded", "timeAdded", Form::AsIs),
];

/// Upstream: pkg/apis/core/types.go, NodeAddress (v1.36.4).
const ADDRESS: [Field; 2] = [Field("Type", "type", Form::Text), Field("Address", "address", Form::Text)];

/// The longest name of a feature.
const FEATURE_MAX: usize = 253;

/// Checks a node.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateNode (v1.36.4).
pub(super) fn check(node: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let (spec, status) = parts(node, &empty);
    annotations::check(&node.meta, errors);
    // Upstream reports taints of the spec below the metadata.
    check_taints(spec.maps("taints"), &Path::root("metadata.taints"), errors);
    check_resources(status, errors);
    let swap = status.at("nodeInfo.swap.capacity").and_then(Value::as_int);
    if let Some(capacity) = swap.filter(|it| *it <= 0) {
        let at = Path::root("metadata.nodeSwapStatus.capacity");
        errors.invalid(&at, capacity, "must be greater than zero");
    }
    check_features(status, errors);
    check_ranges(spec, errors);
}

/// Checks a change of a node, or of its status.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeUpdate (v1.36.4).
pub(super) fn check_update(node: &Object, old: &Object, errors: &mut FieldErrors) {
    let empty = Map::new();
    let ((spec, status), (old_spec, _)) = (parts(node, &empty), parts(old, &empty));
    annotations::check(&node.meta, errors);
    check_resources(status, errors);
    check_features(status, errors);
    check_addresses(status, errors);
    check_kept(spec, old_spec, errors);
    if let Some(source) = spec.map("configSource") {
        check_config(source, Whose::Spec, &Path::root("spec.configSource"), errors);
    }
    if let Some(config) = status.map("config") {
        for field in ["assigned", "active", "lastKnownGood"] {
            if let Some(source) = config.map(field) {
                check_config(source, Whose::Status, &Path::root("status.config").key(field), errors);
            }
        }
    }
    check_taints(spec.maps("taints"), &Path::root("metadata.taints"), errors);
    if spec.str("externalID").unwrap_or_default() != old_spec.str("externalID").unwrap_or_default() {
        errors.forbidden(&Path::root("spec.externalID"), "may not be updated");
    }
}

fn parts<'n>(node: &'n Object, empty: &'n Map) -> (&'n Map, &'n Map) {
    let part = |field| node.fields.map(field).unwrap_or(empty);
    (part("spec"), part("status"))
}

/// Checks taints, wherever they stand.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateNodeTaints (v1.36.4).
pub(super) fn check_taints<'t>(
    taints: impl Iterator<Item = &'t Map>,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let mut seen = HashSet::new();
    for (position, taint) in taints.enumerate() {
        let at = at.index(position);
        let text = |field| taint.str(field).unwrap_or_default();
        let (key, value, effect) = (text("key"), text("value"), text("effect"));
        errors.invalid_each(&at.key("key"), key, name_rules::qualified_name(key));
        let problems = name_rules::label_value(value);
        if !problems.is_empty() {
            errors.invalid(&at.key("value"), value, problems.join(";"));
        }
        if effect.is_empty() {
            errors.required(&at.key("effect"), "");
        } else {
            tolerations::check_effect(effect, &at.key("effect"), errors);
        }
        if !seen.insert((key, effect)) {
            errors.push(FieldError {
                kind: FieldErrorKind::Duplicate,
                field: at.to_string(),
                shown: shown(taint, &TAINT),
                detail: "taints must be unique by key and effect pair".to_owned(),
            });
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateNodeResources (v1.36.4).
fn check_resources(status: &Map, errors: &mut FieldErrors) {
    for list in ["capacity", "allocatable"] {
        let at = Path::root("status");
        let at = at.key(list);
        for (name, amount) in amounts::of(status, list) {
            amounts::check(name, &amount, &at.key(name), errors);
        }
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNodeDeclaredFeatures (v1.36.4).
fn check_features(status: &Map, errors: &mut FieldErrors) {
    let at = Path::root("status.declaredFeatures");
    let mut last: Option<&str> = None;
    for (position, feature) in status.list("declaredFeatures").iter().filter_map(Value::as_str).enumerate() {
        let at = at.index(position);
        match last {
            Some(last) if last == feature => errors.duplicate(&at, feature),
            Some(last) if last > feature => {
                errors.invalid(&at, feature, "list must be sorted alphabetically")
            }
            _ => {}
        }
        if let Some(problem) = feature_problem(feature) {
            errors.invalid(&at, feature, format!("invalid feature name {feature:?}: {problem}"));
        }
        last = Some(feature);
    }
}

fn feature_problem(feature: &str) -> Option<String> {
    if feature.len() > FEATURE_MAX {
        return Some(format!("must be no more than {FEATURE_MAX} characters"));
    }
    let is_segment = |(position, segment): (usize, &str)| {
        let begins = |byte: u8| byte.is_ascii_uppercase() || (position > 0 && byte.is_ascii_alphabetic());
        segment.bytes().next().is_some_and(begins) && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    (!feature.split('/').enumerate().all(is_segment)).then(|| {
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or \
         MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            .to_owned()
    })
}

/// A node has at most one range for each family of addresses.
fn check_ranges(spec: &Map, errors: &mut FieldErrors) {
    let at = Path::root("spec.podCIDRs");
    let ranges = spec.list("podCIDRs");
    for (position, range) in ranges.iter().filter_map(Value::as_str).enumerate() {
        if let Some(problem) = addresses::range_problem(range, Strictness::Strict) {
            errors.invalid(&at.index(position), range, problem);
        }
    }
    if ranges.len() < 2 {
        return;
    }
    let families: Vec<Option<Family>> =
        ranges.iter().map(|it| it.as_str().and_then(addresses::range_family)).collect();
    if let Some(position) = families.iter().position(Option::is_none) {
        let range = ranges[position].as_str().unwrap_or_default();
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{position}]: <nil> (invalid CIDR \
             address: {range})"
        );
        errors.internal(&at, detail);
    }
    let has = |family| families.contains(&Some(family));
    let are_known = families.iter().all(Option::is_some);
    if !(are_known && has(Family::V4) && has(Family::V6)) || ranges.len() > 2 {
        let detail = "may specify no more than one CIDR for each IP family";
        errors.invalid(&at, &Value::List(ranges.to_vec()), detail);
    }
}

fn check_addresses(status: &Map, errors: &mut FieldErrors) {
    let at = Path::root("status.addresses");
    let mut seen = HashSet::new();
    for (position, address) in status.maps("addresses").enumerate() {
        let text = |field| address.str(field).unwrap_or_default();
        if !seen.insert((text("type"), text("address"))) {
            errors.duplicate(&at.index(position), Shape(address, &ADDRESS));
        }
    }
}

/// Checks the fields of a node that can be set only once.
fn check_kept(spec: &Map, old: &Map, errors: &mut FieldErrors) {
    let (new_ranges, old_ranges) = (spec.list("podCIDRs"), old.list("podCIDRs"));
    let changes = if new_ranges.len() != old_ranges.len() {
        1
    } else {
        new_ranges.iter().zip(old_ranges).filter(|(new, old)| new != old).count()
    };
    if !old_ranges.is_empty() {
        for _ in 0..changes {
            let detail = "node updates may not change podCIDR except from \"\" to valid";
            errors.forbidden(&Path::root("spec.podCIDRs"), detail);
        }
    }
    let provider = |spec: &Map| spec.str("providerID").unwrap_or_default().to_owned();
    if !provider(old).is_empty() && provider(old) != provider(spec) {
        let detail = "node updates may not change providerID except from \"\" to valid";
        errors.forbidden(&Path::root("spec.providerID"), detail);
    }
}

/// The owner of the configuration: the spec, or the status of a node.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
    Spec,
    Status,
}

/// Upstream: pkg/apis/core/validation/validation.go, validateNodeConfigSourceSpec and
/// validateNodeConfigSourceStatus (v1.36.4).
fn check_config(source: &Map, whose: Whose, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(map) = source.map("configMap") else {
        let shown = String::from("{\"ConfigMap\":null}");
        return errors.invalid_as(at, shown, "exactly one reference subfield must be non-nil");
    };
    let at = at.key("configMap");
    let text = |field| map.str(field).unwrap_or_default();
    for field in ["uid", "resourceVersion"] {
        match (whose, text(field).is_empty()) {
            (Whose::Spec, false) => {
                errors.forbidden(&at.key(field), format!("{field} must not be set in spec"));
            }
            (Whose::Status, true) => errors.required(&at.key(field), ""),
            _ => {}
        }
    }
    required::name(map, "namespace", name_rules::dns1123_label, &at, errors);
    required::name(map, "name", name_rules::dns1123_subdomain, &at, errors);
    required::name(map, "kubeletConfigKey", name_rules::config_map_key, &at, errors);
}
