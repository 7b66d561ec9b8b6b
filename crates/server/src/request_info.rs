//! RequestInfo: from method and path to verb, group, resource, namespace and name.
//!
//! ```text
//! /api/v1/namespaces/{namespace}/pods/{name}/status
//! /apis/{group}/{version}/{resource}/{name}/{subresource}/…
//! /api/v1/watch/namespaces/{namespace}/pods           old form of ?watch=true
//! everything else: a plain path
//! ```
//!
//! Upstream: apiserver/pkg/endpoints/request/requestinfo.go, NewRequestInfo (v1.36.4).

use http::{Method, Uri};
use keelson_object::SmolStr;
use keelson_object::selector::field;
use keelson_object::selector::name_rules;

use crate::query::{self, Plus, Query};

/// The attributes of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; empty for other methods
    /// on resources; the method in lower case for plain paths.
    pub verb: SmolStr,
    /// The path, decoded.
    pub path: SmolStr,
    /// `api` or `apis`.
    pub api_prefix: SmolStr,
    /// The API group; empty for the core group.
    pub group: SmolStr,
    /// The version of the group.
    pub version: SmolStr,
    /// The namespace; empty at the cluster scope.
    pub namespace: SmolStr,
    /// The plural: `pods`.
    pub resource: SmolStr,
    /// `status`.
    pub subresource: SmolStr,
    /// The name of the object; for lists and watches the name in the field selector.
    pub name: SmolStr,
    /// The parts of the path from the resource on.
    pub parts: Vec<SmolStr>,
    /// Whether it is a request for a resource.
    pub is_resource_request: bool,
    /// The field selector as it was sent, for verbs with selectors.
    pub field_selector: SmolStr,
    /// The label selector as it was sent, for verbs with selectors.
    pub label_selector: SmolStr,
}

/// Why a request cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestInfoError {
    /// The path is not validly encoded.
    #[error("malformed path")]
    Malformed,
    /// `/api/v1/watch` without a resource.
    #[error("unable to determine kind and namespace from url, {uri}")]
    NothingAfterVerb {
        /// The URI.
        uri: String,
    },
}

impl RequestInfo {
    /// Parses a method and a URI.
    pub fn parse(method: &Method, uri: &Uri) -> Result<RequestInfo, RequestInfoError> {
        let path = query::decode(uri.path(), Plus::Plus).ok_or(RequestInfoError::Malformed)?;
        let mut info =
            RequestInfo { path: SmolStr::new(&path), verb: lower_case(method), ..RequestInfo::default() };
        let trimmed = path.trim_matches('/');
        let parts: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
        let Some(rest) = info.read_group_version(&parts) else { return Ok(info) };
        let rest = info.read_verb(method, uri, rest)?;
        let is_old_form = matches!(&*info.verb, "watch" | "proxy");
        info.read_object(rest);
        info.refine_verb(uri, is_old_form);
        Ok(info)
    }

    /// Whether the request may take long and is not subject to timeouts and in-flight limits.
    pub fn is_long_running(&self) -> bool {
        match &*self.verb {
            "watch" | "proxy" => true,
            _ if self.is_resource_request => {
                matches!(&*self.subresource, "attach" | "exec" | "proxy" | "log" | "portforward")
            }
            _ => self.path.starts_with("/debug/pprof/"),
        }
    }

    /// Whether the request changes nothing.
    pub fn is_read_only(&self) -> bool {
        matches!(&*self.verb, "get" | "list" | "watch")
    }

    /// Parses prefix, group and version; `None` for a plain path.
    fn read_group_version<'p, 'a>(&mut self, parts: &'p [&'a str]) -> Option<&'p [&'a str]> {
        let rest = match parts {
            ["api", rest @ ..] if rest.len() >= 2 => {
                self.api_prefix = SmolStr::new_static("api");
                rest
            }
            ["apis", rest @ ..] if rest.len() >= 2 => {
                self.api_prefix = SmolStr::new_static("apis");
                if rest.len() < 3 {
                    return None;
                }
                self.group = SmolStr::new(rest[0]);
                &rest[1..]
            }
            _ => return None,
        };
        self.is_resource_request = true;
        self.version = SmolStr::new(rest[0]);
        Some(&rest[1..])
    }

    fn read_verb<'p, 'a>(
        &mut self,
        method: &Method,
        uri: &Uri,
        parts: &'p [&'a str],
    ) -> Result<&'p [&'a str], RequestInfoError> {
        if let [verb @ ("proxy" | "watch"), rest @ ..] = parts {
            if rest.is_empty() {
                return Err(RequestInfoError::NothingAfterVerb { uri: request_uri(uri) });
            }
            self.verb = SmolStr::new(verb);
            return Ok(rest);
        }
        self.verb = SmolStr::new_static(match *method {
            Method::POST => "create",
            Method::GET | Method::HEAD => "get",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "",
        });
        Ok(parts)
    }

    fn read_object(&mut self, mut parts: &[&str]) {
        if let ["namespaces", namespace, ..] = parts {
            self.namespace = SmolStr::new(namespace);
            // A namespace has subresources of its own; anything else is a resource within it.
            if parts.len() > 2 && !matches!(parts[2], "status" | "finalize") {
                parts = &parts[2..];
            }
        }
        self.parts = parts.iter().map(SmolStr::new).collect();
        if let [resource, ..] = parts {
            self.resource = SmolStr::new(resource);
        }
        if let [_, name, ..] = parts {
            self.name = SmolStr::new(name);
        }
        if let [_, _, subresource, ..] = parts
            && self.verb != "proxy"
        {
            self.subresource = SmolStr::new(subresource);
        }
    }

    /// Without a name, a get is a list or a watch, and a delete is one of the whole collection.
    fn refine_verb(&mut self, uri: &Uri, is_old_form: bool) {
        if self.name.is_empty() && self.verb == "delete" {
            self.verb = SmolStr::new_static("deletecollection");
        }
        let is_collection = self.name.is_empty() && self.verb == "get";
        if !is_collection && (is_old_form || !matches!(&*self.verb, "watch" | "deletecollection")) {
            return;
        }
        let query = Query::of(uri);
        if is_collection {
            let is_watch = query.switch("watch").unwrap_or(false);
            self.verb = SmolStr::new_static(if is_watch { "watch" } else { "list" });
            if let Some(name) = demanded_name(&query) {
                self.name = name;
            }
        }
        if !is_old_form {
            self.field_selector = query.get("fieldSelector").unwrap_or_default().into();
            self.label_selector = query.get("labelSelector").unwrap_or_default().into();
        }
    }
}

/// The URI as messages show it: without the host, which HTTP/2 clients send as well.
pub(crate) fn request_uri(uri: &Uri) -> String {
    uri.path_and_query().map_or_else(|| uri.to_string(), ToString::to_string)
}

fn lower_case(method: &Method) -> SmolStr {
    match *method {
        Method::GET => SmolStr::new_static("get"),
        Method::POST => SmolStr::new_static("post"),
        _ => SmolStr::new(method.as_str().to_ascii_lowercase()),
    }
}

/// The name in the field selector of a list, if the options can be parsed.
fn demanded_name(query: &Query<'_>) -> Option<SmolStr> {
    let selector = query.get("fieldSelector").filter(|text| !text.is_empty())?;
    let is_number = |key: &str| query.get(key).is_none_or(|text| text.parse::<i64>().is_ok());
    if !is_number("limit") || !is_number("timeoutSeconds") {
        return None;
    }
    let selector = field::Selector::parse(selector).ok()?;
    let name = selector.exact("metadata.name")?;
    name_rules::path_segment_name(name).is_empty().then(|| SmolStr::new(name))
}

#[cfg(test)]
mod tests;
