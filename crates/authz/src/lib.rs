//! Authorization: from the attributes of a request to a [`Decision`].

#![warn(missing_docs)]

mod abac;
mod aggregate;
mod always;
mod attributes;
mod authorizer;
mod deny_message;
pub mod impersonation;
pub mod node;
mod privileged_group;
pub mod rbac;
mod rule_set;
mod union;
mod webhook;

pub use abac::Abac;
pub use aggregate::aggregate;
pub use always::{AlwaysAllow, AlwaysDeny};
pub use attributes::{Attributes, Selectors, Subject, Target};
pub use authorizer::{Authorizer, AuthzError, Decision, Verdict};
pub use deny_message::{deny_message, deny_reason};
pub use keelson_webhook_client::ReviewVersion;
pub use privileged_group::PrivilegedGroup;
pub use rule_set::{PathRule, ResourceRule, RuleSet};
pub use union::Union;
pub use webhook::{OnFailure, Webhook, WebhookObserver, WebhookSettings};
