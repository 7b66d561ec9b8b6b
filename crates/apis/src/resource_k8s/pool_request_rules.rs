//! Validation of ResourcePoolStatusRequests and their status.
//!
//! Upstream declares these rules in tags instead of code.

use keelson_object::selector::name_rules::{long_name, long_name_caseless};
use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{is_short, repeated};

const MAX_LIMIT: i64 = 1000;
const MAX_POOLS: usize = 1000;
const MAX_CONDITIONS: usize = 10;
const MAX_ERROR: usize = 256;
const MAX_POOL_NAME: usize = 253;

/// Upstream: pkg/apis/resource/v1alpha3/zz_generated.validations.go, Validate_ResourcePoolStatusRequestSpec (v1.36.4).
pub(super) fn check(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_driver(spec, at, errors);
    if let Some(name) = spec.str("poolName") {
        check_pool_name(name, &at.key("poolName"), errors);
    }
    let at = at.key("limit");
    match spec.int("limit") {
        None => errors.required(&at, ""),
        Some(limit) if limit > MAX_LIMIT => {
            errors.invalid(&at, limit, format!("must be less than or equal to {MAX_LIMIT}"));
        }
        Some(limit) => check_minimum(limit, 1, &at, errors),
    }
}

/// Upstream: pkg/apis/resource/v1alpha3/zz_generated.validations.go, Validate_ResourcePoolStatusRequestStatus (v1.36.4).
pub(super) fn check_status(status: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match status.int("poolCount") {
        None => errors.required(&at.key("poolCount"), ""),
        Some(count) => check_minimum(count, 0, &at.key("poolCount"), errors),
    }
    if is_short(status.list("pools"), MAX_POOLS, &at.key("pools"), errors) {
        for (position, pool) in status.maps("pools").enumerate() {
            check_pool(pool, &at.key("pools").index(position), errors);
        }
    }
    let (conditions, at) = (status.list("conditions"), at.key("conditions"));
    if is_short(conditions, MAX_CONDITIONS, &at, errors) {
        let name = |it| Value::as_map(it).and_then(|it| it.str("type"));
        for (position, condition) in repeated(conditions, name) {
            errors.duplicate(&at.index(position), condition);
        }
    }
}

/// Upstream: pkg/apis/resource/v1alpha3/zz_generated.validations.go, Validate_PoolStatus (v1.36.4).
fn check_pool(pool: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    check_driver(pool, at, errors);
    match pool.str("poolName").unwrap_or_default() {
        "" => errors.required(&at.key("poolName"), ""),
        name => check_pool_name(name, &at.key("poolName"), errors),
    }
    match pool.int("generation").unwrap_or_default() {
        0 => errors.required(&at.key("generation"), ""),
        generation => check_minimum(generation, 0, &at.key("generation"), errors),
    }
    for (field, minimum) in [
        ("resourceSliceCount", 1),
        ("totalDevices", 0),
        ("allocatedDevices", 0),
        ("availableDevices", 0),
        ("unavailableDevices", 0),
    ] {
        if let Some(number) = pool.int(field) {
            check_minimum(number, minimum, &at.key(field), errors);
        }
    }
    if let Some(name) = pool.str("nodeName") {
        errors.invalid_each(&at.key("nodeName"), name, long_name(name));
    }
    if pool.str("validationError").is_some_and(|it| it.len() > MAX_ERROR) {
        errors.too_long(&at.key("validationError"), MAX_ERROR);
    }
}

fn check_driver(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match map.str("driver").unwrap_or_default() {
        "" => errors.required(&at.key("driver"), ""),
        driver => errors.invalid_each(&at.key("driver"), driver, long_name_caseless(driver)),
    }
}

/// Upstream: apimachinery/pkg/api/validate/strfmt.go, ResourcePoolName (v1.36.4).
fn check_pool_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.len() > MAX_POOL_NAME {
        errors.too_long(at, MAX_POOL_NAME);
    }
    for (position, part) in name.split('/').enumerate() {
        if part.is_empty() {
            errors.invalid(at, name, format!("segment {position}: must not be empty"));
            continue;
        }
        for problem in long_name(part) {
            errors.invalid(at, part, format!("segment {position}: {problem}"));
        }
    }
}

fn check_minimum(number: i64, minimum: i64, at: &Path<'_>, errors: &mut FieldErrors) {
    if number < minimum {
        errors.invalid(at, number, format!("must be greater than or equal to {minimum}"));
    }
}
