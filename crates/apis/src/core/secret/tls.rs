//! TLS secrets: checks the PEM of the certificate and the key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const DASHES: &str = "-----";

/// What is wrong with a pair of certificate and key.
///
/// Upstream: crypto/tls, X509KeyPair of Go, as pkg/registry/core/secret/strategy.go, warningsForSecret asks
/// it (v1.36.4). The content of the PEM blocks is not checked.
pub(super) fn problem(certificate: &str, key: &str) -> Option<String> {
    certificate_problem(certificate).or_else(|| key_problem(key))
}

fn certificate_problem(text: &str) -> Option<String> {
    let skipped = skipped_until(text, |label| label == "CERTIFICATE")?;
    Some(match skipped.as_slice() {
        [] => String::from("tls: failed to find any PEM data in certificate input"),
        [label] if is_key(label) => String::from(
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may \
             have been switched",
        ),
        labels => format!(
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
             following types: [{}]",
            labels.join(" ")
        ),
    })
}

fn key_problem(text: &str) -> Option<String> {
    let skipped = skipped_until(text, is_key)?;
    Some(match skipped.as_slice() {
        [] => String::from("tls: failed to find any PEM data in key input"),
        ["CERTIFICATE"] => {
            String::from("tls: found a certificate rather than a key in the PEM for the private key")
        }
        labels => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of \
             the following types: [{}]",
            labels.join(" ")
        ),
    })
}

fn is_key(label: &str) -> bool {
    label == "PRIVATE KEY" || label.ends_with(" PRIVATE KEY")
}

/// The labels of the blocks before the first wanted one; `None` if there is a wanted one.
fn skipped_until(mut text: &str, is_wanted: fn(&str) -> bool) -> Option<Vec<&str>> {
    let mut skipped = Vec::new();
    while let Some((label, rest)) = next_block(text) {
        if is_wanted(label) {
            return None;
        }
        skipped.push(label);
        text = rest;
    }
    Some(skipped)
}

/// The label of the next well-formed block, and the text after it.
fn next_block(text: &str) -> Option<(&str, &str)> {
    let mut text = text;
    loop {
        let begins = if text.starts_with(BEGIN) { 0 } else { text.find("\n-----BEGIN ")? + 1 };
        text = &text[begins + BEGIN.len()..];
        let (line, body) = text.split_once('\n').unwrap_or((text, ""));
        let Some(label) = line.trim_end().strip_suffix(DASHES) else { continue };
        let end = format!("-----END {label}{DASHES}");
        let Some((content, rest)) = body.split_once(end.as_str()) else { continue };
        if is_base64(content) {
            return Some((label, rest));
        }
    }
}

/// Headers may come before the content, with a blank line between.
fn is_base64(content: &str) -> bool {
    let content =
        content.split_once("\n\n").filter(|(head, _)| head.contains(':')).map_or(content, |it| it.1);
    let bytes: Vec<u8> = content.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(bytes).is_ok()
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn blocks_are_of_the_right_sort() {
        let block = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        let (certificate, key) = (block("CERTIFICATE"), block("EC PRIVATE KEY"));
        let check = |certificate: &str, key: &str, expected: Option<&str>| {
            assert_eq!(problem(certificate, key).as_deref(), expected, "{certificate} {key}");
        };
        check(&certificate, &key, None);
        check(&format!("hello\n{}{certificate}", block("X")), &key, None);
        check("", &key, Some("tls: failed to find any PEM data in certificate input"));
        check(&certificate, "-----BEGIN", Some("tls: failed to find any PEM data in key input"));
        check(
            &key,
            &certificate,
            Some(
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs \
                 may have been switched",
            ),
        );
        check(
            &certificate,
            &certificate,
            Some("tls: found a certificate rather than a key in the PEM for the private key"),
        );
    }
}
