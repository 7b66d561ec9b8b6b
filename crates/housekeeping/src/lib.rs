//! Controllers of the server itself. They read the cache and write through the registry, as all clients do.

#![deny(missing_docs)]

pub mod bootstrap_roles;
pub mod certificate_durations;
pub mod certificates;
pub mod cluster_authentication;
pub mod default_service_cidr;
pub mod follow;
pub mod identity_lease;
pub mod kubernetes_service;
pub mod legacy_tokens;
pub mod namespace_emptier;
pub mod peer_lease;
pub mod priority_classes;
pub mod repair_addresses;
pub mod repair_node_ports;
pub mod resource_quota;
pub mod role_aggregation;
pub mod service_accounts;
pub mod services;
pub mod storage_versions;
pub mod system_namespaces;
pub mod token_secrets;

use keelson_authn::User;
use keelson_object::{Object, ObjectMeta};
use keelson_registry::{CatalogHandle, Context, Live};
use keelson_stdx::clock::Clock;

/// The context of the server's own actions.
fn context(catalog: &CatalogHandle, clock: &Clock) -> Context {
    let mut context = Context::new(User::new("system:apiserver", &["system:masters"]), clock.clone());
    context.catalog = Some(catalog.load());
    context.field_manager = "kube-apiserver".into();
    context
}

/// A new object of a resource, with nothing but a name.
fn new_object(live: &Live, namespace: &str, name: &str) -> Object {
    Object {
        kind: live.resource.kind.clone(),
        api_version: live.resource.stored_version().api_version.clone(),
        meta: ObjectMeta { namespace: namespace.into(), name: name.into(), ..ObjectMeta::default() },
        ..Object::default()
    }
}
