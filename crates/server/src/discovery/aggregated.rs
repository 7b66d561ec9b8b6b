//! One document with everything in it, and a tag by which clients know that it has not changed.

use std::fmt::Write as _;

use aws_lc_rs::digest;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use keelson_registry::catalog::ServedGroup;
use keelson_registry::{Catalog, Resource, Scope};

use super::legacy::strings;
use super::{message, served, subresources, verbs};
use crate::encode;
use crate::encode::compress::{Gzip, whole};
use crate::negotiate::{Encoding, Output};
use crate::response::{Body, Response, with_type};

/// A document and its tag.
pub(crate) struct Document {
    /// Compact.
    pub(super) json: Bytes,
    protobuf: Bytes,
    tag: HeaderValue,
}

impl Document {
    /// The core group.
    pub(super) fn core(catalog: &Catalog) -> Document {
        Document::new(catalog, |group| group.name.is_empty())
    }

    /// All named groups.
    pub(super) fn named(catalog: &Catalog) -> Document {
        Document::new(catalog, |group| !group.name.is_empty())
    }

    fn new(catalog: &Catalog, wanted: impl Fn(&ServedGroup) -> bool) -> Document {
        let items: Vec<String> =
            catalog.groups().iter().filter(|it| wanted(it)).map(|it| item(it)).collect();
        let json = format!(
            "{{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{{}},\
             \"items\":[{}]}}",
            items.join(",")
        );
        let hash = digest::digest(&digest::SHA512, json.as_bytes());
        let tag = hash.as_ref().iter().fold(String::from("\""), |mut tag, byte| {
            let _ = write!(tag, "{byte:02X}");
            tag
        });
        let tag = HeaderValue::from_str(&format!("{tag}\"")).expect("hexadecimal digits are header text");
        Document { protobuf: message::of(json.as_bytes()), json: Bytes::from(json), tag }
    }

    /// The document, or the word that the client has it already.
    pub(crate) fn answer(&self, parts: &Parts, output: Output) -> Response {
        let is_known = parts.headers.get(header::IF_NONE_MATCH) == Some(&self.tag);
        let mut response = if is_known {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = match output.encoding {
                Encoding::Protobuf => {
                    with_type(StatusCode::OK, media_type(output.encoding), Body::full(self.protobuf.clone()))
                }
                _ => encode::document(StatusCode::OK, &self.json, output),
            };
            response.headers_mut().insert(header::CONTENT_TYPE, media_type(output.encoding));
            whole(response, Gzip::of(&parts.headers))
        };
        let headers = response.headers_mut();
        headers.insert(header::ETAG, self.tag.clone());
        headers.append(header::VARY, HeaderValue::from_static("Accept"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
        response
    }
}

fn media_type(encoding: Encoding) -> HeaderValue {
    HeaderValue::from_static(match encoding {
        Encoding::Yaml => "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        Encoding::Protobuf => {
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        }
        Encoding::Json | Encoding::Cbor => {
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        }
    })
}

fn item(group: &ServedGroup) -> String {
    let metadata = match &*group.name {
        "" => String::new(),
        name => format!("\"name\":\"{name}\""),
    };
    let versions: Vec<String> = group.versions.iter().map(|it| version(group, it)).collect();
    format!("{{\"metadata\":{{{metadata}}},\"versions\":[{}]}}", versions.join(","))
}

fn version(group: &ServedGroup, name: &str) -> String {
    let resources: Vec<String> = served(group.resources.iter().map(|it| &it.resource), name)
        .iter()
        .map(|(it, _)| resource(it))
        .collect();
    format!("{{\"version\":\"{name}\",\"resources\":[{}],\"freshness\":\"Current\"}}", resources.join(","))
}

fn resource(resource: &Resource) -> String {
    let scope = match resource.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    let mut out = format!(
        "{{\"resource\":\"{}\",\"responseKind\":{},\"scope\":\"{scope}\",\"singularResource\":\"{}\",\"verbs\":{}",
        resource.plural,
        response_kind(("", ""), &resource.kind),
        resource.singular,
        strings(verbs(resource)),
    );
    if !resource.short_names.is_empty() {
        let _ = write!(out, ",\"shortNames\":{}", strings(resource.short_names.iter().map(|it| &**it)));
    }
    if !resource.categories.is_empty() {
        let _ = write!(out, ",\"categories\":{}", strings(resource.categories.iter().map(|it| &**it)));
    }
    let below: Vec<String> = subresources(resource)
        .iter()
        .map(|sub| {
            format!(
                "{{\"subresource\":\"{}\",\"responseKind\":{},\"verbs\":{}}}",
                sub.name,
                response_kind(sub.foreign.unwrap_or_default(), sub.kind),
                strings(sub.verbs.iter().copied())
            )
        })
        .collect();
    if !below.is_empty() {
        let _ = write!(out, ",\"subresources\":[{}]", below.join(","));
    }
    out.push('}');
    out
}

/// Group and version are left empty where they are those of the resource.
fn response_kind((group, version): (&str, &str), kind: &str) -> String {
    format!("{{\"group\":\"{group}\",\"version\":\"{version}\",\"kind\":\"{kind}\"}}")
}
