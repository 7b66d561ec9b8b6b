//! Validation of EndpointSlices.
//!
//! Upstream: pkg/apis/discovery/validation/validation.go (v1.36.4), in its order.

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_labels};
use keelson_object::{FieldErrors, Map, Object, Path};

use crate::core::service::rules::check_protocol;
use crate::services::Family;
use crate::shared::addresses::{Strictness, address_problem, check_address, check_endpoint_address, sloppy};

const TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_TOPOLOGY: usize = 16;
const MAX_HINTS: usize = 8;

/// Checks a slice. Unchanged parts are not validated again.
pub(super) fn check(object: &Object, old: Option<&Object>, strictness: Strictness, errors: &mut FieldErrors) {
    let kind = object.fields.str("addressType").unwrap_or_default();
    let kind_at = Path::root("addressType");
    match kind {
        "" => errors.required(&kind_at, ""),
        kind if TYPES.contains(&kind) => {}
        kind => errors.not_supported(&kind_at, kind, &TYPES),
    }
    check_ports(object, errors);
    let endpoints = |it: &'_ Object| it.fields.get("endpoints").filter(|it| !it.is_empty()).cloned();
    if old.is_none_or(|old| endpoints(old) != endpoints(object)) {
        check_endpoints(object, kind, strictness, errors);
    }
    if old.is_some_and(|old| old.fields.str("addressType").unwrap_or_default() != kind) {
        errors.invalid(&kind_at, kind, "field is immutable");
    }
}

fn check_ports(object: &Object, errors: &mut FieldErrors) {
    let (at, count) = (Path::root("ports"), object.fields.list("ports").len());
    if count > MAX_PORTS {
        errors.too_many(&at, count, MAX_PORTS);
        return;
    }
    let mut names = HashSet::new();
    for (i, port) in object.fields.maps("ports").enumerate() {
        let at = at.index(i);
        let name = port.str("name").unwrap_or_default();
        if !name.is_empty() {
            errors.invalid_each(&at.key("name"), name, name_rules::dns1123_label(name));
        }
        if !names.insert(name) {
            errors.duplicate(&at.key("name"), name);
        }
        check_protocol_pointer(port, &at.key("protocol"), errors);
        if let Some(protocol) = port.str("appProtocol") {
            errors.invalid_each(&at.key("appProtocol"), protocol, name_rules::qualified_name(protocol));
        }
    }
}

/// Here an empty protocol is an unsupported one; only an absent one is missing.
fn check_protocol_pointer(port: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    match port.str("protocol") {
        Some("") => errors.not_supported(at, "", &["SCTP", "TCP", "UDP"]),
        protocol => check_protocol(protocol.unwrap_or_default(), at, errors),
    }
}

fn check_endpoints(object: &Object, kind: &str, strictness: Strictness, errors: &mut FieldErrors) {
    let (at, count) = (Path::root("endpoints"), object.fields.list("endpoints").len());
    if count > MAX_ENDPOINTS {
        errors.too_many(&at, count, MAX_ENDPOINTS);
        return;
    }
    for (i, endpoint) in object.fields.maps("endpoints").enumerate() {
        let at = at.index(i);
        check_addresses(endpoint, (kind, strictness), &at.key("addresses"), errors);
        if let Some(node) = endpoint.str("nodeName") {
            errors.invalid_each(&at.key("nodeName"), node, name_rules::dns1123_subdomain(node));
        }
        if let Some(topology) = endpoint.map("deprecatedTopology") {
            let at = at.key("deprecatedTopology");
            if topology.len() > MAX_TOPOLOGY {
                errors.too_many(&at, topology.len(), MAX_TOPOLOGY);
            }
            validate_labels(topology, &at, errors);
        }
        if let Some(host) = endpoint.str("hostname") {
            errors.invalid_each(&at.key("hostname"), host, name_rules::dns1123_label(host));
        }
        if let Some(hints) = endpoint.map("hints") {
            check_hints(hints, &at.key("hints"), errors);
        }
    }
}

fn check_addresses(
    endpoint: &Map,
    (kind, strictness): (&str, Strictness),
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let addresses = endpoint.list("addresses");
    if addresses.is_empty() {
        errors.required(at, "must contain at least 1 address");
    } else if addresses.len() > MAX_ADDRESSES {
        errors.too_many(at, addresses.len(), MAX_ADDRESSES);
    }
    for (i, address) in addresses.iter().enumerate() {
        let (address, item_at) = (address.as_str().unwrap_or_default(), at.index(i));
        let good = match kind {
            "IPv4" => check_address(address, strictness, &item_at, errors).then_some(Family::V4),
            "IPv6" => check_canonical_address(address, &item_at, errors).then_some(Family::V6),
            "FQDN" => {
                check_domain(address, &item_at, errors);
                None
            }
            _ => None,
        };
        if let Some(family) = good {
            check_family(address, family, at, errors);
            check_endpoint_address(address, &item_at, errors);
        }
    }
}

/// Checks that it is an address in canonical form.
fn check_canonical_address(address: &str, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let problem = address_problem(address);
    let is_good = problem.is_none();
    problem.into_iter().for_each(|problem| errors.invalid(at, address, problem));
    is_good
}

fn check_family(address: &str, family: Family, at: &Path<'_>, errors: &mut FieldErrors) {
    if sloppy(address).map(Family::of) != Some(family) {
        errors.invalid(at, address, format!("must be an {} address", family.as_str()));
    }
}

/// Upstream: apimachinery/pkg/util/validation/validation.go, IsFullyQualifiedDomainName (v1.36.4).
fn check_domain(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        errors.required(at, "");
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let problems = name_rules::dns1123_subdomain(name);
    if !problems.is_empty() {
        errors.invalid(at, name, problems.join(","));
    } else if !name.contains('.') {
        errors.invalid(at, name, "should be a domain with at least two segments separated by dots");
    } else if let Some((label, problems)) = name
        .split('.')
        .map(|label| (label, name_rules::dns1123_label(label)))
        .find(|(_, problems)| !problems.is_empty())
    {
        errors.invalid(at, label, problems.join(","));
    }
}

fn check_hints(hints: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if check_hinted(hints, ("forZones", name_rules::label_value), at, errors) {
        check_hinted(hints, ("forNodes", name_rules::dns1123_subdomain), at, errors);
    }
}

/// Checks the names in one list of hints; whether there are not too many.
fn check_hinted(
    hints: &Map,
    (field, rule): (&str, fn(&str) -> Vec<String>),
    at: &Path<'_>,
    errors: &mut FieldErrors,
) -> bool {
    let (at, count) = (at.key(field), hints.list(field).len());
    if count > MAX_HINTS {
        errors.too_many(&at, count, MAX_HINTS);
        return false;
    }
    let mut names = HashSet::new();
    for (i, hint) in hints.maps(field).enumerate() {
        let at = at.index(i);
        let (name, at) = (hint.str("name").unwrap_or_default(), at.key("name"));
        if !names.insert(name) {
            errors.duplicate(&at, name);
        }
        errors.invalid_each(&at, name, rule(name));
    }
    true
}
