//! What everybody may read, until roles are served: health, version, and discovery for authenticated users.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Attributes, Authorizer, Decision, Target, Verdict};

/// Grants what the default roles `system:public-info-viewer` and `system:discovery` grant, and has no opinion about
/// anything else.
///
/// Upstream: plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go, ClusterRoles (v1.36.4).
pub struct PublicPaths;

const PUBLIC: &[&str] = &["/livez", "/readyz", "/healthz", "/version", "/version/"];
/// With `/*` at the end: the path itself is listed too.
const DISCOVERY: &[&str] = &["/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*"];

impl Authorizer for PublicPaths {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        std::future::ready(decide(attributes).into()).boxed()
    }
}

fn decide(attributes: &Attributes<'_>) -> Decision {
    if attributes.target != Target::Path || attributes.verb != "get" {
        return Decision::NO_OPINION;
    }
    let user = &attributes.user;
    let is_authenticated = user.is_in_group("system:authenticated");
    let is_known = is_authenticated || user.is_in_group("system:unauthenticated");
    if is_known && covers(PUBLIC, attributes.path) {
        return allow("system:public-info-viewer");
    }
    if is_authenticated && covers(DISCOVERY, attributes.path) {
        return allow("system:discovery");
    }
    Decision::NO_OPINION
}

fn allow(role: &str) -> Decision {
    Decision::Allow { reason: format!("granted by the built-in rule {role}").into() }
}

fn covers(patterns: &[&str], path: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == *pattern,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::decide;
    use crate::{Attributes, Selectors, Subject, Target};

    const NOBODY: &str = "system:unauthenticated";
    const SOMEBODY: &str = "system:authenticated";

    #[track_caller]
    fn check(group: &str, request: &str, expected: bool) {
        let (verb, path) = request.split_once(' ').expect("verb path");
        let user = Subject { name: "x", uid: "", groups: &[group.to_owned()], extra: &BTreeMap::new() };
        let decision =
            decide(&Attributes { user, verb, target: Target::Path, path, selectors: Selectors::default() });
        assert_eq!(decision.is_allowed(), expected, "{group} {request}: {decision:?}");
    }

    #[test]
    fn health_and_version_are_for_everybody() {
        for path in ["/healthz", "/livez", "/readyz", "/version", "/version/"] {
            check(NOBODY, &format!("get {path}"), true);
            check(SOMEBODY, &format!("get {path}"), true);
            check("other", &format!("get {path}"), false);
            check(NOBODY, &format!("post {path}"), false);
        }
    }

    #[test]
    fn single_checks_and_metrics_are_not() {
        for path in ["/healthz/ping", "/livez/", "/metrics", "/", "/logs", "/apiserver"] {
            check(NOBODY, &format!("get {path}"), false);
            check(SOMEBODY, &format!("get {path}"), false);
        }
    }

    #[test]
    fn discovery_is_for_authenticated_users() {
        for path in ["/api", "/api/v1", "/apis", "/apis/", "/apis/apps/v1", "/openapi/v3", "/openapi"] {
            check(SOMEBODY, &format!("get {path}"), true);
            check(NOBODY, &format!("get {path}"), false);
            check(SOMEBODY, &format!("delete {path}"), false);
        }
    }

    #[test]
    fn resources_are_nobodys() {
        let target = Target::Resource {
            namespace: "",
            api_group: "",
            api_version: "v1",
            resource: "pods",
            subresource: "",
            name: "",
        };
        let groups = [SOMEBODY.to_owned()];
        let user = Subject { name: "x", uid: "", groups: &groups, extra: &BTreeMap::new() };
        let attributes =
            Attributes { user, verb: "get", target, path: "/api/v1/pods", selectors: Selectors::default() };
        assert!(!decide(&attributes).is_allowed());
    }
}
