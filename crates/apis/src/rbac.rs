//! `rbac.authorization.k8s.io`: roles and who has them.

mod binding;
mod role;

use keelson_registry::{Group, Resource, Version};

use crate::shared::default_columns::default_columns;
use binding::Binding;
use role::Role;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn group() -> Group {
    let served = |resource: Resource| resource.version(Version::stored("v1")).creates_on_update();
    let role = |resource: Resource, role: Role| served(resource).columns(default_columns()).strategy(role);
    let binding =
        |resource: Resource, binding: Binding| served(resource).columns(binding::columns()).strategy(binding);
    Group::new(GROUP)
        .serve(binding(Resource::cluster("ClusterRoleBinding", "clusterrolebindings"), Binding::Cluster))
        .serve(role(Resource::cluster("ClusterRole", "clusterroles"), Role::Cluster))
        .serve(binding(Resource::namespaced("RoleBinding", "rolebindings"), Binding::Namespaced))
        .serve(role(Resource::namespaced("Role", "roles"), Role::Namespaced))
}
