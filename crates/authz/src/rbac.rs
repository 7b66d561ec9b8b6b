//! Role-based access control: bindings give roles to subjects, roles are lists of rules, and rules only ever allow.
//!
//! ```text
//! ClusterRoleBinding "ops"            ClusterRole "view"
//!   subjects: Group "ops"    ──────▶    get,list,watch  ""  pods,services …
//!
//! a request of jane (groups ops, system:authenticated) in the namespace web:
//!   cluster scope   users["jane"], groups["ops"], groups["system:authenticated"]  ─▶ bindings ─▶ roles ─▶ rules
//!   scope of web    the same three
//! ```
//!
//! Only the bindings of the requesting user are read, however many there are. Upstream reads all of them.

pub mod bootstrap;
mod cover;
mod index;
mod rule;
mod tables;

pub use cover::{compact, refusal, uncovered};
pub use index::Rbac;
pub use rule::Rule;
pub use tables::{Binding, Grants, RoleProblem, Tables};
