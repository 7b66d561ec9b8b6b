//! Secure serving flags: the listener and its certificates.

use super::{Flag, Kind, Section};

/// The section `Secure serving flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Secure serving",
    flags: &[
        Flag::acts("bind-address", Kind::Ip, "0.0.0.0", "address to listen on; 0.0.0.0 or :: for all"),
        Flag::acts(
            "cert-dir",
            Kind::Text,
            "/var/run/kubernetes",
            "folder of apiserver.crt and apiserver.key, made there when missing; not used with --tls-cert-file",
        ),
        Flag::acts("disable-http2-serving", Kind::Bool, "", "speak HTTP/1.1 only"),
        Flag::acts(
            "http2-max-streams-per-connection",
            Kind::Int,
            "",
            "how many requests a client may have open on one HTTP/2 connection; 0 for the default of 100",
        ),
        Flag::acts("permit-address-sharing", Kind::Bool, "", "set SO_REUSEADDR on the listening socket"),
        Flag::acts("permit-port-sharing", Kind::Bool, "", "set SO_REUSEPORT on the listening socket"),
        Flag::acts("secure-port", Kind::Int, "6443", "port to listen on"),
        Flag::acts(
            "tls-cert-file",
            Kind::Text,
            "",
            "certificate of the server, followed by its intermediates",
        ),
        Flag::acts("tls-cipher-suites", Kind::List, "", "cipher suites that are allowed for TLS 1.2"),
        Flag::acts(
            "tls-curve-preferences",
            Kind::Int32List,
            "",
            "numbers of the key exchange groups that are allowed",
        ),
        Flag::acts(
            "tls-min-version",
            Kind::Text,
            "",
            "oldest TLS version to accept: VersionTLS12 or VersionTLS13",
        ),
        Flag::acts("tls-private-key-file", Kind::Text, "", "key of the certificate in --tls-cert-file"),
        Flag::acts(
            "tls-sni-cert-key",
            Kind::CertKeys,
            "",
            "another certificate and key for some names, as in foo.crt,foo.key:*.foo.com,foo.com; may be repeated",
        ),
    ],
};
