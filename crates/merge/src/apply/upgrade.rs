//! From client-side apply to server-side apply and back: the annotation in which `kubectl apply` keeps what it
//! applied the last time.
//!
//! Upstream: apimachinery/pkg/util/managedfields/internal/{lastapplied,lastappliedmanager,lastappliedupdater}.go
//! (v1.36.4).

use keelson_object::{Map, Value};

use super::Tracker;
use super::collect::field_set;
use super::compare::compare;
use super::conflict::Conflicts;
use super::field_set::FieldSet;
use super::validate::{Duplicates, validate};

/// The only manager for which the annotation is looked at.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// All annotations of an object together may not be larger.
const MAX_ANNOTATIONS: usize = 256 * 1024;

impl Tracker<'_> {
    /// The conflicts that remain when the fields that client-side apply had set are no conflict; `None` if there is
    /// nothing to go by.
    pub(super) fn conflicts_beyond_annotation(
        &self,
        live: &Value,
        conflicts: &Conflicts,
    ) -> Option<Conflicts> {
        let allowed = self.allowed_by_annotation(live)?;
        let rest = conflicts.0.iter().filter(|it| !allowed.contains(&it.path)).cloned();
        Some(Conflicts(rest.collect()))
    }

    /// The fields that client-side apply set the last time and that still are as it set them.
    fn allowed_by_annotation(&self, live: &Value) -> Option<FieldSet> {
        let applied = annotation(live)?;
        let place = self.versions.types(self.api_version)?.place();
        validate(place, live, Duplicates::Refused).ok()?;
        let applied = (self.json.read)(applied)?;
        if applied.as_map()?.str("apiVersion") != Some(self.api_version) {
            return None;
        }
        validate(place, &applied, Duplicates::Refused).ok()?;
        let comparison = compare(place, &applied, live);
        let fields = field_set(place, &applied);
        Some(
            fields
                .difference(&comparison.modified)
                .difference(&comparison.added)
                .difference(&comparison.removed),
        )
    }

    /// Keeps the annotation what `kubectl` applied, so that client-side apply can go on.
    pub(super) fn keep_annotation(&self, object: &mut Value, patch: &Value) {
        if annotation(object).is_none() {
            return;
        }
        let text = self.last_applied(patch);
        let Some(annotations) =
            object.as_map_mut().map(|it| it.map_mut("metadata")).map(|it| it.map_mut("annotations"))
        else {
            return;
        };
        annotations.set(ANNOTATION, text);
        let size: usize =
            annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
        if size > MAX_ANNOTATIONS {
            annotations.remove(ANNOTATION);
        }
    }

    fn last_applied(&self, patch: &Value) -> String {
        let mut applied = patch.clone();
        if let Some(metadata) = applied.as_map_mut().and_then(|it| it.get_mut("metadata"))
            && let Some(metadata) = metadata.as_map_mut()
        {
            match metadata.get_mut("annotations") {
                Some(Value::Map(annotations)) => {
                    annotations.remove(ANNOTATION);
                }
                Some(_) => {
                    metadata.remove("annotations");
                }
                None => {}
            }
        }
        sort(&mut applied);
        let mut text = (self.json.write)(&applied);
        text.push('\n');
        text
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let metadata = object.as_map()?.map("metadata")?;
    metadata.map("annotations")?.str(ANNOTATION).filter(|it| !it.is_empty())
}

/// Go writes maps in the order of their keys.
fn sort(value: &mut Value) {
    match value {
        Value::Map(map) => {
            map.sort_keys();
            map.iter_mut().for_each(|(_, value)| sort(value));
        }
        Value::List(items) => items.iter_mut().for_each(sort),
        _ => {}
    }
}

/// Takes `metadata.managedFields` out.
pub(super) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    let metadata = object.as_map_mut()?.get_mut("metadata")?.as_map_mut()?;
    metadata.remove("managedFields")
}

/// Puts `metadata.managedFields` in.
pub(super) fn put_managed_fields(object: &mut Value, entries: Vec<Value>) {
    if let Some(map) = object.as_map_mut()
        && !entries.is_empty()
    {
        map.map_mut("metadata").set("managedFields", entries);
    }
}

/// An object with nothing in it but its kind.
pub(super) fn bare(api_version: &str, kind: &str) -> Value {
    let mut map = Map::with_capacity(2);
    map.push_new("kind", kind);
    map.push_new("apiVersion", api_version);
    Value::Map(map)
}
