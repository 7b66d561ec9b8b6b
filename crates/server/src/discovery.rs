//! What is served: `/api`, `/apis` and below, derived from the catalog and therefore never at odds with routing.

mod aggregated;
mod kept;
mod legacy;
mod message;

use std::collections::HashMap;

use http::request::Parts;
use http::{Method, StatusCode};
use keelson_codec::media_type::parse_accept;
use keelson_registry::{Catalog, Resource, Verb, Version};
use keelson_stdx::offload;

use aggregated::Document;
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

/// The documents, made when somebody first asks for them and again when the catalog has changed.
#[derive(Default)]
pub(crate) struct Discovery {
    core: Kept<Document>,
    named: Kept<Document>,
    /// By path, as compact JSON.
    legacy: Kept<HashMap<String, String>>,
}

/// The answer to a discovery path; `None` for any other.
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
            let kept = discovery.core.of(catalog, || Document::core(catalog)).await;
            return Ok(Some(aggregated(facts, &kept.1, (parts, output), "api")));
        }
        (["apis"], Some(output)) => {
            let kept = discovery.named.of(catalog, || Document::named(catalog)).await;
            return Ok(Some(aggregated(facts, &kept.1, (parts, output), "apis")));
        }
        (["api" | "apis"] | ["api", _], _) => {}
        (["apis", group] | ["apis", group, _], _) if !group.is_empty() => {}
        _ => return Ok(None),
    }
    let settings = &facts.server.settings;
    let documents = discovery.legacy.of(catalog, || legacy::documents(catalog, settings)).await;
    let compact = documents.1.get(path).ok_or_else(|| missing(catalog, &segments))?;
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

/// Documents are objects for the audit log.
fn record(facts: &Facts<'_>, compact: &[u8]) {
    if let Some(record) = facts.record().filter(|it| it.wants_response()) {
        record.response_object(bytes::Bytes::copy_from_slice(compact));
    }
}

/// A version that a served group does not have is missed in other words than a group.
fn missing(catalog: &Catalog, segments: &[&str]) -> Error {
    match segments {
        ["api", _] if catalog.group("").is_some() => Error::NoSuchResource,
        ["apis", group, _] if catalog.group(group).is_some() => Error::NoSuchResource,
        _ => Error::NoSuchPath,
    }
}

/// The paths below which something is served.
pub(crate) fn paths(catalog: &Catalog) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned(), "/apis/".to_owned()];
    for group in catalog.groups() {
        let root = legacy::root(group);
        paths.extend(group.versions.iter().map(|version| format!("{root}/{version}")));
        paths.push(root);
    }
    paths
}

/// `/apis//`: the list of groups has no address but `/apis` and `/apis/`.
fn is_list_of_groups_and_more(path: &str) -> bool {
    path.strip_prefix("/apis//").is_some_and(|rest| rest.bytes().all(|byte| byte == b'/'))
}

/// How a client that takes the document with everything in it before any other wants to have it.
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
    /// Group and version, where they are not those of the resource.
    foreign: Option<(&'r str, &'r str)>,
    verbs: &'static [&'static str],
}

/// In the order of their names.
fn subresources(resource: &Resource) -> Vec<Subresource<'_>> {
    let verbs = &["get", "patch", "update"];
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
    if resource.scale.is_some() {
        found.push(Subresource { name: "scale", kind: "Scale", foreign: Some(("autoscaling", "v1")), verbs });
    }
    if resource.has_status {
        found.push(Subresource { name: "status", kind: &resource.kind, foreign: None, verbs });
    }
    found.sort_unstable_by_key(|it| it.name);
    found
}

fn verbs(resource: &Resource) -> Vec<&'static str> {
    let mut verbs: Vec<Verb> = resource.verbs.clone();
    verbs.sort_unstable();
    verbs.iter().map(|it| it.as_str()).collect()
}

/// The resources of a group that are served in a version, in the order of their names.
fn served<'g>(
    resources: impl IntoIterator<Item = &'g Resource>,
    version: &str,
) -> Vec<(&'g Resource, &'g Version)> {
    let mut found: Vec<_> =
        resources.into_iter().filter_map(|it| Some((it, it.served_version(version)?))).collect();
    found.sort_by(|(a, _), (b, _)| a.plural.cmp(&b.plural));
    found
}
