//! Served custom resources: which definition is served by which resources, and in which state.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use keelson_codec::json;
use keelson_object::{Object, SmolStr, Value};
use keelson_registry::{CatalogHandle, Live};

use crate::resource::Stage;

/// What serves a definition.
pub struct Served {
    /// What it was made from.
    pub fingerprint: Fingerprint,
    /// One resource for each served version.
    pub lives: Vec<Arc<Live>>,
}

/// What a served definition depends on: resources are made again when it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    uid: SmolStr,
    /// A hash of `spec` and `status.acceptedNames`.
    content: u64,
    stage: Stage,
}

impl Served {
    /// The fingerprint of a definition.
    pub fn fingerprint(definition: &Object, stage: Stage) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        let accepted = definition.fields.map("status").and_then(|it| it.get("acceptedNames"));
        for part in [definition.fields.get("spec"), accepted] {
            json::to_bytes(part.unwrap_or(&Value::Null)).hash(&mut hasher);
        }
        Fingerprint { uid: definition.meta.uid.clone(), content: hasher.finish(), stage }
    }
}

/// All served definitions, by name.
#[derive(Default)]
pub struct Serving {
    served: HashMap<SmolStr, Served>,
    /// When definitions may say that they are established.
    established_from: HashMap<SmolStr, Duration>,
}

impl Serving {
    /// Whether a definition is served as it is.
    pub fn is_current(&self, name: &str, fingerprint: &Fingerprint) -> bool {
        self.served.get(name).is_some_and(|it| it.fingerprint == *fingerprint)
    }

    /// The resource that stands for the objects of a definition.
    pub fn first(&self, name: &str) -> Option<Arc<Live>> {
        self.served.get(name)?.lives.first().cloned()
    }

    /// Serves a definition in another way. Watches of the old resources end, other requests go on.
    pub fn replace(&mut self, catalog: &CatalogHandle, name: &SmolStr, served: Served) {
        let old = self.served.remove(name);
        let gone = old.as_ref().and_then(|it| identity(&it.lives)).filter(|_| served.lives.is_empty());
        catalog.update(|catalog| match &gone {
            Some((group, plural)) => catalog.without_resource(group, plural),
            None => catalog.with_resource(&served.lives),
        });
        if let Some(old) = old {
            old.lives.iter().take(1).for_each(|it| it.retire());
        }
        self.served.insert(name.clone(), served);
    }

    /// Does not serve a definition any more.
    pub fn stop(&mut self, catalog: &CatalogHandle, name: &str) {
        self.established_from.remove(name);
        let Some(old) = self.served.remove(name) else { return };
        if let Some((group, plural)) = identity(&old.lives) {
            catalog.update(|catalog| catalog.without_resource(&group, &plural));
        }
        old.lives.iter().take(1).for_each(|it| it.retire());
    }

    /// Whether a definition has to wait until it may say that it is established. The delay begins with the first call.
    pub fn waits_to_establish(&mut self, name: &SmolStr, now: Duration, delay: Duration) -> bool {
        let from = *self.established_from.entry(name.clone()).or_insert(now + delay);
        now < from
    }
}

fn identity(lives: &[Arc<Live>]) -> Option<(SmolStr, SmolStr)> {
    let resource = &lives.first()?.resource;
    Some((resource.group.clone(), resource.plural.clone()))
}
