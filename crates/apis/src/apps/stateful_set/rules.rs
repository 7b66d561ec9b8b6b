//! Validation of StatefulSets.

use std::borrow::Cow;
use std::collections::HashSet;

use keelson_object::selector::{name_rules, validate_labels};
use keelson_object::{FieldErrors, Map, Object, Path, Value};

use crate::shared::claim_rules::Kept;
use crate::shared::go_form::{Field, Form, Shape, as_json};
use crate::shared::pod_template::annotations::{self, Annotations};
use crate::shared::pod_template::{self, PodRules};
use crate::shared::read::{same, sub, text};
use crate::shared::workload_rules::{self, Words};
use crate::shared::{claim_rules, counts, percent};

/// What a spec may contain because the old one has it already.
#[derive(Clone, Copy, Default)]
pub(super) struct Tolerance {
    /// Names of services and claims cannot change, so that bad ones stay.
    pub fixed_parts: bool,
    /// The old spec was wrong already.
    pub template: bool,
}

const WORDS: Words = Words { kind: "statefulset", unreadable: "" };

const ROLLING: [Field; 2] =
    [Field("Partition", "partition", Form::Number), Field("MaxUnavailable", "maxUnavailable", Form::AsIs)];

const STRATEGY: [Field; 2] =
    [Field("Type", "type", Form::Text), Field("RollingUpdate", "rollingUpdate", Form::Maybe(&ROLLING))];

/// The mutable fields.
const MUTABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateStatefulSetSpec (v1.36.4).
pub(super) fn check(spec: &Map, rules: &PodRules, tolerance: Tolerance, errors: &mut FieldErrors) {
    let at = Path::root("spec");
    check_management(text(spec, "podManagementPolicy"), &at.key("podManagementPolicy"), errors);
    check_strategy(sub(spec, "updateStrategy"), &at.key("updateStrategy"), errors);
    let retention_at = at.key("persistentVolumeClaimRetentionPolicy");
    check_retention(spec.map("persistentVolumeClaimRetentionPolicy"), &retention_at, errors);
    if !tolerance.fixed_parts {
        let at = at.key("volumeClaimTemplates");
        for (position, claim) in spec.maps("volumeClaimTemplates").enumerate() {
            let at = at.index(position);
            claim_rules::check_spec(sub(claim, "spec"), Kept::default(), &at.key("spec"), errors);
        }
    }
    counts::check_non_negative(spec, &["replicas", "minReadySeconds"], &at, errors);
    errors.non_negative(&at.key("ordinals.start"), sub(spec, "ordinals").int("start"));
    let service = text(spec, "serviceName");
    if !tolerance.fixed_parts && !service.is_empty() {
        errors.invalid_each(&at.key("serviceName"), service, name_rules::dns1123_label(service));
    }
    let template_at = at.key("template");
    if let Some(selector) = workload_rules::check_selector(spec, &WORDS, &at, errors) {
        let template = with_claims(spec);
        if !selector.is_everything() {
            workload_rules::check_selected(&template, &selector, &template_at, errors);
        }
        check_template(&template, rules, tolerance, &template_at, errors);
    }
    workload_rules::check_endless(sub(spec, "template"), "StatefulSet", &template_at, errors);
}

fn check_management(policy: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    match policy {
        "OrderedReady" | "Parallel" => {}
        "" => errors.required(at, ""),
        _ => errors.invalid_as(at, as_json(&Value::from(policy)), "must be 'OrderedReady' or 'Parallel'"),
    }
}

fn check_strategy(strategy: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let rolling_at = at.key("rollingUpdate");
    match (text(strategy, "type"), strategy.map("rollingUpdate")) {
        ("", _) => errors.required(at, ""),
        ("OnDelete", Some(rolling)) => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.invalid(&rolling_at, Shape(rolling, &ROLLING), detail);
        }
        ("RollingUpdate", Some(rolling)) => check_rolling_update(rolling, &rolling_at, errors),
        ("OnDelete" | "RollingUpdate", None) => {}
        _ => errors.invalid(at, Shape(strategy, &STRATEGY), "must be 'RollingUpdate' or 'OnDelete'"),
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, validateRollingUpdateStatefulSet (v1.36.4).
fn check_rolling_update(rolling: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    errors.non_negative(&at.key("partition"), rolling.int("partition"));
    let at = at.key("maxUnavailable");
    if let Some(unavailable) = rolling.get("maxUnavailable").filter(|it| !it.is_null()) {
        percent::check(unavailable, &at, errors);
        if percent::amount(unavailable) == 0 {
            errors.invalid_as(&at, as_json(unavailable), "cannot be 0");
        }
        percent::check_not_more_than_all(unavailable, &at, errors);
    }
}

fn check_retention(policy: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(policy) = policy else { return };
    for field in ["whenDeleted", "whenScaled"] {
        match text(policy, field) {
            "Retain" | "Delete" => {}
            other => errors.not_supported(&at.key(field), other, &["Retain", "Delete"]),
        }
    }
}

/// The template in the form of its pods: claims are volumes, and the controller sets host name and subdomain.
fn with_claims(spec: &Map) -> Cow<'_, Map> {
    let template = sub(spec, "template");
    let pod = sub(template, "spec");
    let claims = spec.list("volumeClaimTemplates");
    if claims.is_empty() && text(pod, "hostname").is_empty() && text(pod, "subdomain").is_empty() {
        return Cow::Borrowed(template);
    }
    let mut made = template.clone();
    let pod = made.map_mut("spec");
    pod.remove("hostname");
    pod.remove("subdomain");
    let mut names = HashSet::new();
    let mut volumes = Vec::new();
    for claim in claims.iter().filter_map(Value::as_map) {
        let name = text(sub(claim, "metadata"), "name");
        if names.insert(name) {
            let mut volume = Map::new();
            volume.push_new("name", name);
            volume.map_mut("persistentVolumeClaim").push_new("claimName", name);
            volumes.push(Value::Map(volume));
        }
    }
    let own = pod.list("volumes").iter();
    volumes.extend(own.filter(|it| it.as_map().is_none_or(|it| !names.contains(text(it, "name")))).cloned());
    if !volumes.is_empty() {
        pod.set("volumes", volumes);
    }
    Cow::Owned(made)
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidatePodTemplateSpecForStatefulSet (v1.36.4), which says twice
/// what is wrong with labels and annotations.
fn check_template(
    template: &Map,
    rules: &PodRules,
    tolerance: Tolerance,
    at: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if !tolerance.template {
        pod_template::check_template(template, rules, at, errors);
    }
    let meta = sub(template, "metadata");
    validate_labels(sub(meta, "labels"), &at.key("labels"), errors);
    let annotations = Annotations::OfTemplate(meta.map("annotations"));
    let at = at.key("annotations");
    annotations::check_template(annotations, &at, errors);
    annotations::check(annotations, sub(template, "spec"), rules, &at, errors);
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateStatefulSetUpdate (v1.36.4).
pub(super) fn check_update(spec: &Map, old: &Map, rules: &PodRules, errors: &mut FieldErrors) {
    let mut tolerance = Tolerance { fixed_parts: true, template: false };
    let mut mistakes = FieldErrors::default();
    check(old, rules, tolerance, &mut mistakes);
    tolerance.template = !mistakes.is_empty();
    check(spec, rules, tolerance, errors);
    let fields = || spec.iter().chain(old.iter()).map(|(field, _)| field.as_str());
    if !fields().all(|field| MUTABLE.contains(&field) || same(spec, old, field)) {
        errors.forbidden(
            &Path::root("spec"),
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
             'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
             'minReadySeconds' are forbidden",
        );
    }
}

/// Upstream: pkg/apis/apps/validation/validation.go, ValidateStatefulSetStatusUpdate (v1.36.4).
pub(super) fn check_status(object: &Object, old: &Object, errors: &mut FieldErrors) {
    const COUNTS: [&str; 7] = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    let at = Path::root("status");
    let status = sub(&object.fields, "status");
    counts::check_non_negative(status, &COUNTS, &at, errors);
    let parts = ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    counts::check_at_most(status, &parts, ("replicas", "status.replicas"), &at, errors);
    let ready = ("readyReplicas", "status.readyReplicas");
    counts::check_at_most(status, &["availableReplicas"], ready, &at, errors);
    counts::check_collisions(status, sub(&old.fields, "status"), &at, errors);
}
