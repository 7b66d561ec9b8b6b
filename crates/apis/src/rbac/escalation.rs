//! Escalation check: users can grant only permissions that they have, unless they have `escalate` or `bind`.
//!
//! Writing a role requires all of its rules, or the verb `escalate`; writing a binding requires all rules of
//! its role, or the verb `bind`. The members of `system:masters` may do everything.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_authz::Target;
use keelson_authz::rbac::{Grants, Rbac, RoleProblem, Rule, Tables, refusal, uncovered};
use keelson_object::{GroupResource, Map, Object, SmolStr};
use keelson_registry::{Context, Error, Guard, Result, Write};
use keelson_stdx::offload::Breaks;

use super::GROUP;

/// The guard of roles and bindings.
pub(super) struct Escalation {
    pub(super) rbac: Arc<Rbac>,
    pub(super) gift: Gift,
}

/// How permissions are granted, with the resource of the object.
#[derive(Clone, Copy)]
pub(super) enum Gift {
    /// By a role with these rules.
    Rules(&'static str),
    /// By a binding to a role.
    Binding(&'static str),
}

impl Guard for Escalation {
    fn check<'g>(&'g self, write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        async move {
            if write.context.user.is_in_group("system:masters") {
                return Ok(());
            }
            match self.gift {
                Gift::Rules(plural) => self.check_role(write, plural).await,
                Gift::Binding(plural) => self.check_binding(write, plural).await,
            }
        }
        .boxed()
    }
}

impl Escalation {
    /// Upstream: pkg/registry/rbac/{role,clusterrole}/policybased/storage.go, Create, Update (v1.36.4).
    async fn check_role(&self, write: &Write<'_>, plural: &'static str) -> Result<()> {
        let (context, object) = (write.context, write.object);
        let target = resource(write.namespace, plural, write.name);
        if context.authorize("escalate", target).await.decision.is_allowed() || only_lets_go(write) {
            return Ok(());
        }
        let rules: Vec<Rule> = object.fields.maps("rules").map(Rule::of).collect();
        self.confirm(context, (plural, write.namespace), &rules)
            .await?
            .map_or(Ok(()), |reason| Err(forbidden(plural, object, reason)))?;
        if is_aggregated(object) || write.old.is_some_and(is_aggregated) {
            let reason = "must have cluster-admin privileges to use the aggregationRule".to_owned();
            let refused = self.confirm(context, (plural, write.namespace), &full_authority()).await?;
            return refused.map_or(Ok(()), |_| Err(forbidden(plural, object, reason)));
        }
        Ok(())
    }

    /// Upstream: pkg/registry/rbac/{rolebinding,clusterrolebinding}/policybased/storage.go, Create, Update (v1.36.4).
    async fn check_binding(&self, write: &Write<'_>, plural: &'static str) -> Result<()> {
        let (context, object) = (write.context, write.object);
        if only_lets_go(write) {
            return Ok(());
        }
        let empty = Map::new();
        let role = object.fields.map("roleRef").unwrap_or(&empty);
        let field = |name| role.str(name).unwrap_or_default();
        let (home, roles) = match field("kind") {
            "ClusterRole" => ("", "clusterroles"),
            "Role" => (write.namespace, "roles"),
            kind => return Err(Error::Unclassified(RoleProblem::NotARole(kind.into()).to_string())),
        };
        let target = Target::Resource {
            namespace: write.namespace,
            api_group: field("apiGroup"),
            api_version: "*",
            resource: roles,
            subresource: "",
            name: field("name"),
        };
        if context.authorize("bind", target).await.decision.is_allowed() {
            return Ok(());
        }
        let Some(role) = stored(context, roles, home, field("name")).await? else {
            // Upstream's store names the written resource, whatever is missing.
            let (resource, name) = (GroupResource::new(GROUP, plural), field("name").to_owned());
            return Err(Error::NotFound { resource, name });
        };
        let rules: Vec<Rule> = role.fields.maps("rules").map(Rule::of).collect();
        let refused = self.confirm(context, (plural, write.namespace), &rules).await?;
        refused.map_or(Ok(()), |reason| Err(forbidden(plural, object, reason)))
    }

    /// Why the user may not grant `rules`; `None` if they may.
    ///
    /// The index may be a moment behind and deny what is allowed by now: then the objects themselves are
    /// read.
    async fn confirm(
        &self,
        context: &Context,
        (plural, namespace): (&str, &str),
        rules: &[Rule],
    ) -> Result<Option<String>> {
        let user = context.subject();
        if uncovered(&self.rbac.grants(&user, namespace).rules, rules).is_empty() {
            return Ok(None);
        }
        let grants = current_grants(context, namespace).await?;
        let missing = uncovered(&grants.rules, rules);
        if missing.is_empty() {
            return Ok(None);
        }
        let problems: Vec<String> = grants.problems.iter().map(|it| it.while_writing(plural)).collect();
        Ok(Some(refusal(&user, missing, &problems)))
    }
}

/// The rules of the user, from the current objects.
async fn current_grants(context: &Context, namespace: &str) -> Result<Grants> {
    let mut tables = Tables::default();
    let mut breaks = Breaks::default();
    let bindings = context.reach(GROUP, "clusterrolebindings")?;
    for (_, frozen) in bindings.cache()?.fresh().await?.iter() {
        breaks.count(frozen.json().len()).await;
        tables.put_binding(&bindings.thaw(frozen)?);
    }
    if !namespace.is_empty() {
        let bindings = context.reach(GROUP, "rolebindings")?;
        for (_, frozen) in bindings.cache()?.fresh().await?.namespace(namespace) {
            breaks.count(frozen.json().len()).await;
            tables.put_binding(&bindings.thaw(frozen)?);
        }
    }
    // Without roles in the tables, every bound role of the user is a problem: only these are read.
    for problem in tables.grants(&context.subject(), namespace).problems {
        let (plural, home, name) = match &problem {
            RoleProblem::NoRole(name) => ("roles", namespace, name),
            RoleProblem::NoClusterRole(name) => ("clusterroles", "", name),
            RoleProblem::NotARole(_) => continue,
        };
        if let Some(role) = stored(context, plural, home, name).await? {
            tables.put_role(&role);
        }
    }
    Ok(tables.grants(&context.subject(), namespace))
}

async fn stored(context: &Context, plural: &str, namespace: &str, name: &str) -> Result<Option<Object>> {
    let live = context.reach(GROUP, plural)?;
    let snapshot = live.cache()?.fresh().await?;
    snapshot.get(namespace, name).map(|frozen| live.thaw(frozen)).transpose()
}

fn resource<'t>(namespace: &'t str, resource: &'t str, name: &'t str) -> Target<'t> {
    Target::Resource { namespace, api_group: GROUP, api_version: "*", resource, subresource: "", name }
}

fn forbidden(plural: &'static str, object: &Object, reason: String) -> Error {
    Error::Forbidden {
        resource: GroupResource::new(GROUP, plural),
        name: object.meta.name.to_string(),
        reason,
    }
}

fn is_aggregated(role: &Object) -> bool {
    role.fields.map("aggregationRule").is_some_and(|it| !it.list("clusterRoleSelectors").is_empty())
}

fn full_authority() -> [Rule; 2] {
    let all = || vec![SmolStr::new_static("*")];
    let resources = Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() };
    [resources, Rule { verbs: all(), paths: all(), ..Rule::default() }]
}

/// Whether only owner references and finalizers change.
///
/// Upstream: pkg/registry/rbac/helpers.go, IsOnlyMutatingGCFields (v1.36.4).
fn only_lets_go(write: &Write<'_>) -> bool {
    let Some(old) = write.old else { return false };
    let (new, was) = (&write.object.meta, &old.meta);
    let mut meta = new.clone();
    meta.owner_references.clone_from(&was.owner_references);
    meta.finalizers.clone_from(&was.finalizers);
    meta.managed_fields.clone_from(&was.managed_fields);
    meta == *was && write.object.fields == old.fields
}
