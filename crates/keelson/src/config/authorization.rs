//! Authorization config: the authorizers in their order, from flags or a file.

mod file;

use std::path::PathBuf;

use keelson_authz::{OnFailure, ReviewVersion};
use keelson_object::scalar::Duration;

pub use file::read;

use crate::flags::{Face, Flags};

/// The settings of authorization.
#[derive(Clone, Debug, PartialEq)]
pub struct Authorization {
    /// The authorizers, in order. Never empty without a file.
    pub authorizers: Vec<Authorizer>,
    /// The file of authorizers, instead of flags.
    pub config_file: Option<PathBuf>,
    /// The policy file of the mode ABAC.
    pub policy_file: Option<PathBuf>,
}

/// One authorizer.
#[derive(Clone, Debug, PartialEq)]
pub struct Authorizer {
    /// The mode.
    pub mode: AuthorizationMode,
    /// Its name in metrics.
    pub name: String,
    /// The webhook, in the mode `Webhook`.
    pub webhook: Option<Webhook>,
}

/// The settings of an authorization webhook.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// How long an allowed decision is cached; zero is not at all.
    pub authorized_ttl: Duration,
    /// How long any other decision is cached.
    pub unauthorized_ttl: Duration,
    /// The timeout of a call.
    pub timeout: Duration,
    /// The version of the reviews.
    pub version: ReviewVersion,
    /// The decision if the call fails.
    pub on_failure: OnFailure,
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
}

/// An authorization mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Every request is allowed.
    AlwaysAllow,
    /// Every request is denied.
    AlwaysDeny,
    /// Rules in a file.
    Abac,
    /// SubjectAccessReviews by a webhook.
    Webhook,
    /// Roles and role bindings.
    Rbac,
    /// The permissions that a node needs for its own work.
    Node,
}

impl AuthorizationMode {
    /// All modes, sorted by name.
    pub const ALL: [AuthorizationMode; 6] = [
        AuthorizationMode::Abac,
        AuthorizationMode::AlwaysAllow,
        AuthorizationMode::AlwaysDeny,
        AuthorizationMode::Node,
        AuthorizationMode::Rbac,
        AuthorizationMode::Webhook,
    ];

    /// The mode with upstream's name `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<AuthorizationMode> {
        AuthorizationMode::ALL.into_iter().find(|it| it.name() == name)
    }

    /// Upstream's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AuthorizationMode::AlwaysAllow => "AlwaysAllow",
            AuthorizationMode::AlwaysDeny => "AlwaysDeny",
            AuthorizationMode::Abac => "ABAC",
            AuthorizationMode::Webhook => "Webhook",
            AuthorizationMode::Rbac => "RBAC",
            AuthorizationMode::Node => "Node",
        }
    }
}

impl Authorization {
    /// The settings in the flags, after these were validated.
    ///
    /// Upstream: pkg/kubeapiserver/options/authorization.go, buildAuthorizationConfiguration (v1.36.4).
    pub(super) fn new(flags: &Flags) -> Authorization {
        let config_file = super::path(flags, "authorization-config");
        let modes = if config_file.is_some() { Vec::new() } else { modes(flags) };
        let authorizer = |mode: AuthorizationMode| match mode {
            AuthorizationMode::Webhook => {
                Authorizer { mode, name: "default".to_owned(), webhook: Some(webhook(flags)) }
            }
            mode => Authorizer { mode, name: mode.name().to_lowercase(), webhook: None },
        };
        Authorization {
            authorizers: modes.into_iter().map(authorizer).collect(),
            config_file,
            policy_file: super::path(flags, "authorization-policy-file"),
        }
    }

    /// The modes in the flags, in order.
    #[must_use]
    pub fn modes(&self) -> Vec<AuthorizationMode> {
        self.authorizers.iter().map(|it| it.mode).collect()
    }
}

fn modes(flags: &Flags) -> Vec<AuthorizationMode> {
    let modes: Vec<_> =
        flags.list("authorization-mode").iter().filter_map(|name| AuthorizationMode::parse(name)).collect();
    match (modes.is_empty(), flags.face()) {
        (false, _) => modes,
        (true, Face::Standalone) => vec![AuthorizationMode::Node, AuthorizationMode::Rbac],
        (true, Face::KubeApiserver) => vec![AuthorizationMode::AlwaysAllow],
    }
}

fn webhook(flags: &Flags) -> Webhook {
    let version = ReviewVersion::parse(flags.text("authorization-webhook-version"));
    Webhook {
        authorized_ttl: flags.duration("authorization-webhook-cache-authorized-ttl"),
        unauthorized_ttl: flags.duration("authorization-webhook-cache-unauthorized-ttl"),
        timeout: Duration::from_nanos(30_000_000_000),
        version: version.unwrap_or(ReviewVersion::V1beta1),
        on_failure: OnFailure::NoOpinion,
        kubeconfig: PathBuf::from(flags.text("authorization-webhook-config-file")),
    }
}
