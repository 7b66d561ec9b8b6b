//! Authorizer of expressions: checks that are built by `authorizer.group(…).resource(…)`, and their decisions.
//!
//! Evaluation cannot wait for an authorizer. It looks for the decision among those that the caller gave; if it is not
//! there, the evaluation ends with [`crate::fail::Cause::NeedsDecision`], the caller asks its authorizer, adds the
//! answer and evaluates again.

use keelson_object::SmolStr;

/// User whose permissions are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// The user of the request.
    #[default]
    User,
    /// `authorizer.serviceAccount(namespace, name)`
    ServiceAccount {
        /// Its namespace.
        namespace: SmolStr,
        /// Its name.
        name: SmolStr,
    },
}

/// A selector that an expression restricts a check with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selector {
    /// None was given.
    #[default]
    None,
    /// The text; the caller parses it, and an error of parsing goes into the attributes as upstream does it.
    Text(SmolStr),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path that is no resource.
    Path(SmolStr),
    /// A resource.
    Resource(Box<ResourceTarget>),
}

/// The attributes of a resource that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceTarget {
    /// The group.
    pub group: SmolStr,
    /// The resource.
    pub resource: SmolStr,
    /// The subresource.
    pub subresource: SmolStr,
    /// The namespace.
    pub namespace: SmolStr,
    /// The name.
    pub name: SmolStr,
    /// `fieldSelector(…)`
    pub field_selector: Selector,
    /// `labelSelector(…)`
    pub label_selector: Selector,
}

/// One question to the authorizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// User whose permissions are checked.
    pub subject: Subject,
    /// The verb.
    pub verb: SmolStr,
    /// What is asked.
    pub target: Target,
}

/// The answer of the authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The reason.
    pub reason: SmolStr,
    /// The error of the authorizer, if it had one.
    pub error: Option<SmolStr>,
}

/// The answers that are known so far.
#[derive(Clone, Debug, Default)]
pub struct Decisions(Vec<(Check, Decision)>);

impl Decisions {
    /// None are known.
    pub const fn new() -> Decisions {
        Decisions(Vec::new())
    }

    /// Adds an answer.
    pub fn add(&mut self, check: Check, decision: Decision) {
        self.0.push((check, decision));
    }

    /// The answer to `check`.
    pub fn get(&self, check: &Check) -> Option<&Decision> {
        self.0.iter().find(|(known, _)| known == check).map(|(_, decision)| decision)
    }
}
