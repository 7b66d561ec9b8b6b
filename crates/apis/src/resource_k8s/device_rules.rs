//! Validation of devices.

use keelson_object::scalar::Quantity;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{attribute_name, is_short, shown_key, unique};
use super::{attribute_rules, binding_rules, capacity_rules, slice_rules, taint_rules};

const MAX_PROPERTIES: usize = 32;
const MAX_ATTRIBUTE_VALUES: usize = 48;
const MAX_TAINTS: usize = 16;
const MAX_CONSUMPTIONS: usize = 2;

/// The first part, before its place.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateDevice (v1.36.4).
pub(super) fn check(device: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    super::rules::plain_name(device.str("name").unwrap_or_default(), &at.key("name"), errors);
    let (attributes, capacities) = (device.map("attributes"), device.map("capacity"));
    let properties = attributes.map_or(0, Map::len) + capacities.map_or(0, Map::len);
    if properties > MAX_PROPERTIES {
        let detail =
            format!("the total number of attributes and capacities must not exceed {MAX_PROPERTIES}");
        errors.invalid(at, properties as i64, detail);
    }
    let values: usize = entries(attributes).map(|(_, it)| attribute_rules::values(it)).sum();
    if values > MAX_ATTRIBUTE_VALUES {
        let detail = format!("the total number of attribute values must not exceed {MAX_ATTRIBUTE_VALUES}");
        errors.invalid(at, values as i64, detail);
    }
    for (key, attribute) in entries(attributes) {
        let at = at.key("attributes");
        attribute_name(key, &at, errors);
        attribute_rules::check(attribute, &at.entry(&shown_key(key)), errors);
    }
    let sharing = match device.bool("allowMultipleAllocations") {
        Some(true) => capacity_rules::Sharing::Many,
        _ => capacity_rules::Sharing::One,
    };
    for (key, capacity) in entries(capacities) {
        let at = at.key("capacity");
        attribute_name(key, &at, errors);
        capacity_rules::check(capacity, sharing, &at.entry(&shown_key(key)), errors);
    }
    check_taints(device, old, &at.key("taints"), errors);
    let (consumptions, at) = (device.list("consumesCounters"), at.key("consumesCounters"));
    if is_short(consumptions, MAX_CONSUMPTIONS, &at, errors) {
        for (position, consumption) in device.maps("consumesCounters").enumerate() {
            slice_rules::check_counters(consumption, "counterSet", &at.index(position), errors);
        }
        unique(consumptions, "counterSet", &at, errors);
    }
}

/// The last part, after its place.
pub(super) fn check_rest(device: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    binding_rules::check(device, at, errors);
    let at = at.key("nodeAllocatableResourceMappings");
    for (name, mapping) in entries(device.map("nodeAllocatableResourceMappings")) {
        let at = at.entry(name);
        if name.contains('/') && !name.contains("kubernetes.io/") {
            errors.invalid(&at, name, "must be a node allocatable resource name");
        }
        check_mapping(mapping, device.map("capacity"), &at, errors);
    }
}

/// The entries of a map that are maps.
fn entries(map: Option<&Map>) -> impl Iterator<Item = (&str, &Map)> {
    map.into_iter().flat_map(Map::iter).filter_map(|(key, value)| Some((key.as_str(), value.as_map()?)))
}

/// Unchanged taints are not validated again.
fn check_taints(device: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let taints = device.list("taints");
    if old.is_some_and(|it| it.list("taints") == taints) || !is_short(taints, MAX_TAINTS, at, errors) {
        return;
    }
    for (position, taint) in device.maps("taints").enumerate() {
        taint_rules::check(taint, None, &at.index(position), errors);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateNodeAllocatableResourceMappings (v1.36.4).
fn check_mapping(mapping: &Map, capacities: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let multiplier = mapping.get("allocationMultiplier").filter(|it| !it.is_null());
    let key = mapping.get("capacityKey").and_then(Value::as_str);
    if multiplier.is_none() && key.is_none() {
        return errors.invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set");
    }
    if let Some(multiplier) = multiplier.and_then(|it| Quantity::from_value(it).ok())
        && multiplier.sign().is_le()
    {
        let shown = format!("{multiplier}");
        errors.invalid(&at.key("allocationMultiplier"), shown.as_str(), "must be positive");
    }
    match key {
        None => {}
        Some("") => {
            errors.invalid(&at.key("capacityKey"), "", "capacityKey must not be an empty string");
        }
        Some(key) if !capacities.is_some_and(|it| it.contains(key)) => {
            errors.not_found(&at.key("capacityKey"), key);
        }
        Some(_) => {}
    }
}
