//! Validation of the configuration.
//!
//! Upstream: apiserver/pkg/apis/apiserver/validation/validation_encryption.go (v1.36.4).

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use keelson_object::{FieldErrors, Path, Value};

use super::{Configuration, KmsRule, NamedKey, ProviderRule, Reload, Rule};

const AES_SIZES: &[usize] = &[16, 24, 32];
const SECRETBOX_SIZES: &[usize] = &[32];

/// Everything that is wrong.
pub(super) fn errors(configuration: &Configuration, reload: Reload) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let root = Path::root("resources");
    if configuration.rules.is_empty() {
        errors.required(&root, "at least one resources is required");
    }
    let mut services = HashSet::new();
    for (position, rule) in configuration.rules.iter().enumerate() {
        rule_errors(rule, &root.index(position), (&mut services, reload), &mut errors);
    }
    errors
}

fn rule_errors<'c>(
    rule: &'c Rule,
    at: &Path<'_>,
    (services, reload): (&mut HashSet<&'c str>, Reload),
    errors: &mut FieldErrors,
) {
    let (resources, providers) = (at.key("resources"), at.key("providers"));
    if rule.resources.is_empty() {
        errors.required(&resources, format!("at least one {resources} is required"));
    }
    overlaps(&rule.resources, &resources, errors);
    for (position, name) in rule.resources.iter().enumerate() {
        if let Some(problem) = name_problem(name) {
            errors.invalid(&resources.index(position), &**name, problem);
        }
    }
    if rule.providers.is_empty() {
        errors.required(&providers, format!("at least one {providers} is required"));
    }
    for (position, provider) in rule.providers.iter().enumerate() {
        let at = providers.index(position);
        one_kind(provider, &at, errors);
        if let Some(kms) = &provider.kms {
            kms_errors(kms, &at.key("kms"), services.contains(&*kms.name), reload, errors);
            services.insert(&kms.name);
        } else if let Some(keys) = &provider.aes_gcm {
            key_errors(keys, &at.key("aesgcm"), AES_SIZES, errors);
        } else if let Some(keys) = &provider.aes_cbc {
            key_errors(keys, &at.key("aescbc"), AES_SIZES, errors);
        } else if let Some(keys) = &provider.secretbox {
            key_errors(keys, &at.key("secretbox"), SECRETBOX_SIZES, errors);
        }
    }
}

/// `deployments.apps` is a resource and a group; `*.` is all of the core group.
pub(crate) fn group_resource(text: &str) -> (&str, &str) {
    match text.split_once('.') {
        Some((resource, group)) => (group, resource),
        None => ("", text),
    }
}

const ANY: (&str, &str) = ("*", "*");

fn overlaps(names: &[String], at: &Path<'_>, errors: &mut FieldErrors) {
    let resources: Vec<_> = names.iter().map(|name| group_resource(name)).collect();
    let pairs = || {
        let all = resources.iter().enumerate();
        all.flat_map(|(i, one)| {
            resources.iter().enumerate().filter(move |(j, _)| *j != i).map(move |it| (one, it.1))
        })
    };
    let shown = Value::List(names.iter().map(|name| Value::String(name.as_str().into())).collect());
    let duplicate = pairs().any(|(one, other)| one == other);
    if duplicate {
        errors.invalid(at, &shown, "the same resource cannot be specified multiple times");
    }
    let mut first_duplicate = duplicate;
    let overlap = pairs().any(|(one, other)| {
        // Upstream passes over the first pair that is the same twice.
        if one == other && std::mem::take(&mut first_duplicate) {
            return false;
        }
        *one == ANY || (one.0 == other.0 && (one.1 == "*" || other.1 == "*"))
    });
    if overlap {
        let problem = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not \
                       allowed as they will be masked";
        errors.invalid(at, &shown, problem);
    }
}

fn name_problem(name: &str) -> Option<&'static str> {
    if name.to_lowercase() != name {
        return Some("resource name should not contain capital letters");
    }
    match name {
        "*" => {
            return Some(
                "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources",
            );
        }
        "apiserveripinfo" | "serviceipallocations" | "servicenodeportallocations" => {
            return Some("resources which do not have REST API/s cannot be encrypted");
        }
        _ => (),
    }
    match group_resource(name) {
        ("events.k8s.io", _) => Some(
            "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the \
             config file",
        ),
        ("extensions", _) => Some("'extensions' group has been removed and cannot be used for encryption"),
        ("*", resource) if resource != "*" => {
            Some("encrypting the same resource across groups is not supported")
        }
        _ => None,
    }
}

fn one_kind(provider: &ProviderRule, at: &Path<'_>, errors: &mut FieldErrors) {
    let ProviderRule { aes_gcm, aes_cbc, secretbox, identity, kms } = provider;
    let members = [aes_gcm.is_some(), aes_cbc.is_some(), secretbox.is_some(), *identity, kms.is_some()];
    let problem = match members.iter().filter(|it| **it).count() {
        1 => return,
        0 => {
            "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
        }
        _ => {
            "more than one provider specified in a single element, should split into different list elements"
        }
    };
    // Keys are not shown, unlike upstream.
    let names = ["AESGCM", "AESCBC", "Secretbox", "Identity", "KMS"].into_iter().zip(members);
    let shown: Vec<String> = names
        .map(|(name, is_there)| format!("\"{name}\":{}", if is_there { "{}" } else { "null" }))
        .collect();
    errors.invalid_as(at, format!("{{{}}}", shown.join(",")), problem);
}

fn key_errors(keys: &[NamedKey], at: &Path<'_>, sizes: &[usize], errors: &mut FieldErrors) {
    let at = at.key("keys");
    if keys.is_empty() {
        errors.required(&at, "at least one keys is required");
    }
    for (position, key) in keys.iter().enumerate() {
        let at = at.index(position);
        if key.name.is_empty() {
            errors.required(&at.key("name"), "name is a mandatory field for a key");
        }
        if key.secret.is_empty() {
            errors.required(&at.key("secret"), "secret is a mandatory field for a key");
            continue;
        }
        let Some(secret) = key.bytes() else {
            errors.invalid(&at.key("secret"), "REDACTED", "secrets must be base64 encoded");
            continue;
        };
        if !sizes.contains(&secret.len()) {
            let expected: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            let problem = format!(
                "secret is not of the expected length, got {}, expected one of [{}]",
                secret.len(),
                expected.join(" ")
            );
            errors.invalid(&at.key("secret"), "REDACTED", problem);
        }
    }
}

impl NamedKey {
    /// The decoded secret; like Go, ignores line ends.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        let text: String = self.secret.chars().filter(|it| !matches!(it, '\r' | '\n')).collect();
        BASE64_STANDARD.decode(text).ok()
    }
}

fn kms_errors(kms: &KmsRule, at: &Path<'_>, is_known: bool, reload: Reload, errors: &mut FieldErrors) {
    let is_v1 = kms.api_version == "v1";
    let name = at.key("name");
    if kms.name.is_empty() {
        errors.required(&name, "name is a mandatory field for a provider");
    }
    if !is_v1 && kms.name.contains(':') {
        let problem = format!("invalid KMS provider name {}, must not contain ':'", kms.name);
        errors.invalid(&name, &*kms.name, problem);
    }
    if (reload == Reload::Yes || !is_v1) && is_known {
        let problem = format!("duplicate KMS provider name {}, names must be unique", kms.name);
        errors.invalid(&name, &*kms.name, problem);
    }
    if kms.timeout.nanos() <= 0 {
        errors.invalid(&at.key("timeout"), &*kms.timeout.to_string(), "timeout should be a positive value");
    }
    endpoint_errors(&kms.endpoint, &at.key("endpoint"), errors);
    match kms.cache_size {
        Some(size) if !is_v1 => {
            errors.invalid(&at.key("cachesize"), size, "cachesize is not supported in v2")
        }
        Some(0) => errors.invalid(
            &at.key("cachesize"),
            0_i64,
            "cachesize should be a positive value, or negative to disable",
        ),
        _ => (),
    }
    if !is_v1 && kms.api_version != "v2" {
        errors.invalid(
            &at.key("apiVersion"),
            &*kms.api_version,
            "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported",
        );
    }
}

fn endpoint_errors(endpoint: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if endpoint.is_empty() {
        errors.invalid(at, "", "endpoint is a mandatory field for a kms");
        return;
    }
    let scheme = match endpoint.split_once(':') {
        Some(("", _)) => {
            let problem = format!(
                "invalid endpoint for kms provider, error: parse {endpoint:?}: missing protocol scheme"
            );
            errors.invalid(at, endpoint, problem);
            return;
        }
        Some((scheme, _)) if scheme.bytes().all(|it| it.is_ascii_alphanumeric() || b"+-.".contains(&it)) => {
            scheme
        }
        _ => "",
    };
    if scheme != "unix" {
        let problem = format!("unsupported scheme {scheme:?} for KMS provider, only unix is supported");
        errors.invalid(at, endpoint, problem);
    }
}
