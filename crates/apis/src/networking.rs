//! `networking.k8s.io`: the ways into and between pods, and the addresses of services.

mod ingress;
mod ingress_class;
mod ip_address;
mod network_policy;
mod reference;
mod service_cidr;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("networking.k8s.io")
        .serve(
            Resource::cluster("IngressClass", "ingressclasses")
                .columns(ingress_class::columns())
                .version(Version::stored("v1"))
                .strategy(ingress_class::IngressClass),
        )
        .serve(
            Resource::namespaced("Ingress", "ingresses")
                .short_name("ing")
                .storage_path("ingress")
                .columns(ingress::columns())
                .version(Version::stored("v1"))
                .with_status()
                .strategy(ingress::Ingress::new(settings)),
        )
        .serve(
            Resource::cluster("IPAddress", "ipaddresses")
                .short_name("ip")
                .columns(ip_address::columns())
                .version(Version::stored("v1"))
                .version(Version::served("v1beta1"))
                .strategy(ip_address::IpAddress),
        )
        .serve(
            Resource::namespaced("NetworkPolicy", "networkpolicies")
                .short_name("netpol")
                .columns(network_policy::columns())
                .version(Version::stored("v1"))
                .strategy(network_policy::NetworkPolicy {
                    strict_ranges: settings.is_on("StrictIPCIDRValidation"),
                }),
        )
        .serve(
            Resource::cluster("ServiceCIDR", "servicecidrs")
                .columns(service_cidr::columns())
                .version(Version::stored("v1"))
                .version(Version::served("v1beta1"))
                .with_status()
                .strategy(service_cidr::ServiceCidr::new(settings)),
        )
}
