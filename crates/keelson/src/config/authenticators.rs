//! Flags of external authenticators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keelson_authn::RequestHeaderSettings;
use keelson_authn::oidc::{
    ClaimMappings, ClaimValidationRule, IssuerSettings, JwtSettings, PrefixedClaimOrExpression,
};
use keelson_webhook_client::Proxy;

use super::{FeatureGates, path};
use crate::flags::Flags;

/// Authenticators besides client certificates and our own tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authenticators {
    /// The front proxy.
    pub request_header: Option<FrontProxy>,
    /// Whether bootstrap tokens are accepted.
    pub bootstrap_tokens: bool,
    /// The token review webhook.
    pub webhook: Option<TokenWebhook>,
    /// The OIDC issuer in the flags.
    pub oidc: Option<Oidc>,
    /// The file of the AuthenticationConfiguration.
    pub config_file: Option<PathBuf>,
    /// Whether the flag of anonymous requests is set.
    pub anonymous_was_set: bool,
}

/// A trusted front proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontProxy {
    /// The CAs of its client certificate.
    pub ca_file: PathBuf,
    /// Its names and headers.
    pub settings: RequestHeaderSettings,
}

/// A token review webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenWebhook {
    /// The kubeconfig.
    pub kubeconfig: PathBuf,
    /// The version of the reviews: `v1` or `v1beta1`.
    pub version: String,
    /// How long its results are cached.
    pub cache_ttl: Duration,
    /// The proxy to the webhook.
    pub proxy: Option<Arc<Proxy>>,
}

/// An OIDC issuer in the flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oidc {
    /// The settings, without the CA.
    pub settings: JwtSettings,
    /// The CA of the issuer.
    pub ca_file: Option<PathBuf>,
    /// The allowed signing algorithms of its tokens.
    pub algorithms: Vec<String>,
}

impl Authenticators {
    pub(super) fn read(flags: &Flags, gates: &FeatureGates) -> Authenticators {
        Authenticators {
            request_header: path(flags, "requestheader-client-ca-file")
                .map(|ca_file| front_proxy(flags, gates, ca_file)),
            bootstrap_tokens: flags.is_on("enable-bootstrap-token-auth"),
            webhook: path(flags, "authentication-token-webhook-config-file").map(|kubeconfig| TokenWebhook {
                kubeconfig,
                version: flags.text("authentication-token-webhook-version").to_owned(),
                cache_ttl: flags.duration("authentication-token-webhook-cache-ttl").to_std(),
                proxy: None,
            }),
            oidc: oidc(flags),
            config_file: path(flags, "authentication-config"),
            anonymous_was_set: flags.was_set("anonymous-auth"),
        }
    }
}

fn front_proxy(flags: &Flags, gates: &FeatureGates, ca_file: PathBuf) -> FrontProxy {
    let list = |name: &str| flags.list(&format!("requestheader-{name}")).to_vec();
    let settings = RequestHeaderSettings {
        allowed_names: list("allowed-names"),
        username_headers: list("username-headers"),
        uid_headers: if gates.is_on("RemoteRequestHeaderUID") { list("uid-headers") } else { Vec::new() },
        group_headers: list("group-headers"),
        extra_header_prefixes: list("extra-headers-prefix"),
    };
    FrontProxy { ca_file, settings }
}

/// Upstream: pkg/kubeapiserver/options/authentication.go, ToAuthenticationConfig (v1.36.4).
fn oidc(flags: &Flags) -> Option<Oidc> {
    let (url, client) = (flags.text("oidc-issuer-url"), flags.text("oidc-client-id"));
    if url.is_empty() || client.is_empty() {
        return None;
    }
    let claim = flags.text("oidc-username-claim");
    let prefix = match flags.text("oidc-username-prefix") {
        "-" => String::new(),
        "" if claim != "email" => format!("{url}#"),
        prefix => prefix.to_owned(),
    };
    let mapping = |claim: &str, prefix: String| PrefixedClaimOrExpression {
        claim: claim.to_owned(),
        prefix: Some(prefix),
        expression: String::new(),
    };
    let groups = match flags.text("oidc-groups-claim") {
        "" => PrefixedClaimOrExpression::default(),
        claim => mapping(claim, flags.text("oidc-groups-prefix").to_owned()),
    };
    let required: BTreeMap<&str, &str> = flags
        .pairs("oidc-required-claim")
        .iter()
        .map(|(claim, value)| (claim.as_str(), value.as_str()))
        .collect();
    let rule = |(claim, value): (&str, &str)| ClaimValidationRule {
        claim: claim.to_owned(),
        required_value: value.to_owned(),
        ..ClaimValidationRule::default()
    };
    let issuer = IssuerSettings {
        url: url.to_owned(),
        audiences: vec![client.to_owned()],
        ..IssuerSettings::default()
    };
    let settings = JwtSettings {
        issuer,
        claim_validation_rules: required.into_iter().map(rule).collect(),
        claim_mappings: ClaimMappings {
            username: mapping(claim, prefix),
            groups,
            ..ClaimMappings::default()
        },
        user_validation_rules: Vec::new(),
    };
    let algorithms = flags.list("oidc-signing-algs").to_vec();
    Some(Oidc { settings, ca_file: path(flags, "oidc-ca-file"), algorithms })
}

/// The error of two CA bundles that overlap: clients that may assert any user name must be distinguishable
/// from others.
///
/// Upstream: pkg/kubeapiserver/options/authentication.go, Validate (v1.36.4).
pub(super) fn overlap(flags: &Flags) -> Option<String> {
    let (clients, proxies) = (path(flags, "client-ca-file")?, path(flags, "requestheader-client-ca-file")?);
    if !flags.list("requestheader-allowed-names").is_empty() {
        return None;
    }
    let (clients, proxies) = (certificates(&clients)?, certificates(&proxies)?);
    clients.iter().any(|it| proxies.contains(it)).then(|| {
        "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; \
         --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating \
         proxy headers for arbitrary users"
            .to_owned()
    })
}

fn certificates(path: &Path) -> Option<Vec<Vec<u8>>> {
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject as _;
    let pem = std::fs::read(path).ok()?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    Some(found.ok()?.iter().map(|it| it.to_vec()).collect())
}

/// Warnings about settings that work, but perhaps not as intended.
pub(super) fn warnings(flags: &Flags) -> Vec<String> {
    let standard = [
        ("requestheader-username-headers", "X-Remote-User header"),
        ("requestheader-group-headers", "X-Remote-Group header"),
        ("requestheader-extra-headers-prefix", "X-Remote-Extra- header prefix"),
    ];
    let is_odd = |(flag, standard): &(&str, &str)| {
        let name = standard.split(' ').next().unwrap_or_default();
        let list = flags.list(flag);
        !list.is_empty() && !list.iter().any(|it| it.eq_ignore_ascii_case(name))
    };
    let text = |(flag, standard): (&str, &str)| {
        format!("--{flag} is set without specifying the standard {standard} - API aggregation will not work")
    };
    standard.into_iter().filter(is_odd).map(text).collect()
}
