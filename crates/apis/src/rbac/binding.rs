//! RoleBinding and ClusterRoleBinding: grant a role to subjects.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Column, Context, NameRule, Strategy};

use super::GROUP;
use crate::shared::edit::{fill, parts};

/// The scope of a binding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binding {
    /// In its namespace.
    Namespaced,
    /// Everywhere.
    Cluster,
}

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

    /// Upstream: pkg/apis/rbac/validation/validation.go, ValidateRoleBinding, ValidateClusterRoleBinding (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check_role(*self, object.fields.map("roleRef").unwrap_or(&Map::new()), errors);
        let at = Path::root("subjects");
        for (index, subject) in object.fields.maps("subjects").enumerate() {
            check_subject(*self, subject, &at.index(index), errors);
        }
    }

    /// Upstream: pkg/apis/rbac/validation/validation.go, ValidateRoleBindingUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let role = |object| ROLE_REF.map(|(_, field)| role_text(object, field));
        if role(object) != role(old) {
            let shown: Map = ROLE_REF
                .iter()
                .map(|(name, field)| ((*name).into(), role_text(object, field).into()))
                .collect();
            errors.invalid(&Path::root("roleRef"), &Value::Map(shown), "cannot change roleRef");
        }
    }
}

/// The fields of a reference to a role, as upstream calls and orders them within.
const ROLE_REF: [(&str, &str); 3] = [("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name")];

fn role_text<'o>(object: &'o Object, field: &str) -> &'o str {
    object.fields.map("roleRef").and_then(|it| it.str(field)).unwrap_or_default()
}

fn check_role(binding: Binding, role: &Map, errors: &mut FieldErrors) {
    let at = Path::root("roleRef");
    let field = |name| role.str(name).unwrap_or_default();
    if field("apiGroup") != GROUP {
        errors.not_supported(&at.key("apiGroup"), field("apiGroup"), &[GROUP]);
    }
    let kinds: &[&str] = match binding {
        Binding::Namespaced => &["Role", "ClusterRole"],
        Binding::Cluster => &["ClusterRole"],
    };
    if !kinds.contains(&field("kind")) {
        errors.not_supported(&at.key("kind"), field("kind"), kinds);
    }
    match field("name") {
        "" => errors.required(&at.key("name"), ""),
        name => errors.invalid_each(&at.key("name"), name, name_rules::path_segment_name(name)),
    }
}

/// Upstream: pkg/apis/rbac/validation/validation.go, ValidateRoleBindingSubject (v1.36.4).
fn check_subject(binding: Binding, subject: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let field = |name| subject.str(name).unwrap_or_default();
    let (name, group) = (field("name"), field("apiGroup"));
    if name.is_empty() {
        errors.required(&at.key("name"), "");
    }
    match field("kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                errors.invalid_each(&at.key("name"), name, name_rules::dns1123_subdomain(name));
            }
            if !group.is_empty() {
                errors.not_supported(&at.key("apiGroup"), group, &[""]);
            }
            if binding == Binding::Cluster && field("namespace").is_empty() {
                errors.required(&at.key("namespace"), "");
            }
        }
        "User" | "Group" if group == GROUP => {}
        "User" | "Group" => errors.not_supported(&at.key("apiGroup"), group, &[GROUP]),
        kind => errors.not_supported(&at.key("kind"), kind, &["ServiceAccount", "User", "Group"]),
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
        decoded(&Binding::Namespaced, "rbac.authorization.k8s.io/v1 RoleBinding", &body)
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
