//! Authentication flags.

use super::{Flag, Kind, Section};

/// The section `Authentication flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Authentication",
    flags: &[
        Flag::acts(
            "anonymous-auth",
            Kind::Bool,
            "true",
            "take requests without credentials for system:anonymous",
        ),
        Flag::acts(
            "api-audiences",
            Kind::List,
            "",
            "audiences that a service account token must be made for; the issuers when empty",
        ),
        Flag::acts(
            "authentication-config",
            Kind::Text,
            "",
            "file that configures token issuers and anonymous requests",
        ),
        Flag::acts(
            "authentication-token-webhook-cache-ttl",
            Kind::Duration,
            "2m0s",
            "how long answers of the token webhook are remembered",
        ),
        Flag::acts(
            "authentication-token-webhook-config-file",
            Kind::Text,
            "",
            "kubeconfig that leads to the token webhook",
        ),
        Flag::acts(
            "authentication-token-webhook-version",
            Kind::Text,
            "v1beta1",
            "API version of the reviews for the token webhook",
        ),
        Flag::acts(
            "client-ca-file",
            Kind::Text,
            "",
            "authorities whose certificates identify clients: the common name is the user, the organizations are its groups",
        ),
        Flag::acts(
            "enable-bootstrap-token-auth",
            Kind::Bool,
            "",
            "accept the tokens in secrets of type bootstrap.kubernetes.io/token",
        ),
        Flag::acts(
            "oidc-ca-file",
            Kind::Text,
            "",
            "authorities that vouch for the OpenID server; those of the system when empty",
        ),
        Flag::acts(
            "oidc-client-id",
            Kind::Text,
            "",
            "client that OpenID tokens must be made for; needed with --oidc-issuer-url",
        ),
        Flag::acts("oidc-groups-claim", Kind::Text, "", "claim of the OpenID token that holds the groups"),
        Flag::acts("oidc-groups-prefix", Kind::Text, "", "what is put before every group of an OpenID token"),
        Flag::acts("oidc-issuer-url", Kind::Text, "", "https URL of the OpenID issuer"),
        Flag::acts(
            "oidc-required-claim",
            Kind::Map,
            "",
            "claim=value that an OpenID token must have; may be repeated",
        ),
        Flag::acts(
            "oidc-signing-algs",
            Kind::List,
            "RS256",
            "algorithms that OpenID tokens may be signed with",
        ),
        Flag::acts(
            "oidc-username-claim",
            Kind::Text,
            "sub",
            "claim of the OpenID token that holds the user name",
        ),
        Flag::acts(
            "oidc-username-prefix",
            Kind::Text,
            "",
            "what is put before the user name of an OpenID token; - for nothing",
        ),
        Flag::acts(
            "requestheader-allowed-names",
            Kind::List,
            "",
            "common names of the proxies that may say in headers who asks; any when empty",
        ),
        Flag::acts(
            "requestheader-client-ca-file",
            Kind::Text,
            "",
            "authorities whose certificates identify such proxies",
        ),
        Flag::acts(
            "requestheader-extra-headers-prefix",
            Kind::List,
            "",
            "beginnings of the headers that hold further facts about the user",
        ),
        Flag::acts("requestheader-group-headers", Kind::List, "", "headers that hold the groups"),
        Flag::acts("requestheader-uid-headers", Kind::List, "", "headers that hold the uid"),
        Flag::acts("requestheader-username-headers", Kind::List, "", "headers that hold the user name"),
        Flag::acts(
            "service-account-extend-token-expiration",
            Kind::Bool,
            "true",
            "let tokens of pods live longer than asked while clients learn to read them again",
        ),
        Flag::acts(
            "service-account-issuer",
            Kind::Array,
            "",
            "issuer of service account tokens; the first signs, all are accepted; may be repeated",
        ),
        Flag::acts(
            "service-account-jwks-uri",
            Kind::Text,
            "",
            "where others find the keys of the issuer, in the discovery document",
        ),
        Flag::acts(
            "service-account-key-file",
            Kind::Array,
            "",
            "keys that verify service account tokens; may be repeated",
        ),
        Flag::acts(
            "service-account-lookup",
            Kind::Bool,
            "true",
            "accept a service account token only while its objects exist",
        ),
        Flag::acts(
            "service-account-max-token-expiration",
            Kind::Duration,
            "",
            "longest life of a service account token",
        ),
        Flag::acts(
            "token-auth-file",
            Kind::Text,
            "",
            "file of static tokens: token,user,uid,\"group1,group2\"",
        ),
    ],
};
