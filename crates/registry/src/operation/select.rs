//! Selectors, evaluated against the index of a frozen object.

use keelson_object::selector::{field, label, shard};
use keelson_object::{Frozen, SmolStr};
use keelson_watch_cache::Scope as WatchScope;

use crate::error::{Error, Result};
use crate::options::Selection;
use crate::resource::{Resource, Scope};

/// A comparison costs about as much as parsing this many bytes.
pub(super) const COMPARISON: usize = 16;

/// A selection whose fields have been looked up in the resource once, so that matching an object only
/// compares texts.
pub(crate) struct Matcher {
    /// The namespace; empty for all.
    namespace: SmolStr,
    labels: Option<label::Selector>,
    fields: Option<field::Selector>,
    slots: Vec<(SmolStr, Slot)>,
    shard: Option<shard::Selector>,
}

/// The position of a field in the index of an object.
#[derive(Clone, Copy)]
enum Slot {
    Name,
    Namespace,
    Position(usize),
}

impl Matcher {
    /// Refuses fields that the resource does not offer.
    pub(crate) fn new(resource: &Resource, namespace: &str, selection: &Selection) -> Result<Matcher> {
        let fields = selection.fields.clone().filter(|it| !it.is_everything());
        let mut slots = Vec::new();
        for term in fields.iter().flat_map(field::Selector::terms) {
            let name = term.field.as_str();
            let slot =
                slot(resource, name).ok_or_else(|| Error::BadRequest(unknown_field(resource, name)))?;
            slots.push((name.into(), slot));
        }
        let labels = selection.labels.clone().filter(|it| !it.is_everything());
        let shard = selection.shard.clone();
        Ok(Matcher { namespace: namespace.into(), labels, fields, slots, shard })
    }

    /// Whether everything in the namespace is selected.
    pub(crate) fn is_everything(&self) -> bool {
        self.is_unselective() && self.shard.is_none()
    }

    /// Whether there are neither label nor field selectors; upstream then counts the remaining objects, with
    /// or without shards.
    pub(crate) fn is_unselective(&self) -> bool {
        self.labels.is_none() && self.fields.is_none()
    }

    /// The shard, as the metadata of a list shows it.
    pub(crate) fn shard(&self) -> Option<String> {
        self.shard.as_ref().map(shard::Selector::to_string)
    }

    /// Whether `object` is selected.
    pub(crate) fn matches(&self, object: &Frozen) -> bool {
        let index = object.index();
        (self.namespace.is_empty() || self.namespace == index.namespace)
            && self.shard.as_ref().is_none_or(|it| it.matches(&index.uid, &index.namespace))
            && self.labels.as_ref().is_none_or(|it| it.matches(|key| index.labels.get(key)))
            && self.fields.as_ref().is_none_or(|it| it.matches(|name| Some(self.field(object, name))))
    }

    /// How many comparisons an object takes, at most.
    pub(crate) fn comparisons(&self) -> usize {
        let labels = self.labels.iter().flat_map(|it| it.requirements());
        let labels: usize = labels.map(|it| 1 + it.values().len()).sum();
        let fields: usize = self.fields.iter().map(|it| it.terms().len()).sum();
        1 + labels + fields
    }

    /// The narrowest part of the cache that contains all matching objects.
    pub(crate) fn scope(&self, resource: &Resource) -> WatchScope {
        let namespace = &self.namespace;
        let exact = |name: &str| self.fields.as_ref().and_then(|it| it.exact(name));
        if let Some(name) = exact("metadata.name")
            && (!namespace.is_empty() || resource.scope == Scope::Cluster)
        {
            return WatchScope::Name { namespace: namespace.clone(), name: name.into() };
        }
        for label in &resource.indexed {
            let index = resource.selectable.iter().position(|it| it.label == *label);
            if let (Some(index), Some(value)) = (index, exact(label)) {
                return WatchScope::Field { index, value: value.into() };
            }
        }
        if namespace.is_empty() { WatchScope::All } else { WatchScope::Namespace(namespace.clone()) }
    }

    fn field<'o>(&self, object: &'o Frozen, name: &str) -> &'o str {
        let index = object.index();
        match self.slots.iter().find(|(label, _)| label == name) {
            Some((_, Slot::Name)) => &index.name,
            Some((_, Slot::Namespace)) => &index.namespace,
            Some((_, Slot::Position(at))) => index.fields.get(*at).map_or("", |text| text.as_str()),
            None => "",
        }
    }
}

fn slot(resource: &Resource, name: &str) -> Option<Slot> {
    match name {
        "metadata.name" => Some(Slot::Name),
        // Cluster-scoped kinds with a list of fields do not have this one.
        "metadata.namespace" if resource.scope == Scope::Namespaced || resource.selectable.is_empty() => {
            Some(Slot::Namespace)
        }
        _ => resource.selectable.iter().position(|it| it.label == name).map(Slot::Position),
    }
}

/// Upstream words this differently for kinds with and without a list of fields.
fn unknown_field(resource: &Resource, name: &str) -> String {
    if let Some(words) = resource.strategy.unknown_field(name) {
        return words;
    }
    if resource.selectable.is_empty() {
        return format!(
            "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        );
    }
    format!("field label not supported: {name}")
}
