//! Tests of command lines and their config.

use std::path::Path;
use std::time::Duration;

use keelson_server::MinVersion;

use super::{AuthorizationMode, CertificateChoice, Config, Environment, LogFormat, StoreChoice};
use crate::error::Error;
use crate::flags::{Face, parse};

const REQUIRED: &str = "--etcd-servers=http://127.0.0.1:2379 --service-account-issuer=https://a \
                        --service-account-key-file=/a --service-account-signing-key-file=/b";

fn environment() -> Environment {
    Environment {
        home: Some("/srv/jane".into()),
        addresses: vec![[10, 1, 2, 3].into()],
        ..Environment::default()
    }
}

fn read(face: Face, arguments: &str) -> Result<Config, Error> {
    let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
    Config::new(&parse(face, &arguments).expect("flags"), &environment())
}

fn standalone(arguments: &str) -> Config {
    read(Face::Standalone, arguments).expect("a config")
}

fn upstream(arguments: &str) -> Config {
    read(Face::KubeApiserver, &format!("{REQUIRED} {arguments}")).expect("a config")
}

/// `expected` is the whole list of errors that a user reads.
#[track_caller]
fn check_refused(arguments: &str, expected: &str) {
    let refusal = read(Face::KubeApiserver, &format!("{REQUIRED} {arguments}")).expect_err("must be refused");
    assert_eq!(refusal.to_string(), expected);
}

#[test]
fn a_standalone_server_needs_no_flags() {
    let config = standalone("");
    assert_eq!(config.socket_address().to_string(), "127.0.0.1:6443");
    assert_eq!(config.data_dir, Path::new("/srv/jane/.local/share/keelson"));
    assert_eq!(config.store, StoreChoice::Embedded);
    assert_eq!(config.certificate, CertificateChoice::DataFolder);
    assert_eq!(config.authorization.modes(), [AuthorizationMode::Node, AuthorizationMode::Rbac]);
    assert!(config.authentication.anonymous);
    assert_eq!(config.warnings, [""; 0]);
}

#[test]
fn a_drop_in_has_upstreams_defaults() {
    let config = upstream("");
    assert_eq!(config.socket_address().to_string(), "0.0.0.0:6443");
    assert_eq!(config.certificate, CertificateChoice::CertDir("/var/run/kubernetes".into()));
    assert_eq!(config.authorization.modes(), [AuthorizationMode::AlwaysAllow]);
    assert!(!config.authentication.anonymous, "AlwaysAllow excludes anonymous requests");
    assert_eq!(config.advertise_address.to_string(), "10.1.2.3");
    assert_eq!(config.external_host, "10.1.2.3");
    assert_eq!(config.service_ranges.primary.to_string(), "10.0.0.0/24");
    assert_eq!(config.requests.timeout, Duration::from_secs(60));
    assert_eq!(config.requests.min_watch, Duration::from_secs(1800));
    assert_eq!(
        (config.requests.max_in_flight, config.requests.max_mutating_in_flight),
        (Some(400), Some(200))
    );
    assert_eq!(config.requests.max_body_bytes, 3_145_728);
    assert_eq!(config.event_ttl, Duration::from_secs(3600));
    assert_eq!((config.listen.http2, config.listen.http2_max_streams), (true, 100));
    assert_eq!(config.delete_collection_workers, 1);
}

#[test]
fn the_data_folder_follows_the_environment() {
    let flags = parse(Face::Standalone, &[]).expect("flags");
    let xdg = Environment { xdg_data_home: Some("/xdg".into()), ..environment() };
    assert_eq!(Config::new(&flags, &xdg).expect("a config").data_dir, Path::new("/xdg/keelson"));
    let relative = Environment { xdg_data_home: Some("xdg".into()), ..environment() };
    let folder = Config::new(&flags, &relative).expect("a config").data_dir;
    assert_eq!(folder, Path::new("/srv/jane/.local/share/keelson"));
    let nothing = Config::new(&flags, &Environment::default()).expect_err("must be refused").to_string();
    assert!(nothing.ends_with("give one with --data-dir"), "{nothing}");
    assert_eq!(standalone("--data-dir=here").data_dir, Path::new("here"));
    assert_eq!(upstream("--cert-dir=/tmp/x").data_dir, Path::new("/tmp/x/keelson"));
}

#[test]
fn flags_become_values() {
    let config = upstream(
        "--bind-address=10.0.0.9 --secure-port=443 --max-requests-inflight=0 --request-timeout=5s \
         --strict-transport-security-directives=max-age=31536000,includeSubDomains --logging-format=json -v4 \
         --tls-cert-file=a.crt --tls-private-key-file=a.key --tls-sni-cert-key=b.crt,b.key:*.b.com \
         --shutdown-delay-duration=70s --shutdown-send-retry-after --goaway-chance=0.001 --disable-http2-serving \
         --http2-max-streams-per-connection=7 --authorization-mode=Node,RBAC --external-hostname=api.example.com",
    );
    assert_eq!(config.socket_address().to_string(), "10.0.0.9:443");
    assert_eq!(config.advertise_address.to_string(), "10.0.0.9");
    assert_eq!(config.external_host, "api.example.com");
    assert_eq!(config.requests.max_in_flight, None);
    assert_eq!(config.requests.timeout, Duration::from_secs(5));
    let header = config.requests.strict_transport_security.as_deref();
    assert_eq!(header, Some("max-age=31536000; includeSubDomains"));
    assert_eq!((config.logging.format, config.logging.level), (LogFormat::Json, 4));
    assert_eq!(config.certificate, CertificateChoice::Files { cert: "a.crt".into(), key: "a.key".into() });
    assert_eq!(config.sni[0].names, ["*.b.com"]);
    assert_eq!(config.shutdown.delay, Duration::from_secs(70));
    assert!(config.shutdown.send_retry_after);
    assert_eq!((config.listen.http2, config.listen.http2_max_streams), (false, 7));
    assert_eq!(config.authorization.modes(), [AuthorizationMode::Node, AuthorizationMode::Rbac]);
    assert!(config.authentication.anonymous);
}

#[test]
fn privileged_containers_are_allowed_where_nobody_says_otherwise() {
    assert!(standalone("").allow_privileged);
    assert!(!standalone("--allow-privileged=false").allow_privileged);
    assert!(standalone("--allow-privileged").allow_privileged);
}

#[test]
fn the_address_for_other_servers_is_an_ip_and_a_port() {
    let check = |more: &str, expected: Option<&str>| {
        let config = upstream(&format!("--feature-gates=UnknownVersionInteroperabilityProxy=true {more}"));
        assert_eq!(config.peer_address.map(|it| it.joined()).as_deref(), expected, "{more}");
    };
    check("", None);
    check("--peer-advertise-ip=192.0.2.7", None);
    check("--peer-advertise-ip=192.0.2.7 --peer-advertise-port=7443", Some("192.0.2.7:7443"));
}

#[test]
fn flags_without_effect_are_told_by_name() {
    let config = standalone("--kubelet-timeout=5s --max-connection-bytes-per-sec=5 --bind-address=127.0.0.1");
    assert_eq!(
        config.warnings,
        [
            "flag --kubelet-timeout is accepted but has no effect yet",
            "flag --max-connection-bytes-per-sec is accepted but has no effect yet"
        ]
    );
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let nothing = read(Face::KubeApiserver, "--secure-port=-1").expect_err("must be refused").to_string();
    assert_eq!(
        nothing,
        "[--etcd-servers must be specified, \
         --secure-port -1 must be between 1 and 65535, inclusive. It cannot be turned off with 0, \
         service-account-issuer is a required flag, \
         either `--service-account-key-file` or `--service-account-signing-endpoint` must be set, \
         --service-account-signing-key-file and --service-account-issuer are required flags]"
    );
}

#[test]
fn unusable_values_are_refused_in_upstreams_words() {
    check_refused("--goaway-chance=1", "--goaway-chance can not be less than 0 or greater than 0.02");
    check_refused("--livez-grace-period=-1s", "--livez-grace-period can not be a negative value");
    check_refused("--authorization-mode=Foo", "authorization-mode \"Foo\" is not a valid mode");
    check_refused(
        "--authorization-mode=RBAC,RBAC",
        "authorization-mode [\"RBAC\" \"RBAC\"] has mode specified more than once",
    );
    check_refused("--logging-format=xml", "format: Invalid value: \"xml\": Unsupported log format");
    check_refused("--feature-gates=Foo=true", "unrecognized feature gate: Foo");
    check_refused("--enable-admission-plugins=Foo", "enable-admission-plugins plugin \"Foo\" is unknown");
    check_refused("--disable-admission-plugins=Foo", "disable-admission-plugins plugin \"Foo\" is unknown");
    check_refused("--admission-control=Foo", "admission-control plugin \"Foo\" is unknown");
    check_refused(
        "--enable-admission-plugins=Priority,AlwaysDeny --disable-admission-plugins=AlwaysDeny,Priority",
        "[AlwaysDeny Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
    );
    check_refused(
        "--admission-control= --enable-admission-plugins=AlwaysDeny",
        "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive",
    );
    check_refused(
        "--cors-allowed-origins=a",
        "--cors-allowed-origins has an invalid regular expression: \
         regular expression does not pin to start/end of host in the origin header",
    );
    check_refused("--service-cluster-ip-range=foo", "service-cluster-ip-range[0] is not a valid cidr");
    check_refused("--store=foo", "--store \"foo\" is not one of embedded, memory, etcd");
    check_refused("--tls-cert-file=a", "missing filename for serving cert");
}

#[test]
fn plugins_are_chosen_by_flags() {
    let names = |line: &str| upstream(line).admission.names().collect::<Vec<_>>();
    assert_eq!(names("--admission-control=AlwaysDeny,AlwaysAdmit"), ["AlwaysAdmit", "AlwaysDeny"]);
    assert_eq!(names("--admission-control="), [""; 0]);
    assert!(names("--enable-admission-plugins=AlwaysDeny").contains(&"AlwaysDeny"));
    assert!(!names("--disable-admission-plugins=Priority").contains(&"Priority"));
    let warnings = upstream("--enable-admission-plugins=ValidatingAdmissionPolicy").warnings;
    let told = "the admission plugin ValidatingAdmissionPolicy does nothing: policies are not evaluated yet";
    assert!(warnings.iter().any(|it| it == told), "{warnings:?}");
}

#[test]
fn tls_is_as_wanted_or_says_why_not() {
    let config = upstream(
        "--tls-min-version=VersionTLS13 --tls-curve-preferences=29,25 \
         --tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA",
    );
    assert_eq!(config.tls.min_version, MinVersion::Tls13);
    assert_eq!(config.tls.cipher_suites, ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
    assert_eq!(config.tls.groups, [29]);
    let says =
        |warning: &str| assert!(config.warnings.iter().any(|it| it == warning), "{:?}", config.warnings);
    says("--tls-cipher-suites: TLS_RSA_WITH_AES_128_CBC_SHA is not offered, it is not safe");
    says("--tls-curve-preferences: 25 is not offered");
    check_refused("--tls-min-version=1.2", "unknown tls version \"1.2\"");
    check_refused("--tls-cipher-suites=nope", "Cipher suite nope not supported or doesn't exist");
    check_refused(
        "--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA",
        "--tls-cipher-suites names no suite that this server can use",
    );
    check_refused("--tls-curve-preferences=29,29", "duplicate curve preference 29");
    check_refused("--tls-curve-preferences=0", "curve preference 0 is out of range (must be 1-65535)");
    check_refused(
        "--tls-curve-preferences=7",
        "curve preference 7 is not supported by the current Go version",
    );
}

#[test]
fn an_audit_log_is_what_the_flags_say() {
    let none = standalone("").audit;
    assert!(none.policy_file.is_none() && none.log.is_none() && none.webhook.is_none());
    let audit = standalone(
        "--audit-policy-file=/p --audit-log-path=/l --audit-log-maxsize=2 --audit-log-maxage=1 --audit-log-format=legacy \
         --audit-log-mode=blocking-strict --audit-webhook-config-file=/w --audit-webhook-batch-initial-backoff=3s \
         --audit-webhook-truncate-enabled",
    )
    .audit;
    let log = audit.log.expect("a log");
    assert!(log.legacy);
    assert_eq!((log.rotation.max_size, log.rotation.max_age.as_secs()), (2 << 20, 86_400));
    assert_eq!((log.rotation.max_backups, log.rotation.compress), (100, false));
    assert_eq!(log.settings.mode, keelson_audit::Mode::BlockingStrict);
    assert_eq!((log.settings.batch.max_size, log.settings.batch.throttle), (1, None));
    let webhook = audit.webhook.expect("a webhook");
    assert_eq!((webhook.first_delay.as_secs(), webhook.settings.mode), (3, keelson_audit::Mode::Batch));
    let throttle = webhook.settings.batch.throttle.expect("a rate");
    assert_eq!((throttle.per_second, throttle.burst), (10.0, 15));
    let truncate = webhook.settings.truncate.expect("limits");
    assert_eq!((truncate.max_event, truncate.max_batch), (102_400, 10_485_760));
}

#[test]
fn an_audit_log_that_makes_no_sense_is_refused() {
    let error = read(
        Face::Standalone,
        "--audit-log-path=/l --audit-log-mode=now --audit-log-format=xml --audit-log-maxage=-1 --audit-log-version=v2 \
         --audit-webhook-config-file=/w --audit-webhook-batch-throttle-qps=0",
    );
    assert_eq!(
        error.expect_err("must be refused").to_string(),
        "[invalid audit log mode now, allowed modes are \"batch,blocking,blocking-strict\", invalid group version, \
         allowed versions are [\"audit.k8s.io/v1\"], invalid audit log format xml, allowed formats are \"legacy,json\", \
         --audit-log-maxage -1 can't be a negative number, invalid audit batch webhook throttle QPS 0, must be a \
         positive number]"
    );
}

#[test]
fn tokens_of_service_accounts_have_an_issuer_and_audiences() {
    let check = |config: &Config, issuers: &[&str], audiences: &[&str]| {
        assert_eq!(config.authentication.service_accounts.issuers, issuers);
        assert_eq!(config.authentication.api_audiences, audiences);
    };
    let own = "https://kubernetes.default.svc";
    check(&standalone(""), &[own], &[own]);
    check(&standalone("--api-audiences=a,b"), &[own], &["a", "b"]);
    check(&standalone("--service-account-issuer=https://b"), &["https://b"], &["https://b"]);
    let two = upstream("--service-account-issuer=https://b");
    check(&two, &["https://a", "https://b"], &["https://a", "https://b"]);
    assert!(two.authentication.service_accounts.lookup && two.authentication.service_accounts.extended);
    let limited = upstream("--service-account-max-token-expiration=1h0m0s").authentication.service_accounts;
    assert_eq!(limited.max_seconds, Some(3600));
    assert!(standalone("").default_service_accounts && !upstream("").default_service_accounts);
}

#[test]
fn metrics_are_left_out_and_labels_limited_by_name() {
    check_refused(
        "--disabled-metrics=ok,0bad",
        "metrics.disabledMetrics: Invalid value: [\"ok\",\"0bad\"]: must be fully qualified metric names matching \
         \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got \"0bad\"",
    );
    check_refused(
        "--allow-metric-labels=bad=x",
        "metrics.allowListMapping: Invalid value: {\"bad\":\"x\"}: must have keys with format `metricName,labelName` where \
         metricName matches \"[a-zA-Z_:][a-zA-Z0-9_:]*\" and labelName matches \"[a-zA-Z_][a-zA-Z0-9_]*\"",
    );
    check_refused(
        "--show-hidden-metrics-for-version=1.34",
        "metrics.showHiddenMetricsForVersion: Invalid value: \"1.34\": must be omitted or have the value '1.35'; only the \
         previous minor version is allowed",
    );
    check_refused(
        "--allow-metric-labels-manifest=/does/not/exist",
        "metrics.allowListMappingManifest: Invalid value: \"/does/not/exist\": failed to read allow list manifest: open \
         /does/not/exist: no such file or directory",
    );
    let folder = tempfile::tempdir().expect("a folder");
    let manifest = folder.path().join("labels.yaml");
    std::fs::write(&manifest, "a_total,x: \"1,2\"\na_total,y: \"\"\n").expect("written");
    let config = upstream(&format!("--allow-metric-labels-manifest={}", manifest.display()));
    let labels = &config.metrics.allowed["a_total"];
    assert_eq!(labels["x"].iter().collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(labels["y"].iter().collect::<Vec<_>>(), [""]);
    assert!(upstream("--disabled-metrics=b_total").metrics.disabled.contains("b_total"));
}

#[test]
fn tokens_live_between_an_hour_and_a_century() {
    let limits = "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds";
    check_refused("--service-account-max-token-expiration=59m59s", limits);
    check_refused("--service-account-max-token-expiration=-1h", limits);
    check_refused("--service-account-max-token-expiration=1200000h", limits);
    check_refused(
        "--service-account-signing-endpoint=/x",
        "service-account-signing-key-file and service-account-signing-endpoint are mutually exclusive and cannot be set \
         at the same time",
    );
    check_refused(
        "--service-account-signing-key-file= --service-account-signing-endpoint=/x",
        "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with \
         `--service-account-signing-endpoint` (They are mutually exclusive)",
    );
    let refusal =
        read(Face::Standalone, "--service-account-signing-endpoint=@a..b").expect_err("must be refused");
    assert_eq!(
        refusal.to_string(),
        "invalid value \"@a..b\" passed for `--service-account-signing-endpoint`, when prefixed with @ must be a valid \
         abstract socket name",
    );
    let short = upstream("--service-account-max-token-expiration=1h").warnings;
    assert!(
        short.iter().any(|it| it.ends_with("must be set longer than 3607 seconds (currently 1h0m0s)")),
        "{short:?}"
    );
}
