//! OpenAPI schema of a custom resource, read from its definition when a client requests a document.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Weak;

use keelson_object::{SmolStr, Value};
use keelson_registry::published_schema::PublishedSchema;
use keelson_registry::{CatalogHandle, Live};

use crate::definition::{Definition, VersionDefinition};

/// The schema of one version of a definition.
pub struct Published {
    definitions: Weak<Live>,
    definition: SmolStr,
    uid: SmolStr,
    version: SmolStr,
    generation: i64,
    list_kind: SmolStr,
    selectable: Vec<SmolStr>,
    preserves_unknown: bool,
}

impl Published {
    /// The schema of a version of `definition`, which is read from `catalog`.
    pub fn new(catalog: &CatalogHandle, definition: &Definition, version: &VersionDefinition) -> Published {
        let live = catalog.load().live(crate::controller::GROUP, crate::controller::PLURAL).cloned();
        let plain = |path: &SmolStr| path.trim_start_matches('.').into();
        Published {
            definitions: live.as_ref().map(std::sync::Arc::downgrade).unwrap_or_default(),
            definition: definition.name.clone(),
            uid: definition.uid.clone(),
            version: version.name.clone(),
            generation: definition.generation,
            list_kind: definition.names.list_kind.clone(),
            selectable: version.selectable.iter().map(plain).collect(),
            preserves_unknown: definition.preserves_unknown,
        }
    }
}

impl PublishedSchema for Published {
    fn open_api(&self) -> Option<Value> {
        let live = self.definitions.upgrade()?;
        let frozen = live.cache().ok()?.snapshot().get("", &self.definition).cloned()?;
        let object = live.look_at(&frozen).ok().filter(|it| it.meta.uid == self.uid)?;
        let spec = object.fields.map("spec")?;
        let version = spec.maps("versions").find(|it| it.str("name") == Some(&*self.version))?;
        version.map("schema")?.get("openAPIV3Schema").cloned()
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.uid, self.generation, &self.version).hash(&mut hasher);
        hasher.finish()
    }

    fn list_kind(&self) -> Option<SmolStr> {
        Some(self.list_kind.clone())
    }

    fn selectable_fields(&self) -> Vec<SmolStr> {
        self.selectable.clone()
    }

    fn preserves_unknown_fields(&self) -> bool {
        self.preserves_unknown
    }
}
