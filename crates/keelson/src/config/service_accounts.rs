//! Service account flags.

use std::path::PathBuf;

use keelson_authn::service_account::{EXTENDED_SECONDS, WARN_ONLY_SECONDS};
use keelson_object::scalar::quote;

use crate::flags::{Face, Flags};

/// The settings of service account tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceAccounts {
    /// The accepted issuers; the first one signs.
    pub issuers: Vec<String>,
    /// Files with verification keys; if empty, the standalone face uses those of the data folder.
    pub key_files: Vec<PathBuf>,
    /// The file with the signing key; without it, the standalone face uses that of the data folder.
    pub signing_key_file: Option<PathBuf>,
    /// The socket of an external signer, which replaces local keys: a path, or `@name`.
    pub signing_endpoint: Option<String>,
    /// The maximum lifetime that can be requested, in seconds.
    pub max_seconds: Option<i64>,
    /// Whether tokens of pods live longer than kubelets request.
    pub extended: bool,
    /// The URL of the keys; empty for our own address.
    pub jwks_uri: String,
    /// Whether the objects of legacy tokens are looked up.
    pub lookup: bool,
}

/// The default issuer of a standalone server.
const STANDALONE_ISSUER: &str = "https://kubernetes.default.svc";

const HOUR: i128 = 3600;
const NANOS: i128 = 1_000_000_000;

impl ServiceAccounts {
    pub(super) fn read(flags: &Flags) -> ServiceAccounts {
        let issuers = match (flags.list("service-account-issuer"), flags.face()) {
            ([], Face::Standalone) => vec![STANDALONE_ISSUER.to_owned()],
            (issuers, _) => issuers.to_vec(),
        };
        let max = i128::from(flags.duration("service-account-max-token-expiration").nanos()) / NANOS;
        ServiceAccounts {
            issuers,
            key_files: flags.list("service-account-key-file").iter().map(PathBuf::from).collect(),
            signing_key_file: super::path(flags, "service-account-signing-key-file"),
            signing_endpoint: Some(flags.text("service-account-signing-endpoint").to_owned())
                .filter(|it| !it.is_empty()),
            max_seconds: i64::try_from(max).ok().filter(|it| *it > 0),
            extended: flags.is_on("service-account-extend-token-expiration"),
            jwks_uri: flags.text("service-account-jwks-uri").to_owned(),
            lookup: flags.is_on("service-account-lookup"),
        }
    }

    /// The audiences of tokens that name none.
    pub(super) fn audiences(&self, flags: &Flags) -> Vec<String> {
        match flags.list("api-audiences") {
            [] => self.issuers.clone(),
            audiences => audiences.to_vec(),
        }
    }
}

/// The first error.
///
/// Upstream: pkg/controlplane/apiserver/options/options.go, completeServiceAccountOptions (v1.36.4).
pub(super) fn check(flags: &Flags) -> Result<(), String> {
    let max = i128::from(flags.duration("service-account-max-token-expiration").nanos());
    if max != 0 && !(HOUR * NANOS..=(1 << 32) * NANOS).contains(&max) {
        return Err(
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds".to_owned()
        );
    }
    let has_issuer = flags.list("service-account-issuer").first().is_some_and(|it| !it.is_empty());
    let has_endpoint = !flags.text("service-account-signing-endpoint").is_empty();
    if has_issuer && has_endpoint && !flags.text("service-account-signing-key-file").is_empty() {
        return Err("service-account-signing-key-file and service-account-signing-endpoint are mutually exclusive and \
                    cannot be set at the same time"
            .to_owned());
    }
    Ok(())
}

/// Upstream: pkg/controlplane/apiserver/options/validation.go, validateServiceAccountTokenSigningConfig (v1.36.4).
pub(super) fn errors(flags: &Flags, errors: &mut Vec<String>) {
    let endpoint = flags.text("service-account-signing-endpoint");
    if endpoint.is_empty() {
        return;
    }
    let has_keys = !flags.list("service-account-key-file").is_empty();
    if has_keys || !flags.text("service-account-signing-key-file").is_empty() {
        errors.push(
            "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with \
             `--service-account-signing-endpoint` (They are mutually exclusive)"
                .to_owned(),
        );
    }
    if endpoint.strip_prefix('@').is_some_and(|name| !is_abstract_socket(name)) {
        errors.push(format!(
            "invalid value {} passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid \
             abstract socket name",
            quote(endpoint)
        ));
    }
}

/// Upstream: pkg/controlplane/apiserver/options/validation.go, abstractSocketRegex (v1.36.4).
fn is_abstract_socket(name: &str) -> bool {
    let is_letter = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    name.split('.').all(|part| !part.is_empty() && part.chars().all(is_letter))
}

/// Warnings for the operator.
///
/// Upstream: pkg/controlplane/apiserver/options/options.go, completeServiceAccountOptions (v1.36.4).
pub(super) fn warnings(flags: &Flags) -> Vec<String> {
    let max = flags.duration("service-account-max-token-expiration");
    let seconds = i128::from(max.nanos()) / NANOS;
    let mut warnings = Vec::new();
    // An external signer has its own limits, which are known only after it was called.
    if !flags.text("service-account-signing-endpoint").is_empty() {
        return warnings;
    }
    if seconds == 0 || !flags.is_on("service-account-extend-token-expiration") {
        return warnings;
    }
    if seconds < i128::from(WARN_ONLY_SECONDS) {
        warnings.push(format!(
            "service-account-extend-token-expiration is true, in order to correctly trigger safe transition logic, \
             service-account-max-token-expiration must be set longer than {WARN_ONLY_SECONDS} seconds (currently {max})"
        ));
    }
    if seconds < i128::from(EXTENDED_SECONDS) {
        warnings.push(format!(
            "service-account-extend-token-expiration is true, enabling tokens valid up to {EXTENDED_SECONDS} seconds, \
             which is longer than service-account-max-token-expiration set to {max}"
        ));
    }
    warnings
}
