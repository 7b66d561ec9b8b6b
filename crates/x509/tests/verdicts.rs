//! Our verdicts about certificates against those that Go gave.
//!
//! `testdata/recorder/main.go` made the certificates and wrote down what Go's crypto/x509 says.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_x509::{Authorities, Certificate, Purpose, Verification};
use serde::Deserialize;

#[derive(Deserialize)]
struct Recording {
    now: u64,
    certificates: Vec<String>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Question {
    name: String,
    chain: Vec<usize>,
    roots: Vec<usize>,
    host: String,
    purpose: String,
    verdict: String,
}

/// What is refused here and accepted by Go; docs/parity.md has the reasons.
const STRICTER: [&str; 3] = [
    "signed by P-224 with ECDSA-SHA256",
    "an anchor with RSA of 1024 bits",
    "policies are required and there",
];

/// Where both refuse, and the words about the URI differ.
const OTHER_WORDS: [&str; 2] = ["constraints: URI without host", "constraints: URI with address"];

fn recording() -> (Recording, Vec<Certificate>) {
    let recording: Recording =
        serde_json::from_str(include_str!("../testdata/verdicts.json")).expect("a recording");
    let read = |text: &String| {
        let der = STANDARD.decode(text).expect("base64");
        Certificate::parse(&der).expect("Go could read it")
    };
    let certificates = recording.certificates.iter().map(read).collect();
    (recording, certificates)
}

#[test]
fn certificates_are_judged_as_go_judges_them() {
    let (recording, certificates) = recording();
    let at = |places: &[usize]| Authorities::new(places.iter().map(|it| certificates[*it].clone()));
    let mut differences = Vec::new();
    for question in &recording.questions {
        let (leaf, others) = question.chain.split_first().expect("a leaf");
        let (authorities, intermediates) = (at(&question.roots), at(others));
        let verification = Verification {
            authorities: &authorities,
            intermediates: &intermediates,
            now: Duration::from_secs(recording.now),
            purpose: if question.purpose == "server" { Purpose::Server } else { Purpose::Client },
            host: Some(question.host.as_str()).filter(|it| !it.is_empty()),
        };
        let verdict = match verification.verify(&certificates[*leaf]) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        let name = question.name.as_str();
        let is_expected = if STRICTER.contains(&name) {
            verdict != "ok" && question.verdict == "ok"
        } else if OTHER_WORDS.contains(&name) {
            verdict != "ok" && question.verdict != "ok"
        } else {
            verdict == question.verdict
        };
        if !is_expected {
            let Question { host, purpose, verdict: go, .. } = question;
            differences.push(format!("{name} ({purpose} {host}):\n  Go:   {go}\n  here: {verdict}"));
        }
    }
    assert!(recording.questions.len() > 1000);
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

/// Whatever bytes a peer sends: they are read or refused, quickly.
#[test]
fn damaged_certificates_are_refused_and_never_panic() {
    let (recording, certificates) = recording();
    let wanted =
        ["constraints: anchor permits and excludes, leaf two names", "policies are required and there"];
    for question in recording.questions.iter().filter(|it| wanted.contains(&it.name.as_str())) {
        for place in question.chain.iter().chain(&question.roots) {
            let whole = certificates[*place].raw();
            for cut in 0..whole.len() {
                assert!(Certificate::parse(&whole[..cut]).is_err());
            }
            for position in 0..whole.len() {
                for flip in [0x01, 0x80, 0xff] {
                    let mut bytes = whole.to_vec();
                    bytes[position] ^= flip;
                    if let Ok(read) = Certificate::parse(&bytes) {
                        assert_eq!(read.raw(), bytes);
                    }
                }
            }
        }
    }
}
