//! Global flags, which are not about serving.

use super::{Flag, Kind, Section};

/// The section `Global flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Global",
    flags: &[
        Flag::acts("help", Kind::Bool, "", "print this help").short('h'),
        Flag::acts("version", Kind::Version, "false", "print the version and exit; raw prints all of it"),
    ],
};
