//! Definitions that the controller knows: their frozen bytes, which the cache shares, and their names.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use keelson_object::{Frozen, Map, Object, SmolStr};
use keelson_registry::{Live, Result};

use crate::conditions::{self, GroupNames, NAMES_ACCEPTED};

/// All definitions, by name. Schemas are large; they are read from the bytes when a definition is looked at.
#[derive(Default)]
pub(crate) struct Known {
    definitions: HashMap<SmolStr, Entry>,
    /// The names of the definitions of each group.
    groups: HashMap<SmolStr, BTreeSet<SmolStr>>,
}

struct Entry {
    frozen: Arc<Frozen>,
    /// The definition without its versions.
    outline: Object,
}

impl Known {
    /// Adds or replaces a definition.
    pub(crate) fn set(&mut self, live: &Live, frozen: &Arc<Frozen>) -> Result<()> {
        let outline = outline(live.look_at(frozen)?);
        let name = outline.meta.name.clone();
        self.groups.entry(group_of(&outline)).or_default().insert(name.clone());
        self.definitions.insert(name, Entry { frozen: frozen.clone(), outline });
        Ok(())
    }

    /// Removes a definition and gives its group.
    pub(crate) fn remove(&mut self, name: &str) -> Option<SmolStr> {
        let entry = self.definitions.remove(name)?;
        let group = group_of(&entry.outline);
        if let Some(names) = self.groups.get_mut(&group) {
            names.remove(name);
            if names.is_empty() {
                self.groups.remove(&group);
            }
        }
        Some(group)
    }

    /// The names of all definitions.
    pub(crate) fn names(&self) -> Vec<SmolStr> {
        self.definitions.keys().cloned().collect()
    }

    /// The revision of a definition.
    pub(crate) fn revision(&self, name: &str) -> Option<u64> {
        self.definitions.get(name).map(|it| it.frozen.revision())
    }

    /// The whole definition, without its managers.
    pub(crate) fn definition(&self, live: &Live, name: &str) -> Result<Option<Object>> {
        self.definitions.get(name).map(|it| live.look_at(&it.frozen)).transpose()
    }

    /// The names that the other definitions of its group have.
    pub(crate) fn names_beside(&self, definition: &Object) -> GroupNames {
        let names = self.groups.get(&group_of(definition)).into_iter().flatten();
        let others = names.filter(|name| **name != definition.meta.name);
        others.filter_map(|name| self.definitions.get(name)).map(|it| &it.outline).collect()
    }

    /// The definitions of a group whose names are not accepted.
    pub(crate) fn waiting(&self, group: &str) -> Vec<SmolStr> {
        let names = self.groups.get(group).into_iter().flatten();
        let entries = names.filter_map(|name| Some((name, self.definitions.get(name)?)));
        let waiting = entries.filter(|(_, it)| !conditions::is_true(&it.outline, NAMES_ACCEPTED));
        waiting.map(|(name, _)| name.clone()).collect()
    }
}

fn group_of(definition: &Object) -> SmolStr {
    definition.fields.map("spec").and_then(|it| it.str("group")).unwrap_or_default().into()
}

/// What names are accepted by: the group, the names and the status.
fn outline(mut definition: Object) -> Object {
    let group = group_of(&definition);
    let mut spec = Map::new();
    spec.push_new("group", group);
    definition.fields.set("spec", spec);
    definition.meta.annotations = Default::default();
    definition
}
