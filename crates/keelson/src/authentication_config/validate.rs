//! Validation of an AuthenticationConfiguration.
//!
//! Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation.go (v1.36.4).

use keelson_apis::text_rules::url;
use keelson_authn::CaBundle;
use keelson_authn::oidc::{
    ClaimMappings, ClaimValidationRule, ExtraMapping, IssuerSettings, JwtSettings, PrefixedClaimOrExpression,
    UserValidationRule,
};
use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Path, domain_path};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

use super::AuthenticationConfiguration;

const MAX_ISSUERS: usize = 64;

/// The error for every CEL expression; see docs/parity.md.
const NO_CEL: &str = "CEL expressions are not supported yet: use claim instead";
const NO_CEL_AT_ALL: &str = "CEL expressions are not supported yet";

pub(super) fn configuration(it: &AuthenticationConfiguration, disallowed: &[String]) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let root = Path::root("jwt");
    if it.jwt.len() > MAX_ISSUERS {
        errors.too_many(&root, it.jwt.len(), MAX_ISSUERS);
        return errors;
    }
    let (mut issuers, mut discovery_urls) = (Vec::new(), Vec::new());
    for (position, jwt) in it.jwt.iter().enumerate() {
        let at = root.index(position);
        authenticator(jwt, &at, disallowed, &mut errors);
        let at = at.key("issuer");
        if issuers.contains(&&jwt.issuer.url) {
            errors.duplicate(&at.key("url"), jwt.issuer.url.as_str());
        }
        issuers.push(&jwt.issuer.url);
        if let Some(url) = &jwt.issuer.discovery_url {
            if discovery_urls.contains(&url) {
                errors.duplicate(&at.key("discoveryURL"), url.as_str());
            }
            discovery_urls.push(url);
        }
    }
    if let Some(anonymous) = it.anonymous.as_ref().filter(|it| !it.enabled && !it.paths.is_empty()) {
        let shown: Vec<String> =
            anonymous.paths.iter().map(|it| format!("{{\"Path\":{}}}", quote(it))).collect();
        errors.invalid_as(
            &Path::root("anonymous").key("conditions"),
            format!("[{}]", shown.join(",")),
            "enabled should be set to true when conditions are defined",
        );
    }
    errors
}

/// Upstream checks this only when it creates the authenticator, where it no longer knows the position of the
/// issuer.
pub(super) fn overlap(jwt: &JwtSettings, disallowed: &[String]) -> Option<String> {
    let mut errors = FieldErrors::default();
    overlapping(&jwt.issuer.url, disallowed, &Path::root("issuer").key("url"), &mut errors);
    (!errors.is_empty()).then(|| errors.aggregate())
}

fn overlapping(url: &str, disallowed: &[String], at: &Path<'_>, errors: &mut FieldErrors) {
    if disallowed.iter().any(|it| it == url) {
        let mut sorted = disallowed.to_vec();
        sorted.sort();
        let text = format!("URL must not overlap with disallowed issuers: [{}]", sorted.join(" "));
        errors.invalid(at, url, text);
    }
}

fn authenticator(jwt: &JwtSettings, at: &Path<'_>, disallowed: &[String], errors: &mut FieldErrors) {
    issuer(&jwt.issuer, &at.key("issuer"), disallowed, errors);
    claim_rules(&jwt.claim_validation_rules, &at.key("claimValidationRules"), errors);
    mappings(&jwt.claim_mappings, &at.key("claimMappings"), errors);
    user_rules(&jwt.user_validation_rules, &at.key("userValidationRules"), errors);
}

fn issuer(issuer: &IssuerSettings, at: &Path<'_>, disallowed: &[String], errors: &mut FieldErrors) {
    if issuer.url.is_empty() {
        errors.required(&at.key("url"), "");
    } else {
        overlapping(&issuer.url, disallowed, &at.key("url"), errors);
        check_url(&issuer.url, &at.key("url"), errors);
    }
    if let Some(url) = &issuer.discovery_url {
        let at = at.key("discoveryURL");
        let plain = |url: &str| url.trim_end_matches('/').to_owned();
        if !issuer.url.is_empty() && plain(&issuer.url) == plain(url) {
            errors.invalid(&at, url.as_str(), "discoveryURL must be different from URL");
        }
        check_url(url, &at, errors);
    }
    audiences(issuer, at, errors);
    let authority = &issuer.certificate_authority;
    if !authority.is_empty()
        && let Err(problem) = check_authority(authority)
    {
        errors.invalid(&at.key("certificateAuthority"), "<omitted>", problem);
    }
    egress(&issuer.egress_selector_type, &at.key("egressSelectorType"), errors);
}

fn check_url(text: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let url = match url::parse(text) {
        Ok(url) => url,
        Err(problem) => return errors.invalid(at, text, problem),
    };
    if url.scheme != "https" {
        errors.invalid(at, text, "URL scheme must be https");
    }
    if url.user.is_some() {
        errors.invalid(at, text, "URL must not contain a username or password");
    }
    if !url.query.is_empty() {
        errors.invalid(at, text, "URL must not contain a query");
    }
    if !url.fragment.is_empty() {
        errors.invalid(at, text, "URL must not contain a fragment");
    }
}

fn audiences(issuer: &IssuerSettings, at: &Path<'_>, errors: &mut FieldErrors) {
    let (list, policy) = (&issuer.audiences, issuer.audience_match_policy.as_str());
    let at_list = at.key("audiences");
    if list.is_empty() {
        let text = format!("at least one {at_list} is required");
        return errors.required(&at_list, text);
    }
    for (position, audience) in list.iter().enumerate() {
        if audience.is_empty() {
            errors.required(&at_list.index(position), "");
        }
        if list[..position].contains(audience) {
            errors.duplicate(&at_list.index(position), audience.as_str());
        }
    }
    let at_policy = at.key("audienceMatchPolicy");
    if list.len() > 1 && policy != "MatchAny" {
        errors.invalid(&at_policy, policy, "audienceMatchPolicy must be MatchAny for multiple audiences");
    }
    if list.len() == 1 && !matches!(policy, "" | "MatchAny") {
        errors.invalid(
            &at_policy,
            policy,
            "audienceMatchPolicy must be empty or MatchAny for single audience",
        );
    }
}

fn check_authority(pem: &str) -> Result<(), String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => match CaBundle::new(&certificates) {
            Ok(_) => Ok(()),
            Err(_) => Err("x509: malformed certificate".to_owned()),
        },
        _ => Err("data does not contain any valid RSA or ECDSA certificates".to_owned()),
    }
}

/// The egress selector of an issuer cannot be chosen here.
fn egress(kind: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    match kind {
        "" => {}
        "controlplane" | "cluster" => {
            let text = format!("oidc: egress lookup required with egress selector type {}", quote(kind));
            errors.invalid(at, kind, text);
        }
        _ => errors.invalid(at, kind, "egress selector must be either controlplane or cluster"),
    }
}

fn claim_rules(rules: &[ClaimValidationRule], at: &Path<'_>, errors: &mut FieldErrors) {
    let (mut claims, mut expressions): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (position, rule) in rules.iter().enumerate() {
        let at = at.index(position);
        let (claim, expression) = (rule.claim.as_str(), rule.expression.as_str());
        match (claim.is_empty(), expression.is_empty()) {
            (false, false) => errors.invalid(&at, claim, "claim and expression can't both be set"),
            (true, true) => errors.required(&at, "claim or expression is required"),
            (false, true) => {
                if !rule.message.is_empty() {
                    let text = "may not be specified when claim is set";
                    errors.invalid(&at.key("message"), rule.message.as_str(), text);
                }
                if claims.contains(&claim) {
                    errors.duplicate(&at.key("claim"), claim);
                }
                claims.push(claim);
            }
            (true, false) => {
                if !rule.required_value.is_empty() {
                    let text = "may not be specified when expression is set";
                    errors.invalid(&at.key("requiredValue"), rule.required_value.as_str(), text);
                }
                if expressions.contains(&expression) {
                    errors.duplicate(&at.key("expression"), expression);
                } else {
                    expressions.push(expression);
                    errors.invalid(&at.key("expression"), expression, NO_CEL);
                }
            }
        }
    }
}

fn mappings(mappings: &ClaimMappings, at: &Path<'_>, errors: &mut FieldErrors) {
    prefixed(&mappings.username, &at.key("username"), Needed::Yes, errors);
    prefixed(&mappings.groups, &at.key("groups"), Needed::No, errors);
    let uid = &mappings.uid;
    if !uid.claim.is_empty() && !uid.expression.is_empty() {
        errors.invalid(&at.key("uid"), "", "claim and expression can't both be set");
    } else if !uid.expression.is_empty() {
        errors.invalid(&at.key("uid").key("expression"), uid.expression.as_str(), NO_CEL);
    }
    let mut keys: Vec<&str> = Vec::new();
    for (position, mapping) in mappings.extra.iter().enumerate() {
        extra(mapping, &at.key("extra").index(position), &mut keys, errors);
    }
}

fn extra<'m>(mapping: &'m ExtraMapping, at: &Path<'_>, keys: &mut Vec<&'m str>, errors: &mut FieldErrors) {
    let key = mapping.key.as_str();
    domain_path::check(key, &at.key("key"), errors);
    if key != key.to_lowercase() {
        errors.invalid(&at.key("key"), key, "must be lowercase");
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_reserved = |name: &str| domain == name || domain.ends_with(&format!(".{name}"));
    if is_reserved("kubernetes.io") || is_reserved("k8s.io") {
        let text = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
        errors.invalid(&at.key("key"), key, text);
    }
    if keys.contains(&key) {
        return errors.duplicate(&at.key("key"), key);
    }
    keys.push(key);
    match mapping.value_expression.as_str() {
        "" => errors.required(&at.key("valueExpression"), ""),
        expression => errors.invalid(&at.key("valueExpression"), expression, NO_CEL_AT_ALL),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Needed {
    Yes,
    No,
}

fn prefixed(mapping: &PrefixedClaimOrExpression, at: &Path<'_>, needed: Needed, errors: &mut FieldErrors) {
    match (mapping.claim.is_empty(), mapping.expression.is_empty()) {
        (false, false) => errors.invalid(at, "", "claim and expression can't both be set"),
        (true, true) if needed == Needed::Yes => errors.required(at, "claim or expression is required"),
        (true, true) => {}
        (true, false) => {
            if let Some(prefix) = &mapping.prefix {
                let text = "may not be specified when expression is set";
                errors.invalid(&at.key("prefix"), prefix.as_str(), text);
            }
            errors.invalid(&at.key("expression"), mapping.expression.as_str(), NO_CEL);
        }
        (false, true) if mapping.prefix.is_none() => errors.required(
            &at.key("prefix"),
            "prefix is required when claim is set. It can be set to an empty string to disable prefixing",
        ),
        (false, true) => {}
    }
}

fn user_rules(rules: &[UserValidationRule], at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen: Vec<&str> = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        let at = at.index(position);
        let at = at.key("expression");
        match rule.expression.as_str() {
            "" => errors.required(&at, ""),
            expression if seen.contains(&expression) => errors.duplicate(&at, expression),
            expression => {
                seen.push(expression);
                errors.invalid(&at, expression, NO_CEL_AT_ALL);
            }
        }
    }
}
