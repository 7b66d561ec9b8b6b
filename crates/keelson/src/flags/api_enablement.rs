//! API enablement flags.

use super::{Flag, Kind, Section};

/// The section `API enablement flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "API enablement",
    flags: &[Flag::acts(
        "runtime-config",
        Kind::Settings,
        "",
        "APIs to switch, as in apps/v1=true, api/beta=true or api/all=false",
    )],
};
