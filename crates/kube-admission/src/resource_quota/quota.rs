//! Quota: the parts of a ResourceQuota that requests are checked against.

use keelson_object::{Map, Object, SmolStr};
use keelson_registry::Result;
use keelson_registry::{Catalog, Live};

use super::scope::Scope;
use crate::amounts::{self, Amounts};

/// A quota and its new usage.
#[derive(Clone, Debug)]
pub(super) struct Quota {
    object: Object,
    pub(super) scopes: Vec<Scope>,
    /// The limits that usage was counted for.
    pub(super) hard: Amounts,
    /// The usage, including charges since it was read.
    pub(super) used: Amounts,
    pub(super) is_charged: bool,
}

impl Quota {
    /// Reads a quota object.
    pub(super) fn read(object: Object) -> Quota {
        let none = Map::new();
        let scopes = Scope::of_quota(object.fields.map("spec").unwrap_or(&none));
        let status = object.fields.map("status").unwrap_or(&none);
        let (hard, used) = (amounts::read(status.map("hard")), amounts::read(status.map("used")));
        Quota { object, scopes, hard, used, is_charged: false }
    }

    /// Its name.
    pub(super) fn name(&self) -> &SmolStr {
        &self.object.meta.name
    }

    /// The object with the current usage.
    pub(super) fn into_object(self) -> Object {
        let mut object = self.object;
        object.fields.map_mut("status").set("used", amounts::write(&self.used));
        object
    }
}

/// The resource of quotas.
pub(super) fn live(catalog: &Catalog) -> Option<&Live> {
    catalog.live("", "resourcequotas").map(AsRef::as_ref)
}

/// The quotas of a namespace, read consistently. Their absence is taken from the cache: most namespaces have
/// none, and a remote store need not be asked about them with every write.
pub(super) async fn all(live: &Live, namespace: &str) -> Result<Vec<Quota>> {
    let cache = live.cache()?;
    if cache.at_hand().await.namespace(namespace).next().is_none() {
        return Ok(Vec::new());
    }
    let snapshot = cache.fresh().await?;
    snapshot.namespace(namespace).map(|(_, it)| live.thaw(it).map(Quota::read)).collect()
}
