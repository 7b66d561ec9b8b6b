//! Audit levels and stages.

use std::fmt;

/// The audit level: how much of a request is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// User, request and times; no objects.
    Metadata,
    /// The object that was sent, too.
    Request,
    /// The object that was answered, too.
    RequestResponse,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 4] = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];

    /// The name of the level.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    /// Finds a level by its name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// The stage of a request at which an event is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Before the request is handled.
    RequestReceived,
    /// The head of the response is sent; only for long-running requests, and for those that are rejected
    /// early.
    #[default]
    ResponseStarted,
    /// The last byte is sent.
    ResponseComplete,
    /// The server failed.
    Panic,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 4] =
        [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];

    /// The name of the stage.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }

    /// Finds a stage by its name.
    pub fn parse(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages(u8);

impl Stages {
    /// Whether the set contains `stage`.
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u8) != 0
    }

    /// The union of both sets.
    #[must_use]
    pub fn or(self, other: Stages) -> Stages {
        Stages(self.0 | other.0)
    }
}

impl FromIterator<Stage> for Stages {
    fn from_iter<I: IntoIterator<Item = Stage>>(stages: I) -> Stages {
        Stages(stages.into_iter().fold(0, |bits, stage| bits | (1 << stage as u8)))
    }
}
