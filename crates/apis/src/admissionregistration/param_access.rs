//! Parameters of admission policies: the author of a policy or a binding needs permission to read what it refers to,
//! because the policy shows it to others.
//!
//! A policy names a kind (`paramKind`): its author needs `get` on all objects of it. A binding names objects
//! (`paramRef`): its author needs `get` on the one it names, or `list` where it has a selector. For a kind
//! that is not served, the permission is checked for all resources of that version.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_authn::User;
use keelson_authz::Target;
use keelson_object::{ApiVersion, FieldErrors, GroupKind, Map, Object, Path};
use keelson_registry::options::Part;
use keelson_registry::{Context, Error, Guard, Live, Result, Write};

use super::matching::ReservedNames;

const GROUP: &str = "admissionregistration.k8s.io";

/// The guard of policies and their bindings.
pub(super) struct ParamAccess {
    pub(super) kind: GroupKind,
    pub(super) refers: Refers,
    /// The names that are reserved for configurations in files.
    pub(super) names: Option<ReservedNames>,
}

/// How an object refers to parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refers {
    /// A policy, to a kind.
    Policy,
    /// A binding to one of these policies, to objects.
    Binding(Policies),
}

/// The policies that a binding may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policies {
    Mutating,
    Validating,
}

impl Guard for ParamAccess {
    fn check<'g>(&'g self, write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        match &self.names {
            Some(names) => names.check(write),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    /// Upstream: pkg/registry/admissionregistration/*/strategy.go, Validate and ValidateUpdate, and authz.go (v1.36.4).
    fn confirm<'g>(&'g self, write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        async move {
            let is_status = write.part == Part::Status && write.old.is_some();
            if is_status || write.context.user.is_in_group(User::SYSTEM_PRIVILEGED_GROUP) {
                return Ok(());
            }
            let (field, told) = match self.refers {
                Refers::Policy => ("spec.paramKind", check_policy(write).await),
                Refers::Binding(policies) => ("spec.paramRef", check_binding(write, policies).await?),
            };
            let Some(why) = told else { return Ok(()) };
            let mut errors = FieldErrors::default();
            errors.forbidden(&Path::root(field), why);
            Err(Error::Invalid { kind: self.kind.clone(), name: write.object.meta.name.to_string(), errors })
        }
        .boxed()
    }
}

/// Why the author of a policy may not name its kind of parameters.
async fn check_policy(write: &Write<'_>) -> Option<String> {
    let named = param_kind(write.object)?;
    if write.old.and_then(param_kind) == Some(named) {
        return None;
    }
    let place = Params::of(write.context, Some(named));
    let verdict = write.context.authorize("get", place.target("*", "*")).await;
    if let Some(error) = verdict.error {
        return Some(error.to_string());
    }
    let (user, text) = (shown(&write.context.user), |key| named.str(key).unwrap_or_default());
    (!verdict.decision.is_allowed()).then(|| {
        format!(
            "user {user} must have \"get\" permission on all objects of the referenced paramKind (kind={}, \
             apiVersion={})",
            text("kind"),
            text("apiVersion")
        )
    })
}

/// Why the author of a binding may not name its parameters. It is checked at every change, as upstream does.
async fn check_binding(write: &Write<'_>, policies: Policies) -> Result<Option<String>> {
    let spec = write.object.fields.map("spec");
    let Some(named) = spec.and_then(|it| it.map("paramRef")) else { return Ok(None) };
    let policy_name = spec.and_then(|it| it.str("policyName")).unwrap_or_default();
    let policy = policy(write.context, policies, policy_name).await?;
    let kind = policy.as_ref().and_then(param_kind);
    let place = Params::of(write.context, kind);
    let text = |key| named.str(key).unwrap_or_default();
    let verb = if text("name").is_empty() { "list" } else { "get" };
    let verdict = write.context.authorize(verb, place.target(text("namespace"), text("name"))).await;
    if let Some(error) = verdict.error {
        return Ok(Some(match policies {
            Policies::Mutating => error.to_string(),
            Policies::Validating => format!("failed to authorize request: {error}"),
        }));
    }
    if verdict.decision.is_allowed() {
        return Ok(None);
    }
    let user = shown(&write.context.user);
    let unknown = match (&policy, kind) {
        (None, _) => Some(format!("get policy {policy_name}")),
        (Some(_), Some(kind)) => place.problem(kind),
        (Some(_), None) => None,
    };
    Ok(Some(match (unknown, policies) {
        (Some(unknown), _) => format!(
            "unable to {unknown} to determine minimum required permissions and user {user} does not have \"{verb}\" \
             permission for all groups, versions and resources"
        ),
        (None, Policies::Validating) => {
            format!("user {user} does not have \"{verb}\" permission on the object referenced by paramRef")
        }
        // Upstream confuses user and verb here.
        (None, Policies::Mutating) => {
            format!("user {verb} does not have \"{user}\" permission on the object referenced by paramRef")
        }
    }))
}

async fn policy(context: &Context, policies: Policies, name: &str) -> Result<Option<Object>> {
    let plural = match policies {
        Policies::Mutating => "mutatingadmissionpolicies",
        Policies::Validating => "validatingadmissionpolicies",
    };
    let live = context.reach(GROUP, plural)?;
    live.cache()?.fresh().await?.get("", name).map(|it| live.thaw(it)).transpose()
}

fn param_kind(policy: &Object) -> Option<&Map> {
    policy.fields.map("spec").and_then(|it| it.map("paramKind"))
}

/// The resource of the parameters, where it is known.
struct Params {
    version: Option<ApiVersion>,
    live: Option<Arc<Live>>,
}

impl Params {
    fn of(context: &Context, kind: Option<&Map>) -> Params {
        let text = |key| kind.and_then(|it| it.str(key)).unwrap_or_default();
        let version = kind.and_then(|_| ApiVersion::parse(text("apiVersion")));
        let group = version.as_ref().and_then(|it| context.catalog.as_ref()?.group(&it.group));
        let is_served = |live: &Live| {
            version.as_ref().is_some_and(|it| live.resource.served_version(&it.version).is_some())
        };
        let is_meant = |it: &&Arc<Live>| it.resource.kind == text("kind") && is_served(it);
        let live = group.and_then(|it| it.resources.iter().find(is_meant)).cloned();
        Params { version, live }
    }

    /// The target of the permission check: parts that are unknown match everything.
    fn target<'t>(&'t self, namespace: &'t str, name: &'t str) -> Target<'t> {
        let version = self.version.as_ref();
        Target::Resource {
            namespace,
            api_group: version.map_or("*", |it| it.group.as_str()),
            api_version: version.map_or("*", |it| it.version.as_str()),
            resource: self.live.as_ref().map_or("*", |it| it.resource.plural.as_str()),
            subresource: "",
            name,
        }
    }

    /// Why the resource of the kind could not be determined.
    fn problem(&self, kind: &Map) -> Option<String> {
        let text = |key| kind.str(key).unwrap_or_default();
        let shown = || format!("paramKind &{{{} {}}}", text("apiVersion"), text("kind"));
        match (&self.version, &self.live) {
            (None, _) => Some(format!("parse {}", shown())),
            (Some(_), None) => Some(format!("resolve {}", shown())),
            (Some(_), Some(_)) => None,
        }
    }
}

/// A user as Go prints one: `&{jane 77 [dev] map[a:[1]]}`.
fn shown(user: &User) -> String {
    let extra: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{key}:[{}]", values.join(" "))).collect();
    format!("&{{{} {} [{}] map[{}]}}", user.name, user.uid, user.groups.join(" "), extra.join(" "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use keelson_authn::User;
    use keelson_authz::{Attributes, Authorizer, Decision, Target, Verdict};
    use keelson_object::{GroupKind, Object};
    use keelson_registry::options::Part;
    use keelson_registry::{Catalog, Error, Guard as _, Write};

    use super::{ParamAccess, Policies, Refers, shown};
    use crate::admissionregistration::policy::Policy;
    use crate::admissionregistration::policy_binding::PolicyBinding;
    use crate::shared::testing::{context, decoded, ground};

    /// Allows one thing: `get /v1 configmaps in:default name:x`.
    struct Only(&'static str);

    impl Authorizer for Only {
        fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
            let Target::Resource { namespace, api_group, api_version, resource, name, .. } =
                attributes.target
            else {
                panic!("{attributes:?}")
            };
            let asked = format!(
                "{} {api_group}/{api_version} {resource} in:{namespace} name:{name}",
                attributes.verb
            );
            let reason = "".into();
            let is_allowed = asked == self.0;
            let decision =
                if is_allowed { Decision::Allow { reason } } else { Decision::NoOpinion { reason } };
            std::future::ready(Verdict { decision, error: None }).boxed()
        }
    }

    async fn catalog() -> Catalog {
        let settings = crate::Settings::default();
        let groups = vec![crate::core::group(&settings), crate::admissionregistration::group(&settings)];
        keelson_registry::catalog::load(groups, &ground()).await.expect("an empty store loads")
    }

    async fn told(refers: Refers, may: &'static str, object: &Object, old: Option<&Object>) -> String {
        let mut context = context();
        context.user = User::new("jane", &["dev"]).into();
        context.catalog = Some(Arc::new(catalog().await));
        context.authorizer = Some(Arc::new(Only(may)));
        let guard =
            ParamAccess { kind: GroupKind { group: "g".into(), kind: "K".into() }, refers, names: None };
        let (context, namespace, name) = (&context, "", "a");
        let write = Write { context, namespace, name, part: Part::Main, object, old };
        match guard.confirm(&write).await {
            Ok(()) => String::new(),
            Err(Error::Invalid { errors, .. }) => errors.iter().map(ToString::to_string).collect(),
            Err(error) => panic!("{error}"),
        }
    }

    fn policy(kind: &str) -> Object {
        let text = format!(
            r#"{{"metadata": {{"name": "a"}}, "spec": {{"paramKind": {{"apiVersion": "v1", "kind": "{kind}"}}}}}}"#
        );
        decoded(&Policy::Validating, "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy", &text)
    }

    #[tokio::test]
    async fn the_author_of_a_policy_may_read_all_objects_of_its_param_kind() {
        let all = "get /v1 configmaps in:* name:*";
        assert_eq!(told(Refers::Policy, all, &policy("ConfigMap"), None).await, "");
        // The kind is not served: it could be any resource.
        assert_eq!(told(Refers::Policy, "get /v1 * in:* name:*", &policy("Nope"), None).await, "");
        let refusal = "spec.paramKind: Forbidden: user &{jane  [dev] map[]} must have \"get\" permission on all \
                       objects of the referenced paramKind (kind=Secret, apiVersion=v1)";
        assert_eq!(told(Refers::Policy, all, &policy("Secret"), None).await, refusal);
        let old = policy("ConfigMap");
        assert_eq!(told(Refers::Policy, all, &policy("Secret"), Some(&old)).await, refusal);
        // The kind that it named before is not checked again.
        let old = policy("Secret");
        assert_eq!(told(Refers::Policy, all, &policy("Secret"), Some(&old)).await, "");
    }

    #[tokio::test]
    async fn the_author_of_a_binding_may_read_its_parameters() {
        let binding = |param: &str| {
            let text = format!(
                r#"{{"metadata": {{"name": "a"}}, "spec": {{"policyName": "p", "paramRef": {{{param}}}}}}}"#
            );
            let kind = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding";
            decoded(&PolicyBinding::Validating, kind, &text)
        };
        let refers = Refers::Binding(Policies::Validating);
        let named = binding(r#""name": "x", "namespace": "default""#);
        // The policy does not exist, so it could be about any resource.
        assert_eq!(told(refers, "get */* * in:default name:x", &named, None).await, "");
        assert_eq!(told(refers, "list */* * in: name:", &binding(r#""selector": {}"#), None).await, "");
        let refusal = "spec.paramRef: Forbidden: unable to get policy p to determine minimum required permissions and \
                       user &{jane  [dev] map[]} does not have \"get\" permission for all groups, versions and resources";
        assert_eq!(told(refers, "", &named, None).await, refusal);
        assert_eq!(told(refers, "", &named, Some(&named)).await, refusal);
    }

    #[test]
    fn users_are_shown_as_upstream_shows_them() {
        let mut user = User::new("jane", &["dev", "ops"]);
        user.uid = "77".to_owned();
        user.extra.insert("b".to_owned(), vec!["1".to_owned(), "2".to_owned()]);
        user.extra.insert("a".to_owned(), vec!["1".to_owned()]);
        assert_eq!(shown(&user), "&{jane 77 [dev ops] map[a:[1] b:[1 2]]}");
    }
}
