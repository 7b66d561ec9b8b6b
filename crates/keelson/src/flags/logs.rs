//! Logging flags.

use super::{Flag, Kind, Section};

/// The section `Logs flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Logs",
    flags: &[
        Flag::not_yet(
            "log-flush-frequency",
            Kind::Duration,
            "5s",
            "longest time between two flushes of the log",
        ),
        Flag::not_yet(
            "log-json-info-buffer-size",
            Kind::Quantity,
            "",
            "with json and split streams: how many bytes of messages may wait",
        ),
        Flag::not_yet(
            "log-json-split-stream",
            Kind::Bool,
            "",
            "with json: errors to the standard error, the rest to the standard output",
        ),
        Flag::not_yet(
            "log-text-info-buffer-size",
            Kind::Quantity,
            "",
            "with text and split streams: how many bytes of messages may wait",
        ),
        Flag::not_yet(
            "log-text-split-stream",
            Kind::Bool,
            "",
            "with text: errors to the standard error, the rest to the standard output",
        ),
        Flag::acts("logging-format", Kind::Text, "text", "form of the log: text or json"),
        Flag::acts(
            "v",
            Kind::Level,
            "",
            "how much is logged: 0 little, 2 the usual, 4 debugging, 6 and more everything",
        )
        .short('v'),
        Flag::not_yet("vmodule", Kind::Modules, "", "other levels for some source files, as in file=4"),
    ],
};
