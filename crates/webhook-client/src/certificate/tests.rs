//! Tests with servers whose certificates have flaws.

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

use crate::client::tests::{Authority, Place, ask, client};
use crate::{Target, Trust, insecure_sha1_total, missing_san_total};

/// The result of a call to a server at `host` whose certificate has the alternative names `names` and the
/// common name `common`.
async fn check(common: &str, names: &[&str], host: &str, expected: &str) {
    let authority = Authority::new();
    let pair = authority.issue_as(common, names);
    let place = Place::showing(authority, &pair).await;
    let url = format!("https://{host}:{}/base", place.address.port());
    let answer = ask(&client(Target { url, ..place.target() }), "/echo").await;
    let expected = format!("tls: failed to verify certificate: x509: {expected}");
    assert_eq!(answer, expected, "{common} {names:?} {host}");
}

#[tokio::test]
async fn other_names_are_said_as_go_does_and_names_of_the_past_are_counted() {
    let legacy = "certificate relies on legacy Common Name field, use SANs instead";
    let before = missing_san_total();
    check("localhost", &[], "localhost", legacy).await;
    check("LOCALHOST", &[], "localhost", legacy).await;
    check("127.0.0.1", &[], "127.0.0.1", legacy).await;
    assert_eq!(missing_san_total(), before + 3);
    check("other", &[], "localhost", "certificate is not valid for any names, but wanted to match localhost")
        .await;
    check("localhost", &["a", "b"], "localhost", "certificate is valid for a, b, not localhost").await;
    check(
        "x",
        &["10.0.0.1", "a", "::1"],
        "127.0.0.1",
        "certificate is valid for 10.0.0.1, ::1, not 127.0.0.1",
    )
    .await;
    check(
        "127.0.0.1",
        &["a"],
        "127.0.0.1",
        "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
    )
    .await;
    let many: Vec<String> = (0..100).map(|it| format!("n{it}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    check("x", &many, "localhost", "certificate is valid for 100 names, but none matched localhost").await;
    assert_eq!(missing_san_total(), before + 3, "the others have names");

    // A client that does not verify gets its response; the flaw is counted, each time.
    let authority = Authority::new();
    let pair = authority.issue_as("x", &[]);
    let place = Place::showing(authority, &pair).await;
    let client = client(Target { trust: Trust::Anybody, ..place.target() });
    for _ in 0..2 {
        assert!(ask(&client, "/echo").await.starts_with("200"));
    }
    assert_eq!(missing_san_total(), before + 5);
    client.get("/echo", None).await.expect("a reply");
    assert_eq!(missing_san_total(), before + 5, "only webhooks are counted");
}

/// Certificates made with openssl: an authority, and `localhost`, signed by it with SHA-1.
const SHA1: (&str, &str, &str) = (
    include_str!("../../testdata/sha1/authority.crt"),
    include_str!("../../testdata/sha1/server.crt"),
    include_str!("../../testdata/sha1/server.key"),
);

#[tokio::test]
async fn signatures_of_the_past_are_refused_and_counted() {
    let (authority, certificate, key) = SHA1;
    let before = insecure_sha1_total();
    let pair = (certificate.to_owned(), key.to_owned());
    let place = Place::showing(Authority::new(), &pair).await;
    let trust = Trust::Bundle(authority.as_bytes().to_vec());
    let answer = ask(&client(Target { trust, ..place.target() }), "/echo").await;
    assert_eq!(
        answer,
        "tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of \
         \"x509: cannot verify signature: insecure algorithm SHA1-RSA\" while trying to verify candidate authority \
         certificate \"authority of the past\")"
    );
    assert_eq!(insecure_sha1_total(), before + 1);
    let anybody = client(Target { trust: Trust::Anybody, ..place.target() });
    assert!(ask(&anybody, "/echo").await.starts_with("200"));
    assert_eq!(insecure_sha1_total(), before + 2);
}

/// Most webhooks that create their own certificate do this: it is marked as an authority, and it is the whole
/// bundle.
#[tokio::test]
async fn a_self_signed_authority_may_be_the_server() {
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let pem = params.self_signed(&key).expect("signed").pem();
    let place = Place::showing(Authority::new(), &(pem.clone(), key.serialize_pem())).await;
    let trusting = Target { trust: Trust::Bundle(pem.into_bytes()), ..place.target() };
    let answer = ask(&client(trusting), "/echo").await;
    assert!(answer.starts_with("200"), "{answer}");
    // Without it in the bundle, the certificate is not trusted.
    let answer = ask(&client(place.target()), "/echo").await;
    assert_eq!(answer, "tls: failed to verify certificate: x509: certificate signed by unknown authority");
}
