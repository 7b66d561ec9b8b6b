//! The conditions of a request for a certificate.

use keelson_object::scalar::Time;
use keelson_object::{Cell, Map, Object};

use crate::shared::edit::{part, parts};

fn all(object: &Object) -> impl Iterator<Item = &Map> {
    object.fields.map("status").into_iter().flat_map(|status| status.maps("conditions"))
}

fn is_of(condition: &Map, kind: &str) -> bool {
    condition.str("type") == Some(kind)
}

/// `Approved,Issued`
///
/// Upstream: pkg/printers/internalversion/printers.go, extractCSRStatus (v1.36.4).
pub(super) fn summary(object: &Object) -> Cell {
    let has = |kind| all(object).any(|it| is_of(it, kind));
    let issued = object.fields.map("status").and_then(|it| it.str("certificate")).unwrap_or_default();
    let decision = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (false, true) => "Approved",
        (false, false) => "Pending",
    };
    let failed = if has("Failed") { ",Failed" } else { "" };
    let issued = if issued.is_empty() { "" } else { ",Issued" };
    Cell::from(format!("{decision}{failed}{issued}"))
}

/// Puts the old conditions of a kind in place of the new ones, if there are as many.
///
/// Upstream: pkg/registry/certificates/certificates/strategy.go, preserveConditionInstances (v1.36.4).
pub(super) fn preserve(object: &mut Object, old: &Object, kind: &str) {
    let before: Vec<&Map> = all(old).filter(|it| is_of(it, kind)).collect();
    if all(object).filter(|it| is_of(it, kind)).count() != before.len() {
        return;
    }
    let Some(status) = part(&mut object.fields, "status") else { return };
    let now = parts(status, "conditions").filter(|it| is_of(it, kind));
    for (now, before) in now.zip(before) {
        *now = before.clone();
    }
}

/// Says when a condition was written and since when it holds, where nobody said so.
///
/// Upstream: pkg/registry/certificates/certificates/strategy.go, populateConditionTimestamps (v1.36.4).
pub(super) fn stamp(object: &mut Object, old: &Object, now: Time) {
    let Some(status) = part(&mut object.fields, "status") else { return };
    for condition in parts(status, "conditions") {
        condition.default_to("lastUpdateTime", now.to_string());
        let same = |it: &&Map| {
            it.str("type") == condition.str("type") && it.str("status") == condition.str("status")
        };
        let since = all(old).filter(same).find_map(|it| it.str("lastTransitionTime"));
        let since = since.map_or_else(|| now.to_string(), str::to_owned);
        condition.default_to("lastTransitionTime", since);
    }
}
