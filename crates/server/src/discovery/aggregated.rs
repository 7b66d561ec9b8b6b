//! Aggregated discovery: one document with all groups, and an ETag by which clients know that it has not
//! changed.
//!
//! The ETag is a hash of the hashes of the fragments: joining them costs less than hashing the document.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use keelson_registry::catalog::{Origin, ServedGroup, ServedResource};
use keelson_registry::{Catalog, Scope};

use super::legacy::push_strings;
use super::{Fragment, Fragments, message, subresources, verbs};
use crate::encode;
use crate::encode::compress::{Gzip, whole};
use crate::negotiate::{Encoding, Output};
use crate::response::{Body, Response, with_type};

/// A document and its ETag.
pub(crate) struct Document {
    /// Compact JSON.
    pub(super) json: Bytes,
    fragments: Vec<Arc<Fragment>>,
    protobuf: OnceLock<Bytes>,
    pub(super) tag: HeaderValue,
}

impl Document {
    /// The core group.
    pub(super) fn core(fragments: &Fragments, catalog: &Catalog) -> Document {
        Document::new(catalog.group("").into_iter().map(|it| (&**it, fragments.of(it))))
    }

    /// All named groups.
    pub(super) fn named(fragments: &Fragments, catalog: &Catalog) -> Document {
        Document::new(fragments.all(catalog).into_iter().filter(|(group, _)| !group.name.is_empty()))
    }

    fn new<'g>(groups: impl Iterator<Item = (&'g ServedGroup, Arc<Fragment>)>) -> Document {
        let mut json = String::from(
            "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[",
        );
        let (start, mut fragments) = (json.len(), Vec::new());
        let mut hashes = digest::Context::new(&digest::SHA512);
        for (group, fragment) in groups {
            if json.len() > start {
                json.push(',');
            }
            let item = fragment.item(group);
            json.push_str(&item.json);
            hashes.update(item.hash.as_ref());
            fragments.push(fragment);
        }
        json.push_str("]}");
        let hash = hashes.finish();
        let tag = hash.as_ref().iter().fold(String::from("\""), |mut tag, byte| {
            let _ = write!(tag, "{byte:02X}");
            tag
        });
        let tag = HeaderValue::from_str(&format!("{tag}\"")).expect("hexadecimal digits are header text");
        Document { json: Bytes::from(json), fragments, protobuf: OnceLock::new(), tag }
    }

    /// The document in protobuf, made on the first request.
    fn protobuf(&self) -> &Bytes {
        self.protobuf.get_or_init(|| message::list(self.fragments.iter().map(|it| it.message())))
    }

    /// The document, or 304 if the client has it already.
    pub(crate) fn answer(&self, parts: &Parts, output: Output) -> Response {
        let is_known = parts.headers.get(header::IF_NONE_MATCH) == Some(&self.tag);
        let mut response = if is_known {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        } else {
            let mut response = match output.encoding {
                Encoding::Protobuf => with_type(
                    StatusCode::OK,
                    media_type(output.encoding),
                    Body::full(self.protobuf().clone()),
                ),
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

/// The part of the document that is about one group.
pub(super) fn item(group: &ServedGroup) -> String {
    let mut out = String::from("{\"metadata\":{");
    if !group.name.is_empty() {
        let _ = write!(out, "\"name\":\"{}\"", group.name);
    }
    out.push_str("},\"versions\":[");
    for (at, name) in group.versions.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{{\"version\":\"{name}\",\"resources\":[");
        for (at, shown) in group.served(name).iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            resource(shown, &mut out);
        }
        out.push_str("],\"freshness\":\"Current\"}");
    }
    out.push_str("]}");
    out
}

fn resource(shown: &ServedResource<'_>, out: &mut String) {
    let resource = shown.resource;
    // Custom resources contain their group and version, built-in ones do not.
    let own = match shown.origin {
        Origin::Builtin => ("", ""),
        Origin::Custom => (&*resource.group, &*shown.version.name),
    };
    let scope = match resource.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    let _ = write!(out, "{{\"resource\":\"{}\",\"responseKind\":", resource.plural);
    response_kind(own, &resource.kind, out);
    let _ = write!(out, ",\"scope\":\"{scope}\",\"singularResource\":\"{}\",\"verbs\":", resource.singular);
    push_strings(verbs(shown), out);
    if !resource.short_names.is_empty() {
        out.push_str(",\"shortNames\":");
        push_strings(resource.short_names.iter().map(|it| &**it), out);
    }
    if !resource.categories.is_empty() {
        out.push_str(",\"categories\":");
        push_strings(resource.categories.iter().map(|it| &**it), out);
    }
    let below = subresources(shown);
    for (at, sub) in below.iter().enumerate() {
        out.push_str(if at == 0 { ",\"subresources\":[" } else { "," });
        let _ = write!(out, "{{\"subresource\":\"{}\",\"responseKind\":", sub.name);
        response_kind(sub.foreign.unwrap_or(own), sub.kind, out);
        out.push_str(",\"verbs\":");
        push_strings(sub.verbs.iter().copied(), out);
        out.push('}');
    }
    out.push_str(if below.is_empty() { "}" } else { "]}" });
}

fn response_kind((group, version): (&str, &str), kind: &str, out: &mut String) {
    let _ = write!(out, "{{\"group\":\"{group}\",\"version\":\"{version}\",\"kind\":\"{kind}\"}}");
}
