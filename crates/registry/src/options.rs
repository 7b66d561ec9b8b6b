//! Options of an operation, after the query string has been parsed.

use std::time::Duration;

use keelson_object::SmolStr;
use keelson_object::selector::{field, label, shard};

/// The freshness that a read needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The most recent state.
    #[default]
    Latest,
    /// Any state, such as that of the cache.
    Any,
    /// Not older than this revision.
    AtLeast(u64),
    /// Exactly this revision.
    Exactly(u64),
}

/// The selection of objects.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// By label; `None` selects all.
    pub labels: Option<label::Selector>,
    /// By field; `None` selects all.
    pub fields: Option<field::Selector>,
    /// By the hash of a field that never changes; `None` selects all.
    pub shard: Option<shard::Selector>,
}

/// The options of a list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// The freshness.
    pub freshness: Freshness,
    /// The selection.
    pub selection: Selection,
    /// The limit of a page; 0 is all.
    pub limit: u64,
    /// The continue token of the page before; empty for the first page.
    pub continue_token: String,
    /// Whether the request has a resourceVersion other than 0 besides the token, which contains its own.
    pub revision_beside_token: bool,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchFrom {
    /// The most recent state, as synthetic ADDED events.
    #[default]
    Latest,
    /// Any state, as synthetic ADDED events.
    Any,
    /// Changes after this revision.
    After(u64),
}

/// Whether a watch begins with the state and marks its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialEvents {
    /// As `from` says, without a mark.
    #[default]
    Unmarked,
    /// Only changes from now on.
    Skipped,
    /// The state first, at least as new as the revision in `from`, then a bookmark that marks its end.
    Marked,
}

/// The options of a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// The beginning.
    pub from: WatchFrom,
    /// The selection.
    pub selection: Selection,
    /// Whether bookmarks are wanted.
    pub bookmarks: bool,
    /// `sendInitialEvents`.
    pub initial_events: InitialEvents,
    /// The timeout of the watch, if it is known.
    pub lives: Option<Duration>,
}

/// The propagation policy of a delete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents stay and lose their owner.
    Orphan,
    /// Dependents are deleted afterwards.
    Background,
    /// Dependents are deleted first.
    Foreground,
}

/// The preconditions of a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The uid.
    pub uid: Option<SmolStr>,
    /// The resourceVersion.
    pub resource_version: Option<SmolStr>,
}

/// The options of a delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// The grace period.
    pub grace_seconds: Option<i64>,
    /// The preconditions.
    pub preconditions: Preconditions,
    /// The propagation policy; `None` is the default of the resource.
    pub propagation: Option<Propagation>,
}

/// What happens with unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are ignored.
    Ignore,
    /// They cause warnings.
    #[default]
    Warn,
    /// They are refused.
    Strict,
}

/// The part of an object that an update changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    #[default]
    Main,
    /// The status.
    Status,
    /// The number of replicas, through the scale.
    Scale,
    /// A part that is specific to the kind: one of `Resource::subresources`.
    Named(&'static str),
}

impl Part {
    /// The subresource; empty for the object itself.
    pub fn name(self) -> &'static str {
        match self {
            Part::Main => "",
            Part::Status => "status",
            Part::Scale => "scale",
            Part::Named(name) => name,
        }
    }
}
