//! The command line against the real kube-apiserver: same flags, same types, same defaults, same errors.
//!
//! Runs when `KEELSON_KUBE_APISERVER` names the binary; otherwise it says so in the file that `KEELSON_SKIP_REPORT` names.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use keelson::config::{Config, Environment};
use keelson::flags::{Face, parse};

/// The oracle, or a line in the report that it is missing.
fn oracle(test: &str) -> Option<PathBuf> {
    let found = std::env::var_os("KEELSON_KUBE_APISERVER").map(PathBuf::from);
    if found.is_none()
        && let Some(report) = std::env::var_os("KEELSON_SKIP_REPORT")
    {
        let mut file = OpenOptions::new().append(true).create(true).open(report).expect("the report");
        // One write, because other tests append at the same time.
        let line = format!("keelson oracle::{test}: KEELSON_KUBE_APISERVER is not set\n");
        file.write_all(line.as_bytes()).expect("a line");
    }
    found
}

fn ours() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_keelson"));
    command.arg("kube-apiserver");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The headings and flags of a help text, without the descriptions: `heading`, then `-v, --v Level (default
/// 0)`.
fn outline(help: &str) -> Vec<String> {
    let mut outline: Vec<String> = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    for line in help.lines().skip_while(|line| !line.ends_with(" flags:")) {
        if line.ends_with(" flags:") {
            outline.push(line.to_owned());
            texts.push(String::new());
        } else if line.starts_with("      --") || line.starts_with("  -") {
            let line = line.trim_start();
            let (name, rest) = line.split_once("   ").unwrap_or((line, ""));
            outline.push(name.trim_end().to_owned());
            texts.push(rest.trim().to_owned());
        } else if let Some(text) = texts.last_mut() {
            text.push(' ');
            text.push_str(line.trim());
        }
    }
    let with_notes = |(name, text): (&String, &String)| format!("{name}{}", notes(text.trim()));
    outline.iter().zip(&texts).map(with_notes).collect()
}

/// The text in brackets at the end: the default and the deprecation.
fn notes(text: &str) -> String {
    let mut notes = String::new();
    for opening in [" (default ", " (DEPRECATED: "] {
        if text.ends_with(')')
            && let Some(start) = text.rfind(opening)
        {
            let note = &text[start..];
            let end = note.find(" (DEPRECATED").filter(|place| *place > 0).unwrap_or(note.len());
            notes.push_str(&note[..end]);
        }
    }
    notes
}

#[test]
fn the_help_lists_the_same_flags_with_the_same_types_and_defaults() {
    let Some(oracle) = oracle("help") else { return };
    let theirs = Command::new(oracle).arg("--help").output().expect("the oracle runs");
    let ours = ours().arg("--help").output().expect("keelson runs");
    assert!(ours.status.success());
    let (theirs, ours) = (outline(&text(&theirs.stdout)), outline(&text(&ours.stdout)));
    assert!(theirs.len() > 150, "the oracle's help was not understood");
    for (one, other) in theirs.iter().zip(&ours) {
        assert_eq!(one, other);
    }
    assert_eq!(theirs.len(), ours.len());
}

/// `kube:WatchList=true|false (BETA - default=true)` in the help; it contains only features that can still be
/// changed.
#[test]
fn features_have_the_same_defaults() {
    let Some(oracle) = oracle("features") else { return };
    let help = text(&Command::new(oracle).arg("--help").output().expect("the oracle runs").stdout);
    let flags = parse(Face::Standalone, &["--data-dir=x".to_owned()]).expect("flags");
    let ours = Config::new(&flags, &Environment::default()).expect("a config").feature_gates;
    let mut count = 0;
    for line in help.lines().filter_map(|line| line.trim().strip_prefix("kube:")) {
        let Some((name, rest)) = line.split_once("=true|false (") else { continue };
        assert_eq!(ours.is_on(name), rest.ends_with("default=true)"), "{line}");
        assert!(ours.iter().any(|(known, _)| known == name), "{name} is missing");
        count += 1;
    }
    assert!(count > 100, "the oracle's help was not understood");
}

/// Upstream reports all errors of feature gates at once, in any order.
#[test]
fn the_same_features_are_locked_and_need_the_same() {
    let Some(oracle) = oracle("locked features") else { return };
    let flags = parse(Face::Standalone, &["--data-dir=x".to_owned()]).expect("flags");
    let known = Config::new(&flags, &Environment::default()).expect("a config").feature_gates;
    let group = |name: &str| matches!(name, "AllAlpha" | "AllBeta");
    let turned: Vec<String> =
        known.iter().filter(|(name, _)| !group(name)).map(|(name, on)| format!("{name}={}", !on)).collect();
    let check = |gates: &str, separator: &str, least: usize| {
        let run = |mut command: Command| -> BTreeSet<String> {
            let said =
                command.arg(format!("--feature-gates={gates}")).args(REQUIRED).output().expect("it runs");
            let said = refusal(&said);
            let each = said.trim_start_matches("Error: [").trim_end_matches(']').split(separator);
            each.map(|it| it.trim_start_matches("cannot set feature gate ").to_owned()).collect()
        };
        let theirs = run(Command::new(&oracle));
        assert!(theirs.len() > least, "{theirs:?}");
        assert_eq!(run(ours()), theirs, "{gates}");
    };
    check(&turned.join(","), ", cannot set feature gate ", 60);
    check("AllAlpha=true,AllBeta=false", "], ", 2);
}

#[test]
fn the_version_is_told_in_the_same_words() {
    let Some(oracle) = oracle("version") else { return };
    let theirs = Command::new(oracle).arg("--version").output().expect("the oracle runs");
    let ours = ours().arg("--version").output().expect("keelson runs");
    assert_eq!(text(&theirs.stdout), text(&ours.stdout));
}

/// Upstream's error for a command line that it refuses: the line with `Error:`, or the logged error.
fn refusal(output: &Output) -> String {
    let text = text(&output.stderr);
    for line in text.lines() {
        if line.starts_with("Error: ") {
            return line.to_owned();
        }
        if let Some((_, logged)) = line.split_once("\"command failed\" err=\"") {
            let message = logged.trim_end_matches('"').replace("\\\"", "\"");
            return format!("Error: {message}");
        }
    }
    format!("no refusal in {text}")
}

/// All flags that upstream requires, so that only the tested flag is refused.
const REQUIRED: &[&str] = &["--etcd-servers=http://127.0.0.1:1", "--service-account-issuer=a"];

#[test]
fn the_same_command_lines_are_refused_in_the_same_words() {
    let Some(oracle) = oracle("refusals") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let cert_dir = format!("--cert-dir={}", folder.path().display());
    for case in REFUSED {
        let arguments: Vec<&str> = case.split('\u{1f}').collect();
        let run = |mut command: Command| {
            refusal(&command.args(&arguments).arg(&cert_dir).args(REQUIRED).output().expect("it runs"))
        };
        assert_eq!(run(Command::new(&oracle)), run(ours()), "{case}");
    }
}

/// Words are separated by the unit separator.
const REFUSED: &[&str] = &[
    "--foo",
    "--foo=bar",
    "--foo_bar",
    "-x",
    "-v",
    "-vx",
    "-v=x",
    "--v=99999999999",
    "--=x",
    "---x",
    "foo\u{1f}bar",
    "-",
    "--secure-port=x",
    "--secure_port=99999999999999999999",
    "--secure-port=08",
    "--secure-port=1__0",
    "--secure-port=",
    "--anonymous-auth=maybe",
    "--anonymous-auth=",
    "--request-timeout=5",
    "--request-timeout=5x",
    "--request-timeout=",
    "--goaway-chance=x",
    "--bind-address=1.2.3",
    "--bind-address=01.2.3.4",
    "--vmodule=x",
    "--vmodule=a=b",
    "--log-json-info-buffer-size=x",
    "--tls-sni-cert-key=a",
    "--tls-sni-cert-key=a,b:",
    "--service-node-port-range=x",
    "--service-node-port-range=5-3",
    "--service-node-port-range=1-99999",
    "--service-node-port-range=1-2+3",
    "--tls-curve-preferences=x",
    "--audit-log-batch-throttle-qps=x",
    "--kubelet-port=-1",
    "--oidc-required-claim=x",
    "--allow-metric-labels=x",
    "--version=foo",
    "--cors-allowed-origins=\"a",
    "--etcd-servers=a\"b",
    "--feature-gates=Foo=true",
    "--feature-gates=Foo",
    "--feature-gates=WatchList=maybe",
    "--feature-gates=other:Foo=true",
    "--feature-gates=CRDValidationRatcheting=false",
    "--feature-gates=GangScheduling=true",
    "--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false,StorageVersionAPI=true",
    "--feature-gates=AllBeta=false,SELinuxMount=true,NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=true",
    "--feature-gates=WatchList=true,kube:WatchList=true",
    "--logging-format=xml",
    "--service-cluster-ip-range=foo",
    "--service-cluster-ip-range=10.0.0.0/30",
    "--service-cluster-ip-range=10.0.0.0/24,foo",
    "--service-cluster-ip-range=10.0.0.0/24,10.1.0.0/24",
    "--service-cluster-ip-range=10.0.0.0/24,fd00::/108,fd01::/108",
    "--livez-grace-period=-1s\u{1f}--goaway-chance=1\u{1f}--max-requests-inflight=-1",
    "--secure-port=70000",
    "--strict-transport-security-directives=x",
    "--storage-backend=foo\u{1f}--storage-media-type=bar",
    "--etcd-servers-overrides=foo",
    "--encryption-provider-config-automatic-reload",
    "--runtime-config=a",
    "--runtime-config=api/all=false",
    "--runtime-config=api/ga=false",
    "--authorization-mode=Foo",
    "--authorization-mode=RBAC,RBAC",
    "--authorization-mode=ABAC,Webhook",
    "--authorization-policy-file=x\u{1f}--authorization-webhook-config-file=y",
    "--service-account-issuer=a",
    "--service-account-issuer=",
    "--service-account-jwks-uri=http://x",
    "--oidc-issuer-url=https://x",
    "--requestheader-uid-headers=X",
    "--enable-admission-plugins=Foo,NamespaceLifecycle\u{1f}--disable-admission-plugins=Bar,NamespaceLifecycle",
    "--admission-control=Foo\u{1f}--enable-admission-plugins=NamespaceLifecycle",
    "--audit-log-path=-\u{1f}--audit-log-maxage=-1\u{1f}--audit-log-format=x\u{1f}--audit-log-mode=y",
    "--audit-log-path=-\u{1f}--audit-log-truncate-max-event-size=0\u{1f}--audit-log-version=audit.k8s.io/v2",
    "--coordinated-leadership-lease-duration=1s\u{1f}--coordinated-leadership-retry-period=1h",
    "--kubernetes-service-node-port=70000",
    "--apiserver-count=0",
];
