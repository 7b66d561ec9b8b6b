//! Fields that another manager has set to another value.

use std::collections::BTreeMap;
use std::fmt;

use keelson_object::scalar::quote;

use super::element::{self, Element};
use super::managers::{Id, Operation};

/// The fields that an apply would change although others own them, by manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

/// One field, and who owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Who owns it.
    pub manager: Id,
    /// Which field.
    pub path: Vec<Element>,
}

/// What a client gets to read about one conflict: a cause of type `FieldManagerConflict`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `conflict with "kubectl" using apps/v1`.
    pub message: String,
    /// `.spec.replicas`.
    pub field: String,
}

impl Conflicts {
    /// The causes, in the order of the message.
    ///
    /// Upstream: apimachinery/pkg/util/managedfields/internal/conflict.go, NewConflictError (v1.36.4).
    pub fn causes(&self) -> Vec<Cause> {
        let cause = |it: &Conflict| Cause {
            message: format!("conflict with {}", shown(&it.manager)),
            field: element::display(&it.path),
        };
        self.0.iter().map(cause).collect()
    }
}

impl fmt::Display for Conflicts {
    /// Upstream: apimachinery/pkg/util/managedfields/internal/conflict.go, getConflictMessage (v1.36.4).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = &self.0[..] {
            let (manager, path) = (shown(&one.manager), element::display(&one.path));
            return write!(f, "Apply failed with 1 conflict: conflict with {manager}: {path}");
        }
        let mut by_manager: BTreeMap<String, Vec<&Conflict>> = BTreeMap::new();
        for conflict in &self.0 {
            by_manager.entry(conflict.manager.to_json()).or_default().push(conflict);
        }
        let mut lines = Vec::new();
        for conflicts in by_manager.values() {
            lines.push(format!("conflicts with {}:", shown(&conflicts[0].manager)));
            lines.extend(conflicts.iter().map(|it| format!("- {}", element::display(&it.path))));
        }
        write!(f, "Apply failed with {} conflicts: {}", self.0.len(), lines.join("\n"))
    }
}

fn shown(manager: &Id) -> String {
    let mut text = quote(&manager.name);
    if !manager.subresource.is_empty() {
        text = format!("{text} with subresource {}", quote(&manager.subresource));
    }
    match manager.operation {
        Operation::Apply => text,
        Operation::Update => format!("{text} using {}", manager.api_version),
    }
}
