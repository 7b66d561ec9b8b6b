//! Messages of 403 Forbidden responses.

use keelson_object::scalar::quote;

use crate::{Attributes, Target};

/// The whole message of the 403 answer, for instance
/// `pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"`.
///
/// `reason` is the reason of the decision; it may be empty.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go, ForbiddenStatusError (v1.36.4).
#[must_use]
pub fn deny_message(attributes: &Attributes<'_>, reason: &str) -> String {
    let why = deny_reason(attributes, reason);
    match attributes.target {
        Target::Path => format!("forbidden: {why}"),
        Target::Resource { resource: "", api_group: "", .. } => format!("forbidden: {why}"),
        Target::Resource { api_group, resource, name, .. } => {
            let resource = match api_group {
                "" => resource.to_owned(),
                group => format!("{resource}.{group}"),
            };
            match name {
                "" => format!("{resource} is forbidden: {why}"),
                name => format!("{resource} {} is forbidden: {why}", quote(name)),
            }
        }
    }
}

/// The message without its first words: it begins with the user and the denied action.
#[must_use]
pub fn deny_reason(attributes: &Attributes<'_>, reason: &str) -> String {
    let message = harmless(&sentence(attributes));
    match reason {
        "" => message,
        reason => format!("{message}: {reason}"),
    }
}

fn sentence(attributes: &Attributes<'_>) -> String {
    let user = quote(attributes.user.name);
    let verb = attributes.verb;
    let Target::Resource { namespace, api_group, resource, subresource, .. } = attributes.target else {
        return format!("User {user} cannot {verb} path {}", quote(attributes.path));
    };
    let resource = match subresource {
        "" => quote(resource),
        subresource => quote(&format!("{resource}/{subresource}")),
    };
    let scope = match namespace {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {}", quote(namespace)),
    };
    format!("User {user} cannot {verb} resource {resource} in API group {} {scope}", quote(api_group))
}

/// A browser must not take the message for HTML.
fn harmless(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::deny_message;
    use crate::{Attributes, Selectors, Subject, Target};

    /// `what` is `group/resource/subresource/namespace/name`, or a path that begins with a slash.
    #[track_caller]
    fn check(user: &str, verb: &str, what: &str, reason: &str, expected: &str) {
        let parts: Vec<&str> = what.split('/').collect();
        let target = match parts[..] {
            [api_group, resource, subresource, namespace, name] => {
                Target::Resource { namespace, api_group, api_version: "v1", resource, subresource, name }
            }
            _ => Target::Path,
        };
        let user = Subject { name: user, uid: "", groups: &[], extra: &BTreeMap::new() };
        let attributes = Attributes { user, verb, target, path: what, selectors: Selectors::default() };
        assert_eq!(deny_message(&attributes, reason), expected);
    }

    #[test]
    fn resources_are_named_with_group_and_scope() {
        check(
            "x",
            "list",
            "/pods//default/",
            "",
            r#"pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default""#,
        );
        check(
            "x",
            "get",
            "apps/deployments/status/ns/web",
            "",
            r#"deployments.apps "web" is forbidden: User "x" cannot get resource "deployments/status" in API group "apps" in the namespace "ns""#,
        );
        check(
            "system:anonymous",
            "watch",
            "/nodes///",
            "no rule",
            r#"nodes is forbidden: User "system:anonymous" cannot watch resource "nodes" in API group "" at the cluster scope: no rule"#,
        );
    }

    #[test]
    fn paths_are_named_as_they_are() {
        check("x", "get", "/metrics", "", r#"forbidden: User "x" cannot get path "/metrics""#);
    }

    #[test]
    fn the_message_is_no_html() {
        check("<b>&", "get", "/a", "", r#"forbidden: User "&lt;b&gt;&amp;" cannot get path "/a""#);
    }
}
