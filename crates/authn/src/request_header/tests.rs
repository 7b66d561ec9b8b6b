//! Tests of trusted and other front proxies.

use std::time::Duration;

use futures_util::FutureExt;
use http::HeaderMap;
use keelson_stdx::clock::{Clock, ManualClock};
use rustls_pki_types::CertificateDer;

use super::{RequestHeader, RequestHeaderSettings};
use crate::x509::tests::{Authority, authority, client};
use crate::{Authenticator, CaBundle, Credentials};

fn settings(allowed: &[&str]) -> RequestHeaderSettings {
    let list = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect();
    RequestHeaderSettings {
        allowed_names: list(allowed),
        username_headers: list(&["X-Remote-User", "X-Other-User"]),
        uid_headers: list(&["X-Remote-Uid"]),
        group_headers: list(&["X-Remote-Group"]),
        extra_header_prefixes: list(&["X-Remote-Extra-"]),
    }
}

/// `name uid [groups] {extra}`, or why not. `headers` are lines.
fn ask(proxy: &RequestHeader, chain: &[CertificateDer<'static>], headers: &str) -> String {
    let mut map = HeaderMap::new();
    for (name, value) in headers.lines().filter_map(|line| line.trim().split_once(": ")) {
        let name: http::HeaderName = name.parse().expect("a name");
        map.append(name, value.parse().expect("a value"));
    }
    let credentials = Credentials { peer_certificates: chain, headers: &map, path: "", audiences: &[] };
    match proxy.authenticate(&credentials).now_or_never().expect("nothing waits") {
        Ok(Some(it)) => {
            format!("{} {} {:?} {:?}", it.user.name, it.user.uid, it.user.groups, it.user.extra)
        }
        Ok(None) => "nobody".to_owned(),
        Err(error) => error.to_string(),
    }
}

struct Scene {
    proxy: RequestHeader,
    authority: Authority,
    hand: ManualClock,
}

fn bundle(authority: &Authority) -> CaBundle {
    CaBundle::new(std::slice::from_ref(&authority.certificate)).expect("a bundle")
}

fn scene(allowed: &[&str]) -> Scene {
    let (clock, hand) = Clock::manual();
    let authority = authority("front");
    let proxy = RequestHeader::new(bundle(&authority), settings(allowed), clock);
    Scene { proxy, authority, hand }
}

#[test]
fn a_proxy_says_who_asks() {
    let scene = scene(&["front-proxy"]);
    let chain = [scene.authority.sign(&client("CN=front-proxy"))];
    let check = |headers: &str, expected: &str| assert_eq!(ask(&scene.proxy, &chain, headers), expected);
    check("", "nobody");
    check("X-Remote-Group: a", "nobody");
    check("X-Remote-User: jane", "jane  [] {}");
    check("x-remote-user: jane\nx-remote-uid: 7", "jane 7 [] {}");
    check("X-Other-User: joe", "joe  [] {}");
    check("X-Other-User: joe\nX-Remote-User: jane", "jane  [] {}");
    check("X-Remote-User: jane\nX-Remote-Group: a\nX-Remote-Group: b", "jane  [\"a\", \"b\"] {}");
    check(
        "X-Remote-User: jane\nX-Remote-Extra-Acme.io%2fScope: a\nX-Remote-Extra-Acme.io%2fScope: b",
        "jane  [] {\"acme.io/scope\": [\"a\", \"b\"]}",
    );
    check("X-Remote-User: jane\nX-Remote-Extra-a%2: x", "jane  [] {\"a%2\": [\"x\"]}");
}

#[test]
fn nobody_else_is_believed() {
    let scene = scene(&["front-proxy"]);
    let header = "X-Remote-User: system:admin";
    assert_eq!(ask(&scene.proxy, &[], header), "nobody");
    let other_name = [scene.authority.sign(&client("CN=somebody"))];
    let refusal = "x509: subject with cn=somebody is not in the allowed list";
    assert_eq!(ask(&scene.proxy, &other_name, header), refusal);
    let stranger = authority("other");
    let chain = [stranger.sign(&client("CN=front-proxy"))];
    let refusal = ask(&scene.proxy, &chain, header);
    assert!(refusal.ends_with("certificate signed by unknown authority"), "{refusal}");
    assert_eq!(ask(&scene.proxy, &chain, header), refusal, "verdicts are remembered");
}

#[test]
fn without_names_any_certificate_of_the_authority_will_do() {
    let scene = scene(&[]);
    let chain = [scene.authority.sign(&client("CN=somebody"))];
    assert_eq!(ask(&scene.proxy, &chain, "X-Remote-User: jane"), "jane  [] {}");
}

#[test]
fn authorities_are_replaced_and_verdicts_do_not_last() {
    let scene = scene(&[]);
    let chain = [scene.authority.sign(&client("CN=somebody"))];
    assert_eq!(ask(&scene.proxy, &chain, "X-Remote-User: jane"), "jane  [] {}");
    scene.proxy.replace_bundle(bundle(&authority("new")));
    assert!(ask(&scene.proxy, &chain, "X-Remote-User: jane").contains("unknown authority"));
    scene.proxy.replace_bundle(bundle(&scene.authority));
    assert_eq!(ask(&scene.proxy, &chain, "X-Remote-User: jane"), "jane  [] {}");
    scene.hand.advance(Duration::from_secs(20 * 365 * 86_400));
    assert!(ask(&scene.proxy, &chain, "X-Remote-User: jane").contains("failed"));
}
