//! The core group.

mod component_status;
mod config_map;
mod endpoints;
pub(crate) mod event;
mod limit_range;
mod namespace;
mod node;
pub(crate) mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
pub(crate) mod service;
mod service_account;

use keelson_object::SelectableField;
use keelson_registry::{Group, Resource, Scale, Subresource, Version};

use crate::catalog::Settings;
use crate::shared::default_columns::default_columns;
use crate::shared::pod_template::Gates;

/// The verbs of the proxy subresources.
const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];

/// The core group, which has no name.
pub(crate) fn group(settings: &Settings) -> Group {
    let group = storage(workloads(configuration(Group::new(""), settings), settings), settings);
    network(cluster(group, settings), settings)
}

/// Configuration of pods, and events.
fn configuration(group: Group, settings: &Settings) -> Group {
    let event_ttl = settings.event_ttl;
    group
        .serve(
            Resource::cluster("ComponentStatus", "componentstatuses")
                .short_name("cs")
                .version(Version::stored("v1"))
                .columns(component_status::columns())
                .reported(component_status::Components { ground: settings.ground.clone() }),
        )
        .serve(
            Resource::namespaced("ConfigMap", "configmaps")
                .short_name("cm")
                .version(Version::stored("v1"))
                .columns(config_map::columns())
                .strategy(config_map::ConfigMap),
        )
        .serve(
            Resource::namespaced("Secret", "secrets")
                .version(Version::stored("v1"))
                .columns(secret::columns())
                .selectable(SelectableField::plain("type"))
                .strategy(secret::Secret),
        )
        .serve(
            Resource::namespaced("ServiceAccount", "serviceaccounts")
                .short_name("sa")
                .subresource(service_account::token::subresource(settings))
                .version(Version::stored("v1"))
                .returns_deleted()
                .strategy(service_account::ServiceAccount),
        )
        .serve(
            event::selectable(Resource::namespaced("Event", "events").short_name("ev"))
                .version(Version::stored("v1"))
                .columns(event::columns())
                .creates_on_update()
                .strategy(event::Event::Core)
                .lives(move |_| event_ttl),
        )
}

/// Pods, and the kinds that create them.
fn workloads(group: Group, settings: &Settings) -> Group {
    let gates = Gates::of(settings);
    let pods = Resource::namespaced("Pod", "pods").short_name("po").category("all");
    group
        .serve(
            pod::selectable(pod::subresources(pods))
                .version(Version::stored("v1"))
                .columns(pod::columns())
                .returns_deleted()
                .strategy(pod::Pod(gates.clone())),
        )
        .serve(
            Resource::namespaced("Binding", "bindings")
                .version(Version::stored("v1"))
                .answered(pod::Bindings),
        )
        .serve(
            Resource::namespaced("PodTemplate", "podtemplates")
                .version(Version::stored("v1"))
                .columns(pod_template::columns())
                .returns_deleted()
                .strategy(pod_template::PodTemplate(gates.clone())),
        )
        .serve(
            Resource::namespaced("ReplicationController", "replicationcontrollers")
                .short_name("rc")
                .category("all")
                .storage_path("controllers")
                .version(Version::stored("v1"))
                .columns(replication_controller::columns())
                .selectable(SelectableField {
                    default: "0".into(),
                    ..SelectableField::plain("status.replicas")
                })
                .with_status()
                .with_scale(Scale::WORKLOAD)
                .strategy(replication_controller::ReplicationController(gates)),
        )
}

/// Volumes and limits.
fn storage(group: Group, settings: &Settings) -> Group {
    group
        .serve(
            Resource::cluster("PersistentVolume", "persistentvolumes")
                .short_name("pv")
                .version(Version::stored("v1"))
                .columns(persistent_volume::columns())
                .with_status()
                .returns_deleted()
                .strategy(persistent_volume::PersistentVolume::new(settings)),
        )
        .serve(
            Resource::namespaced("PersistentVolumeClaim", "persistentvolumeclaims")
                .short_name("pvc")
                .version(Version::stored("v1"))
                .columns(persistent_volume_claim::columns())
                .with_status()
                .returns_deleted()
                .strategy(persistent_volume_claim::PersistentVolumeClaim::new(settings)),
        )
        .serve(
            Resource::namespaced("LimitRange", "limitranges")
                .short_name("limits")
                .version(Version::stored("v1"))
                .columns(default_columns())
                .creates_on_update()
                .seen_at_once()
                .strategy(limit_range::LimitRange),
        )
        .serve(
            Resource::namespaced("ResourceQuota", "resourcequotas")
                .short_name("quota")
                .version(Version::stored("v1"))
                .columns(resource_quota::columns())
                .with_status()
                .returns_deleted()
                .seen_at_once()
                .strategy(resource_quota::ResourceQuota),
        )
}

/// Cluster-scoped kinds, and namespaces.
fn cluster(group: Group, settings: &Settings) -> Group {
    group
        .serve(
            Resource::cluster("Namespace", "namespaces")
                .short_name("ns")
                .version(Version::stored("v1"))
                .columns(namespace::columns())
                .selectable(SelectableField::plain("status.phase"))
                .with_status()
                .subresource(Subresource::part("finalize").verbs(&["update"]))
                .verbs(namespace::VERBS)
                .returns_deleted()
                .seen_at_once()
                .strategy(namespace::Namespace),
        )
        .serve(
            Resource::cluster("Node", "nodes")
                .short_name("no")
                .storage_path("minions")
                .version(Version::stored("v1"))
                .columns(node::columns())
                .selectable(node::unschedulable())
                .subresource(Subresource::connect("proxy", "v1", "NodeProxyOptions", PROXY))
                .with_status()
                .strategy(node::Node::new(settings)),
        )
}

/// Services and endpoints.
fn network(group: Group, settings: &Settings) -> Group {
    group
        .serve(
            Resource::namespaced("Endpoints", "endpoints")
                .short_name("ep")
                .storage_path("services/endpoints")
                .version(Version::stored("v1"))
                .columns(endpoints::columns())
                .creates_on_update()
                .strategy(endpoints::Endpoints::new(settings)),
        )
        .serve(
            Resource::namespaced("Service", "services")
                .short_name("svc")
                .category("all")
                .storage_path("services/specs")
                .version(Version::stored("v1"))
                .columns(service::columns())
                .selectable(SelectableField::plain("spec.clusterIP"))
                .selectable(SelectableField::plain("spec.type"))
                .subresource(Subresource::connect("proxy", "v1", "ServiceProxyOptions", PROXY))
                .with_status()
                .creates_on_update()
                .returns_deleted()
                .strategy(service::Service::new(settings))
                .reserving(service::numbers(settings)),
        )
}
