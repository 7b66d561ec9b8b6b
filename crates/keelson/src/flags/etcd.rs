//! Etcd and storage flags.

use super::{Flag, Kind, Section};

/// The section `Etcd flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Etcd",
    flags: &[
        Flag::retired(
            "default-watch-cache-size",
            Kind::Int,
            "100",
            "watch caches are sized automatically and this flag will be removed in a future version",
        ),
        Flag::not_yet(
            "delete-collection-workers",
            Kind::Int,
            "1",
            "how many objects of a collection are deleted at the same time",
        ),
        Flag::not_yet(
            "enable-garbage-collector",
            Kind::Bool,
            "true",
            "whether owners and dependents are collected; must agree with the controller manager",
        ),
        Flag::acts(
            "encryption-provider-config",
            Kind::Text,
            "",
            "file that says which resources are encrypted at rest, and with which keys",
        ),
        Flag::acts(
            "encryption-provider-config-automatic-reload",
            Kind::Bool,
            "",
            "read the encryption file again when it changes",
        ),
        Flag::acts("etcd-cafile", Kind::Text, "", "authorities that vouch for the etcd servers"),
        Flag::acts("etcd-certfile", Kind::Text, "", "certificate that is shown to etcd"),
        Flag::acts(
            "etcd-compaction-interval",
            Kind::Duration,
            "5m0s",
            "time between two compactions; 0 for none",
        ),
        Flag::acts(
            "etcd-count-metric-poll-period",
            Kind::Duration,
            "1m0s",
            "0 for no counts of objects per resource; counts are always those of the moment",
        ),
        Flag::acts(
            "etcd-db-metric-poll-interval",
            Kind::Duration,
            "30s",
            "time between two measurements of the size of the database; 0 for none",
        ),
        Flag::acts(
            "etcd-healthcheck-timeout",
            Kind::Duration,
            "2s",
            "how long the health check waits for etcd",
        ),
        Flag::acts("etcd-keyfile", Kind::Text, "", "key of the certificate that is shown to etcd"),
        Flag::acts("etcd-prefix", Kind::Text, "/registry", "what all keys begin with"),
        Flag::acts(
            "etcd-readycheck-timeout",
            Kind::Duration,
            "2s",
            "how long the readiness check waits for etcd",
        ),
        Flag::acts("etcd-servers", Kind::List, "", "etcd servers to connect to, as in https://10.0.0.1:2379"),
        Flag::acts(
            "etcd-servers-overrides",
            Kind::List,
            "",
            "other etcd servers for some resources, as in /events#https://10.0.0.2:2379;https://10.0.0.3:2379",
        ),
        Flag::acts(
            "lease-reuse-duration-seconds",
            Kind::Int,
            "60",
            "for how many seconds new objects share the same etcd lease",
        ),
        Flag::acts("storage-backend", Kind::Text, "", "kind of storage behind --etcd-servers: etcd3"),
        Flag::acts(
            "storage-media-type",
            Kind::Text,
            "application/vnd.kubernetes.protobuf",
            "encoding of the stored objects",
        ),
        Flag::acts("watch-cache", Kind::Bool, "true", "serve reads from memory"),
        Flag::acts(
            "watch-cache-sizes",
            Kind::List,
            "",
            "resources that are read from the store, as in secrets#0 or leases.coordination.k8s.io#0; other numbers mean \
             that a resource is read from memory",
        ),
    ],
};
