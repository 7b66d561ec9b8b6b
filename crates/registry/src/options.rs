//! What a client may ask of an operation, after the query string has been read.

use std::time::Duration;

use keelson_object::SmolStr;
use keelson_object::selector::{field, label, shard};

/// How new a read must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// The most recent state.
    #[default]
    Latest,
    /// Whatever is at hand.
    Any,
    /// Not older than this revision.
    AtLeast(u64),
    /// Exactly this revision.
    Exactly(u64),
}

/// Which objects.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// By label; `None` selects all.
    pub labels: Option<label::Selector>,
    /// By field; `None` selects all.
    pub fields: Option<field::Selector>,
    /// By the hash of something that never changes; `None` selects all.
    pub shard: Option<shard::Selector>,
}

/// How to list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// How new.
    pub freshness: Freshness,
    /// Which objects.
    pub selection: Selection,
    /// How many at most; 0 is all.
    pub limit: u64,
    /// Where the page before ended; empty for the first page.
    pub continue_token: String,
    /// Whether a resource version other than 0 came with the token, which has one of its own.
    pub revision_beside_token: bool,
}

/// From where a watch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WatchFrom {
    /// The most recent state, as synthetic additions.
    #[default]
    Latest,
    /// Whatever state is at hand, as synthetic additions.
    Any,
    /// What happens after this revision.
    After(u64),
}

/// Whether a watch begins with the state and says where that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InitialEvents {
    /// As `from` says, unmarked.
    #[default]
    Unmarked,
    /// Only what happens from now on.
    Skipped,
    /// The state first, at least as new as the revision in `from`, then a bookmark that marks its end.
    Marked,
}

/// How to watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// From where.
    pub from: WatchFrom,
    /// Which objects.
    pub selection: Selection,
    /// Whether bookmarks are wanted.
    pub bookmarks: bool,
    /// `sendInitialEvents`.
    pub initial_events: InitialEvents,
    /// How long the watch will last, if that is known.
    pub lives: Option<Duration>,
}

/// What becomes of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They stay and lose their owner.
    Orphan,
    /// They go afterwards.
    Background,
    /// They go first.
    Foreground,
}

/// What must hold for a delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The uid.
    pub uid: Option<SmolStr>,
    /// The resourceVersion.
    pub resource_version: Option<SmolStr>,
}

/// How to delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// How many seconds the object gets.
    pub grace_seconds: Option<i64>,
    /// What must hold.
    pub preconditions: Preconditions,
    /// What becomes of dependents; `None` is the resource's own way.
    pub propagation: Option<Propagation>,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Nothing.
    Ignore,
    /// Warn.
    #[default]
    Warn,
    /// Refuse.
    Strict,
}

/// Which part of an object an update is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// Everything but the status.
    #[default]
    Main,
    /// The status.
    Status,
    /// The number of replicas, through the scale.
    Scale,
    /// A part that only the kind knows: one of `Resource::subresources`.
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
