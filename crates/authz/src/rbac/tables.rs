//! Tables: the roles and bindings at one moment, indexed by subject. A persistent value: a change makes a new
//! one, which shares everything unchanged with the old one.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use imbl::{HashMap, OrdMap};
use keelson_object::scalar::quote;
use keelson_object::{Object, SmolStr};

use super::rule::Rule;
use crate::Subject;

/// The roles and bindings there are.
#[derive(Clone, Default)]
pub struct Tables {
    cluster_roles: HashMap<SmolStr, Role>,
    /// Roles by namespace, then by name.
    roles: HashMap<SmolStr, HashMap<SmolStr, Role>>,
    everywhere: Scope,
    /// The bindings of each namespace.
    there: HashMap<SmolStr, Scope>,
}

/// The rules of a role; shared by all bindings of it.
type Role = Arc<[Rule]>;

/// The bindings of a scope, by subject. A binding is listed once for each of its subjects.
#[derive(Clone, Default)]
struct Scope {
    all: OrdMap<SmolStr, Arc<Binding>>,
    users: HashMap<SmolStr, OrdMap<SmolStr, Arc<Binding>>>,
    groups: HashMap<SmolStr, OrdMap<SmolStr, Arc<Binding>>>,
}

/// A RoleBinding or ClusterRoleBinding: subjects and the role they have.
#[derive(Debug)]
pub struct Binding {
    name: SmolStr,
    /// Empty where it holds everywhere.
    namespace: SmolStr,
    role_kind: SmolStr,
    role: SmolStr,
    subjects: Vec<Holder>,
}

/// A subject of a binding.
#[derive(Debug)]
enum Holder {
    User(SmolStr),
    Group(SmolStr),
    Account {
        /// As the binding shows it: `name/namespace`.
        shown: SmolStr,
        /// The name of the user that the account is.
        user: SmolStr,
    },
}

/// Why the rules of a binding could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RoleProblem {
    /// The role does not exist in the namespace.
    NoRole(SmolStr),
    /// The cluster role does not exist.
    NoClusterRole(SmolStr),
    /// The `roleRef` of the binding is not a role.
    NotARole(SmolStr),
}

/// The rules of a user, and the bindings that could not be resolved.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// The rules of all roles that the user has.
    pub rules: Vec<Rule>,
    /// Roles that the user would have.
    pub problems: Vec<RoleProblem>,
}

impl Tables {
    /// Takes in a role; one without a namespace is a cluster role.
    pub fn put_role(&mut self, object: &Object) {
        let rules: Role = object.fields.maps("rules").map(Rule::of).collect();
        let meta = &object.meta;
        match meta.namespace.as_str() {
            "" => &mut self.cluster_roles,
            _ => self.roles.entry(meta.namespace.clone()).or_default(),
        }
        .insert(meta.name.clone(), rules);
    }

    /// Forgets a role.
    pub fn remove_role(&mut self, namespace: &str, name: &str) {
        if namespace.is_empty() {
            self.cluster_roles.remove(name);
        } else if let Some(roles) = self.roles.get_mut(namespace) {
            roles.remove(name);
            if roles.is_empty() {
                self.roles.remove(namespace);
            }
        }
    }

    /// Takes in a binding; one without a namespace holds everywhere.
    pub fn put_binding(&mut self, object: &Object) {
        let binding = Arc::new(Binding::of(object));
        match binding.namespace.as_str() {
            "" => &mut self.everywhere,
            _ => self.there.entry(binding.namespace.clone()).or_default(),
        }
        .put(&binding);
    }

    /// Forgets a binding.
    pub fn remove_binding(&mut self, namespace: &str, name: &str) {
        if namespace.is_empty() {
            self.everywhere.remove(name);
        } else if let Some(scope) = self.there.get_mut(namespace) {
            scope.remove(name);
            if scope.all.is_empty() {
                self.there.remove(namespace);
            }
        }
    }

    /// Forgets all roles of namespaces.
    pub fn clear_roles(&mut self) {
        self.roles = HashMap::new();
    }

    /// Forgets all cluster roles.
    pub fn clear_cluster_roles(&mut self) {
        self.cluster_roles = HashMap::new();
    }

    /// Forgets all bindings in namespaces.
    pub fn clear_bindings(&mut self) {
        self.there = HashMap::new();
    }

    /// Removes all ClusterRoleBindings.
    pub fn clear_cluster_bindings(&mut self) {
        self.everywhere = Scope::default();
    }

    /// Whether the cluster role exists.
    #[must_use]
    pub fn has_cluster_role(&self, name: &str) -> bool {
        self.cluster_roles.contains_key(name)
    }

    /// Whether the binding exists.
    #[must_use]
    pub fn has_binding(&self, namespace: &str, name: &str) -> bool {
        let scope = if namespace.is_empty() { Some(&self.everywhere) } else { self.there.get(namespace) };
        scope.is_some_and(|it| it.all.contains_key(name))
    }

    /// The rules of a user in a namespace, or at the cluster scope if it is empty.
    ///
    /// Upstream: pkg/registry/rbac/validation/rule.go, RulesFor (v1.36.4).
    #[must_use]
    pub fn grants(&self, user: &Subject<'_>, namespace: &str) -> Grants {
        let mut grants = Grants::default();
        let mut seen: Vec<*const Binding> = Vec::new();
        let _: ControlFlow<()> = self.visit(user, namespace, |binding, role| {
            let this = Arc::as_ptr(binding);
            if !seen.contains(&this) {
                seen.push(this);
                match role {
                    Ok(role) => grants.rules.extend(role.iter().cloned()),
                    Err(problem) => grants.problems.push(problem),
                }
            }
            ControlFlow::Continue(())
        });
        grants
    }

    /// Shows all bindings that a user has, with their rules, until `look` has seen enough. A binding that a user has
    /// twice may be shown twice.
    pub(super) fn visit<B>(
        &self,
        user: &Subject<'_>,
        namespace: &str,
        mut look: impl FnMut(&Arc<Binding>, Result<&Role, RoleProblem>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let there = if namespace.is_empty() { None } else { self.there.get(namespace) };
        for scope in std::iter::once(&self.everywhere).chain(there) {
            let groups = user.groups.iter().filter_map(|it| scope.groups.get(it.as_str()));
            let held = scope.users.get(user.name).into_iter().chain(groups);
            for (_, binding) in held.flat_map(OrdMap::iter) {
                look(binding, self.role(binding))?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The rules of the role of a binding. It may be another role than before, under the same name.
    fn role(&self, binding: &Binding) -> Result<&Role, RoleProblem> {
        let name = &binding.role;
        match binding.role_kind.as_str() {
            "ClusterRole" => {
                self.cluster_roles.get(name).ok_or_else(|| RoleProblem::NoClusterRole(name.clone()))
            }
            "Role" => {
                let role = self.roles.get(&binding.namespace).and_then(|it| it.get(name));
                role.ok_or_else(|| RoleProblem::NoRole(name.clone()))
            }
            kind => Err(RoleProblem::NotARole(kind.into())),
        }
    }
}

impl Scope {
    fn put(&mut self, binding: &Arc<Binding>) {
        self.remove(&binding.name);
        self.all.insert(binding.name.clone(), binding.clone());
        for holder in &binding.subjects {
            let (map, key) = match holder {
                Holder::User(name) | Holder::Account { user: name, .. } => (&mut self.users, name),
                Holder::Group(name) => (&mut self.groups, name),
            };
            map.entry(key.clone()).or_default().insert(binding.name.clone(), binding.clone());
        }
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.all.remove(name) else { return };
        for holder in &binding.subjects {
            let (map, key) = match holder {
                Holder::User(name) | Holder::Account { user: name, .. } => (&mut self.users, name),
                Holder::Group(name) => (&mut self.groups, name),
            };
            if let Some(held) = map.get_mut(key) {
                held.remove(name);
                if held.is_empty() {
                    map.remove(key);
                }
            }
        }
    }
}

impl Binding {
    fn of(object: &Object) -> Binding {
        let namespace = &object.meta.namespace;
        let role = object.fields.map("roleRef");
        let text = |key| role.and_then(|it| it.str(key)).unwrap_or_default().into();
        let holder = |subject: &keelson_object::Map| {
            let field = |key| subject.str(key).unwrap_or_default();
            let name = field("name");
            match field("kind") {
                "User" => Some(Holder::User(name.into())),
                "Group" => Some(Holder::Group(name.into())),
                "ServiceAccount" => {
                    let home = Some(field("namespace")).filter(|it| !it.is_empty()).unwrap_or(namespace);
                    // A service account needs a namespace; a subject without one matches no user.
                    (!home.is_empty()).then(|| Holder::Account {
                        shown: format!("{name}/{home}").into(),
                        user: format!("system:serviceaccount:{home}:{name}").into(),
                    })
                }
                _ => None,
            }
        };
        Binding {
            name: object.meta.name.clone(),
            namespace: namespace.clone(),
            role_kind: text("kind"),
            role: text("name"),
            subjects: object.fields.maps("subjects").filter_map(holder).collect(),
        }
    }

    /// Describes the binding, for a user that it applies to.
    pub(super) fn describe(&self, user: &Subject<'_>) -> String {
        let kind = if self.namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
        let name = match self.namespace.as_str() {
            "" => quote(&self.name),
            namespace => quote(&format!("{}/{namespace}", self.name)),
        };
        let role = quote(&self.role);
        let to = self.subjects.iter().find(|it| it.is(user)).map(ToString::to_string).unwrap_or_default();
        format!("{kind} {name} of {} {role} to {to}", self.role_kind)
    }
}

impl Holder {
    fn is(&self, who: &Subject<'_>) -> bool {
        match self {
            Holder::User(name) | Holder::Account { user: name, .. } => name == who.name,
            Holder::Group(name) => who.is_in_group(name),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::User(name) => write!(f, "User {}", quote(name)),
            Holder::Group(name) => write!(f, "Group {}", quote(name)),
            Holder::Account { shown, .. } => write!(f, "ServiceAccount {}", quote(shown)),
        }
    }
}

impl RoleProblem {
    /// The message of a store while objects called `plural` are written: it names these, whatever is missing.
    #[must_use]
    pub fn while_writing(&self, plural: &str) -> String {
        match self {
            RoleProblem::NoRole(name) | RoleProblem::NoClusterRole(name) => {
                format!("{plural}.rbac.authorization.k8s.io {} not found", quote(name))
            }
            RoleProblem::NotARole(_) => self.to_string(),
        }
    }
}

impl fmt::Display for RoleProblem {
    /// The message of a lister, in the singular.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not_found = |f: &mut fmt::Formatter<'_>, what: &str, name: &str| {
            write!(f, "{what}.rbac.authorization.k8s.io {} not found", quote(name))
        };
        match self {
            RoleProblem::NoRole(name) => not_found(f, "role", name),
            RoleProblem::NoClusterRole(name) => not_found(f, "clusterrole", name),
            RoleProblem::NotARole(kind) => write!(f, "unsupported role reference kind: {}", quote(kind)),
        }
    }
}
