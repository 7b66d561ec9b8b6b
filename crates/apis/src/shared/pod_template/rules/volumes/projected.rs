//! Projected volumes, which combine several sources.

use std::collections::HashSet;

use keelson_object::field_error::Shown as _;
use keelson_object::selector::{name_rules, validate_label_selector};
use keelson_object::{FieldErrors, Map, Path, Value};

use super::super::{PodRules, annotations, paths};
use super::files;
use crate::shared::signer_name;
use crate::shared::volume_sources::require;

/// The key types of pod certificates.
const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

/// The longest lifetime of a pod certificate: with signers of Kubernetes, and with others.
const MAX_KUBERNETES_SECONDS: i64 = 24 * 60 * 60;
const MAX_SECONDS: i64 = 91 * 24 * 60 * 60;

/// Upstream: pkg/apis/core/validation/validation.go, validateProjectionSources (v1.36.4).
pub(super) fn check(projected: &Map, rules: &PodRules, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut files = Files { at, seen: HashSet::new() };
    let list_at = at.key("sources");
    for (position, source) in projected.maps("sources").enumerate() {
        let source_at = list_at.index(position);
        let mut count = 0;
        for kind in KINDS {
            let Some(part) = source.map(kind) else { continue };
            count += 1;
            let part_at = source_at.key(kind);
            match kind {
                "secret" | "configMap" => files.check_keys(part, &part_at, errors),
                "downwardAPI" => files.check_downward(part, &part_at, errors),
                "serviceAccountToken" => check_token(part, rules, (&part_at, at), errors),
                "clusterTrustBundle" => files.check_bundle(part, &part_at, errors),
                _ => files.check_certificate(part, &part_at, errors),
            }
        }
        if count > 1 {
            errors.forbidden(&source_at, "may not specify more than 1 volume type per source");
        }
    }
}

/// The parts of a source in upstream's order.
const KINDS: [&str; 6] =
    ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];

/// The files of the volume so far: no path may occur twice.
struct Files<'s> {
    at: &'s Path<'s>,
    seen: HashSet<&'s str>,
}

impl<'s> Files<'s> {
    /// Records a path; `shown` is in upstream's message if it occurred before.
    fn take(&mut self, path: &'s str, shown: &str, errors: &mut FieldErrors) {
        if !self.seen.insert(path) {
            errors.invalid(self.at, shown, "conflicting duplicate paths");
        }
    }

    fn check_keys(&mut self, source: &'s Map, at: &Path<'_>, errors: &mut FieldErrors) {
        require(source, &["name"], at, errors);
        let items_at = at.key("items");
        for (position, item) in source.maps("items").enumerate() {
            files::check_item(item, &items_at.index(position), errors);
            if let Some(path) = item.str("path").filter(|it| !it.is_empty()) {
                self.take(path, source.str("name").unwrap_or_default(), errors);
            }
        }
    }

    fn check_downward(&mut self, source: &'s Map, at: &Path<'_>, errors: &mut FieldErrors) {
        for file in source.maps("items") {
            files::check_downward(file, at, errors);
            if let Some(path) = file.str("path").filter(|it| !it.is_empty()) {
                self.take(path, path, errors);
            }
        }
    }

    fn check_bundle(&mut self, source: &'s Map, at: &Path<'_>, errors: &mut FieldErrors) {
        let selector = source.get("labelSelector").filter(|it| !it.is_null());
        match (source.str("name"), source.str("signerName")) {
            (Some(_), Some(_)) => {
                errors.invalid_as(at, shown(source), "only one of name and signerName may be used");
            }
            (Some(name), None) => {
                check_bundle_name(name, &at.key("name"), errors);
                if let Some(selector) = selector {
                    let detail = "labelSelector must be unset if name is specified";
                    errors.invalid(&at.key("labelSelector"), selector, detail);
                }
            }
            (None, Some(signer)) => {
                if signer.is_empty() {
                    errors.required(&at.key("signerName"), "must be a valid signer name");
                }
                signer_name::check(signer, &at.key("signerName"), errors);
                if let Some(selector) = selector.and_then(Value::as_map) {
                    validate_label_selector(selector, &at.key("labelSelector"), errors);
                }
            }
            (None, None) => errors.required(at, "either name or signerName must be specified"),
        }
        require(source, &["path"], at, errors);
        let path = source.str("path").unwrap_or_default();
        paths::check_unreserved(path, &at.key("path"), errors);
        self.take(path, path, errors);
    }

    fn check_certificate(&mut self, source: &'s Map, at: &Path<'_>, errors: &mut FieldErrors) {
        let signer = source.str("signerName").unwrap_or_default();
        signer_name::check(signer, &at.key("signerName"), errors);
        check_user_annotations(source, &at.key("userAnnotations"), errors);
        let key_type = source.str("keyType").unwrap_or_default();
        if !KEY_TYPES.contains(&key_type) {
            errors.not_supported(&at.key("keyType"), key_type, &KEY_TYPES);
        }
        if let Some(seconds) = source.int("maxExpirationSeconds") {
            let most = if signer_name::is_kubernetes(signer) { MAX_KUBERNETES_SECONDS } else { MAX_SECONDS };
            let at = at.key("maxExpirationSeconds");
            if seconds < 3600 {
                errors.invalid(&at, seconds, "if provided, maxExpirationSeconds must be >= 3600");
            }
            if seconds > most {
                let detail = format!("if provided, maxExpirationSeconds must be <= {most}");
                errors.invalid(&at, seconds, detail);
            }
        }
        let mut has_path = false;
        for field in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
            let Some(path) = source.str(field).filter(|it| !it.is_empty()) else { continue };
            has_path = true;
            paths::check_unreserved(path, &at.key(field), errors);
            self.take(path, path, errors);
        }
        if !has_path {
            let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
            errors.required(at, detail);
        }
    }
}

/// Errors about the path of a token are reported at the volume, not at the token.
fn check_token(token: &Map, rules: &PodRules, at: (&Path<'_>, &Path<'_>), errors: &mut FieldErrors) {
    let (at, volume_at) = at;
    let seconds = token.int("expirationSeconds").unwrap_or_default();
    let seconds_at = at.key("expirationSeconds");
    if seconds < 10 * 60 {
        errors.invalid(&seconds_at, seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        errors.invalid(&seconds_at, seconds, "may not specify a duration larger than 2^32 seconds");
    }
    match token.str("path").unwrap_or_default() {
        "" => errors.required(&volume_at.key("path"), ""),
        path if !rules.any_token_path => paths::check_unreserved(path, &volume_at.key("path"), errors),
        _ => {}
    }
}

/// A bundle of a signer has the signer in its name: `example.com:signer:name`.
///
/// Upstream: pkg/apis/core/validation/names.go, ValidateClusterTrustBundleName (v1.36.4).
fn check_bundle_name(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.is_empty() {
        errors.required(at, "must be a valid object name");
    }
    let own = name.rsplit_once(':').map_or(name, |(_, own)| own);
    for problem in name_rules::dns1123_subdomain(own) {
        errors.invalid(at, name, format!("not a valid clustertrustbundlename: {problem}"));
    }
}

/// Upstream: pkg/apis/core/validation/validation.go, ValidateUserAnnotations (v1.36.4).
fn check_user_annotations(source: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(map) = source.map("userAnnotations") else { return };
    for (key, _) in map.iter() {
        let key = key.to_lowercase();
        let problems = name_rules::qualified_name(&key);
        if key.is_empty() {
            errors.required(at, "");
        } else if problems.is_empty() && !key.contains('/') {
            errors.invalid(at, key.as_str(), "must be a domain-prefixed key (such as \"acme.io/foo\")");
        } else {
            errors.invalid_each(at, &key, problems);
        }
    }
    annotations::check_size(annotations::Annotations::OfTemplate(Some(map)), at, errors);
}

/// A trust bundle source as upstream shows it.
fn shown(source: &Map) -> String {
    let value = |field| source.get(field).unwrap_or(&Value::Null).shown();
    format!(
        "{{\"Name\":{},\"SignerName\":{},\"LabelSelector\":{},\"Optional\":{},\"Path\":{}}}",
        value("name"),
        value("signerName"),
        value("labelSelector"),
        value("optional"),
        source.str("path").unwrap_or_default().shown(),
    )
}
