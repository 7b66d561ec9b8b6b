//! Admission flags.

use super::{Flag, Kind, Section};

/// The section `Admission flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Admission",
    flags: &[
        Flag::deprecated(
            "admission-control",
            Kind::List,
            "Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.",
            "the complete list of admission plugins",
        ),
        Flag::acts("admission-control-config-file", Kind::Text, "", "file that configures admission plugins"),
        Flag::acts(
            "default-not-ready-toleration-seconds",
            Kind::Int,
            "300",
            "how long a pod stays on a node that is not ready, unless it says otherwise",
        ),
        Flag::acts(
            "default-unreachable-toleration-seconds",
            Kind::Int,
            "300",
            "how long a pod stays on a node that cannot be reached, unless it says otherwise",
        ),
        Flag::acts(
            "disable-admission-plugins",
            Kind::List,
            "",
            "admission plugins to leave out of the default set",
        ),
        Flag::acts("enable-admission-plugins", Kind::List, "", "admission plugins to add to the default set"),
    ],
};
