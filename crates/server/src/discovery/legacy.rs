//! The documents of one group, one version, one list each.

use std::collections::HashMap;
use std::fmt::Write as _;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_registry::catalog::ServedGroup;
use keelson_registry::{Catalog, Resource, Scope};

use super::{served, subresources, verbs};
use crate::openapi::Offered;
use crate::settings::Settings;

/// All documents, by path.
pub(super) fn documents(catalog: &Catalog, settings: &Settings) -> HashMap<String, String> {
    let (address, hashes) = (&settings.external_address, settings.storage_version_hashes);
    let mut documents = HashMap::from([
        ("/api".to_owned(), core_versions(catalog, address)),
        ("/apis".to_owned(), group_list(catalog)),
    ]);
    for served in catalog.groups() {
        let root = root(served);
        for version in &served.versions {
            documents.insert(format!("{root}/{version}"), resource_list(served, version, hashes));
        }
        if !served.name.is_empty() {
            documents.insert(root, group(served));
        }
    }
    documents
}

/// Below which path a group is served.
pub(super) fn root(group: &ServedGroup) -> String {
    if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) }
}

/// `/api`: the versions of the core group.
fn core_versions(catalog: &Catalog, address: &str) -> String {
    let versions = catalog.group("").map(|it| it.versions.as_slice()).unwrap_or_default();
    format!(
        "{{\"kind\":\"APIVersions\",\"versions\":{},\"serverAddressByClientCIDRs\":\
         [{{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"{address}\"}}]}}",
        strings(versions.iter().map(|it| &**it))
    )
}

/// `/apis`: all named groups.
fn group_list(catalog: &Catalog) -> String {
    let groups: Vec<String> = catalog
        .groups()
        .iter()
        .filter(|it| !it.name.is_empty())
        .map(|it| format!("{{{}}}", group_fields(it)))
        .collect();
    format!("{{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{}]}}", groups.join(","))
}

/// `/apis/{group}`.
fn group(group: &ServedGroup) -> String {
    format!("{{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",{}}}", group_fields(group))
}

fn group_fields(group: &ServedGroup) -> String {
    let one = |version: &str| {
        format!("{{\"groupVersion\":\"{}/{version}\",\"version\":\"{version}\"}}", group.name)
    };
    let versions: Vec<String> = group.versions.iter().map(|it| one(it)).collect();
    let preferred = group.versions.first().map(|it| one(it)).unwrap_or_default();
    format!(
        "\"name\":\"{}\",\"versions\":[{}],\"preferredVersion\":{preferred}",
        group.name,
        versions.join(",")
    )
}

/// `/api/{version}` and `/apis/{group}/{version}`.
fn resource_list(group: &ServedGroup, version: &str, hashes: Offered) -> String {
    let mut entries = Vec::new();
    for (resource, _) in served(group.resources.iter().map(|it| &it.resource), version) {
        entries.push(entry(resource, hashes));
        for sub in subresources(resource) {
            let foreign = sub.foreign.map_or_else(String::new, |(group, version)| {
                format!("\"group\":\"{group}\",\"version\":\"{version}\",")
            });
            entries.push(format!(
                "{{\"name\":\"{}/{}\",\"singularName\":\"\",\"namespaced\":{},{foreign}\"kind\":\"{}\",\"verbs\":{}}}",
                resource.plural,
                sub.name,
                is_namespaced(resource),
                sub.kind,
                strings(sub.verbs.iter().copied()),
            ));
        }
    }
    // The core group's list is older than the field.
    let (api_version, group_version) = match &*group.name {
        "" => ("", version.to_owned()),
        name => ("\"apiVersion\":\"v1\",", format!("{name}/{version}")),
    };
    format!(
        "{{\"kind\":\"APIResourceList\",{api_version}\"groupVersion\":\"{group_version}\",\"resources\":[{}]}}",
        entries.join(",")
    )
}

fn entry(resource: &Resource, hashes: Offered) -> String {
    let mut out = format!(
        "{{\"name\":\"{}\",\"singularName\":\"{}\",\"namespaced\":{},\"kind\":\"{}\",\"verbs\":{}",
        resource.plural,
        resource.singular,
        is_namespaced(resource),
        resource.kind,
        strings(verbs(resource)),
    );
    if !resource.short_names.is_empty() {
        let _ = write!(out, ",\"shortNames\":{}", strings(resource.short_names.iter().map(|it| &**it)));
    }
    if !resource.categories.is_empty() {
        let _ = write!(out, ",\"categories\":{}", strings(resource.categories.iter().map(|it| &**it)));
    }
    if resource.is_stored() && hashes == Offered::Yes {
        let hash = storage_version_hash(&resource.encoding_version(), &resource.kind);
        let _ = write!(out, ",\"storageVersionHash\":\"{hash}\"");
    }
    out.push('}');
    out
}

fn is_namespaced(resource: &Resource) -> bool {
    resource.scope == Scope::Namespaced
}

/// Tells clients when the stored version changes, without telling them what it is.
///
/// Upstream: apiserver/pkg/endpoints/discovery/storageversionhash.go (v1.36.4).
fn storage_version_hash(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let hash = digest::digest(&digest::SHA256, format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(&hash.as_ref()[..8])
}

/// `["a","b"]`. Names have nothing in them that JSON would escape.
pub(super) fn strings<'s>(texts: impl IntoIterator<Item = &'s str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(|it| format!("\"{it}\"")).collect();
    format!("[{}]", quoted.join(","))
}

#[cfg(test)]
mod tests {
    use keelson_registry::{Resource, Version};

    use super::{entry, storage_version_hash, strings};
    use crate::openapi::Offered;

    #[test]
    fn hashes_are_those_that_clients_have_seen() {
        assert_eq!(storage_version_hash("batch/v1", "CronJob"), "sd5LIXh4Fjs=");
        assert_eq!(storage_version_hash("batch/v1", "Job"), "mudhfqk/qZY=");
        assert_eq!(storage_version_hash("v1", "ConfigMap"), "qFsyl6wFWjQ=");
    }

    #[test]
    fn hashes_can_be_left_out() {
        let things = Resource::cluster("Thing", "things").version(Version::stored("v1"));
        assert!(entry(&things, Offered::Yes).contains("storageVersionHash"));
        assert!(!entry(&things, Offered::No).contains("storageVersionHash"));
    }

    #[test]
    fn strings_are_a_list() {
        assert_eq!(strings([]), "[]");
        assert_eq!(strings(["a", "b"]), "[\"a\",\"b\"]");
    }
}
