//! Whether they may: from the attributes of a request to a [`Decision`].

#![warn(missing_docs)]

mod always;
mod attributes;
mod authorizer;
mod deny_message;
pub mod impersonation;
mod privileged_group;
mod public_paths;
mod union;

pub use always::{AlwaysAllow, AlwaysDeny};
pub use attributes::{Attributes, Subject, Target};
pub use authorizer::{Authorizer, AuthzError, Decision, Verdict};
pub use deny_message::{deny_message, deny_reason};
pub use privileged_group::PrivilegedGroup;
pub use public_paths::PublicPaths;
pub use union::Union;
