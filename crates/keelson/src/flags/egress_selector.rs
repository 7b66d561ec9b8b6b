//! Egress selector flags.

use super::{Flag, Kind, Section};

/// The section `Egress selector flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Egress selector",
    flags: &[Flag::new(
        "egress-selector-config-file",
        Kind::Text,
        "",
        "file that says through which proxies the server reaches nodes, webhooks and etcd",
    )],
};
