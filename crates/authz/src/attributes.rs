//! Attributes: the input of an authorization decision.

use std::collections::BTreeMap;

use keelson_object::selector::{field, label};

/// The attributes of a request: user, verb and target. Everything is borrowed from the request.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The user that sent the request.
    pub user: Subject<'a>,
    /// `get`, `list`, `watch`, `create` …; for a plain path the HTTP method in lower case.
    pub verb: &'a str,
    /// The resource or path.
    pub target: Target<'a>,
    /// The path of the request, without the query.
    pub path: &'a str,
    /// The field and label selectors of the request.
    pub selectors: Selectors<'a>,
}

/// The selectors of a list, a watch or a deletecollection: requirements that all hold. Requirements that
/// could not be parsed are left out, so the authorizer may be asked about more objects than requested, never
/// fewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selectors<'a> {
    /// On fields.
    pub fields: &'a [field::Term],
    /// On labels.
    pub labels: &'a [label::Requirement],
}

/// The parts of a user that policies use. Authentication knows the whole user; this borrows from it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The user name.
    pub name: &'a str,
    /// The uid, often empty.
    pub uid: &'a str,
    /// The groups.
    pub groups: &'a [String],
    /// Further facts by key.
    pub extra: &'a BTreeMap<String, Vec<String>>,
}

/// An API resource, or a path that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// Something below `/api` or `/apis` that has a resource; empty strings where the request says nothing.
    Resource {
        /// The namespace; empty at the cluster scope.
        namespace: &'a str,
        /// The API group; empty is the core group.
        api_group: &'a str,
        /// The version of the group.
        api_version: &'a str,
        /// The resource, for instance `pods`.
        resource: &'a str,
        /// The subresource, for instance `status`.
        subresource: &'a str,
        /// The name of the object.
        name: &'a str,
    },
    /// Any other path, for instance `/healthz`.
    Path,
}

impl Attributes<'_> {
    /// Whether the request changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        matches!(self.verb, "get" | "list" | "watch")
    }
}

impl Subject<'_> {
    /// Whether the user belongs to `group`.
    #[must_use]
    pub fn is_in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|it| it == group)
    }
}
