//! `rbac.authorization.k8s.io`: roles and bindings.

mod binding;
mod escalation;
mod role;

use std::sync::Arc;

use keelson_authz::rbac::Rbac;
use keelson_registry::{Group, Resource, Version};

use crate::shared::default_columns::default_columns;
use binding::Binding;
use escalation::{Escalation, Gift};
use role::Role;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(crate) fn group(rbac: &Arc<Rbac>) -> Group {
    let served = |resource: Resource, gift: Gift| {
        let guard = Escalation { rbac: rbac.clone(), gift };
        resource.version(Version::stored("v1")).creates_on_update().guarded(guard)
    };
    let role = |resource: Resource, role: Role, gift: Gift| {
        served(resource, gift).columns(default_columns()).strategy(role)
    };
    let binding = |resource: Resource, binding: Binding, gift: Gift| {
        served(resource, gift).columns(binding::columns()).strategy(binding)
    };
    Group::new(GROUP)
        .serve(binding(
            Resource::cluster("ClusterRoleBinding", "clusterrolebindings"),
            Binding::Cluster,
            Gift::Binding("clusterrolebindings"),
        ))
        .serve(role(
            Resource::cluster("ClusterRole", "clusterroles"),
            Role::Cluster,
            Gift::Rules("clusterroles"),
        ))
        .serve(binding(
            Resource::namespaced("RoleBinding", "rolebindings"),
            Binding::Namespaced,
            Gift::Binding("rolebindings"),
        ))
        .serve(role(Resource::namespaced("Role", "roles"), Role::Namespaced, Gift::Rules("roles")))
}
