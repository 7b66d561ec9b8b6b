//! Every form of path, and its RequestInfo.

use http::{Method, Uri};

use super::{RequestInfo, RequestInfoError};

fn parse(request: &str) -> Result<RequestInfo, RequestInfoError> {
    let (method, uri) = request.split_once(' ').unwrap();
    RequestInfo::parse(&Method::from_bytes(method.as_bytes()).unwrap(), &uri.parse::<Uri>().unwrap())
}

/// `expected` is `verb prefix/group/version namespace resource/name/subresource parts`, `-` for nothing.
#[track_caller]
fn check(request: &str, expected: &str) {
    let info = parse(request).unwrap();
    let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let found = format!(
        "{} {}/{}/{} {} {}/{}/{} {}",
        dash(&info.verb),
        dash(&info.api_prefix),
        dash(&info.group),
        dash(&info.version),
        dash(&info.namespace),
        dash(&info.resource),
        dash(&info.name),
        dash(&info.subresource),
        dash(&info.parts.join(",")),
    );
    assert_eq!(found, expected, "{request}");
    assert!(info.is_resource_request, "{request}");
}

#[track_caller]
fn check_plain(request: &str, verb: &str, path: &str) {
    let info = parse(request).unwrap();
    assert!(!info.is_resource_request, "{request}");
    assert_eq!((&*info.verb, &*info.path), (verb, path), "{request}");
    assert_eq!((&*info.resource, &*info.version), ("", ""), "{request}");
}

#[test]
fn resources_are_found_in_paths() {
    check("GET /api/v1/namespaces", "list api/-/v1 - namespaces/-/- namespaces");
    check("GET /api/v1/namespaces/other", "get api/-/v1 other namespaces/other/- namespaces,other");
    check("GET /api/v1/namespaces/other/pods", "list api/-/v1 other pods/-/- pods");
    check("GET /api/v1/namespaces/other/pods/foo", "get api/-/v1 other pods/foo/- pods,foo");
    check("HEAD /api/v1/namespaces/other/pods/foo", "get api/-/v1 other pods/foo/- pods,foo");
    check("GET /api/v1/pods", "list api/-/v1 - pods/-/- pods");
    check("HEAD /api/v1/pods", "list api/-/v1 - pods/-/- pods");
    check("POST /api/v1/namespaces/other/pods", "create api/-/v1 other pods/-/- pods");
    check("PUT /api/v1/namespaces/other/pods/foo", "update api/-/v1 other pods/foo/- pods,foo");
    check("PATCH /api/v1/namespaces/other/pods/foo", "patch api/-/v1 other pods/foo/- pods,foo");
    check("DELETE /api/v1/namespaces/other/pods/foo", "delete api/-/v1 other pods/foo/- pods,foo");
    check("DELETE /api/v1/namespaces/other/pods", "deletecollection api/-/v1 other pods/-/- pods");
    check("DELETE /api/v1/namespaces/other", "delete api/-/v1 other namespaces/other/- namespaces,other");
    check("OPTIONS /api/v1/pods", "- api/-/v1 - pods/-/- pods");
    check("GET /apis/apps/v1/deployments", "list apis/apps/v1 - deployments/-/- deployments");
    check("GET /apis/apps/v1/namespaces/a/deployments/b", "get apis/apps/v1 a deployments/b/- deployments,b");
    check("GET /api/v1/nodes/a/", "get api/-/v1 - nodes/a/- nodes,a");
}

#[test]
fn subresources_are_found_in_paths() {
    check("GET /api/v1/namespaces/a/pods/b/status", "get api/-/v1 a pods/b/status pods,b,status");
    check("GET /api/v1/namespaces/a/pods/b/proxy/c/d", "get api/-/v1 a pods/b/proxy pods,b,proxy,c,d");
    check(
        "PUT /api/v1/namespaces/a/finalize",
        "update api/-/v1 a namespaces/a/finalize namespaces,a,finalize",
    );
    check("PATCH /api/v1/namespaces/a/status", "patch api/-/v1 a namespaces/a/status namespaces,a,status");
}

#[test]
fn watches_have_two_forms() {
    check("GET /api/v1/pods?watch=true", "watch api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?watch=1", "watch api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?watch", "watch api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?watch=false", "list api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?watch=0", "list api/-/v1 - pods/-/- pods");
    check("GET /api/v1/namespaces/a/pods/b?watch=true", "get api/-/v1 a pods/b/- pods,b");
    check("GET /api/v1/watch/pods", "watch api/-/v1 - pods/-/- pods");
    check("GET /api/v1/watch/namespaces/a/pods", "watch api/-/v1 a pods/-/- pods");
    check("GET /api/v1/watch/namespaces/a/pods/b", "watch api/-/v1 a pods/b/- pods,b");
    check("GET /api/v1/proxy/namespaces/a/pods/b/c", "proxy api/-/v1 a pods/b/- pods,b,c");
    let error = parse("GET /api/v1/watch").unwrap_err();
    assert_eq!(error.to_string(), "unable to determine kind and namespace from url, /api/v1/watch");
}

#[test]
fn a_field_selector_may_name_the_object() {
    check("GET /api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Db", "list api/-/v1 a pods/b/- pods");
    check("GET /api/v1/pods?fieldSelector=metadata.name%3Db&watch=1", "watch api/-/v1 - pods/b/- pods");
    check("GET /api/v1/pods?fieldSelector=metadata.name!%3Db", "list api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?fieldSelector=metadata.name%3Db%2Fc", "list api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?fieldSelector=metadata.name%3D..", "list api/-/v1 - pods/-/- pods");
    check("GET /api/v1/pods?fieldSelector=metadata.name%3Db&limit=x", "list api/-/v1 - pods/-/- pods");
}

#[test]
fn selectors_are_kept_for_authorization() {
    let check = |request: &str, fields: &str, labels: &str| {
        let info = parse(request).unwrap();
        assert_eq!((&*info.field_selector, &*info.label_selector), (fields, labels), "{request}");
    };
    check("GET /api/v1/pods?fieldSelector=a%3Db&labelSelector=c", "a=b", "c");
    check("GET /api/v1/pods?watch=1&labelSelector=c", "", "c");
    check("DELETE /api/v1/namespaces/a/pods?labelSelector=c", "", "c");
    check("GET /api/v1/namespaces/a/pods/b?labelSelector=c", "", "");
    check("GET /api/v1/watch/pods?labelSelector=c", "", "");
}

#[test]
fn other_paths_are_plain() {
    check_plain("GET /", "get", "/");
    check_plain("GET /healthz", "get", "/healthz");
    check_plain("POST /healthz/ping", "post", "/healthz/ping");
    check_plain("GET /api", "get", "/api");
    check_plain("GET /api/v1", "get", "/api/v1");
    check_plain("GET /apis", "get", "/apis");
    check_plain("GET /apis/apps", "get", "/apis/apps");
    check_plain("GET /apis/apps/v1", "get", "/apis/apps/v1");
    check_plain("GET /notapi/v1/pods/a", "get", "/notapi/v1/pods/a");
    check_plain("OPTIONS /version", "options", "/version");
}

#[test]
fn escapes_are_decoded_before_the_path_is_split() {
    check("GET /api/v1/namespaces/a%62/pods/x%2Fstatus", "get api/-/v1 ab pods/x/status pods,x,status");
    check("GET /api/v1/namespaces/%2e%2e/pods", "list api/-/v1 .. pods/-/- pods");
    check("GET /api/v1/namespaces/a/pods/b+c", "get api/-/v1 a pods/b+c/- pods,b+c");
    assert_eq!(parse("GET /api/v1/pods/%zz"), Err(RequestInfoError::Malformed));
}

#[test]
fn long_running_requests_are_known() {
    let check = |request: &str, expected: bool| {
        assert_eq!(parse(request).unwrap().is_long_running(), expected, "{request}");
    };
    check("GET /api/v1/pods?watch=1", true);
    check("GET /api/v1/watch/pods", true);
    check("GET /api/v1/namespaces/a/pods/b/log", true);
    check("POST /api/v1/namespaces/a/pods/b/exec", true);
    check("GET /api/v1/namespaces/a/services/b/proxy/", true);
    check("GET /debug/pprof/profile", true);
    check("GET /api/v1/pods", false);
    check("GET /api/v1/namespaces/a/pods/b/status", false);
    check("GET /healthz", false);
}
