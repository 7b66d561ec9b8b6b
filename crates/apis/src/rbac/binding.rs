//! RoleBinding and ClusterRoleBinding: who has a role.

use keelson_object::{Cell, Object};
use keelson_registry::{Column, NameRule, Strategy};

use super::GROUP;
use crate::shared::edit::{fill, parts};

pub(crate) struct Binding;

pub(crate) fn columns() -> [Column; 6] {
    [
        Column::name(),
        Column::computed("Role", role),
        Column::age(),
        Column::computed("Users", |object| subjects(object, "User")).wide(),
        Column::computed("Groups", |object| subjects(object, "Group")).wide(),
        Column::computed("ServiceAccounts", |object| subjects(object, "ServiceAccount")).wide(),
    ]
}

/// `ClusterRole/admin`
fn role(object: &Object) -> Cell {
    let field = |name| object.fields.map("roleRef").and_then(|it| it.str(name)).unwrap_or_default();
    Cell::from(format!("{}/{}", field("kind"), field("name")))
}

fn subjects(object: &Object, kind: &str) -> Cell {
    let of_kind = object.fields.maps("subjects").filter(|it| it.str("kind") == Some(kind));
    let names: Vec<String> = of_kind
        .map(|subject| {
            let name = subject.str("name").unwrap_or_default();
            match kind {
                "ServiceAccount" => format!("{}/{name}", subject.str("namespace").unwrap_or_default()),
                _ => name.to_owned(),
            }
        })
        .collect();
    Cell::from(names.join(", "))
}

impl Strategy for Binding {
    /// Upstream: pkg/apis/rbac/v1/defaults.go, SetDefaults_RoleBinding, SetDefaults_Subject (v1.36.4).
    fn default(&self, object: &mut Object) {
        fill(object.fields.map_mut("roleRef"), "apiGroup", GROUP);
        for subject in parts(&mut object.fields, "subjects") {
            if matches!(subject.str("kind"), Some("User" | "Group")) {
                fill(subject, "apiGroup", GROUP);
            }
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}

#[cfg(test)]
mod tests {
    use super::{Binding, columns};
    use crate::shared::testing::{cells, decoded, text};

    const SUBJECTS: &str = r#"[{"kind": "User", "name": "jane"}, {"kind": "Group", "name": "dev"},
        {"kind": "User", "name": "joe", "apiGroup": "other"},
        {"kind": "ServiceAccount", "name": "bot", "namespace": "ci"}, {"kind": "Else", "name": "x"}]"#;

    fn binding() -> keelson_object::Object {
        let body = format!(
            r#"{{"metadata": {{"name": "a"}}, "roleRef": {{"kind": "Role", "name": "r"}}, "subjects": {SUBJECTS}}}"#
        );
        decoded(&Binding, "rbac.authorization.k8s.io/v1 RoleBinding", &body)
    }

    #[test]
    fn users_and_groups_are_of_this_group_and_service_accounts_are_not() {
        let object = binding();
        let groups: Vec<&str> =
            object.fields.maps("subjects").map(|it| it.str("apiGroup").unwrap_or("")).collect();
        assert_eq!(
            groups,
            ["rbac.authorization.k8s.io", "rbac.authorization.k8s.io", "other", "", ""],
            "{}",
            text(&object.fields.clone().into())
        );
        let role = object.fields.map("roleRef").and_then(|it| it.str("apiGroup"));
        assert_eq!(role, Some("rbac.authorization.k8s.io"));
    }

    #[test]
    fn subjects_are_listed_by_kind() {
        assert_eq!(cells(&columns(), &binding()), ["a", "Role/r", "-", "jane, joe", "dev", "ci/bot"]);
    }
}
