//! Other flags.

use super::{Flag, Kind, Section};

/// The section `Misc flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Misc",
    flags: &[
        Flag::not_yet(
            "aggregator-reject-forwarding-redirect",
            Kind::Bool,
            "true",
            "do not pass redirects of aggregated servers on to clients",
        ),
        Flag::acts("allow-privileged", Kind::Bool, "", "allow privileged containers"),
        Flag::retired(
            "apiserver-count",
            Kind::Int,
            "1",
            "apiserver-count is deprecated and will be removed in a future version.",
        ),
        Flag::not_yet(
            "coordinated-leadership-lease-duration",
            Kind::Duration,
            "15s",
            "how long a lease of a coordinated leader election is valid",
        ),
        Flag::not_yet(
            "coordinated-leadership-renew-deadline",
            Kind::Duration,
            "10s",
            "how long to try to renew such a lease",
        ),
        Flag::not_yet(
            "coordinated-leadership-retry-period",
            Kind::Duration,
            "2s",
            "time between two tries to renew such a lease",
        ),
        Flag::acts(
            "enable-aggregator-routing",
            Kind::Bool,
            "",
            "reach webhooks at the addresses of their endpoints instead of their service",
        ),
        Flag::deprecated(
            "enable-logs-handler",
            Kind::Bool,
            "Log handler functionality is deprecated",
            "serve files below /logs",
        ),
        Flag::acts(
            "endpoint-reconciler-type",
            Kind::Text,
            "lease",
            "how the endpoints of the service kubernetes are kept: lease, master-count or none",
        ),
        Flag::acts("event-ttl", Kind::Duration, "1h0m0s", "how long events are kept"),
        Flag::not_yet("kubelet-certificate-authority", Kind::Text, "", "authorities that vouch for kubelets"),
        Flag::not_yet("kubelet-client-certificate", Kind::Text, "", "certificate that is shown to kubelets"),
        Flag::not_yet(
            "kubelet-client-key",
            Kind::Text,
            "",
            "key of the certificate that is shown to kubelets",
        ),
        Flag::retired("kubelet-port", Kind::Uint, "10250", "kubelet-port is deprecated and will be removed."),
        Flag::not_yet(
            "kubelet-preferred-address-types",
            Kind::List,
            "Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP",
            "which address of a node to use, best first",
        ),
        Flag::retired(
            "kubelet-read-only-port",
            Kind::Uint,
            "10255",
            "kubelet-read-only-port is deprecated and will be removed.",
        ),
        Flag::not_yet("kubelet-timeout", Kind::Duration, "5s", "how long to wait for a kubelet"),
        Flag::acts(
            "kubernetes-service-node-port",
            Kind::Int,
            "",
            "node port of the service kubernetes; 0 for none",
        ),
        Flag::not_yet(
            "max-connection-bytes-per-sec",
            Kind::Int,
            "",
            "limit for each long-running stream in bytes per second; 0 for none",
        ),
        Flag::new(
            "peer-advertise-ip",
            Kind::Text,
            "",
            "address under which other API servers reach this one",
        ),
        Flag::new("peer-advertise-port", Kind::Text, "", "port under which other API servers reach this one"),
        Flag::not_yet("peer-ca-file", Kind::Text, "", "authorities that vouch for other API servers"),
        Flag::not_yet(
            "proxy-client-cert-file",
            Kind::Text,
            "",
            "certificate that is shown to aggregated servers and webhooks",
        ),
        Flag::not_yet(
            "proxy-client-key-file",
            Kind::Text,
            "",
            "key of the certificate that is shown to aggregated servers and webhooks",
        ),
        Flag::acts(
            "service-account-signing-endpoint",
            Kind::Text,
            "",
            "socket of who signs service account tokens and keeps their keys: a path, or @name",
        ),
        Flag::acts(
            "service-account-signing-key-file",
            Kind::Text,
            "",
            "key that signs service account tokens",
        ),
        Flag::acts(
            "service-cluster-ip-range",
            Kind::Text,
            "",
            "ranges of service addresses, as in 10.0.0.0/24; one, or one of each address family",
        ),
        Flag::acts(
            "service-node-port-range",
            Kind::PortRange,
            "30000-32767",
            "range of node ports of services",
        ),
    ],
};
