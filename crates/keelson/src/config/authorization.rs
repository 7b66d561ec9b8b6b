//! Who decides who may do what, and in which order: by flags, or by a file.

mod file;

use std::path::PathBuf;

use keelson_authz::{OnFailure, ReviewVersion};
use keelson_object::scalar::Duration;

pub use file::read;

use crate::flags::{Face, Flags};

/// What the command line says about authorization.
#[derive(Clone, Debug, PartialEq)]
pub struct Authorization {
    /// In order. Without a file never empty.
    pub authorizers: Vec<Authorizer>,
    /// Where they are read from, instead of flags.
    pub config_file: Option<PathBuf>,
    /// The rules of the mode ABAC.
    pub policy_file: Option<PathBuf>,
}

/// One of those who decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Authorizer {
    /// How it decides.
    pub mode: AuthorizationMode,
    /// Its name in metrics.
    pub name: String,
    /// Whom it asks, in the mode `Webhook`.
    pub webhook: Option<Webhook>,
}

/// Whom to ask, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Webhook {
    /// How long a permission is remembered; zero is not at all.
    pub authorized_ttl: Duration,
    /// How long anything else is remembered.
    pub unauthorized_ttl: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// In which version reviews are sent.
    pub version: ReviewVersion,
    /// What is decided when there is no answer.
    pub on_failure: OnFailure,
    /// The way there.
    pub kubeconfig: PathBuf,
}

/// A way to decide who may do what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Everybody may do everything.
    AlwaysAllow,
    /// Nobody may do anything.
    AlwaysDeny,
    /// By rules in a file.
    Abac,
    /// By asking somebody.
    Webhook,
    /// By roles.
    Rbac,
    /// By what a node has to do.
    Node,
}

impl AuthorizationMode {
    /// All of them, sorted by name.
    pub const ALL: [AuthorizationMode; 6] = [
        AuthorizationMode::Abac,
        AuthorizationMode::AlwaysAllow,
        AuthorizationMode::AlwaysDeny,
        AuthorizationMode::Node,
        AuthorizationMode::Rbac,
        AuthorizationMode::Webhook,
    ];

    /// By upstream's name.
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
    /// What the flags say, once they are known to be good.
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

    /// The modes that flags name, in order.
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
