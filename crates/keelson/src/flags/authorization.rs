//! Authorization flags.

use super::{Flag, Kind, Section};

/// The section `Authorization flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Authorization",
    flags: &[
        Flag::acts(
            "authorization-config",
            Kind::Text,
            "",
            "file that configures the chain of authorizers; excludes --authorization-mode",
        ),
        Flag::acts(
            "authorization-mode",
            Kind::List,
            "",
            "authorizers in order, of AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC and Node; AlwaysAllow when empty",
        ),
        Flag::acts(
            "authorization-policy-file",
            Kind::Text,
            "",
            "rules of the mode ABAC, one JSON object per line",
        ),
        Flag::acts(
            "authorization-webhook-cache-authorized-ttl",
            Kind::Duration,
            "5m0s",
            "how long the webhook's permissions are remembered",
        ),
        Flag::acts(
            "authorization-webhook-cache-unauthorized-ttl",
            Kind::Duration,
            "30s",
            "how long the webhook's refusals are remembered",
        ),
        Flag::acts(
            "authorization-webhook-config-file",
            Kind::Text,
            "",
            "kubeconfig that leads to the authorization webhook",
        ),
        Flag::acts(
            "authorization-webhook-version",
            Kind::Text,
            "v1beta1",
            "API version of the reviews for the authorization webhook",
        ),
    ],
};
