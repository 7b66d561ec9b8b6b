//! Validation of ResourceSlices.

use std::collections::HashMap;

use keelson_object::selector::name_rules::dns1123_subdomain;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{driver, is_short, plain_name, pool, unique};
use super::{device_rules, forms};
use crate::shared::edit::is_set;
use crate::shared::node_selector::{self, Values};

const MAX_DEVICES: usize = 128;
/// The limit of devices with taints, counters or lists of attributes, which make scheduling more expensive.
const MAX_ADVANCED_DEVICES: usize = 64;
const MAX_COUNTER_SETS: usize = 8;
const MAX_COUNTERS: usize = 32;

const ONE_PLACE: &str =
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";

/// Upstream: pkg/apis/resource/validation/validation.go, validateResourceSliceSpec (v1.36.4).
pub(super) fn check(spec: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    driver(spec.str("driver").unwrap_or_default(), &at.key("driver"), errors);
    check_pool(spec.map("pool"), &at.key("pool"), errors);
    if let Some(old) = old {
        check_unchanged(spec, old, at, errors);
    }
    check_place(spec, at, errors);
    if is_set(spec, "sharedCounters") && is_set(spec, "devices") {
        errors.invalid(at, "", "only one of `sharedCounters` or `devices` is allowed");
    }
    check_devices(spec, old, &at.key("devices"), errors);
    let (sets, at) = (spec.list("sharedCounters"), at.key("sharedCounters"));
    if is_short(sets, MAX_COUNTER_SETS, &at, errors) {
        for (position, set) in spec.maps("sharedCounters").enumerate() {
            check_counters(set, "name", &at.index(position), errors);
        }
        unique(sets, "name", &at, errors);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateResourcePool (v1.36.4).
fn check_pool(of: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let number = |key: &str| of.and_then(|it| it.int(key)).unwrap_or_default();
    pool(of.and_then(|it| it.str("name")).unwrap_or_default(), &at.key("name"), errors);
    let (slices, generation) = (number("resourceSliceCount"), number("generation"));
    if slices <= 0 {
        errors.invalid(&at.key("resourceSliceCount"), slices, "must be greater than zero");
    }
    if generation < 0 {
        errors.invalid(&at.key("generation"), generation, "must be greater than or equal to zero");
    }
}

fn check_unchanged(spec: &Map, old: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |spec: &Map, key: &str| spec.at(key).and_then(Value::as_str).map(str::to_owned);
    for key in ["pool.name", "driver", "nodeName"] {
        let now = text(spec, key);
        if now != text(old, key) {
            match &now {
                Some(now) => errors.invalid(&at.key(key), now.as_str(), "field is immutable"),
                None => errors.invalid(&at.key(key), (), "field is immutable"),
            }
        }
    }
}

/// Checks which nodes can use the devices.
fn check_place(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut said = Vec::new();
    match spec.str("nodeName") {
        None => {}
        Some("") => {
            errors.invalid(&at.key("nodeName"), "", "must be either unset or set to a non-empty string");
        }
        Some(name) => {
            said.push("`nodeName`");
            errors.invalid_each(&at.key("nodeName"), name, dns1123_subdomain(name));
        }
    }
    if let Some(selector) = spec.map("nodeSelector") {
        said.push("`nodeSelector`");
        let at = at.key("nodeSelector");
        node_selector::check(selector, Values::OfLabels, &at, errors);
        if selector.list("nodeSelectorTerms").len() != 1 {
            let detail = "must have exactly one node selector term";
            errors.invalid(&at.key("nodeSelectorTerms"), &forms::terms(selector), detail);
        }
    }
    for (key, quoted) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")]
    {
        match spec.bool(key) {
            None => {}
            Some(true) => said.push(quoted),
            Some(false) => errors.invalid(&at.key(key), false, "must be either unset or set to true"),
        }
    }
    match said.len() {
        0 => errors.required(at, ONE_PLACE),
        1 => {}
        _ => {
            let shown = format!("{{{}}}", said.join(", "));
            errors.invalid(at, shown.as_str(), format!("{ONE_PLACE}, but multiple fields are set"));
        }
    }
}

fn check_devices(spec: &Map, old: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let devices = spec.list("devices");
    let limit = if spec.maps("devices").any(is_advanced) { MAX_ADVANCED_DEVICES } else { MAX_DEVICES };
    if !is_short(devices, limit, at, errors) {
        return;
    }
    let name = |device: &'_ Map| String::from(device.str("name").unwrap_or_default());
    let before: HashMap<String, &Map> =
        old.into_iter().flat_map(|it| it.maps("devices")).map(|it| (name(it), it)).collect();
    let own_places = spec.bool("perDeviceNodeSelection") == Some(true);
    for (position, device) in spec.maps("devices").enumerate() {
        let at = at.index(position);
        let old = before.get(device.str("name").unwrap_or_default()).copied();
        device_rules::check(device, old, &at, errors);
        check_own_place(device, own_places, &at, errors);
        device_rules::check_rest(device, &at, errors);
    }
    unique(devices, "name", at, errors);
}

fn is_advanced(device: &Map) -> bool {
    let is_list = |attribute: &Value| {
        let lists = ["bools", "ints", "strings", "versions"];
        attribute.as_map().is_some_and(|it| lists.iter().any(|list| is_set(it, list)))
    };
    !device.list("taints").is_empty()
        || !device.list("consumesCounters").is_empty()
        || device.map("attributes").is_some_and(|it| it.iter().any(|(_, it)| is_list(it)))
}

/// Checks which nodes can use a device, if each device specifies that itself.
fn check_own_place(device: &Map, is_own: bool, at: &Path<'_>, errors: &mut FieldErrors) {
    let fields = ["nodeName", "nodeSelector", "allNodes"];
    if !is_own {
        if fields.iter().any(|it| is_set(device, it)) {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` \
                is set to true in the ResourceSlice spec";
            errors.invalid(at, (), detail);
        }
        return;
    }
    let mut said = Vec::new();
    match device.str("nodeName") {
        None => {}
        Some("") => errors.invalid(&at.key("nodeName"), "", "must not be empty"),
        Some(name) => {
            said.push("`nodeName`");
            errors.invalid_each(&at.key("nodeName"), name, dns1123_subdomain(name));
        }
    }
    if let Some(selector) = device.map("nodeSelector") {
        said.push("`nodeSelector`");
        node_selector::check(selector, Values::OfLabels, &at.key("nodeSelector"), errors);
    }
    match device.bool("allNodes") {
        None => {}
        Some(true) => said.push("`allNodes`"),
        Some(false) => errors.invalid(&at.key("allNodes"), false, "must be either unset or set to true"),
    }
    let detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
        `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    match said.len() {
        0 => errors.required(at, detail),
        1 => {}
        _ => errors.invalid(at, format!("{{{}}}", said.join(", ")).as_str(), detail),
    }
}

/// Checks counters, and the field `name` with the name of their set.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateCounterSet and validateDeviceCounterConsumption
/// (v1.36.4).
pub(super) fn check_counters(set: &Map, name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    match set.str(name).unwrap_or_default() {
        "" => errors.required(&at.key(name), ""),
        text => plain_name(text, &at.key(name), errors),
    }
    let at = at.key("counters");
    match set.map("counters").filter(|it| !it.is_empty()) {
        None => errors.required(&at, ""),
        Some(counters) if counters.len() > MAX_COUNTERS => errors.too_many(&at, counters.len(), MAX_COUNTERS),
        Some(counters) => counters.iter().for_each(|(name, _)| plain_name(name, &at, errors)),
    }
}
