//! Discovery fragments: the documents about one group, made on the first request.
//!
//! A fragment belongs to one state of its group, which has a stamp of its own. When the catalog changes, the groups
//! that did not change keep their stamps and therefore their fragments.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest::{self, Digest};
use bytes::Bytes;
use keelson_object::SmolStr;
use keelson_registry::Catalog;
use keelson_registry::catalog::ServedGroup;
use parking_lot::Mutex;

use super::{aggregated, legacy, message};
use crate::openapi::Offered;

/// The fragments of all groups that were requested.
#[derive(Default)]
pub(super) struct Fragments(Mutex<HashMap<SmolStr, Arc<Fragment>>>);

impl Fragments {
    /// The fragment of a group.
    pub(super) fn of(&self, group: &ServedGroup) -> Arc<Fragment> {
        current(&mut self.0.lock(), group)
    }

    /// The fragments of all groups, in order. Those of removed groups are dropped.
    pub(super) fn all<'c>(&self, catalog: &'c Catalog) -> Vec<(&'c ServedGroup, Arc<Fragment>)> {
        let mut known = self.0.lock();
        let all: Vec<_> =
            catalog.groups().iter().map(|group| (&**group, current(&mut known, group))).collect();
        if known.len() > all.len() {
            known.retain(|name, _| catalog.group(name).is_some());
        }
        all
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

fn current(known: &mut HashMap<SmolStr, Arc<Fragment>>, group: &ServedGroup) -> Arc<Fragment> {
    match known.get(&group.name) {
        Some(fragment) if fragment.stamp == group.stamp() => fragment.clone(),
        _ => {
            let fragment = Arc::new(Fragment::new(group));
            known.insert(group.name.clone(), fragment.clone());
            fragment
        }
    }
}

/// The documents about one group.
pub(super) struct Fragment {
    stamp: u64,
    /// The sort key in the legacy list of groups.
    pub(super) first_service: SmolStr,
    item: OnceLock<Item>,
    message: OnceLock<Bytes>,
    /// The legacy document of the group.
    group: Arc<str>,
    /// The legacy documents of its versions, as far as they were requested.
    lists: Mutex<HashMap<SmolStr, Arc<str>>>,
}

/// A part of the aggregated document.
pub(super) struct Item {
    /// Compact JSON.
    pub(super) json: String,
    pub(super) hash: Digest,
}

impl Fragment {
    fn new(group: &ServedGroup) -> Fragment {
        Fragment {
            stamp: group.stamp(),
            first_service: legacy::first_service(group),
            item: OnceLock::new(),
            message: OnceLock::new(),
            group: legacy::group(group).into(),
            lists: Mutex::default(),
        }
    }

    /// The part of the aggregated document.
    pub(super) fn item(&self, group: &ServedGroup) -> &Item {
        self.item.get_or_init(|| {
            let json = aggregated::item(group);
            Item { hash: digest::digest(&digest::SHA512, json.as_bytes()), json }
        })
    }

    /// The same in protobuf; empty as long as the JSON was not requested.
    pub(super) fn message(&self) -> &Bytes {
        self.message
            .get_or_init(|| self.item.get().map(|it| message::item(it.json.as_bytes())).unwrap_or_default())
    }

    /// The legacy document of the group, compact.
    pub(super) fn group(&self) -> &Arc<str> {
        &self.group
    }

    /// The legacy document of a version, if it was made already.
    pub(super) fn known_list(&self, version: &str) -> Option<Arc<str>> {
        self.lists.lock().get(version).cloned()
    }

    /// The legacy document of a version, compact.
    pub(super) fn list(&self, group: &ServedGroup, version: &str, hashes: Offered) -> Arc<str> {
        let made: Arc<str> = legacy::resource_list(group, version, hashes).into();
        self.lists.lock().insert(version.into(), made.clone());
        made
    }
}
