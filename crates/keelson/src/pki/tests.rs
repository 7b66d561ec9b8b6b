//! Tests of first starts, second starts, and starts after changes of the files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use keelson_stdx::clock::Clock;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage};

use super::{Pki, ServerNames, prepare_cert_dir};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn names(dns: &str) -> ServerNames {
    ServerNames {
        dns: dns.split_whitespace().map(str::to_owned).collect(),
        addresses: vec!["127.0.0.1".parse().expect("an address"), "::1".parse().expect("an address")],
    }
}

/// Every file of a folder with its content.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).expect("a listing").map(|entry| entry.expect("an entry"));
    entries
        .map(|entry| {
            let content = fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().into_string().expect("a name"), content)
        })
        .collect()
}

/// The names of the files that differ.
fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    after
        .iter()
        .filter(|(name, content)| before.get(*name) != Some(*content))
        .map(|(name, _)| name.clone())
        .collect()
}

fn prepare(folder: &Path, clock: &Clock) -> Pki {
    let pki = Pki::prepare(folder, &names("localhost"), clock).expect("prepared");
    pki.write_kubeconfig("127.0.0.1:6443".parse().expect("an address")).expect("a kubeconfig");
    pki
}

fn certificate(path: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(path).expect("a certificate")
}

#[test]
fn the_first_start_makes_everything_and_the_second_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::real();
    prepare(folder.path(), &clock);
    let first = files(folder.path());
    let expected = [
        "admin.crt",
        "admin.key",
        "admin.kubeconfig",
        "apiserver.crt",
        "apiserver.key",
        "ca.crt",
        "ca.key",
        "sa.key",
        "sa.pub",
    ];
    assert_eq!(first.keys().map(String::as_str).collect::<Vec<_>>(), expected);
    prepare(folder.path(), &clock);
    assert_eq!(changed(&first, &files(folder.path())), [""; 0]);
}

#[test]
fn secrets_are_private() {
    let folder = tempfile::tempdir().expect("a folder");
    prepare(folder.path(), &Clock::real());
    for name in files(folder.path()).keys() {
        let mode = fs::metadata(folder.path().join(name)).expect("metadata").permissions().mode() & 0o777;
        let is_public = name.ends_with(".crt") || name.ends_with(".pub");
        assert_eq!(mode, if is_public { 0o644 } else { 0o600 }, "{name}");
    }
}

#[test]
fn the_authority_vouches_for_server_and_administrator() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::real();
    let pki = prepare(folder.path(), &clock);
    let authority = certificate(&pki.ca_cert);
    let anchors = [webpki::anchor_from_trusted_cert(&authority).expect("an anchor")];
    let time = UnixTime::since_unix_epoch(clock.since_epoch());
    let (server, admin) = (certificate(&pki.server.cert), certificate(&pki.admin.cert));
    let server = EndEntityCert::try_from(&server).expect("a certificate");
    let admin = EndEntityCert::try_from(&admin).expect("a certificate");
    let verify = |it: &EndEntityCert<'_>, usage| {
        it.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, &[], time, usage, None, None).is_ok()
    };
    assert!(verify(&server, KeyUsage::required(&[43, 6, 1, 5, 5, 7, 3, 1])));
    assert!(!verify(&server, KeyUsage::client_auth()));
    assert!(verify(&admin, KeyUsage::required(&[43, 6, 1, 5, 5, 7, 3, 2])));
    for name in ["localhost", "127.0.0.1", "::1"] {
        let name = ServerName::try_from(name).expect("a name");
        assert!(server.verify_is_valid_for_subject_name(&name).is_ok(), "{name:?}");
    }
}

#[test]
fn a_new_name_gets_a_new_certificate_and_keeps_everything_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::real();
    prepare(folder.path(), &clock);
    let before = files(folder.path());
    Pki::prepare(folder.path(), &names("localhost example.com"), &clock).expect("prepared");
    assert_eq!(changed(&before, &files(folder.path())), ["apiserver.crt"]);
    let before = files(folder.path());
    prepare(folder.path(), &clock);
    assert_eq!(changed(&before, &files(folder.path())), [""; 0], "fewer names are no reason");
}

#[test]
fn certificates_are_renewed_a_month_before_they_expire() {
    let folder = tempfile::tempdir().expect("a folder");
    let (clock, hand) = Clock::manual();
    prepare(folder.path(), &clock);
    let before = files(folder.path());
    hand.advance(334 * DAY);
    prepare(folder.path(), &clock);
    assert_eq!(changed(&before, &files(folder.path())), [""; 0]);
    hand.advance(2 * DAY);
    prepare(folder.path(), &clock);
    assert_eq!(changed(&before, &files(folder.path())), ["admin.crt", "admin.kubeconfig", "apiserver.crt"]);
}

#[test]
fn what_a_crash_left_out_is_made_on_the_next_start() {
    let complete = tempfile::tempdir().expect("a folder");
    let clock = Clock::real();
    prepare(complete.path(), &clock);
    let all = files(complete.path());
    // The order in which files get their names.
    let order = [
        "ca.key",
        "ca.crt",
        "apiserver.key",
        "apiserver.crt",
        "admin.key",
        "admin.crt",
        "sa.key",
        "sa.pub",
        "admin.kubeconfig",
    ];
    for done in 0..order.len() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in &order[..done] {
            fs::write(folder.path().join(name), &all[*name]).expect("a file");
        }
        prepare(folder.path(), &clock);
        let after = files(folder.path());
        assert_eq!(after.len(), all.len(), "after {done} files");
        for name in &order[..done] {
            assert_eq!(after[*name], all[*name], "{name} after {done} files");
        }
    }
}

#[test]
fn a_moved_server_gets_a_new_kubeconfig() {
    let folder = tempfile::tempdir().expect("a folder");
    let pki = prepare(folder.path(), &Clock::real());
    let before = files(folder.path());
    let path = pki.write_kubeconfig("127.0.0.1:7443".parse().expect("an address")).expect("a kubeconfig");
    assert_eq!(changed(&before, &files(folder.path())), ["admin.kubeconfig"]);
    assert!(fs::read_to_string(path).expect("text").contains("server: https://127.0.0.1:7443\n"));
}

/// Replaces a file by `content`, and expects this error and an unchanged file.
#[track_caller]
fn check_refused(name: &str, content: &str, expected: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::real();
    prepare(folder.path(), &clock);
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a file");
    let before = files(folder.path());
    let refusal =
        Pki::prepare(folder.path(), &names("localhost"), &clock).expect_err("must be refused").to_string();
    assert_eq!(refusal, format!("{} is not usable: {expected}", path.display()));
    assert_eq!(changed(&before, &files(folder.path())), [""; 0]);
}

#[test]
fn corrupt_files_are_named_and_left_alone() {
    for name in ["ca.crt", "apiserver.crt", "admin.crt"] {
        check_refused(name, "", "it holds no certificate");
        check_refused(name, "rubbish", "it holds no certificate");
        let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        check_refused(name, empty, "its certificate is malformed");
    }
    for name in ["ca.key", "apiserver.key", "admin.key", "sa.key"] {
        check_refused(name, "", "it holds no private key");
        let empty = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        check_refused(name, empty, "it holds no private key");
    }
}

#[test]
fn a_foreign_authority_is_refused() {
    let other = tempfile::tempdir().expect("a folder");
    prepare(other.path(), &Clock::real());
    check_refused("ca.crt", &files(other.path())["ca.crt"], "it does not belong to its key");
    check_refused("ca.crt", &files(other.path())["apiserver.crt"], "it is not a certificate authority");
}

#[test]
fn an_authority_without_its_key_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let clock = Clock::real();
    prepare(folder.path(), &clock);
    fs::remove_file(folder.path().join("ca.key")).expect("removed");
    let refusal =
        Pki::prepare(folder.path(), &names("localhost"), &clock).expect_err("must be refused").to_string();
    assert!(refusal.contains("ca.key is missing although "), "{refusal}");
}

#[test]
fn an_expired_authority_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (clock, hand) = Clock::manual();
    prepare(folder.path(), &clock);
    hand.advance(3651 * DAY);
    let refusal =
        Pki::prepare(folder.path(), &names("localhost"), &clock).expect_err("must be refused").to_string();
    assert!(refusal.ends_with("ca.crt is not usable: it has expired"), "{refusal}");
}

#[test]
fn a_pair_in_the_cert_dir_is_used_and_half_a_pair_is_refused() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("run/kubernetes");
    let made = prepare_cert_dir(&folder, &names("localhost"), &Clock::real()).expect("made");
    let first = files(&folder);
    assert_eq!(first.keys().map(String::as_str).collect::<Vec<_>>(), ["apiserver.crt", "apiserver.key"]);
    assert_eq!(first["apiserver.crt"].matches("BEGIN CERTIFICATE").count(), 2);
    assert_eq!(prepare_cert_dir(&folder, &names("example.com"), &Clock::real()).expect("found"), made);
    assert_eq!(changed(&first, &files(&folder)), [""; 0]);
    fs::remove_file(&made.key).expect("removed");
    let refusal =
        prepare_cert_dir(&folder, &names("localhost"), &Clock::real()).expect_err("must be refused");
    assert!(refusal.to_string().contains("apiserver.key is missing although "), "{refusal}");
}
