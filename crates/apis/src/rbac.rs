//! `rbac.authorization.k8s.io`: roles and who has them.

mod binding;

use keelson_registry::{Group, NameRule, Resource, Strategy, Version};

use crate::shared::default_columns::default_columns;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn group() -> Group {
    let served = |resource: Resource| resource.version(Version::stored("v1")).creates_on_update();
    let role = |resource: Resource| served(resource).columns(default_columns()).strategy(Role);
    let binding =
        |resource: Resource| served(resource).columns(binding::columns()).strategy(binding::Binding);
    Group::new(GROUP)
        .serve(binding(Resource::cluster("ClusterRoleBinding", "clusterrolebindings")))
        .serve(role(Resource::cluster("ClusterRole", "clusterroles")))
        .serve(binding(Resource::namespaced("RoleBinding", "rolebindings")))
        .serve(role(Resource::namespaced("Role", "roles")))
}

/// Role and ClusterRole: what may be done.
struct Role;

impl Strategy for Role {
    /// Upstream: pkg/apis/rbac/validation/validation.go, ValidateRBACName (v1.36.4).
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }
}
