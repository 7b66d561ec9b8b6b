//! Warnings about pods and templates that are accepted.

mod containers;
mod overlaps;
mod ports;
mod volumes;

use std::collections::HashSet;

use keelson_object::scalar::{Quantity, quote};
use keelson_object::selector::name_rules;
use keelson_object::{Map, Object, Path};

use super::rules::annotations::Annotations;
use crate::shared::{addresses, node_labels};

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Deprecated annotations.
///
/// Upstream: pkg/api/pod/warnings.go, deprecatedAnnotations (v1.36.4).
const OUTDATED: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// The warnings about a new pod.
///
/// Upstream: pkg/registry/core/pod/strategy.go, WarningsOnCreate (v1.36.4).
pub(crate) fn of_pod(pod: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    let problems = name_rules::dns1123_label(&pod.meta.name);
    if !problems.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; \
             a DNS label is recommended: [{}]",
            problems.join(" ")
        ));
    }
    if let Some(spec) = pod.fields.map("spec") {
        let annotations = Annotations::OfPod(&pod.meta.annotations);
        let subject = Subject { spec, annotations, is_template: false };
        subject.warn(&Path::empty(), &mut warnings);
    }
    warnings
}

/// The warnings about a template.
///
/// Upstream: pkg/api/pod/warnings.go, GetWarningsForPodTemplate (v1.36.4).
pub(crate) fn of_template(template: &Map, at: &Path<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let annotations = template.map("metadata").and_then(|it| it.map("annotations"));
    if let Some(spec) = template.map("spec") {
        let annotations = Annotations::OfTemplate(annotations);
        Subject { spec, annotations, is_template: true }.warn(at, &mut warnings);
    }
    warnings
}

/// The same for an object that is written: of a change only if the object is another than before.
pub(crate) fn of_template_in(object: &Object, old: Option<&Object>, at: &'static str) -> Vec<String> {
    let template = object.fields.at(at).and_then(|it| it.as_map());
    if old.is_some_and(|old| old.meta.generation == object.meta.generation) {
        return Vec::new();
    }
    template.map_or_else(Vec::new, |template| of_template(template, &Path::root(at)))
}

/// A pod or a template.
struct Subject<'s> {
    spec: &'s Map,
    annotations: Annotations<'s>,
    is_template: bool,
}

impl Subject<'_> {
    /// Upstream: pkg/api/pod/warnings.go, warningsForPodSpecAndMeta (v1.36.4), in its order.
    fn warn(&self, at: &Path<'_>, warnings: &mut Vec<String>) {
        let spec_at = at.key("spec");
        let meta_at = at.key("metadata");
        let annotations_at = meta_at.key("annotations");
        self.warn_of_nodes(&spec_at, warnings);
        self.warn_of_spread(&spec_at.key("topologySpreadConstraints"), warnings);
        for (key, advice) in OUTDATED {
            if self.annotations.get(key).is_some() {
                warnings.push(format!("{}: {advice}", annotations_at.entry(key)));
            }
        }
        volumes::warn(self.spec, &spec_at.key("volumes"), warnings);
        self.warn_of_names(&spec_at, warnings);
        for resource in ["memory", "ephemeral-storage"] {
            let at = spec_at.key("overhead");
            warn_of_fraction(self.spec.map("overhead"), resource, &at, warnings);
        }
        containers::warn(self, (&spec_at, &annotations_at), warnings);
        ports::warn(self.spec, &spec_at, warnings);
        if self.spec.int("terminationGracePeriodSeconds").is_some_and(|it| it < 0) {
            warnings.push(format!(
                "{}: must be >= 0; negative values are invalid and will be treated as 1",
                spec_at.key("terminationGracePeriodSeconds")
            ));
        }
        self.warn_of_pods(&spec_at.key("affinity"), warnings);
        self.warn_of_addresses(&spec_at, warnings);
    }

    /// Warns about deprecated node labels, and about preferences that nothing can meet.
    fn warn_of_nodes(&self, at: &Path<'_>, warnings: &mut Vec<String>) {
        let selector_at = at.key("nodeSelector");
        for (label, _) in self.spec.map("nodeSelector").into_iter().flat_map(Map::iter) {
            if let Some(advice) = node_labels::outdated(label) {
                warnings.push(format!("{}: {advice}", selector_at.entry(label)));
            }
        }
        let Some(affinity) = self.spec.map("affinity").and_then(|it| it.map("nodeAffinity")) else { return };
        let at = at.key("affinity.nodeAffinity");
        let required_at = at.key(REQUIRED);
        let list_at = required_at.key("nodeSelectorTerms");
        let terms = affinity.map(REQUIRED).into_iter().flat_map(|it| it.maps("nodeSelectorTerms"));
        for (position, term) in terms.enumerate() {
            warn_of_term(term, &list_at.index(position), warnings);
        }
        let list_at = at.key(PREFERRED);
        for (position, term) in affinity.maps(PREFERRED).enumerate() {
            let Some(term) = term.map("preference") else { continue };
            let at = list_at.index(position);
            warn_of_preference(term, &at.key("preference"), warnings);
        }
    }

    fn warn_of_spread(&self, at: &Path<'_>, warnings: &mut Vec<String>) {
        for (position, constraint) in self.spec.maps("topologySpreadConstraints").enumerate() {
            let at = at.index(position);
            let key = constraint.str("topologyKey").unwrap_or_default();
            if let Some(advice) = node_labels::outdated(key) {
                warnings.push(format!("{}: {key} is {advice}", at.key("topologyKey")));
            }
            if constraint.map("labelSelector").is_none() {
                warnings.push(format!("{}: {NO_SELECTOR}", at.key("labelSelector")));
            }
        }
    }

    /// Aliases and secrets that are named twice or not at all.
    fn warn_of_names(&self, at: &Path<'_>, warnings: &mut Vec<String>) {
        for (list, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
            let list_at = at.key(list);
            let mut seen = HashSet::new();
            for (position, item) in self.spec.maps(list).enumerate() {
                let name = item.str(field).unwrap_or_default();
                if !seen.insert(name) {
                    let at = list_at.index(position);
                    warnings.push(format!("{}: duplicate {field} {}", at.key(field), quote(name)));
                }
            }
        }
        let list_at = at.key("imagePullSecrets");
        for (position, secret) in self.spec.maps("imagePullSecrets").enumerate() {
            if secret.str("name").is_none_or(str::is_empty) {
                let at = list_at.index(position);
                warnings.push(format!("{}: invalid empty name \"\"", at.key("name")));
            }
        }
    }

    /// Terms that select no pod.
    fn warn_of_pods(&self, at: &Path<'_>, warnings: &mut Vec<String>) {
        let Some(affinity) = self.spec.map("affinity") else { return };
        for field in ["podAffinity", "podAntiAffinity"] {
            let Some(pods) = affinity.map(field) else { continue };
            let at = at.key(field);
            let list_at = at.key(REQUIRED);
            for (position, term) in pods.maps(REQUIRED).enumerate() {
                if term.map("labelSelector").is_none() {
                    let at = list_at.index(position);
                    warnings.push(format!("{}: {NO_SELECTOR}", at.key("labelSelector")));
                }
            }
            let list_at = at.key(PREFERRED);
            for (position, weighted) in pods.maps(PREFERRED).enumerate() {
                if weighted.map("podAffinityTerm").is_none_or(|it| it.map("labelSelector").is_none()) {
                    let at = list_at.index(position);
                    warnings.push(format!("{}: {NO_SELECTOR}", at.key("podAffinityTerm.labelSelector")));
                }
            }
        }
    }

    fn warn_of_addresses(&self, at: &Path<'_>, warnings: &mut Vec<String>) {
        let list_at = at.key("dnsConfig.nameservers");
        let servers = self.spec.map("dnsConfig").map_or(&[][..], |it| it.list("nameservers"));
        for (position, server) in servers.iter().enumerate() {
            let text = server.as_str().unwrap_or_default();
            warnings.extend(addresses::address_warning(&list_at.index(position), text));
        }
        let list_at = at.key("hostAliases");
        for (position, alias) in self.spec.maps("hostAliases").enumerate() {
            let at = list_at.index(position);
            let text = alias.str("ip").unwrap_or_default();
            warnings.extend(addresses::address_warning(&at.key("ip"), text));
        }
    }
}

/// Upstream: pkg/api/node/util.go, GetWarningsForNodeSelectorTerm (v1.36.4).
fn warn_of_term(term: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    let list_at = at.key("matchExpressions");
    for (position, expression) in term.maps("matchExpressions").enumerate() {
        warn_of_key(expression, &list_at.index(position), warnings);
    }
}

fn warn_of_preference(term: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    let list_at = at.key("matchExpressions");
    for (position, expression) in term.maps("matchExpressions").enumerate() {
        let at = list_at.index(position);
        warn_of_key(expression, &at, warnings);
        let values_at = at.key("values");
        for (position, value) in expression.list("values").iter().filter_map(|it| it.as_str()).enumerate() {
            for problem in name_rules::label_value(value) {
                warnings.push(format!("{}: {value} is invalid, {problem}", values_at.index(position)));
            }
        }
    }
}

fn warn_of_key(expression: &Map, at: &Path<'_>, warnings: &mut Vec<String>) {
    let key = expression.str("key").unwrap_or_default();
    if let Some(advice) = node_labels::outdated(key) {
        warnings.push(format!("{}: {key} is {advice}", at.key("key")));
    }
}

/// Warns about fractions of bytes, which are not possible.
fn warn_of_fraction(list: Option<&Map>, resource: &str, at: &Path<'_>, warnings: &mut Vec<String>) {
    let amount = list.and_then(|it| it.get(resource)).and_then(|it| Quantity::from_value(it).ok());
    if let Some(amount) = amount.filter(|it| it.milli_value() % 1000 != 0) {
        let at = at.entry(resource);
        warnings.push(format!("{at}: fractional byte value \"{amount}\" is invalid, must be an integer"));
    }
}
