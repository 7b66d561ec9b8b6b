//! What is served: `/api`, `/apis` and below, derived from the catalog and therefore never at odds with routing.

mod aggregated;
mod kept;
mod legacy;

use std::collections::HashMap;

use http::request::Parts;
use http::{Method, StatusCode};
use keelson_codec::media_type::{MediaType, parse_accept};
use keelson_registry::{Catalog, Resource, Verb, Version};
use keelson_stdx::offload;

use aggregated::Document;
use kept::Kept;

use crate::chain::Facts;
use crate::encode;
use crate::encode::compress::{Gzip, whole};
use crate::error::{Error, Result};
use crate::negotiate::{self, Address, Offer, Protobuf};
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
    let path = info.path.strip_suffix('/').unwrap_or(&info.path);
    let segments: Vec<&str> = path.split('/').skip(1).collect();
    if path.starts_with("//") {
        return Ok(None);
    }
    let discovery = &facts.server.discovery;
    match segments[..] {
        ["api"] if wants_aggregated(parts) => {
            let kept = discovery.core.of(catalog, || Document::core(catalog)).await;
            return Ok(Some(aggregated(facts, &kept.1, parts, "api")));
        }
        ["apis"] if wants_aggregated(parts) => {
            let kept = discovery.named.of(catalog, || Document::named(catalog)).await;
            return Ok(Some(aggregated(facts, &kept.1, parts, "apis")));
        }
        ["api" | "apis"] | ["api", _] => {}
        ["apis", group] | ["apis", group, _] if !group.is_empty() => {}
        _ => return Ok(None),
    }
    let address = &facts.server.settings.external_address;
    let documents = discovery.legacy.of(catalog, || legacy::documents(catalog, address)).await;
    let compact = documents.1.get(path).ok_or_else(|| missing(catalog, &segments))?;
    if parts.method != Method::GET {
        return Err(Error::MethodNotAllowed);
    }
    // Groups and their list are served by somebody who only negotiates.
    if !matches!(segments[..], ["apis"] | ["apis", _]) {
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
fn aggregated(facts: &Facts<'_>, document: &Document, parts: &Parts, name: &str) -> Response {
    let response = document.answer(parts);
    if response.status() == StatusCode::OK {
        record(facts, document.json.trim_ascii_end());
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

/// Whether the first thing the client takes is the document that has everything in it.
fn wants_aggregated(parts: &Parts) -> bool {
    let accepted = negotiate::text(&parts.headers, http::header::ACCEPT);
    for accept in parse_accept(accepted) {
        if !accept.takes(MediaType::Json) {
            continue;
        }
        match accept.conversion() {
            None => return false,
            Some(wanted) => {
                if (&*wanted.kind, &*wanted.group, &*wanted.version)
                    == ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")
                {
                    return true;
                }
            }
        }
    }
    false
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
