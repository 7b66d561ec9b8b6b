//! Fields that an endpoint does not write, whatever is sent to it.

use super::element::Element;
use super::field_set::{FieldSet, Node};

/// Which fields an endpoint writes: of the others nobody becomes the owner through it.
#[derive(Clone, Debug)]
pub enum Filter {
    /// All but these and what is below.
    Exclude(FieldSet),
    /// Only what is below one of these; `None` is any step.
    Include(Vec<Vec<Option<Element>>>),
}

impl Filter {
    pub(super) fn filter(&self, set: &FieldSet) -> FieldSet {
        match self {
            Filter::Exclude(fields) => set.recursive_difference(fields),
            Filter::Include(patterns) => {
                include(set, &patterns.iter().map(Vec::as_slice).collect::<Vec<_>>())
            }
        }
    }
}

/// Upstream: structured-merge-diff/fieldpath/set.go, FilterIncludeMatches (v6).
fn include(set: &FieldSet, patterns: &[&[Option<Element>]]) -> FieldSet {
    if patterns.iter().any(|it| it.is_empty()) {
        return set.clone();
    }
    let nodes = set.nodes().iter().filter_map(|node| {
        let rests: Vec<_> = patterns.iter().filter_map(|pattern| rest(pattern, &node.element)).collect();
        if rests.is_empty() {
            return None;
        }
        let below = include(&node.below, &rests);
        (node.is_member || !below.is_empty()).then(|| Node {
            element: node.element.clone(),
            is_member: node.is_member,
            below,
        })
    });
    FieldSet::of(nodes.collect())
}

fn rest<'p>(pattern: &'p [Option<Element>], element: &Element) -> Option<&'p [Option<Element>]> {
    let (first, rest) = pattern.split_first()?;
    first.as_ref().is_none_or(|it| it == element).then_some(rest)
}
