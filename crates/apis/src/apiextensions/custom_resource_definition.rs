//! CustomResourceDefinition: a kind, its versions and their schemas.

mod approval;
mod conversion;
pub(super) mod definition;
mod names;
mod schema;
mod spec;
mod strictness;
#[cfg(test)]
mod tests;
mod version_form;
mod versions;

use std::collections::{HashMap, HashSet};

use keelson_object::scalar::{Time, quote};
use keelson_object::{FieldErrors, Map, Object, Path, SmolStr, Value};
use keelson_registry::lifecycle::generation;
use keelson_registry::{Context, Strategy};
use keelson_structural::terminating;

use crate::shared::edit::{fill, part};
use crate::shared::service_reference;
use definition::Definition;
use schema::formats;

pub(crate) struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go, SetDefaults_CustomResourceDefinition
    /// (v1.36.4).
    fn default(&self, object: &mut Object) {
        let spec = object.fields.map_mut("spec");
        default_names(spec.map_mut("names"));
        if spec.map("conversion").is_none() {
            spec.map_mut("conversion").set("strategy", "None");
        }
        let webhook = part(spec, "conversion").and_then(|it| part(it, "webhook"));
        if let Some(client) = webhook.and_then(|it| part(it, "clientConfig")) {
            service_reference::default(client);
        }
        if object.fields.map("status").is_none_or(|it| it.list("storedVersions").is_empty()) {
            add_stored_version(object);
        }
    }

    /// Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.remove("status");
        generation::begin(object);
        add_stored_version(object);
    }

    /// Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, PrepareForUpdate (v1.36.4).
    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
        generation::advance(object, old, &["spec"]);
        add_stored_version(object);
    }

    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
    /// ValidateCustomResourceDefinition (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check_name(object, errors);
        check(object, None, errors);
    }

    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
    /// ValidateCustomResourceDefinitionUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        check(object, Some(old), errors);
    }

    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
    /// ValidateUpdateCustomResourceDefinitionStatus (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        check_accepted_names(object, errors);
    }

    fn has_own_delete(&self) -> bool {
        true
    }

    /// Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go, Delete (v1.36.4).
    fn mark_deleted(&self, object: &mut Object, now: Time) {
        object.meta.deletion_timestamp = Some(now);
        if !object.meta.finalizers.iter().any(|it| it == terminating::FINALIZER) {
            object.meta.finalizers.push(SmolStr::new_static(terminating::FINALIZER));
        }
        terminating::pending().set(object.fields.map_mut("status"), now);
    }

    /// Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go, WarningsOnCreate,
    /// WarningsOnUpdate (v1.36.4).
    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let before = old.map(Definition::of);
        let known: HashSet<&str> =
            before.iter().flat_map(|it| it.schemas()).flat_map(formats::unknown).collect();
        let unknown = Definition::of(object);
        let unknown = unknown.schemas().flat_map(formats::unknown).filter(|it| !known.contains(it));
        unknown.map(|format| format!("unrecognized format {}", quote(format))).collect()
    }
}

fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    spec::check(object, old, errors);
    check_accepted_names(object, errors);
    check_stored_versions(object, errors);
    approval::check(object, old, errors);
    let keeps = |object| Definition::of(object).keeps_unknown_fields();
    if keeps(object) && !old.is_some_and(keeps) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
            spec.versions[*].schema instead";
        errors.invalid(&Path::root("spec.preserveUnknownFields"), true, detail);
    }
}

/// The name is that of the resource and its group.
fn check_name(object: &Object, errors: &mut FieldErrors) {
    let spec = Definition::of(object).spec;
    let group = spec.str("group").unwrap_or_default();
    let plural = spec.map("names").and_then(|it| it.str("plural")).unwrap_or_default();
    let (name, prefix) = (object.meta.name.as_str(), object.meta.generate_name.as_str());
    for (field, text) in [("generateName", prefix), ("name", name)] {
        let is_it = text.strip_prefix(plural).and_then(|it| it.strip_prefix('.')) == Some(group);
        if !is_it && (field == "name" || !text.is_empty()) {
            let detail = "must be spec.names.plural+\".\"+spec.group";
            errors.invalid(&Path::root("metadata").key(field), text, detail);
        }
    }
}

fn check_accepted_names(object: &Object, errors: &mut FieldErrors) {
    if let Some(names) = object.fields.map("status").and_then(|it| it.map("acceptedNames")) {
        names::check(names, &Path::root("status.acceptedNames"), errors);
    }
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// ValidateCustomResourceDefinitionStoredVersions (v1.36.4).
fn check_stored_versions(object: &Object, errors: &mut FieldErrors) {
    let at = Path::root("status.storedVersions");
    let nothing = Map::new();
    let status = object.fields.map("status").unwrap_or(&nothing);
    let shown = status.get("storedVersions").unwrap_or(&Value::Null);
    let mut left: HashMap<&str, usize> =
        status.strings("storedVersions").enumerate().map(|(index, name)| (name, index)).collect();
    if left.is_empty() {
        return errors.invalid(&at, shown, "must have at least one stored version");
    }
    for version in Definition::of(object).versions {
        let name = version.str("name").unwrap_or_default();
        if left.remove(name).is_none() && version.bool("storage") == Some(true) {
            errors.invalid(&at, shown, format!("must have the storage version {name}"));
        }
    }
    let mut left: Vec<(usize, &str)> = left.into_iter().map(|(name, index)| (index, name)).collect();
    left.sort_unstable();
    for (index, name) in left {
        let detail = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.invalid(&at.index(index), name, detail);
    }
}

fn default_names(names: &mut Map) {
    let Some(kind) = names.str("kind").filter(|kind| !kind.is_empty()).map(SmolStr::new) else { return };
    fill(names, "singular", kind.to_lowercase());
    fill(names, "listKind", format!("{kind}List"));
}

/// Remembers that objects may lie in the store in the version that is the stored one now.
fn add_stored_version(object: &mut Object) {
    let stored = object.fields.map("spec").and_then(|spec| {
        let version = spec.maps("versions").find(|it| it.bool("storage") == Some(true))?;
        version.str("name").map(Value::from)
    });
    let Some(stored) = stored else { return };
    let status = object.fields.map_mut("status");
    let mut versions = status.list("storedVersions").to_vec();
    if !versions.contains(&stored) {
        versions.push(stored);
        status.set("storedVersions", versions);
    }
}
