//! Invalid flags and files. The texts were recorded with kube-apiserver v1.36.4.

use std::fs;
use std::sync::Arc;

use keelson_registry::CatalogHandle;
use keelson_stdx::clock::Clock;
use tempfile::TempDir;

use super::Others;
use crate::config::{Config, Environment};
use crate::flags::{Face, parse};

const REQUIRED: &str = "--etcd-servers=http://127.0.0.1:2379 --service-account-issuer=https://sa.example \
                        --service-account-key-file=/a --service-account-signing-key-file=/b --authorization-mode=RBAC";

const CONTEXT: &str = "contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";

/// A folder with one file.
fn folder(text: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("file"), text).expect("written");
    folder
}

/// `DIR` in the arguments and in the text is the folder with a `file` of this text.
#[track_caller]
fn check(file: &str, arguments: &str, expected: &str) {
    let folder = folder(file);
    let path = folder.path().display().to_string();
    let arguments = format!("{REQUIRED} {}", arguments.replace("DIR", &path));
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    let flags = parse(Face::KubeApiserver, &arguments).expect("flags");
    let environment = Environment { addresses: vec![[10, 1, 2, 3].into()], ..Environment::default() };
    let outcome = Config::new(&flags, &environment).and_then(|config| {
        Others::new(&config.authentication, Arc::new(CatalogHandle::default()), &Clock::real())
    });
    let text = outcome.err().map(|error| error.to_string()).unwrap_or_default();
    assert_eq!(text, expected.replace("DIR", &path), "{arguments:?}");
}

#[track_caller]
fn check_kubeconfig(file: &str, expected: &str) {
    check(file, "--authentication-token-webhook-config-file=DIR/file", expected);
}

fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {cluster}}}]\nusers: [{{name: a, user: \
         {user}}}]\n{CONTEXT}"
    )
}

const SERVER: &str = "{server: 'https://127.0.0.1:1'}";

#[test]
fn kubeconfigs_that_lead_nowhere() {
    let nothing = "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable";
    check(
        "",
        "--authentication-token-webhook-config-file=DIR/missing",
        "stat DIR/missing: no such file or directory",
    );
    check_kubeconfig(
        "a: [",
        "error loading config file \"DIR/file\": yaml: line 1: did not find expected node content",
    );
    check_kubeconfig("", nothing);
    check_kubeconfig("foo: 1\n", nothing);
    check_kubeconfig(&kubeconfig(SERVER, "{}").replace("current-context: a", ""), nothing);
    check_kubeconfig(
        &kubeconfig(SERVER, "{}").replace("current-context: a", "current-context: b"),
        "invalid configuration: [context was not found for specified context: b, cluster has no server defined]",
    );
    check_kubeconfig(
        &kubeconfig("{server: 'https://a', certificate-authority: missing.pem}", "{}"),
        "invalid configuration: unable to read certificate-authority DIR/missing.pem for a due to open DIR/missing.pem: \
         no such file or directory",
    );
    check_kubeconfig(
        &kubeconfig(SERVER, "{client-certificate-data: YQ==}"),
        "invalid configuration: client-key-data or client-key must be specified for a to use the clientCert \
         authentication method.",
    );
    check_kubeconfig(
        &kubeconfig(SERVER, "{token: a, username: b, password: c}"),
        "invalid configuration: more than one authentication method found for a; found [token basicAuth], only one is \
         allowed",
    );
    check_kubeconfig(
        &kubeconfig("{server: ''}", "{}"),
        "invalid configuration: no server found for cluster \"a\"",
    );
    check(
        &kubeconfig(SERVER, "{}"),
        "--authentication-token-webhook-config-file=DIR/file --authentication-token-webhook-version=v2",
        "unsupported authentication webhook version \"v2\", supported versions are \"v1\", \"v1beta1\"",
    );
    check_kubeconfig(&kubeconfig(SERVER, "{}"), "");
}

#[test]
fn issuers_that_make_no_sense() {
    const ISSUER: &str = "--oidc-issuer-url=https://a --oidc-client-id=b";
    let bad = "invalid authentication configuration: jwt[0]";
    check(
        "",
        "--oidc-issuer-url=http://a --oidc-client-id=b",
        &format!("{bad}.issuer.url: Invalid value: \"http://a\": URL scheme must be https"),
    );
    check("", &format!("{ISSUER} --oidc-ca-file=DIR/missing"), "open DIR/missing: no such file or directory");
    check(
        "a: [",
        &format!("{ISSUER} --oidc-ca-file=DIR/file"),
        &format!(
            "{bad}.issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or \
             ECDSA certificates"
        ),
    );
    check("", &format!("{ISSUER} --oidc-signing-algs=HS256"), "oidc: unsupported signing alg: \"HS256\"");
    check(
        "",
        &format!("{ISSUER} --oidc-username-claim="),
        &format!("{bad}.claimMappings.username: Required value: claim or expression is required"),
    );
    check(
        "",
        "--oidc-issuer-url=https://sa.example --oidc-client-id=b",
        "issuer.url: Invalid value: \"https://sa.example\": URL must not overlap with disallowed issuers: \
         [https://sa.example]",
    );
    check(
        "",
        "--oidc-issuer-url=https://a",
        "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
    );
    check(
        "",
        "--authentication-config=DIR/missing",
        "failed to load authentication configuration from file \"DIR/missing\": open DIR/missing: no such file or \
         directory",
    );
    check("", ISSUER, "");
}

#[test]
fn front_proxies_that_nobody_vouches_for() {
    check("", "--requestheader-client-ca-file=DIR/missing", "open DIR/missing: no such file or directory");
    check(
        "a: [",
        "--requestheader-client-ca-file=DIR/file",
        "error loading CA bundle for \"request-header::DIR/file\": data does not contain any valid RSA or ECDSA \
         certificates",
    );
    check(
        "",
        "--requestheader-uid-headers=foo",
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will \
         not work",
    );
}

#[test]
fn a_proxy_must_be_told_from_its_clients() {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).expect("signed").pem();
    let both = "--client-ca-file=DIR/file --requestheader-client-ca-file=DIR/file";
    check(
        &pem,
        both,
        "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; \
         --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating \
         proxy headers for arbitrary users",
    );
    check(&pem, &format!("{both} --requestheader-allowed-names=front-proxy"), "");
}

#[test]
fn the_flag_and_the_file_do_not_both_speak_of_anonymous_requests() {
    let file = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: true}\n";
    check(
        file,
        "--authentication-config=DIR/file --anonymous-auth=true",
        "anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication \
         configuration file",
    );
    check(file, "--authentication-config=DIR/file", "");
}
