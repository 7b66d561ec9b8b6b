//! What a write does to the fields of all managers.
//!
//! Upstream: structured-merge-diff/merge/update.go (v6).

use std::borrow::Cow;

use keelson_object::{SmolStr, Value};

use super::collect::{field_set, named_field_set};
use super::compare::{Comparison, compare};
use super::conflict::{Conflict, Conflicts};
use super::field_set::FieldSet;
use super::managers::{Id, Managed, Managers, Operation};
use super::merge::merge;
use super::named::{reconcile, with_named};
use super::place::Place;
use super::remove::{remove, take_out};
use super::rest::named_rest;
use super::tree::Tree;
use super::validate::{Duplicates, validate};
use super::values::same;
use super::{ConvertError, Force, Refusal, Tracker, Types};

/// An object in one version.
struct Versioned<'v> {
    value: Cow<'v, Value>,
    version: SmolStr,
}

/// What a write did to the object, in one version.
struct Change {
    version: SmolStr,
    comparison: Comparison,
    /// What was modified or added.
    touched: FieldSet,
}

impl Tracker<'_> {
    /// The fields that are not the same in `live` and `new` belong to `id` from now on. Gives whether there are any.
    pub(super) fn track(
        &self,
        live: Tree<'_>,
        new: Tree<'_>,
        managers: &mut Managers,
        id: Id,
    ) -> Result<(), Refusal> {
        self.reconcile(live, managers)?;
        let change = self.settle((live, new), managers, None, Force::Yes)?;
        let fields = change.touched.difference(super::unowned());
        if fields.is_empty() {
            return Ok(());
        }
        let time = Some(self.now);
        match managers.get_mut(&id) {
            Some(managed) => {
                managed.fields = fields.union(&managed.fields);
                managed.time = time;
            }
            None => managers.0.push(Managed {
                id,
                api_version: self.api_version.into(),
                time,
                fields,
                read: None,
            }),
        }
        Ok(())
    }

    /// Merges `patch` into `live`; `None` if nothing changes.
    pub(super) fn merge_patch(
        &self,
        live: &Value,
        patch: &Value,
        managers: &mut Managers,
        by: (&Id, Force),
    ) -> Result<Option<Value>, Refusal> {
        let (id, force) = by;
        self.reconcile(Tree::Whole(live), managers)?;
        let place = self.place(self.api_version)?;
        let merged = merge(place, live, patch);
        let fields = self.filtered(self.api_version, field_set(place, patch));
        let api_version = SmolStr::from(self.api_version);
        let last = managers.remove(id);
        let time = last.as_ref().and_then(|it| it.time);
        managers.0.push(Managed { id: id.clone(), api_version, time, fields, read: None });
        let new = match &last {
            Some(last) => self.prune(merged, patch, managers, (id, last))?,
            None => merged,
        };
        self.settle((Tree::Whole(live), Tree::Whole(&new)), managers, Some(id), force)?;
        if let Some(managed) = managers.get_mut(id) {
            managed.fields = managed.fields.difference(super::unowned());
            match last {
                Some(last) if last.fields == managed.fields => {
                    managed.fields = last.fields;
                    managed.read = last.read;
                }
                _ if managed.fields.is_empty() => {
                    managers.remove(id);
                }
                _ => {}
            }
        }
        Ok((!same(live, &new)).then_some(new))
    }

    /// Takes from every manager but `me` what the write from `objects.0` to `objects.1` changed or removed.
    fn settle(
        &self,
        objects: (Tree<'_>, Tree<'_>),
        managers: &mut Managers,
        me: Option<&Id>,
        force: Force,
    ) -> Result<Change, Refusal> {
        let own = self.change(self.api_version, objects.0, objects.1)?;
        let mut changes = vec![own];
        let mut conflicts = Vec::new();
        let mut taken: Vec<(Id, FieldSet, usize)> = Vec::new();
        let mut gone = Vec::new();
        for managed in managers.0.iter().filter(|it| Some(&it.id) != me) {
            let Some(at) = self.change_in(&mut changes, &managed.api_version, objects)? else {
                gone.push(managed.id.clone());
                continue;
            };
            if changes[at].comparison.is_empty() {
                continue;
            }
            let conflict = managed.fields.intersection(&changes[at].touched);
            if force == Force::No {
                let conflicting = |path| Conflict { manager: managed.id.clone(), path };
                conflicts.extend(conflict.paths().into_iter().map(conflicting));
            }
            taken.push((managed.id.clone(), conflict, at));
        }
        if !conflicts.is_empty() {
            conflicts.sort_by_cached_key(|it| it.manager.to_json());
            return Err(Refusal::Conflicts(Conflicts(conflicts)));
        }
        for (id, conflict, at) in taken {
            let removed = &changes[at].comparison.removed;
            if let Some(managed) = managers.get_mut(&id)
                && !(conflict.is_empty() && removed.is_empty())
            {
                managed.fields = managed.fields.difference(&conflict).difference(removed);
            }
        }
        managers.0.retain(|it| !it.fields.is_empty() && !gone.contains(&it.id));
        Ok(changes.swap_remove(0))
    }

    /// The position of the change in `version`, computed if it is not there; `None` if there is no such version.
    fn change_in(
        &self,
        changes: &mut Vec<Change>,
        version: &SmolStr,
        objects: (Tree<'_>, Tree<'_>),
    ) -> Result<Option<usize>, Refusal> {
        if let Some(at) = changes.iter().position(|it| it.version == *version) {
            return Ok(Some(at));
        }
        let (old, new) = (self.versioned(objects.0), self.versioned(objects.1));
        let Some(old) = self.converted(&old, version, "failed to convert old object")? else {
            return Ok(None);
        };
        let Some(new) = self.converted(&new, version, "failed to convert new object")? else {
            return Ok(None);
        };
        changes.push(self.change(version, Tree::Whole(&old.value), Tree::Whole(&new.value))?);
        Ok(Some(changes.len() - 1))
    }

    fn change(&self, version: &str, old: Tree<'_>, new: Tree<'_>) -> Result<Change, Refusal> {
        let Comparison { removed, modified, added } = compare(self.place(version)?, old, new);
        let comparison = Comparison {
            removed: self.filtered(version, removed),
            modified: self.filtered(version, modified),
            added: self.filtered(version, added),
        };
        let touched = comparison.modified.union(&comparison.added);
        Ok(Change { version: version.into(), comparison, touched })
    }

    fn filtered(&self, version: &str, set: FieldSet) -> FieldSet {
        match self.reset.iter().find(|(it, _)| it == version) {
            Some((_, filter)) => filter.filter(&set),
            None => set,
        }
    }

    /// Forgets managers of versions that are no longer there, and follows changes of the schema.
    fn reconcile(&self, live: Tree<'_>, managers: &mut Managers) -> Result<(), Refusal> {
        let mut is_gone = Vec::new();
        let mut versioned = None;
        for managed in &mut managers.0 {
            let is_there = managed.api_version == self.api_version || {
                let live = versioned.get_or_insert_with(|| self.versioned(live));
                self.converted(live, &managed.api_version, "")?.is_some()
            };
            is_gone.push(!is_there);
            if is_there {
                reconcile(self.place(&managed.api_version)?, &mut managed.fields);
            }
        }
        let mut is_gone = is_gone.into_iter();
        managers.0.retain(|_| !is_gone.next().unwrap_or_default());
        Ok(())
    }

    /// Removes what the manager applied the last time, does not apply now, and nobody else has.
    fn prune(
        &self,
        merged: Value,
        patch: &Value,
        managers: &Managers,
        (id, last): (&Id, &Managed),
    ) -> Result<Value, Refusal> {
        let applied = managers.get(id).map(|it| &it.fields);
        let is_superset = last.api_version == self.api_version
            && applied.is_some_and(|it| last.fields.is_subset(it))
            && !is_hollow(patch, &merged);
        if last.fields.is_empty() || is_superset {
            return Ok(merged);
        }
        if managers.0.iter().chain([last]).all(|it| it.api_version == self.api_version) {
            let place = self.place(self.api_version)?;
            let gone = unwanted(place, &merged, &with_named(place, &last.fields), managers);
            return Ok(take_out(place, merged, &gone));
        }
        let version = &last.api_version;
        let what = "failed to prune fields: failed to convert merged object to last applied version";
        let result = {
            let merged = self.versioned(&merged);
            match self.converted(&merged, version, what)? {
                Some(converted) => {
                    let place = self.place(version)?;
                    let last_fields = with_named(place, &last.fields);
                    let value = Cow::Owned(remove(place, &converted.value, &last_fields));
                    let pruned = Versioned { value, version: version.clone() };
                    let pruned = self.add_back_owned(&converted, pruned, managers)?;
                    let result = self.add_back_dangling(&converted, &pruned, &last_fields)?;
                    let back = self.converted(&result, self.api_version, "failed to prune fields")?;
                    back.map(|it| it.value.into_owned())
                }
                None => None,
            }
        };
        Ok(result.unwrap_or(merged))
    }

    /// Adds back what any manager owns, the one that applies among them.
    fn add_back_owned<'v>(
        &self,
        merged: &Versioned<'_>,
        mut pruned: Versioned<'v>,
        managers: &Managers,
    ) -> Result<Versioned<'v>, Refusal> {
        let mut owned: Vec<(&SmolStr, FieldSet)> = Vec::new();
        for managed in &managers.0 {
            match owned.iter_mut().find(|(version, _)| **version == managed.api_version) {
                Some((_, fields)) => *fields = fields.union(&managed.fields),
                None => owned.push((&managed.api_version, managed.fields.clone())),
            }
        }
        // What is owned in the version at hand comes first: other versions may need it to be converted at all.
        owned.sort_by_key(|(version, _)| **version != merged.version);
        for (version, fields) in owned {
            let what = |which: &str| {
                let problem = format!("failed to convert {which} object at version {version}");
                format!("failed to prune fields: failed add back owned items: {problem}")
            };
            let Some(there) = self.converted(merged, version, &what("merged"))? else { continue };
            let Some(rest) = self.converted(&pruned, version, &what("pruned"))? else { continue };
            let place = self.place(version)?;
            let all = named_field_set(place, &there.value);
            let kept = named_field_set(place, &rest.value).union(&with_named(place, &fields));
            let value = Cow::Owned(remove(place, &there.value, &all.difference(&kept)));
            pruned = Versioned { value, version: version.clone() };
        }
        Ok(pruned)
    }

    /// Adds back what the manager had not applied the last time: it is not its to remove.
    fn add_back_dangling<'v>(
        &self,
        merged: &'v Versioned<'_>,
        pruned: &Versioned<'_>,
        last: &FieldSet,
    ) -> Result<Versioned<'v>, Refusal> {
        let what = "failed to prune fields: failed add back dangling items: failed to convert pruned object to last \
                    applied version";
        let Some(pruned) = self.converted(pruned, &merged.version, what)? else {
            return Ok(merged.borrowed());
        };
        let place = self.place(&merged.version)?;
        let rest = named_field_set(place, &pruned.value);
        let all = named_field_set(place, &merged.value);
        let gone = all.difference(&rest).intersection(last);
        let value = Cow::Owned(remove(place, &merged.value, &gone));
        Ok(Versioned { value, version: merged.version.clone() })
    }

    fn versioned<'v>(&self, object: impl Into<Tree<'v>>) -> Versioned<'v> {
        Versioned { value: object.into().whole(), version: self.api_version.into() }
    }

    /// The object in another version; `None` if there is no such version. An error begins with `what`.
    fn converted<'v>(
        &self,
        object: &'v Versioned<'_>,
        version: &str,
        what: &str,
    ) -> Result<Option<Versioned<'v>>, Refusal> {
        if object.version == version {
            return Ok(Some(object.borrowed()));
        }
        let refuse = |problem: String| {
            let colon = if what.is_empty() { "" } else { ": " };
            Refusal::Internal(format!("{what}{colon}{problem}"))
        };
        let value = match self.versions.convert(&object.value, version) {
            Ok(value) => value,
            Err(ConvertError::Missing) => return Ok(None),
            Err(ConvertError::Failed(problem)) => return Err(refuse(problem)),
        };
        let Some(types) = self.versions.types(version) else { return Ok(None) };
        validate(types.place(), &value, Duplicates::Refused).map_err(refuse)?;
        Ok(Some(Versioned { value: Cow::Owned(value), version: version.into() }))
    }

    pub(super) fn place(&self, version: &str) -> Result<Place<'_>, Refusal> {
        match self.versions.types(version) {
            Some(types) => Ok(types.place()),
            None => Err(Refusal::Internal(format!("no corresponding type for {}", self.gvk(version)))),
        }
    }
}

/// Whether `patch` has a null or an empty map where there is more: it owns that field, but nothing in it, and then even
/// what is applied again may lose its last fields.
fn is_hollow(patch: &Value, merged: &Value) -> bool {
    match (patch, merged) {
        (Value::Null, Value::Map(merged)) => !merged.is_empty(),
        (Value::Map(patch), Value::Map(merged)) if patch.is_empty() => !merged.is_empty(),
        (Value::Map(patch), Value::Map(merged)) => {
            patch.iter().any(|(key, patch)| merged.get(key).is_some_and(|it| is_hollow(patch, it)))
        }
        (Value::List(patch), Value::List(merged)) => {
            // Which of them belong together does not matter enough to find it out.
            patch.iter().any(|patch| merged.iter().any(|it| is_hollow(patch, it)))
        }
        _ => false,
    }
}

/// What [`Tracker::prune`] removes from `merged` where there is one version only: nothing is converted, and no field is
/// taken out only to see which are left.
fn unwanted(place: Place<'_>, merged: &Value, last: &FieldSet, managers: &Managers) -> FieldSet {
    let all = named_field_set(place, merged);
    let owned = managers.0.iter().fold(FieldSet::new(), |owned, it| owned.union(&it.fields));
    let kept = named_rest(place, merged, &all, last).union(&with_named(place, &owned));
    let left = named_rest(place, merged, &all, &all.difference(&kept));
    // What the manager had not applied the last time is not its to remove.
    all.difference(&left).intersection(last)
}

impl Versioned<'_> {
    fn borrowed(&self) -> Versioned<'_> {
        Versioned { value: Cow::Borrowed(&self.value), version: self.version.clone() }
    }
}

impl<'t> Types<'t> {
    pub(super) fn place(self) -> Place<'t> {
        match self {
            Types::Known(schema) => Place::root(Some(schema)),
            Types::Structural(schema) => Place::structural_root(schema),
            Types::Deduced => Place::root(None),
        }
    }
}

impl Id {
    /// An applier.
    pub(super) fn applier(name: &str, subresource: &str) -> Id {
        Id {
            name: named(name),
            operation: Operation::Apply,
            api_version: SmolStr::default(),
            subresource: subresource.into(),
        }
    }

    /// Someone who updates.
    pub(super) fn updater(name: &str, api_version: &str, subresource: &str) -> Id {
        Id {
            name: named(name),
            operation: Operation::Update,
            api_version: api_version.into(),
            subresource: subresource.into(),
        }
    }
}

fn named(name: &str) -> SmolStr {
    if name.is_empty() { SmolStr::new_static("unknown") } else { name.into() }
}
