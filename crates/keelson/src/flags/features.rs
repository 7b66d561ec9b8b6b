//! Flags of optional parts of the server.

use super::{Flag, Kind, Section};

/// The section `Features flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Features",
    flags: &[
        Flag::not_yet("contention-profiling", Kind::Bool, "", "record who waits for locks"),
        Flag::not_yet(
            "debug-socket-path",
            Kind::Text,
            "",
            "unix socket that serves profiling without authentication",
        ),
        Flag::not_yet(
            "enable-priority-and-fairness",
            Kind::Bool,
            "true",
            "queue requests by priority and flow instead of only counting them",
        ),
        Flag::acts("profiling", Kind::Bool, "true", "serve /debug/pprof and /debug/flags/v"),
    ],
};
