//! What webhooks and policies have in common: which requests they are about.

use keelson_object::Map;

use crate::shared::edit::parts;

/// Everything is meant unless selectors say otherwise.
///
/// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_MatchResources, SetDefaults_ValidatingWebhook
/// (v1.36.4).
pub(super) fn default_selectors(map: &mut Map) {
    map.default_to("matchPolicy", "Equivalent");
    map.default_to("namespaceSelector", Map::new());
    map.default_to("objectSelector", Map::new());
}

/// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_Rule (v1.36.4).
pub(super) fn default_rules(map: &mut Map, list: &str) {
    for rule in parts(map, list) {
        rule.default_to("scope", "*");
    }
}

/// What the policies and bindings of every version call MatchResources.
pub(super) fn default_match_resources(map: &mut Map) {
    default_selectors(map);
    default_rules(map, "resourceRules");
    default_rules(map, "excludeResourceRules");
}
