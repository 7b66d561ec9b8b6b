//! Signing policies: the requests that each signer signs.

use std::collections::BTreeSet;

use super::request::{ORGANIZATION, Request, Wanted};

/// Clients of the API server.
pub(super) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
/// Nodes, as clients of the API server.
pub(super) const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// Nodes, as servers.
pub(super) const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";

/// Whether a request may be signed; `None` if it is for a signer that is not ours.
///
/// Upstream: pkg/controller/certificates/signer/signer.go, getCSRVerificationFuncForSignerName (v1.36.4).
pub(super) fn check(request: &Request) -> Option<Result<(), String>> {
    match request.signer.as_str() {
        CLIENT => Some(client(&request.usages)),
        KUBELET_CLIENT => Some(kubelet_client(&request.wanted, &request.usages)),
        KUBELET_SERVING => Some(kubelet_serving(&request.wanted, &request.usages)),
        _ => None,
    }
}

/// Upstream: pkg/controller/certificates/signer/signer.go, validAPIServerClientUsages (v1.36.4).
fn client(usages: &BTreeSet<String>) -> Result<(), String> {
    let is_allowed =
        |usage: &&String| matches!(usage.as_str(), "digital signature" | "key encipherment" | "client auth");
    if let Some(usage) = usages.iter().find(|it| !is_allowed(it)) {
        return Err(format!("invalid usage for client certificate: {usage}"));
    }
    if !usages.contains("client auth") {
        return Err("missing required usage for client certificate: client auth".to_owned());
    }
    Ok(())
}

/// Upstream: pkg/apis/certificates/helpers.go, ValidateKubeletClientCSR (v1.36.4).
pub(super) fn kubelet_client(wanted: &Wanted, usages: &BTreeSet<String>) -> Result<(), String> {
    is_of_a_node(wanted)?;
    for (names, what) in [
        (wanted.dns.len(), "DNS"),
        (wanted.emails.len(), "Email"),
        (wanted.addresses.len(), "IP"),
        (wanted.uris.len(), "URI"),
    ] {
        if names > 0 {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    is_named_like_a_node(wanted)?;
    usages_are(usages, ["client auth", "digital signature", "key encipherment"])
}

/// Upstream: pkg/apis/certificates/helpers.go, ValidateKubeletServingCSR (v1.36.4).
fn kubelet_serving(wanted: &Wanted, usages: &BTreeSet<String>) -> Result<(), String> {
    is_of_a_node(wanted)?;
    if wanted.dns.is_empty() && wanted.addresses.is_empty() {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    for (names, what) in [(wanted.emails.len(), "Email"), (wanted.uris.len(), "URI")] {
        if names > 0 {
            return Err(format!("{what} subjectAltNames are not allowed"));
        }
    }
    usages_are(usages, ["digital signature", "key encipherment", "server auth"])?;
    is_named_like_a_node(wanted)
}

fn is_of_a_node(wanted: &Wanted) -> Result<(), String> {
    if wanted.values(ORGANIZATION).eq(["system:nodes"]) {
        return Ok(());
    }
    Err("subject organization is not system:nodes".to_owned())
}

fn is_named_like_a_node(wanted: &Wanted) -> Result<(), String> {
    if wanted.common_name().starts_with("system:node:") {
        return Ok(());
    }
    Err("subject common name does not begin with system:node:".to_owned())
}

/// Either exactly `required`, or without the usage that only RSA keys need.
fn usages_are(usages: &BTreeSet<String>, required: [&str; 3]) -> Result<(), String> {
    let all = usages.iter().eq(required);
    let elliptic = required.into_iter().filter(|it| *it != "key encipherment");
    if all || usages.iter().eq(elliptic) {
        return Ok(());
    }
    Err(format!("usages did not match [{}]", required.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::{client, kubelet_client, kubelet_serving};
    use crate::certificates::request::{COMMON_NAME, ORGANIZATION, Wanted};

    fn usages(text: &str) -> std::collections::BTreeSet<String> {
        text.split(',').filter(|it| !it.is_empty()).map(str::to_owned).collect()
    }

    /// `O=… CN=… dns=… ip email uri`
    fn wanted(text: &str) -> Wanted {
        let mut wanted = Wanted::default();
        for word in text.split_whitespace() {
            match word.split_once('=').unwrap_or((word, "")) {
                ("O", value) => wanted.subject.push((ORGANIZATION, value.to_owned())),
                ("CN", value) => wanted.subject.push((COMMON_NAME, value.to_owned())),
                ("dns", value) => wanted.dns.push(value.to_owned()),
                ("ip", _) => wanted.addresses.push(vec![10, 0, 0, 1]),
                ("email", value) => wanted.emails.push(value.to_owned()),
                (_, value) => wanted.uris.push(value.to_owned()),
            }
        }
        wanted
    }

    const NODE: &str = "O=system:nodes CN=system:node:a";
    const CLIENT: &str = "digital signature,client auth";
    const SERVING: &str = "digital signature,key encipherment,server auth";

    #[track_caller]
    fn check(outcome: Result<(), String>, expected: &str) {
        assert_eq!(outcome.err().unwrap_or_default(), expected);
    }

    #[test]
    fn a_kubelet_is_a_client_under_its_own_name_alone() {
        let check = |subject: &str, uses: &str, expected: &str| {
            check(kubelet_client(&wanted(subject), &usages(uses)), expected);
        };
        check(NODE, CLIENT, "");
        check(NODE, &format!("{CLIENT},key encipherment"), "");
        check("CN=system:node:a", CLIENT, "subject organization is not system:nodes");
        check("O=system:nodes O=x CN=system:node:a", CLIENT, "subject organization is not system:nodes");
        check("O=system:nodes CN=a", CLIENT, "subject common name does not begin with system:node:");
        check(&format!("{NODE} dns=a"), CLIENT, "DNS subjectAltNames are not allowed");
        check(&format!("{NODE} ip"), CLIENT, "IP subjectAltNames are not allowed");
        check(&format!("{NODE} email=a"), CLIENT, "Email subjectAltNames are not allowed");
        check(&format!("{NODE} uri=a"), CLIENT, "URI subjectAltNames are not allowed");
        let needed = "usages did not match [client auth digital signature key encipherment]";
        check(NODE, "client auth", needed);
        check(NODE, &format!("{CLIENT},server auth"), needed);
    }

    #[test]
    fn a_kubelet_serves_under_addresses() {
        let check = |subject: &str, uses: &str, expected: &str| {
            check(kubelet_serving(&wanted(subject), &usages(uses)), expected);
        };
        check(&format!("{NODE} dns=a ip"), SERVING, "");
        check(&format!("{NODE} ip"), "digital signature,server auth", "");
        check(NODE, SERVING, "DNS or IP subjectAltName is required");
        check(&format!("{NODE} dns=a email=b"), SERVING, "Email subjectAltNames are not allowed");
        check(&format!("{NODE} dns=a uri=b"), SERVING, "URI subjectAltNames are not allowed");
        let needed = "usages did not match [digital signature key encipherment server auth]";
        check(&format!("{NODE} dns=a"), CLIENT, needed);
        check("O=system:nodes CN=a ip", SERVING, "subject common name does not begin with system:node:");
    }

    #[test]
    fn clients_are_clients_and_nothing_else() {
        check(client(&usages(CLIENT)), "");
        check(client(&usages("client auth")), "");
        let missing = "missing required usage for client certificate: client auth";
        check(client(&usages("digital signature")), missing);
        check(client(&usages("client auth,cert sign")), "invalid usage for client certificate: cert sign");
    }
}
