//! How much is recorded of a request, and when.

use std::fmt;

/// How much is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    #[default]
    None,
    /// Who, what, when; no objects.
    Metadata,
    /// The object that was sent, too.
    Request,
    /// The object that was answered, too.
    RequestResponse,
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 4] = [Level::None, Level::Metadata, Level::Request, Level::RequestResponse];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }

    /// By its name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|it| it.as_str() == name)
    }
}

/// When something is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// Before anything is done.
    RequestReceived,
    /// The head of the answer is sent; only for requests that take long, and for those that are refused at the door.
    #[default]
    ResponseStarted,
    /// The last byte is sent.
    ResponseComplete,
    /// The server failed.
    Panic,
}

impl Stage {
    /// All of them.
    pub const ALL: [Stage; 4] =
        [Stage::RequestReceived, Stage::ResponseStarted, Stage::ResponseComplete, Stage::Panic];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }

    /// By its name.
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
    /// Whether `stage` is one of them.
    pub fn contains(self, stage: Stage) -> bool {
        self.0 & (1 << stage as u8) != 0
    }

    /// Those of either set.
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
