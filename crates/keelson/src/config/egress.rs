//! EgressSelectorConfiguration: the proxies through which the server connects to others.
//!
//! ```yaml
//! apiVersion: apiserver.k8s.io/v1beta1
//! kind: EgressSelectorConfiguration
//! egressSelections:
//! - name: cluster                  # webhooks behind services
//!   connection:
//!     proxyProtocol: HTTPConnect
//!     transport: {tcp: {url: "https://proxy:8131", tlsConfig: {caBundle: …, clientKey: …, clientCert: …}}}
//! - name: controlplane             # everything else that the server calls
//!   connection: {proxyProtocol: Direct}
//! ```

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use keelson_codec::config_file::{self, ConfigKind};
use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Map, Path};
use keelson_schema::Schema;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Identity, Proxy, Target, Trust};

use super::path;
use crate::flags::Flags;
use crate::go_file;

/// The proxies; `None` connects directly.
#[derive(Clone, Debug, Default)]
pub struct Egress {
    /// The proxy to webhooks behind services.
    pub cluster: Option<Arc<Proxy>>,
    /// The proxy to everything else.
    pub controlplane: Option<Arc<Proxy>>,
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/apis/apiserver/v1beta1/types.go (v1.36.4).
const STRUCTS: &[(&str, &str)] = &[
    ("TLSConfig", "caBundle string; clientKey string; clientCert string; tlsServerName string"),
    ("TCPTransport", "url string; tlsConfig *TLSConfig"),
    ("UDSTransport", "udsName string"),
    ("Transport", "tcp *TCPTransport; uds *UDSTransport"),
    ("Connection", "proxyProtocol ProtocolType=string; transport *Transport"),
    ("EgressSelection", "name string; connection Connection"),
    ("EgressSelectorConfiguration", "kind string; apiVersion string; egressSelections []EgressSelection"),
];

const VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

/// Reads the file of the flag, or returns what is wrong with it.
pub(super) fn read(flags: &Flags) -> Result<Egress, String> {
    path(flags, "egress-selector-config-file").map_or_else(|| Ok(Egress::default()), |file| of_file(&file))
}

/// Upstream: apiserver/pkg/server/options/egress_selector.go, ApplyTo (v1.36.4).
fn of_file(file: &FilePath) -> Result<Egress, String> {
    let document =
        document(file).map_err(|error| format!("failed to read egress selector config: {error}"))?;
    let selections: Vec<&Map> = document.maps("egressSelections").collect();
    let errors = problems(&selections);
    if !errors.is_empty() {
        return Err(format!("failed to validate egress selector configuration: {}", errors.aggregate()));
    }
    let mut egress = Egress::default();
    for selection in selections {
        let name = selection.str("name").unwrap_or_default().to_lowercase();
        let proxy =
            proxy(selection).map_err(|problem| format!("egress selection {}: {problem}", quote(&name)))?;
        match (name.as_str(), proxy) {
            ("cluster", proxy) => egress.cluster = proxy,
            ("controlplane", proxy) => egress.controlplane = proxy,
            (_, None) => {}
            (_, Some(_)) => {
                return Err(
                    "egress selection \"etcd\": this server reaches etcd without proxies only".to_owned()
                );
            }
        }
    }
    Ok(egress)
}

fn document(file: &FilePath) -> Result<Map, String> {
    let shown = file.display().to_string();
    let data = go_file::read(file).map_err(|error| {
        format!("unable to read egress selector configuration from {} [{error}]", quote(&shown))
    })?;
    let schemas = VERSIONS.map(|version| Schema::by_hand(version, STRUCTS));
    let versions = VERSIONS.map(|version| format!("apiserver.k8s.io/{version}"));
    let kinds: Vec<ConfigKind<'_>> = versions
        .iter()
        .zip(&schemas)
        .map(|(api_version, schema)| ConfigKind { api_version, kind: "EgressSelectorConfiguration", schema })
        .collect();
    config_file::read(&data, &kinds).map(|(_, map)| map).map_err(|error| error.to_string())
}

/// Upstream: apiserver/pkg/server/egressselector/config.go, ValidateEgressSelectorConfiguration (v1.36.4).
fn problems(selections: &[&Map]) -> FieldErrors {
    let (mut errors, root) = (FieldErrors::default(), Path::root("service"));
    let at = root.key("connection");
    for selection in selections {
        let connection = selection.map("connection");
        let transport = connection.and_then(|it| it.map("transport"));
        match connection.and_then(|it| it.str("proxyProtocol")).unwrap_or_default() {
            "Direct" if transport.is_some() => {
                errors.invalid(&at.key("transport"), "direct", "config must be absent for direct connect");
            }
            "Direct" => {}
            "HTTPConnect" => check_connect(transport, &at, &mut errors),
            "GRPC" => check_grpc(transport, &at, &mut errors),
            other => errors.not_supported(&at.key("protocol"), other, &["Direct", "HTTPConnect", "GRPC"]),
        }
    }
    let mut seen = Vec::new();
    for (position, selection) in selections.iter().enumerate() {
        let name = selection.str("name").unwrap_or_default().to_lowercase();
        if seen.contains(&name) {
            errors.duplicate(&at.index(position), name.as_str());
            continue;
        }
        if !["cluster", "controlplane", "etcd"].contains(&name.as_str()) {
            errors.not_supported(&at, name.as_str(), &["cluster", "controlplane", "etcd"]);
        }
        seen.push(name);
    }
    errors
}

fn check_connect(transport: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    let Some(transport) = transport else {
        errors.required(&at.key("transport"), "transport must be set for HTTPConnect");
        return;
    };
    match (transport.map("tcp"), transport.map("uds")) {
        (Some(_), Some(_)) => {
            errors.invalid_as(&at.key("tcp"), "{}".to_owned(), "TCP and UDS cannot both be set");
        }
        (None, None) => errors.required(&at.key("tcp"), "One of TCP or UDS must be set"),
        (Some(tcp), None) => check_tcp(tcp, at, errors),
        (None, Some(uds)) => check_uds(uds, at, errors),
    }
}

fn check_grpc(transport: Option<&Map>, at: &Path<'_>, errors: &mut FieldErrors) {
    match transport.map(|it| it.map("uds")) {
        None => errors.required(&at.key("transport"), "transport must be set for GRPC"),
        Some(None) => errors.required(&at.key("uds"), "UDS must be set with GRPC"),
        Some(Some(uds)) => check_uds(uds, at, errors),
    }
}

fn check_uds(uds: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    if uds.str("udsName").unwrap_or_default().is_empty() {
        errors.invalid(&at.key("udsName"), "nil", "must be present for UDS connections");
    }
}

fn check_tcp(tcp: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let (url, tls) = (tcp.str("url").unwrap_or_default(), tcp.map("tlsConfig"));
    if url.starts_with("http://") {
        if tls.is_some() {
            errors.invalid(&at.key("tlsConfig"), "nil", "config must not be present when using HTTP");
        }
    } else if url.starts_with("https://") {
        match tls {
            Some(tls) => check_tls(tls, &at.key("tlsConfig"), errors),
            None => errors.required(&at.key("tlsConfig"), "TLSConfig must be present when using HTTPS"),
        }
    } else {
        errors.invalid(&at.key("url"), url, "supported connection protocols are http:// and https://");
    }
}

fn check_tls(tls: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |key: &str| tls.str(key).unwrap_or_default();
    let is_there = |file: &str| FilePath::new(file).exists();
    if !text("caBundle").is_empty() && !is_there(text("caBundle")) {
        errors.invalid(&at.key("caBundle"), text("caBundle"), "TLS config ca bundle does not exist");
    }
    for (key, absent, missing) in [
        ("clientCert", "Using TLS requires clientCert", "TLS client cert does not exist"),
        ("clientKey", "Using TLS requires requires clientKey", "TLS client key does not exist"),
    ] {
        if text(key).is_empty() {
            errors.invalid(&at.key(key), "nil", absent);
        } else if !is_there(text(key)) {
            errors.invalid(&at.key(key), text(key), missing);
        }
    }
}

/// The proxy of a valid selection.
fn proxy(selection: &Map) -> Result<Option<Arc<Proxy>>, String> {
    let connection = selection.map("connection");
    match connection.and_then(|it| it.str("proxyProtocol")).unwrap_or_default() {
        "Direct" => return Ok(None),
        "GRPC" => return Err("proxyProtocol GRPC is not supported, HTTPConnect is".to_owned()),
        _ => {}
    }
    let transport = connection.and_then(|it| it.map("transport"));
    if let Some(uds) = transport.and_then(|it| it.map("uds")) {
        return Ok(Some(Arc::new(Proxy::unix(uds.str("udsName").unwrap_or_default()))));
    }
    let tcp = transport.and_then(|it| it.map("tcp"));
    let mut target = Target::new(tcp.and_then(|it| it.str("url")).unwrap_or_default());
    if let Some(tls) = tcp.and_then(|it| it.map("tlsConfig")) {
        let file = |key: &str| tls.str(key).filter(|it| !it.is_empty()).map(PathBuf::from);
        if let Some(authorities) = file("caBundle") {
            target.trust = Trust::File(authorities);
        }
        target.server_name = tls.str("tlsServerName").map(str::to_owned);
        if let (Some(certificate), Some(key)) = (file("clientCert"), file("clientKey")) {
            target.identity = Some(Identity::Files { certificate, key });
        }
    }
    Proxy::tcp(&target, &Clock::real()).map(|it| Some(Arc::new(it))).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::of_file;

    #[track_caller]
    fn check(selections: &str, expected: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("egress.yaml");
        let head =
            "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:";
        fs::write(&file, format!("{head} [{selections}]")).expect("a file");
        assert_eq!(of_file(&file).err().unwrap_or_default(), expected, "{selections}");
    }

    fn selection(name: &str, protocol: &str, transport: &str) -> String {
        format!("{{name: {name}, connection: {{proxyProtocol: {protocol}{transport}}}}}")
    }

    #[test]
    fn ways_are_straight_or_through_a_proxy() {
        check("", "");
        check(&selection("Cluster", "Direct", ""), "");
        check(&selection("etcd", "Direct", ""), "");
        check(&selection("cluster", "HTTPConnect", ", transport: {tcp: {url: 'http://127.0.0.1:1'}}"), "");
        check(&selection("controlplane", "HTTPConnect", ", transport: {uds: {udsName: /x}}"), "");
    }

    #[test]
    fn what_is_wrong_is_said_in_upstreams_words() {
        let wrong = |selections: &str, expected: &str| {
            check(selections, &format!("failed to validate egress selector configuration: {expected}"));
        };
        wrong(
            &selection("cluster", "Other", ""),
            "service.connection.protocol: Unsupported value: \"Other\": supported values: \"Direct\", \"HTTPConnect\", \"GRPC\"",
        );
        wrong(
            &selection("cluster", "HTTPConnect", ""),
            "service.connection.transport: Required value: transport must be set for HTTPConnect",
        );
        wrong(
            &selection("cluster", "HTTPConnect", ", transport: {}"),
            "service.connection.tcp: Required value: One of TCP or UDS must be set",
        );
        wrong(
            &selection("cluster", "HTTPConnect", ", transport: {tcp: {url: 'ftp://x'}}"),
            "service.connection.url: Invalid value: \"ftp://x\": supported connection protocols are http:// and https://",
        );
        wrong(
            &selection(
                "cluster",
                "HTTPConnect",
                ", transport: {tcp: {url: 'https://x', tlsConfig: {clientKey: /no}}}",
            ),
            "[service.connection.tlsConfig.clientCert: Invalid value: \"nil\": Using TLS requires clientCert, \
             service.connection.tlsConfig.clientKey: Invalid value: \"/no\": TLS client key does not exist]",
        );
        let twice = selection("cluster", "Direct", "");
        wrong(&format!("{twice}, {twice}"), "service.connection[1]: Duplicate value: \"cluster\"");
        wrong(
            &selection("moon", "Direct", ""),
            "service.connection: Unsupported value: \"moon\": supported values: \"cluster\", \"controlplane\", \"etcd\"",
        );
    }

    #[test]
    fn what_is_not_there_is_refused_by_name() {
        let grpc = selection("cluster", "GRPC", ", transport: {uds: {udsName: /x}}");
        check(&grpc, "egress selection \"cluster\": proxyProtocol GRPC is not supported, HTTPConnect is");
        let etcd = selection("etcd", "HTTPConnect", ", transport: {uds: {udsName: /x}}");
        check(&etcd, "egress selection \"etcd\": this server reaches etcd without proxies only");
    }
}
