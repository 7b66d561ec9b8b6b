//! NetworkPolicy: allowed traffic between pods.

mod rules;

use keelson_object::selector::label::Selector;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::addresses::range_warnings;
use crate::shared::edit::{part, parts};
use crate::shared::read::sub;
use rules::Rules;

/// NetworkPolicies, with feature gates.
pub(crate) struct NetworkPolicy {
    /// Whether CIDRs must be in the strict form.
    pub(crate) strict_ranges: bool,
}

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("Pod-Selector", pods), Column::age()]
}

fn pods(object: &Object) -> Cell {
    let nothing = Map::new();
    let selector = object.fields.map("spec").and_then(|it| it.map("podSelector")).unwrap_or(&nothing);
    match Selector::from_label_selector(selector) {
        Ok(selector) if selector.is_everything() => Cell::from("<none>"),
        Ok(selector) => Cell::from(selector.to_string()),
        Err(_) => Cell::from("<error>"),
    }
}

impl Strategy for NetworkPolicy {
    /// Upstream: pkg/apis/networking/v1/defaults.go, SetDefaults_NetworkPolicy and _NetworkPolicyPort (v1.36.4).
    fn default(&self, object: &mut Object) {
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        for direction in ["ingress", "egress"] {
            for rule in parts(spec, direction) {
                for port in parts(rule, "ports") {
                    port.default_to("protocol", "TCP");
                }
            }
        }
        if spec.list("policyTypes").is_empty() {
            let mut types = vec![Value::from("Ingress")];
            if !spec.list("egress").is_empty() {
                types.push(Value::from("Egress"));
            }
            spec.set("policyTypes", types);
        }
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        generation::begin(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        generation::advance(object, old, &["spec"]);
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        Rules::new(self.strict_ranges, None).check(sub(&object.fields, "spec"), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let rules = Rules::new(self.strict_ranges, old.fields.map("spec"));
        rules.check(sub(&object.fields, "spec"), errors);
    }

    /// Upstream: pkg/registry/networking/networkpolicy/strategy.go, networkPolicyWarnings (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let Some(spec) = object.fields.map("spec") else { return Vec::new() };
        let mut warnings = Vec::new();
        let spec_at = Path::root("spec");
        for (direction, peers) in [("ingress", "from"), ("egress", "to")] {
            let rules_at = spec_at.key(direction);
            for (i, rule) in spec.maps(direction).enumerate() {
                let rule_at = rules_at.index(i);
                let peers_at = rule_at.key(peers);
                for (j, peer) in rule.maps(peers).enumerate() {
                    let peer_at = peers_at.index(j);
                    let at = peer_at.key("ipBlock");
                    peer.map("ipBlock").into_iter().for_each(|it| warn_of_block(it, &at, &mut warnings));
                }
            }
        }
        warnings
    }
}

fn warn_of_block(block: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    warnings.extend(range_warnings(&at.key("cidr"), block.str("cidr").unwrap_or_default()));
    for (k, except) in block.list("except").iter().enumerate() {
        let except = except.as_str().unwrap_or_default();
        warnings.extend(range_warnings(&at.key("except").index(k), except));
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;
    use keelson_registry::Strategy;

    use super::{NetworkPolicy, pods};
    use crate::shared::testing::{decoded, text, tree};

    const KIND: &str = "networking.k8s.io/v1 NetworkPolicy";

    #[track_caller]
    fn check(spec: &str, path: &str, expected: &str) {
        let object = decoded(&NetworkPolicy { strict_ranges: true }, KIND, &format!(r#"{{"spec": {spec}}}"#));
        let found = object.fields.at(path).cloned().unwrap_or_default();
        assert_eq!(found, tree(expected), "{spec}: {path} is {}", text(&found));
    }

    #[test]
    fn the_types_are_those_that_have_rules_and_always_ingress() {
        check("{}", "spec.policyTypes", r#"["Ingress"]"#);
        check(r#"{"ingress": [{}]}"#, "spec.policyTypes", r#"["Ingress"]"#);
        check(r#"{"egress": [{}]}"#, "spec.policyTypes", r#"["Ingress", "Egress"]"#);
        check(r#"{"egress": [{}], "policyTypes": ["Egress"]}"#, "spec.policyTypes", r#"["Egress"]"#);
    }

    #[test]
    fn ports_are_tcp() {
        check(
            r#"{"ingress": [{"ports": [{"port": 80}, {"protocol": "UDP"}]}]}"#,
            "spec.ingress",
            r#"[{"ports": [{"port": 80, "protocol": "TCP"}, {"protocol": "UDP"}]}]"#,
        );
        check(r#"{"egress": [{"ports": [{}]}]}"#, "spec.egress", r#"[{"ports": [{"protocol": "TCP"}]}]"#);
    }

    #[test]
    fn the_table_tells_the_pods() {
        let check = |selector: &str, expected: &str| {
            let text = format!(r#"{{"spec": {{"podSelector": {selector}}}}}"#);
            assert_eq!(
                pods(&decoded(&NetworkPolicy { strict_ranges: true }, KIND, &text)),
                Cell::from(expected),
                "{selector}"
            );
        };
        check("{}", "<none>");
        check(r#"{"matchLabels": {"b": "2", "a": "1"}}"#, "a=1,b=2");
        check(r#"{"matchExpressions": [{"key": "a", "operator": "Nope"}]}"#, "<error>");
    }

    #[test]
    fn odd_ranges_are_told_with_their_place() {
        let spec = r#"{"ingress": [{"from": [{}, {"ipBlock": {"cidr": "192.0.2.1/24", "except": ["192.0.2.0/28"]}}]}],
            "egress": [{"to": [{"ipBlock": {"cidr": "2001:db8::/64", "except": ["2001:DB8::/68"]}}]}]}"#;
        let object = decoded(&NetworkPolicy { strict_ranges: true }, KIND, &format!(r#"{{"spec": {spec}}}"#));
        let found = NetworkPolicy { strict_ranges: true }.warnings(&object, None);
        let places: Vec<&str> = found.iter().filter_map(|it| it.split(": ").next()).collect();
        assert_eq!(
            places,
            ["spec.ingress[0].from[1].ipBlock.cidr", "spec.egress[0].to[0].ipBlock.except[0]"]
        );
    }
}
