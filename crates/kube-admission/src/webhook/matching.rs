//! Matching: which webhooks are called for a request, and in which version they get the object.

use keelson_object::Object;
use keelson_object::meta::StringMap;
use keelson_object::selector::label::Selector;
use keelson_registry::admission::Request;
use keelson_registry::{Resource, Result, Scope, Version};

use super::hook::{Hook, Rule};

/// How a webhook is called: with the resource of the request, or with an equivalent one.
#[derive(Clone, Copy)]
pub(crate) struct Invocation<'r> {
    /// The resource in which it gets the objects.
    pub(crate) resource: &'r Resource,
    /// The version of that resource.
    pub(crate) version: &'r Version,
}

/// Kinds that webhooks are not called for: a webhook could prevent its own removal.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules/rules.go (v1.36.4).
pub(crate) fn is_exempt(request: &Request<'_>) -> bool {
    const EXEMPT: [&str; 6] = [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ];
    request.resource.group == "admissionregistration.k8s.io"
        && EXEMPT.contains(&request.resource.kind.as_str())
}

/// Whether and how a webhook is called.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/generic/webhook.go, ShouldCallHook (v1.36.4).
pub(crate) fn invocation<'r>(
    hook: &Hook,
    request: &'r Request<'_>,
    object: Option<&Object>,
) -> Result<Option<Invocation<'r>>> {
    let wants = |selector: &Selector, labels: &StringMap| selector.matches(|key| labels.get(key));
    let is_selected = |it: Option<&Object>| it.is_some_and(|it| wants(&hook.objects, &it.meta.labels));
    if !hook.objects.is_everything() && !is_selected(object) && !is_selected(request.old) {
        return Ok(None);
    }
    let Some(wanted) = wanted(hook, request) else { return Ok(None) };
    if hook.namespaces.is_everything() || request.namespace().is_empty() {
        return Ok(Some(wanted));
    }
    let own = object.filter(|_| request.is_object_of("", "namespaces") && request.is_write());
    let is_wanted = match own {
        Some(object) => wants(&hook.namespaces, &object.meta.labels),
        None => {
            let namespaces = request.context.reach("", "namespaces")?;
            let snapshot = namespaces.cache()?.snapshot();
            let name = request.namespace();
            let found = snapshot.get("", name).ok_or_else(|| namespaces.not_found(name))?;
            wants(&hook.namespaces, &found.index().labels)
        }
    };
    Ok(is_wanted.then_some(wanted))
}

/// The resource of the request if a rule names it, or the first equivalent that a rule names: another
/// version, or another resource that shows the same objects.
fn wanted<'r>(hook: &Hook, request: &'r Request<'_>) -> Option<Invocation<'r>> {
    let (resource, asked) = (request.resource, request.context.api_version.as_str());
    let own = resource.served_versions().find(|it| it.api_version == asked)?;
    let own = Invocation { resource, version: own };
    if hook.rules.iter().any(|rule| rule.matches(request, own)) {
        return Some(own);
    }
    if !hook.equivalent {
        return None;
    }
    let kin = request.context.catalog.as_ref().map_or(&[][..], |catalog| catalog.kin(resource));
    let others = || {
        let resources = kin.iter().map(|live| &live.resource).chain(kin.is_empty().then_some(resource));
        let versions = resources.flat_map(|resource| {
            resource.served_versions().map(move |version| Invocation { resource, version })
        });
        versions.filter(|it| it.version.api_version != asked)
    };
    hook.rules.iter().find_map(|rule| others().find(|it| rule.matches(request, *it)))
}

impl Rule {
    fn matches(&self, request: &Request<'_>, as_what: Invocation<'_>) -> bool {
        let Invocation { resource, version } = as_what;
        let has = |list: &[String], wanted: &str| list.iter().any(|it| it == "*" || it == wanted);
        let is_cluster = resource.scope == Scope::Cluster;
        let in_scope = match self.scope.as_str() {
            "Namespaced" => !is_cluster,
            "Cluster" => is_cluster,
            _ => true,
        };
        in_scope
            && has(&self.operations, request.operation.as_str())
            && has(&self.groups, &resource.group)
            && has(&self.versions, &version.name)
            && self.resources.iter().any(|it| covers(it, &resource.plural, request.subresource))
    }
}

/// Whether `pods/*` and similar patterns match a resource and its subresource.
fn covers(pattern: &str, resource: &str, subresource: &str) -> bool {
    let (of, part) = pattern.split_once('/').unwrap_or((pattern, ""));
    (of == "*" || of == resource) && (part == "*" || part == subresource)
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn patterns_mean_resources_and_their_parts() {
        for (pattern, asked, expected) in [
            ("pods", ("pods", ""), true),
            ("pods", ("pods", "status"), false),
            ("pods/status", ("pods", "status"), true),
            ("pods/*", ("pods", ""), true),
            ("pods/*", ("pods", "exec"), true),
            ("*", ("nodes", ""), true),
            ("*", ("nodes", "status"), false),
            ("*/status", ("nodes", "status"), true),
            ("*/*", ("nodes", "proxy"), true),
        ] {
            assert_eq!(covers(pattern, asked.0, asked.1), expected, "{pattern} {asked:?}");
        }
    }
}
