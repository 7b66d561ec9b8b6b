//! Conditions of CustomResourceDefinitions: NamesAccepted, Established, NonStructuralSchema,
//! KubernetesAPIApprovalPolicyConformant, Terminating.
//!
//! Upstream has a controller per condition, and each writes the status. Here [`next_status`] is all of them but one:
//! [`establish`] runs after the resource is served, so that clients never get a 404 for an established resource.
//!
//! ```text
//! created ─▶ next_status: NamesAccepted=True, Established=False/Installing ─▶ (served) ─▶ establish: Established=True
//! ```

mod approval;
mod establishing;
mod names;
mod non_structural;

pub use establishing::establish;
pub use keelson_structural::terminating;
pub use names::GroupNames;

use keelson_object::scalar::Time;
use keelson_object::{Map, Object, condition};

/// The names of the spec are accepted.
pub const NAMES_ACCEPTED: &str = "NamesAccepted";
/// The resource is served.
pub const ESTABLISHED: &str = "Established";
/// A schema is not structural.
pub const NON_STRUCTURAL_SCHEMA: &str = "NonStructuralSchema";
/// A definition in a group of the Kubernetes project names who approved it.
pub const API_APPROVAL: &str = "KubernetesAPIApprovalPolicyConformant";

/// The status that a definition gets, except that it is established; `None` if it has that status already.
///
/// `group` has the accepted names of the definitions of the same group; whether those of this one are in it does not
/// matter. The result may release names, so the other definitions of the group are looked at again.
pub fn next_status(definition: &Object, group: &GroupNames, now: Time) -> Option<Map> {
    let mut status = status_of(definition);
    let has_changed = [
        names::update(definition, group, &mut status, now),
        non_structural::update(definition, &mut status, now),
        approval::update(definition, &mut status, now),
    ];
    has_changed.contains(&true).then_some(status)
}

/// Whether a condition of a definition is true.
pub fn is_true(definition: &Object, kind: &str) -> bool {
    condition::status_of(definition.fields.map("status"), kind) == Some("True")
}

fn status_of(definition: &Object) -> Map {
    definition.fields.map("status").cloned().unwrap_or_default()
}

/// The field of the spec, or of what is in it.
fn spec(definition: &Object) -> &Map {
    static NOTHING: Map = Map::new();
    definition.fields.map("spec").unwrap_or(&NOTHING)
}

#[cfg(test)]
mod tests;
