//! Discovery: `/api`, `/apis` and below, derived from the catalog and therefore always consistent with
//! routing.
//!
//! Documents are made of [`fragment`]s, one per group. A change of the catalog changes one group: the next
//! request makes that fragment again and joins it with the others.

mod aggregated;
mod fragment;
mod kept;
mod legacy;
mod message;

use std::sync::Arc;

use http::request::Parts;
use http::{Method, StatusCode};
use keelson_codec::media_type::parse_accept;
use keelson_registry::catalog::{Origin, ServedGroup, ServedResource};
use keelson_registry::{Catalog, Verb};
use keelson_stdx::offload;

use aggregated::Document;
use fragment::{Fragment, Fragments};
use kept::Kept;

use crate::chain::Facts;
use crate::encode;
use crate::encode::compress::{Gzip, whole};
use crate::error::{Error, Result};
use crate::negotiate::{self, Address, Encoding, Layout, Offer, Output, Protobuf};
use crate::observe;
use crate::openapi::Offered;
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::Response;

/// The documents, made on the first request and again when the catalog has changed.
#[derive(Default)]
pub(crate) struct Discovery {
    fragments: Fragments,
    core: Kept<Document>,
    named: Kept<Document>,
    /// The legacy list of groups, as compact JSON.
    groups: Kept<Arc<str>>,
}

/// The response to a discovery path; `None` for any other.
pub(crate) async fn answer(
    facts: &Facts<'_>,
    catalog: &Catalog,
    info: &RequestInfo,
    parts: &Parts,
) -> Result<Option<Response>> {
    if info.path.starts_with("//") || is_list_of_groups_and_more(&info.path) {
        return Ok(None);
    }
    let path = info.path.trim_end_matches('/');
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    let discovery = &facts.server.discovery;
    let aggregated_as = wants_aggregated(parts);
    match (&segments[..], aggregated_as) {
        (["api"], Some(output)) if parts.method == Method::GET => {
            let make = || Document::core(&discovery.fragments, catalog);
            let kept = discovery.core.of(catalog, make).await;
            return Ok(Some(aggregated(facts, &kept.1, (parts, output), "api")));
        }
        (["apis"], Some(output)) => {
            let make = || Document::named(&discovery.fragments, catalog);
            let kept = discovery.named.of(catalog, make).await;
            return Ok(Some(aggregated(facts, &kept.1, (parts, output), "apis")));
        }
        (["api" | "apis"] | ["api", _], _) => {}
        (["apis", group] | ["apis", group, _], _) if !group.is_empty() => {}
        _ => return Ok(None),
    }
    let compact = discovery.legacy(catalog, facts, &segments).await;
    let compact = compact.ok_or_else(|| missing(catalog, &segments))?;
    // Upstream's handlers for the list of groups and for one group negotiate, and ignore the method.
    if !matches!(segments[..], ["apis"] | ["apis", _]) {
        if parts.method != Method::GET {
            return Err(Error::MethodNotAllowed);
        }
        let offer = Offer { protobuf: Protobuf::Offered, cbor: Offered::No };
        negotiate::has_representation(&parts.headers, offer, Address::One)?;
    }
    let query = Query::of(&parts.uri);
    let output =
        negotiate::plain(&parts.headers, &query, Offered::No).ok_or_else(negotiate::nothing_acceptable)?;
    record(facts, compact.as_bytes());
    let make = || encode::document(StatusCode::OK, compact.as_bytes(), output);
    let response = offload::run(compact.len(), make).await;
    Ok(Some(whole(response, Gzip::of(&parts.headers))))
}

impl Discovery {
    /// The document of one group, one version or one list, as compact JSON; `None` if it does not exist.
    async fn legacy(&self, catalog: &Catalog, facts: &Facts<'_>, segments: &[&str]) -> Option<Arc<str>> {
        let settings = &facts.server.settings;
        match segments {
            ["api"] => Some(legacy::core_versions(catalog, &settings.external_address).into()),
            ["apis"] => {
                let make = || legacy::group_list(&self.fragments, catalog).into();
                Some(self.groups.of(catalog, make).await.1.clone())
            }
            ["apis", name] => Some(self.fragments.of(catalog.group(name)?).group().clone()),
            ["api", version] => self.list(catalog.group("")?, version, settings.storage_version_hashes).await,
            ["apis", name, version] => {
                self.list(catalog.group(name)?, version, settings.storage_version_hashes).await
            }
            _ => None,
        }
    }

    /// The resources of a version of a group.
    async fn list(&self, group: &ServedGroup, version: &str, hashes: Offered) -> Option<Arc<str>> {
        if !group.versions.iter().any(|it| it == version) {
            return None;
        }
        let fragment = self.fragments.of(group);
        if let Some(known) = fragment.known_list(version) {
            return Some(known);
        }
        Some(offload::run(offload::LARGE, || fragment.list(group, version, hashes)).await)
    }
}

/// Upstream: apiserver/pkg/endpoints/discovery/aggregated/handler.go, which counts it by what it is (v1.36.4).
fn aggregated(
    facts: &Facts<'_>,
    document: &Document,
    (parts, output): (&Parts, Output),
    name: &str,
) -> Response {
    let response = document.answer(parts, output);
    if response.status() == StatusCode::OK {
        record(facts, &document.json);
    }
    let series = observe::path_series(&facts.server.metrics, name, "apiserver");
    observe::observed(facts, &Query::of(&parts.uri), response, series)
}

/// Records a document: it is an object for the audit log.
fn record(facts: &Facts<'_>, compact: &[u8]) {
    if let Some(record) = facts.record().filter(|it| it.wants_response()) {
        record.response_object(bytes::Bytes::copy_from_slice(compact));
    }
}

/// An unknown version of a served group has another error message than an unknown group.
fn missing(catalog: &Catalog, segments: &[&str]) -> Error {
    match segments {
        ["api", _] if catalog.group("").is_some() => Error::NoSuchResource,
        ["apis", group, _] if catalog.group(group).is_some_and(|it| it.is_builtin()) => Error::NoSuchResource,
        _ => Error::NoSuchPath,
    }
}

/// The paths below which resources are served.
pub(crate) fn paths(catalog: &Catalog) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned(), "/apis/".to_owned()];
    for group in catalog.groups() {
        let root = legacy::root(group);
        paths.extend(group.versions.iter().map(|version| format!("{root}/{version}")));
        paths.push(root);
    }
    paths
}

/// `/apis//`: the list of groups is served at `/apis` and `/apis/` only.
fn is_list_of_groups_and_more(path: &str) -> bool {
    path.strip_prefix("/apis//").is_some_and(|rest| rest.bytes().all(|byte| byte == b'/'))
}

/// The encoding for a client that prefers the aggregated document to any other.
fn wants_aggregated(parts: &Parts) -> Option<Output> {
    const ENCODINGS: [Encoding; 3] = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf];
    let accepted = negotiate::text(&parts.headers, http::header::ACCEPT);
    for accept in parse_accept(accepted) {
        let Some(encoding) = ENCODINGS.into_iter().find(|it| accept.takes(it.media_type())) else { continue };
        let wanted = accept.conversion()?;
        if (&*wanted.kind, &*wanted.group, &*wanted.version)
            == ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")
        {
            let is_pretty =
                accept.is_pretty() || negotiate::is_for_eyes(&parts.headers, &Query::of(&parts.uri));
            let layout = if is_pretty { Layout::Pretty } else { Layout::Compact };
            return Some(Output { encoding, layout, ..Output::JSON });
        }
    }
    None
}

/// A subresource as discovery shows it.
struct Subresource<'r> {
    name: &'static str,
    kind: &'r str,
    /// Group and version, if they are not those of the resource.
    foreign: Option<(&'r str, &'r str)>,
    verbs: &'static [&'static str],
}

/// Those of a built-in resource sorted by name; status before scale for a custom one.
fn subresources<'r>(shown: &ServedResource<'r>) -> Vec<Subresource<'r>> {
    let (resource, verbs) = (shown.resource, &["get", "patch", "update"]);
    let mut found: Vec<_> = resource
        .subresources
        .iter()
        .map(|it| Subresource {
            name: it.name,
            kind: it.kind.as_ref().map_or(&resource.kind, |foreign| &foreign.kind),
            foreign: it
                .kind
                .as_ref()
                .filter(|foreign| foreign.group != resource.group)
                .map(|foreign| (&*foreign.group, &*foreign.version)),
            verbs: it.verbs,
        })
        .collect();
    if resource.has_status {
        found.push(Subresource { name: "status", kind: &resource.kind, foreign: None, verbs });
    }
    if resource.scale.is_some() {
        found.push(Subresource { name: "scale", kind: "Scale", foreign: Some(("autoscaling", "v1")), verbs });
    }
    if shown.origin == Origin::Builtin {
        found.sort_unstable_by_key(|it| it.name);
    }
    found
}

/// The verbs of a built-in resource are sorted; those of a custom one are in the order of its definition.
fn verbs(shown: &ServedResource<'_>) -> Vec<&'static str> {
    let mut verbs: Vec<Verb> = shown.resource.verbs.clone();
    if shown.origin == Origin::Builtin {
        verbs.sort_unstable();
    }
    verbs.iter().map(|it| it.as_str()).collect()
}

#[cfg(test)]
mod tests;
