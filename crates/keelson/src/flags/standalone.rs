//! Flags of a standalone server: its own ones, and upstream's with other defaults.

use super::{Flag, Kind, Section};

/// The section `Keelson flags` of the help. Its flags are not listed again in upstream's sections.
pub(super) const SECTION: Section = Section {
    title: "Keelson",
    flags: &[
        Flag::acts(
            "aggregate-cluster-roles",
            Kind::Bool,
            "true",
            "gather the rules of cluster roles that are made of others; turn it off beside a controller manager",
        ),
        Flag::acts("bind-address", Kind::Ip, "127.0.0.1", "address to listen on; 0.0.0.0 or :: for all"),
        Flag::acts(
            "count-quota-usage",
            Kind::Bool,
            "true",
            "count what resource quotas limit; turn it off beside a controller manager",
        ),
        Flag::acts(
            "data-dir",
            Kind::Text,
            "",
            "folder of the store, the keys and the certificates; $XDG_DATA_HOME/keelson or ~/.local/share/keelson when empty",
        ),
        Flag::acts(
            "default-service-accounts",
            Kind::Bool,
            "true",
            "make the service account default and the config map kube-root-ca.crt in every namespace; turn it off beside a controller manager",
        ),
        Flag::acts(
            "empty-namespaces",
            Kind::Bool,
            "true",
            "delete the contents of terminating namespaces; turn it off if kube-controller-manager does it",
        ),
        Flag::acts("secure-port", Kind::Int, "6443", "port to listen on; 0 for any that is free"),
        Flag::acts(
            "sign-certificates",
            Kind::Bool,
            "true",
            "approve the certificate requests of nodes and sign what is approved, with the authority in the data folder; \
             turn it off beside a controller manager",
        ),
        Flag::acts(
            "store",
            Kind::Text,
            "",
            "where objects are kept: embedded is a file in the data folder, memory forgets everything at the end, etcd is \
             where --etcd-servers says, and what is meant if it says something",
        ),
        BREAKER_FAILURES,
        BREAKER_PAUSE,
        SERVER_TIMING,
    ],
};

const BREAKER_FAILURES: Flag = Flag::acts(
    "webhook-circuit-breaker-failures",
    Kind::Int,
    "0",
    "failures in a row after which an admission webhook is left alone for a while, so that its failure policy counts at \
     once; 0 is never",
);
const BREAKER_PAUSE: Flag = Flag::acts(
    "webhook-circuit-breaker-pause",
    Kind::Duration,
    "30s",
    "how long an admission webhook is left alone that failed too often",
);
const SERVER_TIMING: Flag = Flag::acts(
    "webhook-server-timing",
    Kind::Bool,
    "false",
    "tell clients in the header Server-Timing how long each admission webhook took",
);

/// Flags that the kube-apiserver face accepts beyond upstream's, without listing them.
pub(super) const HIDDEN: Section = Section {
    title: "",
    flags: &[
        Flag::acts("aggregate-cluster-roles", Kind::Bool, "", "gather the rules of cluster roles").hidden(),
        Flag::acts("count-quota-usage", Kind::Bool, "", "count what resource quotas limit").hidden(),
        Flag::acts("data-dir", Kind::Text, "", "folder of the store").hidden(),
        Flag::acts(
            "default-service-accounts",
            Kind::Bool,
            "",
            "make what every namespace needs for its pods",
        )
        .hidden(),
        Flag::acts("empty-namespaces", Kind::Bool, "", "delete the contents of terminating namespaces")
            .hidden(),
        Flag::acts("sign-certificates", Kind::Bool, "", "sign what is approved").hidden(),
        Flag::acts("store", Kind::Text, "", "where objects are kept").hidden(),
        BREAKER_FAILURES.hidden(),
        BREAKER_PAUSE.hidden(),
        SERVER_TIMING.hidden(),
    ],
};
