//! Validation of the spec of a claim.

use keelson_object::selector::name_rules::{dns1123_subdomain, label_value, qualified_name};
use keelson_object::{FieldErrors, Map, Path, Value};

use super::rules::{driver, full_attribute_name, is_short, json_object, plain_name, unique};
use super::taint_rules::EFFECTS;
use crate::catalog::Settings;

pub(super) const MAX_REQUESTS: usize = 32;
const MAX_CONSTRAINTS: usize = 32;
pub(super) const MAX_CONFIGS: usize = 32;
const MAX_SELECTORS: usize = 32;
const MAX_CHOICES: usize = 8;
const MAX_EXPRESSION: usize = 10 * 1024;
const MAX_PARAMETERS: usize = 10 * 1024;

const NO_REQUEST: &str = "must be the name of a request in the claim or the name of a request and a subrequest \
    separated by '/'";

/// The kinds of constraints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Constraints {
    /// Devices have an attribute in common.
    Match,
    /// Or each another value of it: the feature `DRAConsumableCapacity` is on.
    MatchOrDistinct,
}

impl Constraints {
    pub(super) fn of(settings: &Settings) -> Constraints {
        if settings.is_on("DRAConsumableCapacity") {
            Constraints::MatchOrDistinct
        } else {
            Constraints::Match
        }
    }
}

/// Whether the object is new: newer limits do not apply to stored ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Since {
    Now,
    Stored,
}

/// The names of the requests of a claim, each followed by those of its choices: `("gpu", "")`, `("gpu", "large")`.
pub(super) struct RequestNames<'o>(Vec<(&'o str, &'o str)>);

impl<'o> RequestNames<'o> {
    pub(super) fn of(spec: Option<&'o Map>) -> RequestNames<'o> {
        let mut names = Vec::new();
        for request in spec.and_then(|it| it.map("devices")).into_iter().flat_map(|it| it.maps("requests")) {
            let name = request.str("name").unwrap_or_default();
            names.push((name, ""));
            let choices = request.maps("firstAvailable");
            names.extend(choices.map(|it| (name, it.str("name").unwrap_or_default())));
        }
        names.sort_unstable();
        RequestNames(names)
    }

    fn has(&self, request: &str, choice: Option<&str>) -> bool {
        choice != Some("") && self.0.binary_search(&(request, choice.unwrap_or_default())).is_ok()
    }

    /// Upstream: pkg/apis/resource/validation/validation.go, validateRequestNameRef (v1.36.4).
    pub(super) fn check(&self, name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
        let (request, choice) = match name.split_once('/') {
            None => (name, None),
            Some((_, rest)) if rest.contains('/') => return errors.invalid(at, name, NO_REQUEST),
            Some((request, choice)) => (request, Some(choice)),
        };
        plain_name(request, at, errors);
        choice.into_iter().for_each(|choice| plain_name(choice, at, errors));
        if !self.has(request, choice) {
            errors.invalid(at, name, NO_REQUEST);
        }
    }

    /// Checks the list `requests` of `map`.
    pub(super) fn check_all(&self, map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
        let (requests, at) = (map.list("requests"), at.key("requests"));
        if is_short(requests, MAX_REQUESTS, &at, errors) {
            for (position, name) in requests.iter().filter_map(Value::as_str).enumerate() {
                self.check(name, &at.index(position), errors);
            }
            unique(requests, "", &at, errors);
        }
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateResourceClaimSpec (v1.36.4).
pub(super) fn check(spec: &Map, constraints: Constraints, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(devices) = spec.map("devices") else { return };
    let at = at.key("devices");
    let (requests, requests_at) = (devices.list("requests"), at.key("requests"));
    if is_short(requests, MAX_REQUESTS, &requests_at, errors) {
        for (position, request) in devices.maps("requests").enumerate() {
            check_request(request, &requests_at.index(position), errors);
        }
        unique(requests, "name", &requests_at, errors);
    }
    let (all, configs) = (devices.list("constraints"), devices.list("config"));
    if all.is_empty() && configs.is_empty() {
        return;
    }
    let names = RequestNames::of(Some(spec));
    if is_short(all, MAX_CONSTRAINTS, &at.key("constraints"), errors) {
        for (position, constraint) in devices.maps("constraints").enumerate() {
            let at = at.key("constraints");
            let at = at.index(position);
            names.check_all(constraint, &at, errors);
            check_constraint(constraint, constraints, &at, errors);
        }
    }
    if is_short(configs, MAX_CONFIGS, &at.key("config"), errors) {
        for (position, config) in devices.maps("config").enumerate() {
            let at = at.key("config");
            let at = at.index(position);
            names.check_all(config, &at, errors);
            check_config(config, Since::Now, &at, errors);
        }
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceRequest (v1.36.4).
fn check_request(request: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    plain_name(request.str("name").unwrap_or_default(), &at.key("name"), errors);
    let (choices, choices_at) = (request.list("firstAvailable"), at.key("firstAvailable"));
    match (request.map("exactly"), choices.is_empty()) {
        (None, true) => errors.required(at, "exactly one of `exactly` or `firstAvailable` is required"),
        (Some(_), false) => {
            let detail =
                "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
            errors.invalid(at, (), detail);
        }
        (Some(exactly), true) => check_wish(exactly, &at.key("exactly"), errors),
        (None, false) => {
            if is_short(choices, MAX_CHOICES, &choices_at, errors) {
                for (position, choice) in request.maps("firstAvailable").enumerate() {
                    let at = choices_at.index(position);
                    plain_name(choice.str("name").unwrap_or_default(), &at.key("name"), errors);
                    check_wish(choice, &at, errors);
                }
                unique(choices, "name", &choices_at, errors);
            }
        }
    }
}

/// Checks which devices are requested, and how many.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateExactDeviceRequest and validateDeviceSubRequest
/// (v1.36.4).
fn check_wish(wish: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match wish.str("deviceClassName").unwrap_or_default() {
        "" => errors.required(&at.key("deviceClassName"), ""),
        class => errors.invalid_each(&at.key("deviceClassName"), class, dns1123_subdomain(class)),
    }
    check_selectors(wish, &at.key("selectors"), errors);
    let count = wish.int("count").unwrap_or_default();
    match wish.str("allocationMode").unwrap_or_default() {
        "All" if count != 0 => {
            errors.invalid(&at.key("count"), count, "must not be specified when allocationMode is 'All'");
        }
        "ExactCount" if count <= 0 => errors.invalid(&at.key("count"), count, "must be greater than zero"),
        "All" | "ExactCount" => {}
        mode => errors.not_supported(&at.key("allocationMode"), mode, &["All", "ExactCount"]),
    }
    for (position, toleration) in wish.maps("tolerations").enumerate() {
        check_toleration(toleration, &at.key("tolerations").index(position), errors);
    }
}

/// The list `selectors` of `map`. Expressions are not compiled.
///
/// Upstream: pkg/apis/resource/validation/validation.go, validateSelectorSlice (v1.36.4).
pub(super) fn check_selectors(map: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let selectors = map.list("selectors");
    if !is_short(selectors, MAX_SELECTORS, at, errors) {
        return;
    }
    for (position, selector) in map.maps("selectors").enumerate() {
        let at = at.index(position);
        let at = at.key("cel");
        match selector.map("cel") {
            None => errors.required(&at, ""),
            Some(cel) if cel.str("expression").unwrap_or_default().len() > MAX_EXPRESSION => {
                errors.too_long(&at.key("expression"), MAX_EXPRESSION);
            }
            Some(_) => {}
        }
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceToleration (v1.36.4).
fn check_toleration(toleration: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |key: &str| toleration.str(key).unwrap_or_default();
    let (key, value) = (text("key"), text("value"));
    if !key.is_empty() {
        errors.invalid_each(&at.key("key"), key, qualified_name(key));
    }
    match text("operator") {
        "Exists" if !value.is_empty() => {
            errors.invalid(&at.key("value"), value, "must be empty for operator `Exists`");
        }
        "Exists" => {}
        "Equal" => errors.invalid_each(&at.key("value"), value, label_value(value)),
        "" => errors.required(&at.key("operator"), ""),
        operator => errors.not_supported(&at.key("operator"), operator, &["Equal", "Exists"]),
    }
    let effect = text("effect");
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        errors.not_supported(&at.key("effect"), effect, &EFFECTS);
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceConstraint (v1.36.4).
fn check_constraint(constraint: &Map, kind: Constraints, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(name) = constraint.str("matchAttribute") {
        full_attribute_name(name, &at.key("matchAttribute"), errors);
    } else if let Some(name) = constraint.str("distinctAttribute") {
        full_attribute_name(name, &at.key("distinctAttribute"), errors);
    } else if kind == Constraints::MatchOrDistinct {
        let detail = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields \
            are set";
        errors.required(at, detail);
    } else {
        errors.required(&at.key("matchAttribute"), "");
    }
}

/// Upstream: pkg/apis/resource/validation/validation.go, validateDeviceConfiguration (v1.36.4).
pub(super) fn check_config(config: &Map, since: Since, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("opaque");
    let Some(opaque) = config.map("opaque") else {
        return errors.required(&at, "");
    };
    driver(opaque.str("driver").unwrap_or_default(), &at.key("driver"), errors);
    let limit = (since == Since::Now).then_some(MAX_PARAMETERS);
    json_object(opaque.get("parameters"), limit, &at.key("parameters"), errors);
}
