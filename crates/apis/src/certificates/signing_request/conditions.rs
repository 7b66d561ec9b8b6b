//! The conditions of a request for a certificate.

use std::collections::HashSet;

use keelson_object::scalar::Time;
use keelson_object::{Cell, FieldErrors, Map, Object, Path};

use super::validation::Written;
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

/// Sets the update and transition times of conditions that have none.
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

/// Conditions whose status can only be True.
const DECISIONS: [&str; 3] = ["Approved", "Denied", "Failed"];

/// Checks the conditions; errors that `old` has are accepted.
///
/// Upstream: pkg/apis/certificates/validation/validation.go, validateConditions (v1.36.4).
pub(super) fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let forgiven = Forgiven::of(old);
    let list_at = Path::root("status.conditions");
    let mut seen = HashSet::new();
    let (mut approved, mut denied) = (false, false);
    for (index, condition) in all(object).enumerate() {
        let at = list_at.index(index);
        let kind = condition.str("type").unwrap_or_default();
        if kind.is_empty() && !forgiven.empty_type {
            errors.required(&at.key("type"), "");
        }
        check_status(condition, kind, &at.key("status"), errors);
        approved |= kind == "Approved";
        denied |= kind == "Denied";
        if approved && denied && matches!(kind, "Approved" | "Denied") && !forgiven.both {
            errors.invalid(&list_at, kind, "Approved and Denied conditions are mutually exclusive");
        }
        if !seen.insert(kind) && !forgiven.duplicates {
            errors.duplicate(&at.key("type"), kind);
        }
    }
}

fn check_status(condition: &Map, kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let allowed: &[&str] = if DECISIONS.contains(&kind) { &["True"] } else { &["False", "True", "Unknown"] };
    match condition.str("status").unwrap_or_default() {
        "" => errors.required(at, ""),
        status if allowed.contains(&status) => {}
        status => errors.not_supported(at, status, allowed),
    }
}

/// Errors that the old object has already.
#[derive(Default)]
struct Forgiven {
    both: bool,
    empty_type: bool,
    duplicates: bool,
}

impl Forgiven {
    fn of(old: Option<&Object>) -> Forgiven {
        let Some(old) = old else { return Forgiven::default() };
        let kinds = || all(old).map(|it| it.str("type").unwrap_or_default());
        let mut seen = HashSet::new();
        Forgiven {
            both: kinds().any(|it| it == "Approved") && kinds().any(|it| it == "Denied"),
            empty_type: kinds().any(str::is_empty),
            duplicates: !kinds().all(|it| seen.insert(it)),
        }
    }
}

/// Decisions cannot be removed, and only approvers can add them.
///
/// Upstream: pkg/apis/certificates/validation/validation.go, validateCertificateSigningRequestUpdate (v1.36.4).
pub(super) fn check_change(object: &Object, old: &Object, written: Written, errors: &mut FieldErrors) {
    let at = Path::root("status.conditions");
    let of_kind = |object, kind| all(object).filter(|it| is_of(it, kind)).count();
    for kind in DECISIONS {
        if of_kind(object, kind) < of_kind(old, kind) {
            errors.forbidden(&at, format!("updates may not remove a condition of type {kind:?}"));
        }
    }
    if written == Written::Approval {
        return;
    }
    // Decisions that are as many as before have been put back: there is nothing to compare.
    for kind in ["Approved", "Denied"] {
        if of_kind(object, kind) > of_kind(old, kind) {
            errors.forbidden(&at, format!("updates may not add a condition of type {kind:?}"));
        }
    }
}
