//! Validation of the status of a claim.

use std::collections::HashSet;

use keelson_object::{FieldErrors, Map, Object, Path, Value};

use super::claim_rules::{MAX_CONFIGS, RequestNames, Since, check_config};
use super::rules::{driver, is_short, json_object, plain_name, pool, repeated, unique, uuid};
use super::{binding_rules, forms};
use crate::shared::go_form::Shape;
use crate::shared::node_selector::{self, Values};
use crate::shared::{addresses, conditions};

const MAX_CONSUMERS: usize = 256;
const MAX_RESULTS: usize = 32;
const MAX_CONDITIONS: usize = 8;
const MAX_DATA: usize = 10 * 1024;
const MAX_INTERFACE_NAME: usize = 256;
const MAX_HARDWARE_ADDRESS: usize = 128;
const MAX_IPS: usize = 16;

/// Driver, pool, device and share: which device it is.
type Identity<'o> = [&'o str; 4];

/// Upstream: pkg/apis/resource/validation/validation.go, ValidateResourceClaimStatusUpdate (v1.36.4).
pub(super) fn check(object: &Object, old: &Object, errors: &mut FieldErrors) {
    let at = Path::root("status");
    let (status, before) = (object.fields.map("status"), old.fields.map("status"));
    let Some(status) = status else { return };
    check_consumers(status, &at.key("reservedFor"), errors);
    check_devices(status, &at.key("devices"), errors);
    let allocation = status.map("allocation");
    if !status.list("reservedFor").is_empty() {
        let at = at.key("reservedFor");
        let were_there = before.map_or(&[][..], |it| it.list("reservedFor"));
        if allocation.is_none() {
            errors.forbidden(&at, "may not be specified when `allocated` is not set");
        } else if object.meta.is_being_deleted() && has_others(status.list("reservedFor"), were_there) {
            let detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are \
                set";
            errors.forbidden(&at, detail);
        }
    }
    let Some(allocation) = allocation else { return };
    let at = at.key("allocation");
    match before.and_then(|it| it.get("allocation")).filter(|it| !it.is_null()) {
        Some(old) if old.as_map() == Some(allocation) => {}
        Some(_) => {
            errors.invalid(&at, Shape(allocation, forms::ALLOCATION), "field is immutable");
        }
        None => {
            let names = RequestNames::of(object.fields.map("spec"));
            check_allocation(allocation, &names, &at, errors);
        }
    }
}

/// Whether `list` contains items that `old` does not.
fn has_others(list: &[Value], old: &[Value]) -> bool {
    let key = |it: &Value| {
        let text = |key| it.as_map().and_then(|it| it.str(key)).unwrap_or_default().to_owned();
        ["apiGroup", "resource", "name", "uid"].map(text)
    };
    let old: HashSet<_> = old.iter().map(key).collect();
    list.iter().any(|it| !old.contains(&key(it)))
}

fn check_consumers(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let consumers = status.list("reservedFor");
    if !is_short(consumers, MAX_CONSUMERS, at, errors) {
        return;
    }
    for (position, consumer) in status.maps("reservedFor").enumerate() {
        for key in ["resource", "name", "uid"] {
            if consumer.str(key).unwrap_or_default().is_empty() {
                errors.required(&at.index(position).key(key), "");
            }
        }
    }
    unique(consumers, "uid", at, errors);
}

fn identity(device: &Map) -> Identity<'_> {
    ["driver", "pool", "device", "shareID"].map(|key| device.str(key).unwrap_or_default())
}

/// The identity as upstream prints it.
fn shown(identity: Identity<'_>) -> Value {
    let mut map = Map::new();
    for (key, text) in ["Driver", "Pool", "Device", "ShareID"].into_iter().zip(identity) {
        map.push_new(key, text);
    }
    map.into()
}

/// Checks the status that drivers report for allocated devices.
fn check_devices(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let devices = status.list("devices");
    if devices.is_empty() {
        return;
    }
    let allocated = status.map("allocation").and_then(|it| it.map("devices"));
    let allocated: HashSet<_> =
        allocated.into_iter().flat_map(|it| it.maps("results")).map(identity).collect();
    for (position, device) in status.maps("devices").enumerate() {
        check_device(device, &allocated, &at.index(position), errors);
    }
    let key = |item| Value::as_map(item).map(identity).unwrap_or_default();
    for (position, device) in repeated(devices, key) {
        errors.duplicate(&at.index(position), &shown(key(device)));
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceStatus (v1.36.4).
fn check_device(device: &Map, allocated: &HashSet<Identity<'_>>, at: &Path<'_>, errors: &mut FieldErrors) {
    driver(device.str("driver").unwrap_or_default(), &at.key("driver"), errors);
    pool(device.str("pool").unwrap_or_default(), &at.key("pool"), errors);
    plain_name(device.str("device").unwrap_or_default(), &at.key("device"), errors);
    if let Some(share) = device.str("shareID") {
        uuid(share, &at.key("shareID"), errors);
    }
    let identity = identity(device);
    if !allocated.contains(&identity) {
        errors.invalid(at, &shown(identity), "must be an allocated device in the claim");
    }
    let reported = device.list("conditions");
    if reported.len() > MAX_CONDITIONS {
        errors.too_many(&at.key("conditions"), reported.len(), MAX_CONDITIONS);
    }
    conditions::check(reported, &at.key("conditions"), errors);
    if let Some(data) = device.get("data").filter(|it| !it.is_null()) {
        json_object(Some(data), Some(MAX_DATA), &at.key("data"), errors);
    }
    if let Some(network) = device.map("networkData") {
        check_network(network, &at.key("networkData"), errors);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateNetworkDeviceData (v1.36.4).
fn check_network(network: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    for (key, limit) in [("interfaceName", MAX_INTERFACE_NAME), ("hardwareAddress", MAX_HARDWARE_ADDRESS)] {
        if network.str(key).unwrap_or_default().len() > limit {
            errors.too_long(&at.key(key), limit);
        }
    }
    let (ips, at) = (network.list("ips"), at.key("ips"));
    if is_short(ips, MAX_IPS, &at, errors) {
        for (position, address) in ips.iter().filter_map(Value::as_str).enumerate() {
            if let Some(problem) = addresses::interface_problem(address) {
                errors.invalid(&at.index(position), address, problem);
            }
        }
        unique(ips, "", &at, errors);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateAllocationResult (v1.36.4).
fn check_allocation(allocation: &Map, names: &RequestNames<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(devices) = allocation.map("devices") {
        let at = at.key("devices");
        if is_short(devices.list("results"), MAX_RESULTS, &at.key("results"), errors) {
            for (position, result) in devices.maps("results").enumerate() {
                check_result(result, names, &at.key("results").index(position), errors);
            }
        }
        if is_short(devices.list("config"), 2 * MAX_CONFIGS, &at.key("config"), errors) {
            for (position, config) in devices.maps("config").enumerate() {
                let at = at.key("config");
                let at = at.index(position);
                check_source(config.str("source").unwrap_or_default(), &at.key("source"), errors);
                names.check_all(config, &at, errors);
                check_config(config, Since::Now, &at, errors);
            }
        }
    }
    if let Some(selector) = allocation.map("nodeSelector") {
        node_selector::check(selector, Values::OfLabels, &at.key("nodeSelector"), errors);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceRequestAllocationResult (v1.36.4).
fn check_result(result: &Map, names: &RequestNames<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    names.check(result.str("request").unwrap_or_default(), &at.key("request"), errors);
    driver(result.str("driver").unwrap_or_default(), &at.key("driver"), errors);
    pool(result.str("pool").unwrap_or_default(), &at.key("pool"), errors);
    plain_name(result.str("device").unwrap_or_default(), &at.key("device"), errors);
    binding_rules::check(result, at, errors);
    if let Some(share) = result.str("shareID") {
        uuid(share, &at.key("shareID"), errors);
    }
}

fn check_source(source: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    match source {
        "" => errors.required(at, ""),
        "FromClaim" | "FromClass" => {}
        source => errors.not_supported(at, source, &["FromClaim", "FromClass"]),
    }
}
