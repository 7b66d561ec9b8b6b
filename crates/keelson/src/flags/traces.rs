//! Tracing flags.

use super::{Flag, Kind, Section};

/// The section `Traces flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Traces",
    flags: &[Flag::not_yet(
        "tracing-config-file",
        Kind::Text,
        "",
        "file that configures OpenTelemetry tracing",
    )],
};
