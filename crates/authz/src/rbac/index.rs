//! Rbac: the current tables. Readers load them and never wait; writers wait for each other.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::{Follower, Frozen, Object};
use parking_lot::Mutex;

use super::tables::{Grants, RoleProblem, Tables};
use crate::{
    Attributes, Authorizer, Decision, PathRule, ResourceRule, RuleSet, Subject, Target, Verdict, aggregate,
};

/// The mode `RBAC`.
#[derive(Default)]
pub struct Rbac {
    now: ArcSwap<Tables>,
    writer: Mutex<()>,
}

impl Rbac {
    /// The current tables.
    #[must_use]
    pub fn tables(&self) -> Arc<Tables> {
        self.now.load_full()
    }

    /// The rules of a user in a namespace, or at the cluster scope if it is empty.
    #[must_use]
    pub fn grants(&self, user: &Subject<'_>, namespace: &str) -> Grants {
        self.now.load().grants(user, namespace)
    }

    /// Replaces the tables by an edited copy.
    pub fn change(&self, edit: impl FnOnce(&mut Tables)) {
        let _one = self.writer.lock();
        let mut tables = Tables::clone(&self.now.load());
        edit(&mut tables);
        self.now.store(Arc::new(tables));
    }

    /// Learns of the roles of namespaces.
    #[must_use]
    pub fn roles(self: &Arc<Rbac>) -> Arc<dyn Follower> {
        Arc::new(Part { rbac: self.clone(), clear: Tables::clear_roles, of: Kind::Roles })
    }

    /// Learns of cluster roles.
    #[must_use]
    pub fn cluster_roles(self: &Arc<Rbac>) -> Arc<dyn Follower> {
        Arc::new(Part { rbac: self.clone(), clear: Tables::clear_cluster_roles, of: Kind::Roles })
    }

    /// Learns of the bindings in namespaces.
    #[must_use]
    pub fn role_bindings(self: &Arc<Rbac>) -> Arc<dyn Follower> {
        Arc::new(Part { rbac: self.clone(), clear: Tables::clear_bindings, of: Kind::Bindings })
    }

    /// Follows ClusterRoleBindings.
    #[must_use]
    pub fn cluster_role_bindings(self: &Arc<Rbac>) -> Arc<dyn Follower> {
        Arc::new(Part { rbac: self.clone(), clear: Tables::clear_cluster_bindings, of: Kind::Bindings })
    }

    /// Upstream: plugin/pkg/auth/authorizer/rbac/rbac.go, Authorize (v1.36.4).
    fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        let namespace = match attributes.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path => "",
        };
        let mut problems: Vec<RoleProblem> = Vec::new();
        let tables = self.now.load();
        let found = tables.visit(&attributes.user, namespace, |binding, role| match role {
            Ok(role) if role.iter().any(|it| it.allows(attributes)) => ControlFlow::Break(binding.clone()),
            Ok(_) => ControlFlow::Continue(()),
            Err(problem) => {
                problems.push(problem);
                ControlFlow::Continue(())
            }
        });
        match found {
            ControlFlow::Break(binding) => {
                let reason = format!("RBAC: allowed by {}", binding.describe(&attributes.user));
                Decision::Allow { reason: Cow::Owned(reason) }
            }
            ControlFlow::Continue(()) => match aggregate(&texts(&problems)) {
                Some(problems) => Decision::NoOpinion { reason: Cow::Owned(format!("RBAC: {problems}")) },
                None => Decision::NO_OPINION,
            },
        }
    }
}

fn texts(problems: &[RoleProblem]) -> Vec<String> {
    problems.iter().map(ToString::to_string).collect()
}

impl Authorizer for Rbac {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        std::future::ready(self.decide(attributes).into()).boxed()
    }

    fn rules(&self, user: &Subject<'_>, namespace: &str) -> Option<RuleSet> {
        let grants = self.grants(user, namespace);
        let mut set = RuleSet { errors: texts(&grants.problems), ..RuleSet::default() };
        for rule in grants.rules {
            if !rule.resources.is_empty() {
                set.resources.push(ResourceRule {
                    verbs: rule.verbs.clone(),
                    api_groups: rule.api_groups,
                    resources: rule.resources,
                    resource_names: rule.resource_names,
                });
            }
            if !rule.paths.is_empty() {
                set.paths.push(PathRule { verbs: rule.verbs, paths: rule.paths });
            }
        }
        Some(set)
    }
}

/// One of the four kinds of objects that make up the tables.
struct Part {
    rbac: Arc<Rbac>,
    clear: fn(&mut Tables),
    of: Kind,
}

enum Kind {
    Roles,
    Bindings,
}

impl Part {
    fn put_into(&self, tables: &mut Tables, object: &Object) {
        match self.of {
            Kind::Roles => tables.put_role(object),
            Kind::Bindings => tables.put_binding(object),
        }
    }
}

impl Follower for Part {
    fn reset(&self, objects: Vec<Object>) {
        self.rbac.change(|tables| {
            (self.clear)(tables);
            objects.iter().for_each(|it| self.put_into(tables, it));
        });
    }

    fn put(&self, object: Object) {
        self.rbac.change(|tables| self.put_into(tables, &object));
    }

    fn remove(&self, object: &Frozen) {
        let (namespace, name) = (&object.index().namespace, &object.index().name);
        self.rbac.change(|tables| match self.of {
            Kind::Roles => tables.remove_role(namespace, name),
            Kind::Bindings => tables.remove_binding(namespace, name),
        });
    }
}

#[cfg(test)]
mod tests;
