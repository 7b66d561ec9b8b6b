//! Legacy discovery: the documents of one group, one version, one list each.

use std::fmt::Write as _;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::SmolStr;
use keelson_registry::catalog::{ServedGroup, ServedResource};
use keelson_registry::{Catalog, Resource, Scope};

use super::{Fragments, subresources, verbs};
use crate::openapi::Offered;

/// The path below which a group is served.
pub(super) fn root(group: &ServedGroup) -> String {
    if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) }
}

/// `/api`: the versions of the core group.
pub(super) fn core_versions(catalog: &Catalog, address: &str) -> String {
    let versions = catalog.group("").map(|it| it.versions.as_slice()).unwrap_or_default();
    format!(
        "{{\"kind\":\"APIVersions\",\"versions\":{},\"serverAddressByClientCIDRs\":\
         [{{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"{address}\"}}]}}",
        strings(versions.iter().map(|it| &**it))
    )
}

/// `/apis`: all named groups, those without built-in resources by the name of their first APIService.
///
/// Upstream: kube-aggregator/pkg/apis/apiregistration/v1/helper/helpers.go, ByGroupPriorityMinimum (v1.36.4).
pub(super) fn group_list(fragments: &Fragments, catalog: &Catalog) -> String {
    let named = fragments.all(catalog).into_iter().filter(|(group, _)| !group.name.is_empty());
    let (mut groups, mut custom): (Vec<_>, Vec<_>) = named.partition(|(group, _)| group.is_builtin());
    custom.sort_by(|(_, a), (_, b)| a.first_service.cmp(&b.first_service));
    groups.append(&mut custom);
    let mut out = String::from("{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[");
    for (at, (_, fragment)) in groups.iter().enumerate() {
        let comma = if at == 0 { "{" } else { ",{" };
        // The document of a group is its entry in the list, with a head before it.
        let entry = fragment.group().strip_prefix(GROUP_HEAD).unwrap_or_default();
        out.push_str(comma);
        out.push_str(entry);
    }
    out.push_str("]}");
    out
}

const GROUP_HEAD: &str = "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",";

/// The name of the APIService of a group that comes first: `v1.example.com`.
pub(super) fn first_service(group: &ServedGroup) -> SmolStr {
    let services = group.versions.iter().map(|version| format!("{version}.{}", group.name));
    services.min().unwrap_or_default().into()
}

/// `/apis/{group}`.
pub(super) fn group(group: &ServedGroup) -> String {
    let one = |version: &str| {
        format!("{{\"groupVersion\":\"{}/{version}\",\"version\":\"{version}\"}}", group.name)
    };
    let versions: Vec<String> = group.versions.iter().map(|it| one(it)).collect();
    let preferred = group.versions.first().map(|it| one(it)).unwrap_or_default();
    format!(
        "{GROUP_HEAD}\"name\":\"{}\",\"versions\":[{}],\"preferredVersion\":{preferred}}}",
        group.name,
        versions.join(",")
    )
}

/// `/api/{version}` and `/apis/{group}/{version}`.
pub(super) fn resource_list(group: &ServedGroup, version: &str, hashes: Offered) -> String {
    // The core group's list is older than the field.
    let (api_version, group_version) = match &*group.name {
        "" => ("", version.to_owned()),
        name => ("\"apiVersion\":\"v1\",", format!("{name}/{version}")),
    };
    let mut out = format!(
        "{{\"kind\":\"APIResourceList\",{api_version}\"groupVersion\":\"{group_version}\",\"resources\":["
    );
    for (at, shown) in group.served(version).iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        entry(shown, hashes, &mut out);
        subresource_entries(shown, &mut out);
    }
    out.push_str("]}");
    out
}

fn subresource_entries(shown: &ServedResource<'_>, out: &mut String) {
    let (plural, is_namespaced) = (&shown.resource.plural, is_namespaced(shown.resource));
    for sub in subresources(shown) {
        let name = sub.name;
        let _ = write!(
            out,
            ",{{\"name\":\"{plural}/{name}\",\"singularName\":\"\",\"namespaced\":{is_namespaced},"
        );
        if let Some((group, version)) = sub.foreign {
            let _ = write!(out, "\"group\":\"{group}\",\"version\":\"{version}\",");
        }
        let _ = write!(out, "\"kind\":\"{}\",\"verbs\":", sub.kind);
        push_strings(sub.verbs.iter().copied(), out);
        out.push('}');
    }
}

fn entry(shown: &ServedResource<'_>, hashes: Offered, out: &mut String) {
    let resource = shown.resource;
    let _ = write!(
        out,
        "{{\"name\":\"{}\",\"singularName\":\"{}\",\"namespaced\":{},\"kind\":\"{}\",\"verbs\":",
        resource.plural,
        resource.singular,
        is_namespaced(resource),
        resource.kind,
    );
    push_strings(verbs(shown), out);
    if !resource.short_names.is_empty() {
        out.push_str(",\"shortNames\":");
        push_strings(resource.short_names.iter().map(|it| &**it), out);
    }
    if !resource.categories.is_empty() {
        out.push_str(",\"categories\":");
        push_strings(resource.categories.iter().map(|it| &**it), out);
    }
    if resource.is_stored() && resource.shows_storage_version && hashes == Offered::Yes {
        let hash = storage_version_hash(&resource.encoding_version(), &resource.kind);
        let _ = write!(out, ",\"storageVersionHash\":\"{hash}\"");
    }
    out.push('}');
}

fn is_namespaced(resource: &Resource) -> bool {
    resource.scope == Scope::Namespaced
}

/// A hash by which clients notice a change of the stored version, without knowing the version.
///
/// Upstream: apiserver/pkg/endpoints/discovery/storageversionhash.go (v1.36.4).
fn storage_version_hash(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let hash = digest::digest(&digest::SHA256, format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(&hash.as_ref()[..8])
}

/// `["a","b"]`. Names contain nothing that JSON would escape.
fn strings<'s>(texts: impl IntoIterator<Item = &'s str>) -> String {
    let mut out = String::new();
    push_strings(texts, &mut out);
    out
}

/// The same, appended to a text.
pub(super) fn push_strings<'s>(texts: impl IntoIterator<Item = &'s str>, out: &mut String) {
    out.push('[');
    for (at, text) in texts.into_iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\"{text}\"");
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use keelson_registry::catalog::{Origin, ServedResource};
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
        let check = |hashes: Offered, expected: bool| {
            let (origin, mut out) = (Origin::Builtin, String::new());
            let shown = ServedResource { resource: &things, version: &things.versions[0], origin };
            entry(&shown, hashes, &mut out);
            assert_eq!(out.contains("storageVersionHash"), expected, "{out}");
        };
        check(Offered::Yes, true);
        check(Offered::No, false);
    }

    #[test]
    fn strings_are_a_list() {
        assert_eq!(strings([]), "[]");
        assert_eq!(strings(["a", "b"]), "[\"a\",\"b\"]");
    }
}
