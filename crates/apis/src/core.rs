//! The core group: the kinds that everything else is made of.

mod config_map;
mod endpoints;
pub(crate) mod event;
mod namespace;
mod node;
mod pod;
mod secret;
mod service;

use keelson_registry::{Column, Group, Resource, Subresource, Version};

use crate::catalog::Settings;

/// The core group, which has no name.
pub(crate) fn group(settings: &Settings) -> Group {
    let event_ttl = settings.event_ttl;
    Group::new("")
        .serve(
            Resource::namespaced("ConfigMap", "configmaps")
                .short_name("cm")
                .version(Version::stored("v1").columns(config_map::columns()))
                .strategy(config_map::ConfigMap),
        )
        .serve(
            Resource::namespaced("Endpoints", "endpoints")
                .short_name("ep")
                .storage_path("services/endpoints")
                .version(Version::stored("v1").columns(endpoints::columns())),
        )
        .serve(
            event::selectable(Resource::namespaced("Event", "events").short_name("ev"))
                .version(Version::stored("v1").columns(event::columns()))
                .creates_on_update()
                .lives(move |_| event_ttl),
        )
        .serve(
            Resource::cluster("Namespace", "namespaces")
                .short_name("ns")
                .version(Version::stored("v1").columns(namespace::columns()))
                .selectable(keelson_object::SelectableField::plain("status.phase"))
                .with_status()
                .subresource(Subresource::part("finalize").verbs(&["update"]))
                .verbs(namespace::VERBS)
                .strategy(namespace::Namespace),
        )
        .serve(
            Resource::cluster("Node", "nodes")
                .short_name("no")
                .storage_path("minions")
                .version(Version::stored("v1").columns(node::columns()))
                .selectable(node::unschedulable())
                .with_status()
                .strategy(node::Node),
        )
        .serve(
            pod::selectable(Resource::namespaced("Pod", "pods").short_name("po").category("all"))
                .version(Version::stored("v1").columns(pod::columns()))
                .with_status()
                .returns_deleted()
                .strategy(pod::Pod),
        )
        .serve(
            Resource::namespaced("Secret", "secrets")
                .version(Version::stored("v1").columns(secret::columns()))
                .selectable(keelson_object::SelectableField::plain("type"))
                .strategy(secret::Secret),
        )
        .serve(
            Resource::namespaced("ServiceAccount", "serviceaccounts")
                .short_name("sa")
                .returns_deleted()
                .version(Version::stored("v1").columns([Column::name(), Column::age()])),
        )
        .serve(
            Resource::namespaced("Service", "services")
                .short_name("svc")
                .category("all")
                .storage_path("services/specs")
                .version(Version::stored("v1").columns(service::columns()))
                .selectable(keelson_object::SelectableField::plain("spec.clusterIP"))
                .selectable(keelson_object::SelectableField::plain("spec.type"))
                .with_status()
                .returns_deleted()
                .strategy(service::Service),
        )
}
