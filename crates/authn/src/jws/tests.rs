//! Tests of signed tokens, with keys that OpenSSL made.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use keelson_codec::json;
use keelson_object::Map;

use super::{Jws, MAX_TOKEN, PublicKey, SigningKey, public_keys, sign, signing_key};

pub(crate) fn read(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/keys").join(name);
    std::fs::read(path).expect("a key")
}

pub(crate) fn private(name: &str) -> SigningKey {
    signing_key(&read(name)).expect("a private key")
}

fn public(name: &str) -> PublicKey {
    public_keys(&read(name)).expect("a public key").remove(0)
}

fn claims() -> Map {
    let mut claims = Map::new();
    claims.push_new("iss", "me");
    claims
}

/// The ids are `openssl pkey -pubout -outform DER | sha256`, in base64url.
const IDS: [(&str, &str, &str); 4] = [
    ("rsa", "RS256", "PxU4s46J8He1FN94dFLuMuVYEU-BQbugGDuYuowI2Og"),
    ("p256", "ES256", "tlmq3-h5AKr2S01tNzjuUKpOAwSFB4qjfQMeCtlLZLk"),
    ("p384", "ES384", "P_nlDZHY_sLvMRQrhDmUGci_pNUEdg5WmlFljEGNOyQ"),
    ("p521", "ES512", "LCu_5wUyvNotKs-z3mm6rhmc3Aw8j0sVs43Nc9YHunc"),
];

#[test]
fn keys_are_read_from_every_form() {
    for (name, algorithm, id) in IDS {
        let old = if name == "rsa" { "pkcs1" } else { "sec1" };
        for form in [old, "pkcs8"] {
            let key = private(&format!("{name}.{form}.pem"));
            assert_eq!((key.algorithm().name(), key.public_key().id()), (algorithm, id), "{name} {form}");
        }
        for form in [old, "pkcs8", "pub"] {
            assert_eq!(public(&format!("{name}.{form}.pem")).id(), id, "{name} {form}");
        }
    }
    assert_eq!(public("rsa.crt.pem").id(), IDS[0].2);
    let many = [read("rsa.pub.pem"), read("p256.sec1.pem"), read("ed25519.pkcs8.pem")].concat();
    let ids: Vec<String> = public_keys(&many).expect("keys").iter().map(|it| it.id().to_owned()).collect();
    assert_eq!(ids, [IDS[0].2, IDS[1].2]);
}

#[test]
fn other_keys_are_refused_with_the_reason() {
    let check = |pem: &[u8], expected: &str| {
        let public = public_keys(pem).expect_err("must be refused").to_string();
        assert_eq!(public, format!("key is not usable: {expected}"));
    };
    check(b"rubbish", "data does not contain any valid RSA or ECDSA public keys");
    check(b"", "data does not contain any valid RSA or ECDSA public keys");
    check(&read("ed25519.pkcs8.pem"), "data does not contain a valid RSA or ECDSA private key");
    check(&read("k256.pub.pem"), "unknown public key curve, must be 256, 384, or 521");
    let refusal = signing_key(&read("rsa.pub.pem")).expect_err("must be refused").to_string();
    assert_eq!(refusal, "key is not usable: data does not contain a valid RSA or ECDSA private key");
    assert!(signing_key(&read("short.pkcs1.pem")).is_err());
    assert!(signing_key(&read("k256.sec1.pem")).is_err());
}

#[test]
fn every_algorithm_signs_and_verifies() {
    for (name, algorithm, id) in IDS {
        let token = sign(&private(&format!("{name}.pkcs8.pem")), &claims()).expect("signed");
        let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
        assert_eq!(String::from_utf8(header).unwrap(), format!(r#"{{"alg":"{algorithm}","kid":"{id}"}}"#));
        let jws = Jws::parse(&token).expect("a token");
        assert_eq!(jws.verify(&public(&format!("{name}.pub.pem"))), Ok(&claims()), "{name}");
        for other in ["rsa", "p256", "p384", "p521"].iter().filter(|it| **it != name) {
            assert!(jws.verify(&public(&format!("{other}.pub.pem"))).is_err(), "{name} {other}");
        }
    }
}

#[test]
fn keys_of_key_sets_are_the_same_keys() {
    for (name, _, id) in IDS {
        let jwk = public(&format!("{name}.pub.pem")).to_jwk();
        assert_eq!(PublicKey::from_jwk(&jwk).expect("a key").id(), id);
        for needed in ["kty", "n", "e", "crv", "x", "y"] {
            let mut less = jwk.clone();
            if less.remove(needed).is_some() {
                assert!(PublicKey::from_jwk(&less).is_err(), "{name} without {needed}");
            }
        }
    }
}

/// A token with another header, signed as before.
fn with_header(token: &str, header: &str) -> String {
    let (_, rest) = token.split_once('.').unwrap();
    format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header))
}

#[test]
fn the_header_does_not_choose_how_it_is_verified() {
    let (key, public) = (private("rsa.pkcs8.pem"), public("rsa.pub.pem"));
    let token = sign(&key, &claims()).expect("signed");
    let refused = |token: &str| Jws::parse(token).is_none_or(|it| it.verify(&public).is_err());
    assert!(!refused(&token));
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":""}"#,
        r#"{}"#,
        r#"{"alg":["RS256"]}"#,
        r#"{"alg":"HS256"}"#,
        r#"{"alg":"ES256"}"#,
        r#"{"alg":"RS512"}"#,
        r#"{"alg":"PS256"}"#,
        r#"{"alg":"rs256"}"#,
        r#"{"alg":"RS256","crit":["exp"]}"#,
        r#"{"alg":"RS256","alg":"none"}"#,
        r#"["RS256"]"#,
        "rubbish",
    ] {
        assert!(refused(&with_header(&token, header)), "{header}");
    }
    let unsigned =
        format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#), token.split('.').nth(1).unwrap());
    assert!(refused(&unsigned));
}

#[test]
fn a_secret_made_of_the_public_key_signs_nothing() {
    let pem = read("rsa.pub.pem");
    let body =
        [r#"{"alg":"HS256","typ":"JWT"}"#, r#"{"iss":"me"}"#].map(|it| URL_SAFE_NO_PAD.encode(it)).join(".");
    let secret = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, &pem);
    let tag = aws_lc_rs::hmac::sign(&secret, body.as_bytes());
    let token = format!("{body}.{}", URL_SAFE_NO_PAD.encode(tag.as_ref()));
    assert!(Jws::parse(&token).expect("readable").verify(&public("rsa.pub.pem")).is_err());
}

#[test]
fn what_is_no_token_is_not_read() {
    let token = sign(&private("p256.pkcs8.pem"), &claims()).expect("signed");
    for text in [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d",
        "{}",
        "!.!.!",
        &token[1..],
        &format!("{token}="),
        &format!("{token}.x"),
    ] {
        assert!(Jws::parse(text).is_none(), "{text}");
    }
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = format!("e30.{}.e30", URL_SAFE_NO_PAD.encode(&nested[..40_000]));
    assert!(Jws::parse(&deep).is_none());
    let long = format!("e30.{}.e30", "A".repeat(MAX_TOKEN));
    assert!(Jws::parse(&long).is_none());
}

#[test]
fn what_was_changed_on_the_way_is_refused() {
    for (name, _, _) in IDS {
        let key = private(&format!("{name}.pkcs8.pem"));
        let token = sign(&key, &claims()).expect("signed");
        let parts: Vec<&str> = token.split('.').collect();
        let other = URL_SAFE_NO_PAD.encode(json::to_bytes(&claims().clone().into()).len().to_string());
        let other_claims = URL_SAFE_NO_PAD.encode(r#"{"iss":"you"}"#);
        let changed = [
            format!("{}.{other_claims}.{}", parts[0], parts[2]),
            format!("{}.{}.{other}", parts[0], parts[1]),
            format!("{}.{}.", parts[0], parts[1]),
        ];
        for token in &changed {
            let jws = Jws::parse(token).expect("readable");
            assert!(jws.verify(key.public_key()).is_err(), "{name} {token}");
        }
    }
}
