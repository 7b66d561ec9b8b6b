//! Values that kube-apiserver v1.36.4 wrote into etcd, and what happens to values that were changed.

use super::{AesCbc, AesGcm, Cipher, SEED, Secretbox, Seed};
use crate::error::Error;

const KEY: &[u8; 32] = b"keelson-test-key-of-32-bytes-abc";
const KEY_24: &[u8] = b"twenty-four-bytes-of-key";
const KEY_16: &[u8] = b"sixteen-byte-key";

/// Upstream's value of `/registry/<resource>/default/vector`, behind its prefix.
fn stored(resource: &str, prefix: &str) -> Vec<u8> {
    let file = match resource {
        "secrets" => include_bytes!("testdata/secrets.bin").as_slice(),
        "configmaps" => include_bytes!("testdata/configmaps.bin"),
        "serviceaccounts" => include_bytes!("testdata/serviceaccounts.bin"),
        "podtemplates" => include_bytes!("testdata/podtemplates.bin"),
        "leases" => include_bytes!("testdata/leases.bin"),
        _ => include_bytes!("testdata/limitranges.bin"),
    };
    file.strip_prefix(prefix.as_bytes()).expect("the prefix").to_vec()
}

fn gcm(key: &[u8]) -> Cipher {
    Cipher::AesGcm(AesGcm::new(key).expect("a key"))
}

fn cbc(key: &[u8]) -> Cipher {
    Cipher::AesCbc(Box::new(AesCbc::new(key).expect("a key")))
}

fn secretbox() -> Cipher {
    Cipher::Secretbox(Box::new(Secretbox::new(KEY).expect("a key")))
}

#[track_caller]
fn check(cipher: &Cipher, resource: &str, prefix: &str) {
    let place = format!("/registry/{resource}/default/vector");
    let plain = cipher.open(&stored(resource, prefix), place.as_bytes()).expect("readable");
    assert!(plain.starts_with(b"k8s\0\n"), "a protobuf envelope");
    assert!(plain.windows(6).any(|it| it == b"vector"));
    let again = cipher.seal(&plain, place.as_bytes()).expect("writable");
    assert_eq!(again.len(), stored(resource, prefix).len());
    assert_eq!(cipher.open(&again, place.as_bytes()).expect("readable"), plain);
}

#[test]
fn what_upstream_wrote_can_be_read() {
    check(&cbc(KEY), "secrets", "k8s:enc:aescbc:v1:key1:");
    check(&gcm(KEY), "configmaps", "k8s:enc:aesgcm:v1:key1:");
    check(&secretbox(), "serviceaccounts", "k8s:enc:secretbox:v1:key1:");
    check(&gcm(KEY_16), "podtemplates", "k8s:enc:aesgcm:v1:k16:");
    check(&gcm(KEY_24), "leases", "k8s:enc:aesgcm:v1:k24:");
    check(&cbc(KEY_16), "limitranges", "k8s:enc:aescbc:v1:k16:");
}

#[test]
fn every_length_survives() {
    let seed = Seed::new(KEY).expect("a seed");
    for length in (0..70).chain([1000, 100_000]) {
        let plain: Vec<u8> = (0..length).map(|it| it as u8).collect();
        for cipher in [gcm(KEY), cbc(KEY), secretbox()] {
            let sealed = cipher.seal(&plain, b"/a").expect("writable");
            assert_eq!(cipher.open(&sealed, b"/a").expect("readable"), plain, "{length} bytes");
        }
        assert_eq!(seed.open(&seed.seal(&plain, b"/a").expect("writable"), b"/a").expect("readable"), plain);
    }
}

#[test]
fn a_value_cannot_be_moved_or_changed() {
    let sealed = gcm(KEY).seal(b"text", b"/a").expect("writable");
    assert!(matches!(gcm(KEY).open(&sealed, b"/b"), Err(Error::Forged)));
    assert!(matches!(gcm(KEY_16).open(&sealed, b"/a"), Err(Error::Forged)));
    let boxed = secretbox().seal(b"text", b"/a").expect("writable");
    for position in 0..boxed.len() {
        let mut changed = boxed.clone();
        changed[position] ^= 1;
        assert!(matches!(secretbox().open(&changed, b"/a"), Err(Error::ForgedBox)));
    }
    let seed = Seed::new(KEY).expect("a seed");
    let sealed = seed.seal(b"text", b"/a").expect("writable");
    assert!(matches!(seed.open(&sealed, b"/b"), Err(Error::Forged)));
    for position in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[position] ^= 1;
        assert!(matches!(seed.open(&changed, b"/a"), Err(Error::Forged)));
    }
}

#[test]
fn what_is_cut_off_is_too_short() {
    for cipher in [gcm(KEY), cbc(KEY), secretbox()] {
        let sealed = cipher.seal(b"some text that is longer than a block", b"/a").expect("writable");
        for length in 0..sealed.len() {
            assert!(cipher.open(&sealed[..length], b"/a").is_err(), "{length} bytes are enough");
        }
    }
    assert!(matches!(cbc(KEY).open(&[0; 15], b""), Err(Error::TooShort)));
    assert!(matches!(cbc(KEY).open(&[0; 17], b""), Err(Error::NotBlocks)));
    assert!(matches!(cbc(KEY).open(&[0; 16], b""), Err(Error::NotPadded)));
}

#[test]
fn keys_have_the_lengths_of_their_cipher() {
    for length in 0..40 {
        let key = vec![7; length];
        let is_aes = matches!(length, 16 | 24 | 32);
        assert_eq!(AesGcm::new(&key).is_some(), is_aes);
        assert_eq!(AesCbc::new(&key).is_some(), is_aes);
        assert_eq!(Secretbox::new(&key).is_some(), length == 32);
        assert_eq!(Seed::new(&key).is_some(), length >= SEED);
    }
}
