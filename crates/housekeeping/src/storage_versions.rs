//! StorageVersions: the version in which this server stores each resource, and the versions that it reads.
//!
//! ```text
//! storageversions/apps.deployments    status.storageVersions: an entry for each server
//!                                     status.commonEncodingVersion: set if all entries agree
//! ```
//!
//! Storage migration reads them. The entries of servers whose identity lease is gone are removed by
//! kube-controller-manager, which is why the lease must exist before the first entry is written.
//!
//! Upstream: apiserver/pkg/storageversion/{manager,updater}.go and kube-aggregator/pkg/apiserver/apiserver.go (v1.36.4).

use std::time::Duration;

use keelson_object::{GroupResource, Map, Object, SmolStr, Value};
use keelson_registry::options::Part;
use keelson_registry::{Catalog, CatalogHandle, Error, Live, Place, Result, operation};
use keelson_stdx::clock::Clock;

use crate::identity_lease;

const GROUP: &str = "internal.apiserver.k8s.io";
const PLURAL: &str = "storageversions";
const CONDITION: &str = "AllEncodingVersionsEqual";
/// How often entries that another server changed or removed are written again.
const INTERVAL: Duration = Duration::from_secs(600);
/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// How often the existence of the identity lease is checked.
const LEASE_CHECK: Duration = Duration::from_millis(100);

/// This server's entry for one resource.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// `apps.deployments`, `core.pods`.
    name: String,
    /// The resource, and those of other groups that show the same objects.
    resources: Vec<GroupResource>,
    encoding: SmolStr,
    decodable: Vec<SmolStr>,
    served: Vec<SmolStr>,
}

/// Every resource whose StorageVersion this server writes.
pub fn resources(catalog: &Catalog) -> Vec<GroupResource> {
    entries(catalog).into_iter().flat_map(|it| it.resources).collect()
}

/// Keeps the entries of the server called `server` for as long as it is polled. `report` learns of every attempt, with
/// the problem if it failed.
pub async fn run(
    catalog: CatalogHandle,
    clock: Clock,
    server: String,
    report: impl Fn(&GroupResource, Option<String>),
) {
    while !identity_lease::exists(&catalog, &clock, &server).await.unwrap_or(false) {
        clock.sleep(LEASE_CHECK).await;
    }
    // Built-in resources exist from the start; resources that are added later have no entry.
    let entries = entries(&catalog.load());
    loop {
        let mut pause = INTERVAL;
        for entry in &entries {
            let problem = record(&catalog, &clock, &server, entry).await.err().map(|it| it.to_string());
            if let Some(problem) = &problem {
                tracing::warn!(name = entry.name, problem, "a storage version could not be updated");
                pause = RETRY;
            }
            entry.resources.iter().for_each(|it| report(it, problem.clone()));
        }
        clock.sleep(pause).await;
    }
}

fn entries(catalog: &Catalog) -> Vec<Entry> {
    let all = catalog.groups().iter().flat_map(|group| &group.resources);
    let mut entries: Vec<Entry> = all.filter_map(|live| entry(catalog, live)).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}

/// `None` for resources that are not stored, or are stored by another resource.
fn entry(catalog: &Catalog, live: &Live) -> Option<Entry> {
    let resource = &live.resource;
    if !resource.is_stored() || resource.stands_for.is_some() {
        return None;
    }
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    let kin = catalog.kin(resource).iter().map(|it| &it.resource).filter(|it| it.stands_for.is_some());
    let mut resources = vec![resource.group_resource()];
    let mut decodable: Vec<SmolStr> = resource.versions.iter().map(|it| it.api_version.clone()).collect();
    decodable.extend(resource.readable.iter().map(|it| SmolStr::new_static(it.0)));
    for other in kin {
        resources.push(other.group_resource());
        decodable.extend(other.versions.iter().map(|it| it.api_version.clone()));
    }
    Some(Entry {
        name: format!("{group}.{}", resource.plural),
        resources,
        encoding: resource.encoding_version(),
        decodable,
        served: resource.served_versions().map(|it| it.api_version.clone()).collect(),
    })
}

/// Writes the entry into its StorageVersion, which is created if it is missing.
async fn record(catalog: &CatalogHandle, clock: &Clock, server: &str, entry: &Entry) -> Result<()> {
    let context = crate::context(catalog, clock);
    let live = context.reach(GROUP, PLURAL)?;
    let place = Place::new("", entry.name.as_str());
    let now = context.now().to_string();
    let edit = |old: &Object| {
        let mut object = old.clone();
        set_entry(&mut object, server, entry);
        set_common_version(&mut object, &now);
        Ok(object)
    };
    match operation::patch(live, &context, &place, Part::Status, edit).await {
        Err(Error::NotFound { .. }) => {}
        updated => return updated.map(drop),
    }
    let mut object = crate::new_object(live, "", &entry.name);
    object.fields.set("spec", Map::new());
    match operation::create(live, &context, "", object).await {
        Ok(_) | Err(Error::AlreadyExists { .. }) => {}
        Err(error) => return Err(error),
    }
    operation::patch(live, &context, &place, Part::Status, edit).await.map(drop)
}

/// Replaces the entry of `server`, or adds it.
fn set_entry(object: &mut Object, server: &str, entry: &Entry) {
    let texts = |versions: &[SmolStr]| versions.iter().cloned().map(Value::from).collect::<Vec<_>>();
    let mut own = Map::new();
    own.set("apiServerID", server);
    own.set("encodingVersion", entry.encoding.clone());
    own.set("decodableVersions", texts(&entry.decodable));
    own.set("servedVersions", texts(&entry.served));
    let status = object.fields.map_mut("status");
    let mut all = status.list("storageVersions").to_vec();
    let is_own = |it: &Value| it.as_map().and_then(|it| it.str("apiServerID")) == Some(server);
    match all.iter().position(is_own) {
        Some(at) => all[at] = own.into(),
        None => all.push(own.into()),
    }
    status.set("storageVersions", all);
}

/// Sets the common encoding version if all servers agree.
///
/// Upstream: apiserver/pkg/storageversion/updater.go, SetCommonEncodingVersion (v1.36.4).
fn set_common_version(object: &mut Object, now: &str) {
    let generation = object.meta.generation;
    let status = object.fields.map_mut("status");
    let versions: Vec<&str> =
        status.maps("storageVersions").filter_map(|it| it.str("encodingVersion")).collect();
    let common = versions.first().filter(|first| versions.iter().all(|it| it == *first));
    let common = common.map(SmolStr::new);
    let before = status.str("commonEncodingVersion").map(SmolStr::new);
    let is_other = before.is_some() && common.is_some() && before != common;
    let (state, reason, message) = match &common {
        Some(_) => ("True", "CommonEncodingVersionSet", "Common encoding version set"),
        None => ("False", "CommonEncodingVersionUnset", "Common encoding version unset"),
    };
    match common {
        Some(common) => status.set("commonEncodingVersion", common),
        None => drop(status.remove("commonEncodingVersion")),
    }
    let mut conditions = status.list("conditions").to_vec();
    let is_it = |it: &Value| it.as_map().and_then(|it| it.str("type")) == Some(CONDITION);
    let at = conditions.iter().position(is_it).unwrap_or_else(|| {
        conditions.push(Map::new().into());
        conditions.len() - 1
    });
    if let Value::Map(condition) = &mut conditions[at] {
        if is_other || condition.str("status") != Some(state) {
            condition.set("lastTransitionTime", now);
        }
        condition.set("type", CONDITION);
        condition.set("status", state);
        condition.set("reason", reason);
        condition.set("message", message);
        if generation != 0 {
            condition.set("observedGeneration", generation);
        }
    }
    status.set("conditions", conditions);
}

#[cfg(test)]
mod tests {
    use keelson_object::{GroupResource, Object};

    use super::{Entry, set_common_version, set_entry};

    fn entry(encoding: &str) -> Entry {
        Entry {
            name: "apps.deployments".to_owned(),
            resources: vec![GroupResource::new("apps", "deployments")],
            encoding: encoding.into(),
            decodable: vec![encoding.into()],
            served: vec![encoding.into()],
        }
    }

    /// Checks the status after each of `servers` has written its entry: version, state and time.
    #[track_caller]
    fn check(servers: &[(&str, &str)], expected: (Option<&str>, &str, &str)) {
        let mut object = Object::default();
        for (minute, (server, encoding)) in servers.iter().enumerate() {
            set_entry(&mut object, server, &entry(encoding));
            set_common_version(&mut object, &format!("{minute}"));
        }
        let status = object.fields.map("status").expect("a status");
        let condition = status.maps("conditions").next().expect("a condition");
        let text = |key| condition.str(key).expect("text");
        let found = (status.str("commonEncodingVersion"), text("status"), text("lastTransitionTime"));
        assert_eq!(found, expected, "{servers:?}");
        assert_eq!(status.list("conditions").len(), 1);
    }

    #[test]
    fn servers_that_agree_have_a_common_version() {
        check(&[("a", "v1")], (Some("v1"), "True", "0"));
        check(&[("a", "v1"), ("b", "v1")], (Some("v1"), "True", "0"));
        check(&[("a", "v1"), ("b", "v2")], (None, "False", "1"));
        check(&[("a", "v1"), ("b", "v2"), ("a", "v2")], (Some("v2"), "True", "2"));
        check(&[("a", "v1"), ("a", "v1")], (Some("v1"), "True", "0"));
        check(&[("a", "v1"), ("a", "v2")], (Some("v2"), "True", "1"));
    }
}
