//! Metrics flags.

use super::{Flag, Kind, Section};

/// The section `Metrics flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Metrics",
    flags: &[
        Flag::acts(
            "allow-metric-labels",
            Kind::LabelMap,
            "",
            "values that a label of a metric may take, as in metric,label='a,b'",
        ),
        Flag::acts(
            "allow-metric-labels-manifest",
            Kind::Text,
            "",
            "file with the same settings as --allow-metric-labels",
        ),
        Flag::acts("disabled-metrics", Kind::List, "", "metrics to leave out"),
        Flag::acts(
            "show-hidden-metrics-for-version",
            Kind::Text,
            "",
            "show again what was hidden since this minor version; only the previous one is possible",
        ),
    ],
};
