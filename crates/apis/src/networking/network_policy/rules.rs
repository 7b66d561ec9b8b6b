//! Validation of NetworkPolicies.

use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_label_selector, validate_label_selector_keys};
use keelson_object::{FieldErrors, Map, Path, Value};

use crate::shared::addresses::{self, Strictness};
use crate::shared::go_form::as_json;
use crate::shared::read::{NOTHING, sub, text};

/// The rules of both directions: their field, and that of the others in them.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const TYPES: [&str; 2] = ["Ingress", "Egress"];

/// The options of the validation of a policy.
pub(super) struct Rules<'o> {
    /// Whether CIDRs must be in the strict form.
    strict: bool,
    /// Ranges that the policy has already; they may stay, whatever their form.
    ranges: HashSet<&'o str>,
    /// Whether the old selector had invalid label values.
    any_selector_value: bool,
}

impl<'o> Rules<'o> {
    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateNetworkPolicyUpdate and
    /// ValidationOptionsForNetworking (v1.36.4).
    pub(super) fn new(strict: bool, old: Option<&'o Map>) -> Rules<'o> {
        let old = old.unwrap_or(&NOTHING);
        let peers =
            DIRECTIONS.iter().flat_map(|(rules, peers)| old.maps(rules).flat_map(|it| it.maps(peers)));
        let blocks = peers.filter_map(|it| it.map("ipBlock"));
        let ranges = blocks.flat_map(|it| it.list("except").iter().chain(it.get("cidr")));
        let mut errors = FieldErrors::default();
        validate_label_selector(sub(old, "podSelector"), &Path::empty(), &mut errors);
        Rules {
            strict,
            ranges: ranges.filter_map(Value::as_str).collect(),
            any_selector_value: !errors.is_empty(),
        }
    }

    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateNetworkPolicySpec (v1.36.4).
    pub(super) fn check(&self, spec: &Map, errors: &mut FieldErrors) {
        let at = Path::root("spec");
        self.check_selector(sub(spec, "podSelector"), &at.key("podSelector"), errors);
        for (direction, peers) in DIRECTIONS {
            let rules_at = at.key(direction);
            for (position, rule) in spec.maps(direction).enumerate() {
                let at = rules_at.index(position);
                let (ports_at, peers_at) = (at.key("ports"), at.key(peers));
                for (position, port) in rule.maps("ports").enumerate() {
                    check_port(port, &ports_at.index(position), errors);
                }
                for (position, peer) in rule.maps(peers).enumerate() {
                    self.check_peer(peer, &peers_at.index(position), errors);
                }
            }
        }
        let (types, at) = (spec.list("policyTypes"), at.key("policyTypes"));
        if types.len() > TYPES.len() {
            let shown = spec.get("policyTypes").map(as_json).unwrap_or_default();
            return errors.invalid_as(&at, shown, "may not specify more than two policyTypes");
        }
        for (position, kind) in types.iter().enumerate() {
            let kind = kind.as_str().unwrap_or_default();
            if !TYPES.contains(&kind) {
                errors.not_supported(&at.index(position), kind, &TYPES);
            }
        }
    }

    fn check_selector(&self, selector: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
        if self.any_selector_value {
            validate_label_selector_keys(selector, at, errors);
        } else {
            validate_label_selector(selector, at, errors);
        }
    }

    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateNetworkPolicyPeer (v1.36.4).
    fn check_peer(&self, peer: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
        let mut count = 0;
        for field in ["podSelector", "namespaceSelector"] {
            if let Some(selector) = peer.map(field) {
                count += 1;
                self.check_selector(selector, &at.key(field), errors);
            }
        }
        let block = peer.map("ipBlock");
        if let Some(block) = block {
            self.check_block(block, &at.key("ipBlock"), errors);
        }
        match (count, block) {
            (0, None) => errors.required(at, "must specify a peer"),
            (1.., Some(_)) => errors.forbidden(at, "may not specify both ipBlock and another peer"),
            _ => {}
        }
    }

    /// Upstream: pkg/apis/networking/validation/validation.go, ValidateIPBlock (v1.36.4).
    fn check_block(&self, block: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
        let cidr = text(block, "cidr");
        if cidr.is_empty() {
            return errors.required(&at.key("cidr"), "");
        }
        self.check_range(cidr, &at.key("cidr"), errors);
        if addresses::range_family(cidr).is_none() {
            return;
        }
        let at = at.key("except");
        for (position, except) in block.list("except").iter().enumerate() {
            let (except, at) = (except.as_str().unwrap_or_default(), at.index(position));
            self.check_range(except, &at, errors);
            if addresses::range_family(except).is_some() && !addresses::is_within(except, cidr) {
                errors.invalid(&at, except, "must be a strict subset of `cidr`");
            }
        }
    }

    fn check_range(&self, range: &str, at: &Path<'_>, errors: &mut FieldErrors) {
        let problem = addresses::range_problem(range, Strictness::Strict);
        let tolerated =
            self.ranges.contains(range) || !self.strict && addresses::range_family(range).is_some();
        if let Some(problem) = problem.filter(|_| !tolerated) {
            errors.invalid(at, range, problem);
        }
    }
}

/// Upstream: pkg/apis/networking/validation/validation.go, ValidateNetworkPolicyPort (v1.36.4).
fn check_port(port: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(protocol) = port.str("protocol").filter(|it| !PROTOCOLS.contains(it)) {
        errors.not_supported(&at.key("protocol"), protocol, &PROTOCOLS);
    }
    let (port_at, end_at) = (at.key("port"), at.key("endPort"));
    let end = port.int("endPort");
    match port.get("port") {
        Some(Value::Int(number)) => {
            let check = |number: i64, at: &Path<'_>, errors: &mut FieldErrors| {
                name_rules::port_number(number).into_iter().for_each(|it| errors.invalid(at, number, it));
            };
            check(*number, &port_at, errors);
            if let Some(end) = end {
                if end < *number {
                    // The value is upstream's.
                    errors.invalid(&end_at, *number, "must be greater than or equal to `port`");
                }
                check(end, &end_at, errors);
            }
        }
        Some(Value::String(name)) => {
            if let Some(end) = end {
                errors.invalid(&end_at, end, "may not be specified when `port` is non-numeric");
            }
            errors.invalid_each(&port_at, name, name_rules::port_name(name));
        }
        _ => {
            if let Some(end) = end {
                errors.invalid(&end_at, end, "may not be specified when `port` is not specified");
            }
        }
    }
}
