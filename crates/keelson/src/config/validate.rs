//! Validation of flags. All errors are found before any is reported, in upstream's order and words.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use ipnet::IpNet;
use keelson_apis::text_rules::url;
use keelson_authz::ReviewVersion;
use keelson_object::scalar::quote;

use super::{AuthorizationMode, Compatibility, FeatureGates, ServiceRanges, authenticators, runtime_config};
use crate::flags::{Face, Flags, Value};
use crate::go_file;

/// What is known when flags are validated.
pub(super) struct Context<'c> {
    pub(super) flags: &'c Flags,
    pub(super) gates: &'c FeatureGates,
    pub(super) compatibility: &'c Compatibility,
    pub(super) ranges: &'c ServiceRanges,
    pub(super) advertise_address: IpAddr,
}

/// The first error that upstream finds before all others.
///
/// Upstream: pkg/controlplane/apiserver/options/options.go and cmd/kube-apiserver/app/options/completion.go, Complete
/// (v1.36.4).
pub(super) fn before(flags: &Flags) -> Result<(), String> {
    super::service_accounts::check(flags)?;
    if flags.is_on("watch-cache") {
        flags.list("watch-cache-sizes").iter().try_for_each(|it| watch_cache_size(it))?;
    }
    Ok(())
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/etcd.go, ParseWatchCacheSizes (v1.36.4).
fn watch_cache_size(text: &str) -> Result<(), String> {
    let [_, size] = text.split('#').collect::<Vec<_>>()[..] else {
        return Err(format!("invalid value of watch cache size: {text}"));
    };
    match size.parse::<i64>() {
        Err(_) => Err(format!("invalid size of watch cache size: {text}")),
        Ok(size) if size < 0 => Err(format!("watch cache size cannot be negative: {text}")),
        Ok(_) => Ok(()),
    }
}

/// The first error that upstream finds while it builds the server.
///
/// Upstream: pkg/controlplane/apiserver/config.go, BuildGenericConfig (v1.36.4).
pub(super) fn after(flags: &Flags) -> Result<(), String> {
    super::tls::check(flags)?;
    let limits = (flags.int("max-requests-inflight"), flags.int("max-mutating-requests-inflight"));
    if flags.is_on("enable-priority-and-fairness") && limits == (0, 0) {
        return Err("invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; they must add up to \
                    something positive"
            .to_owned());
    }
    runtime_config::check(&runtime_config::settings(flags))?;
    authorization_webhook_version(flags)?;
    let (cert, key) = (flags.text("etcd-certfile"), flags.text("etcd-keyfile"));
    if cert.is_empty() != key.is_empty() {
        return Err(format!(
            "error creating storage factory: KeyFile and CertFile must both be present[key: {key}, cert: {cert}]"
        ));
    }
    let reconciler = flags.text("endpoint-reconciler-type");
    if !matches!(reconciler, "" | "lease" | "master-count" | "none") {
        return Err(format!("Reconciler not implemented: {reconciler}"));
    }
    let has_proxy_identity =
        ["proxy-client-cert-file", "proxy-client-key-file"].iter().all(|it| !flags.text(it).is_empty());
    if !flags.text("peer-ca-file").is_empty() && !has_proxy_identity {
        return Err("error building peer proxy handler, proxy-cert-file not specified".to_owned());
    }
    Ok(())
}

/// All errors of values that could be parsed.
pub(super) fn errors(context: &Context<'_>) -> Vec<String> {
    let flags = context.flags;
    let mut errors = Vec::new();
    generic(flags, &mut errors);
    errors.extend(context.compatibility.errors());
    storage(flags, &mut errors);
    priority_and_fairness(flags, &mut errors);
    secure_serving(flags, &mut errors);
    authentication(flags, &mut errors);
    authorization(flags, &mut errors);
    audit(flags, "log", "audit-log-path", &mut errors);
    audit(flags, "webhook", "audit-webhook-config-file", &mut errors);
    admission(flags, &mut errors);
    errors.extend(runtime_config::errors(&runtime_config::settings(flags)));
    token_requests(flags, &mut errors);
    super::metrics::errors(flags, &mut errors);
    errors.extend(peers(context));
    super::service_accounts::errors(flags, &mut errors);
    leadership(flags, &mut errors);
    service_ranges(context.ranges, &mut errors);
    service_node_port(flags, &mut errors);
    errors.extend(address_family(context));
    if flags.int("apiserver-count") <= 0 {
        let count = flags.int("apiserver-count");
        errors.push(format!("--apiserver-count should be a positive number, but value '{count}' provided"));
    }
    own(flags, &mut errors);
    errors
}

fn is_upstream(flags: &Flags) -> bool {
    flags.face() == Face::KubeApiserver
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/server_run_options.go, Validate (v1.36.4).
fn generic(flags: &Flags, errors: &mut Vec<String>) {
    let mut refuse = |condition: bool, text: &str| {
        if condition {
            errors.push(text.to_owned());
        }
    };
    let is_negative = |name| flags.duration(name).nanos() < 0;
    let chance = flags.float("goaway-chance");
    refuse(is_negative("livez-grace-period"), "--livez-grace-period can not be a negative value");
    refuse(flags.int("max-requests-inflight") < 0, "--max-requests-inflight can not be negative value");
    refuse(
        flags.int("max-mutating-requests-inflight") < 0,
        "--max-mutating-requests-inflight can not be negative value",
    );
    refuse(is_negative("request-timeout"), "--request-timeout can not be negative value");
    refuse(
        !(0.0..=0.02).contains(&chance) && !chance.is_nan(),
        "--goaway-chance can not be less than 0 or greater than 0.02",
    );
    refuse(flags.int("min-request-timeout") < 0, "--min-request-timeout can not be negative value");
    refuse(
        is_negative("storage-initialization-timeout"),
        "--storage-initialization-timeout can not be negative value",
    );
    refuse(is_negative("shutdown-delay-duration"), "--shutdown-delay-duration can not be negative value");
    refuse(
        is_negative("shutdown-watch-termination-grace-period"),
        "shutdown-watch-termination-grace-period, if provided, can not be a negative value",
    );
    errors.extend(flags.list("strict-transport-security-directives").iter().filter_map(|it| hsts(it)));
    errors.extend(flags.list("cors-allowed-origins").iter().filter_map(|it| cors(it)));
}

fn hsts(directive: &str) -> Option<String> {
    if directive.trim().is_empty() {
        return Some("empty value in strict-transport-security-directives".to_owned());
    }
    let is_max_age = || matches!(directive.split('=').collect::<Vec<_>>()[..], ["max-age", _]);
    let is_known = matches!(directive, "includeSubDomains" | "preload") || is_max_age();
    (!is_known).then(|| {
        "--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, \
         preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
            .to_owned()
    })
}

/// An expression that is not anchored at both ends of the host would allow other hosts.
fn cors(expression: &str) -> Option<String> {
    if expression.is_empty() {
        return Some("empty value in --cors-allowed-origins".to_owned());
    }
    let reason = match regex::Regex::new(expression) {
        Err(error) => error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
        Ok(_) => {
            let pins_start = expression.contains('^') || expression.contains("//");
            let pins_end = expression.contains('$') || expression.contains(':');
            if pins_start && pins_end {
                return None;
            }
            "regular expression does not pin to start/end of host in the origin header".to_owned()
        }
    };
    Some(format!("--cors-allowed-origins has an invalid regular expression: {reason}"))
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/etcd.go, Validate (v1.36.4).
fn storage(flags: &Flags, errors: &mut Vec<String>) {
    const MEDIA_TYPES: [&str; 3] =
        ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];
    let needs_etcd = match flags.text("store") {
        "" => is_upstream(flags),
        store => store == "etcd",
    };
    if needs_etcd && flags.list("etcd-servers").is_empty() {
        errors.push("--etcd-servers must be specified".to_owned());
    }
    if !matches!(flags.text("storage-backend"), "" | "etcd3") {
        errors.push(
            "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"
                .to_owned(),
        );
    }
    if flags.list("etcd-servers-overrides").iter().any(|it| !is_override(it)) {
        errors.push(
            "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, \
             semicolon separated"
                .to_owned(),
        );
    }
    if flags.is_on("watch-cache") {
        let sizes = flags.list("watch-cache-sizes").iter();
        errors.extend(sizes.filter_map(|it| super::etcd::cache_size(it).err()));
    }
    if flags.text("encryption-provider-config").is_empty()
        && flags.is_on("encryption-provider-config-automatic-reload")
    {
        errors.push(
            "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config"
                .to_owned(),
        );
    }
    let media_type = flags.text("storage-media-type");
    if !media_type.is_empty() && !MEDIA_TYPES.contains(&media_type) {
        let allowed = MEDIA_TYPES.join(", ");
        errors.push(format!("--storage-media-type {} invalid, allowed values: {allowed}", quote(media_type)));
    }
}

/// `group/resource#server;server`
fn is_override(text: &str) -> bool {
    match text.split('#').collect::<Vec<_>>()[..] {
        [resource, servers] => {
            resource.split('/').count() == 2 && servers.split(';').all(|server| !server.is_empty())
        }
        _ => false,
    }
}

fn priority_and_fairness(flags: &Flags, errors: &mut Vec<String>) {
    if !flags.is_on("enable-priority-and-fairness") {
        return;
    }
    let settings = runtime_config::settings(flags);
    for key in ["flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"] {
        match settings.get(key).map(String::as_str) {
            Some("false") => {
                let text = format!(
                    "--runtime-config={key}=false conflicts with --enable-priority-and-fairness=true"
                );
                return errors.push(text);
            }
            Some("true") => return,
            _ => (),
        }
    }
}

fn secure_serving(flags: &Flags, errors: &mut Vec<String>) {
    let port = flags.int("secure-port");
    if is_upstream(flags) && !(1..=65535).contains(&port) {
        errors.push(format!(
            "--secure-port {port} must be between 1 and 65535, inclusive. It cannot be turned off with 0"
        ));
    } else if !(0..=65535).contains(&port) {
        errors.push(format!("--secure-port {port} must be between 0 and 65535, inclusive"));
    }
}

/// Upstream: pkg/kubeapiserver/options/authentication.go, Validate (v1.36.4).
fn authentication(flags: &Flags, errors: &mut Vec<String>) {
    let oidc_is_set = flags.names_set().any(|name| name.starts_with("oidc-"));
    let oidc_is_complete =
        !flags.text("oidc-issuer-url").is_empty() && !flags.text("oidc-client-id").is_empty();
    if flags.text("authentication-config").is_empty() {
        if oidc_is_set && !oidc_is_complete {
            errors.push(
                "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
                    .to_owned(),
            );
        }
    } else if oidc_is_set {
        errors.push("authentication-config file and oidc-* flags are mutually exclusive".to_owned());
    }
    service_accounts(flags, errors);
    errors.extend(jwks_uri(flags.text("service-account-jwks-uri")));
    for name in [
        "requestheader-username-headers",
        "requestheader-group-headers",
        "requestheader-extra-headers-prefix",
    ]
    .iter()
    .chain(&["requestheader-allowed-names", "requestheader-uid-headers"])
    {
        if flags.list(name).iter().any(|value| value.trim().is_empty()) {
            errors.push(format!("empty value in {}", quote(name)));
        }
    }
    let uid_headers = flags.list("requestheader-uid-headers");
    if !uid_headers.is_empty() && !uid_headers.iter().any(|it| it.eq_ignore_ascii_case("X-Remote-Uid")) {
        errors.push(
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation \
             will not work"
                .to_owned(),
        );
    }
    errors.extend(authenticators::overlap(flags));
}

fn jwks_uri(uri: &str) -> Option<String> {
    if uri.is_empty() {
        return None;
    }
    match url::parse(uri) {
        Err(problem) => Some(format!("service-account-jwks-uri must be a valid URL: {problem}")),
        Ok(url) if url.scheme != "https" => {
            Some(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"))
        }
        Ok(_) => None,
    }
}

fn service_accounts(flags: &Flags, errors: &mut Vec<String>) {
    let issuers = flags.list("service-account-issuer");
    let mut seen = BTreeSet::new();
    for issuer in issuers {
        if issuer.contains(':')
            && let Err(problem) = url::parse(issuer)
        {
            let issuer = quote(issuer);
            errors.push(format!(
                "service-account-issuer {issuer} contained a ':' but was not a valid URL: {problem}"
            ));
        } else if issuer.is_empty() {
            errors.push("service-account-issuer should not be an empty string".to_owned());
        } else if !seen.insert(issuer) {
            errors.push(format!("service-account-issuer {} is already specified", quote(issuer)));
        }
    }
    if !is_upstream(flags) {
        return;
    }
    if issuers.is_empty() {
        errors.push("service-account-issuer is a required flag".to_owned());
    }
    let has_keys = !flags.list("service-account-key-file").is_empty();
    if !has_keys && flags.text("service-account-signing-endpoint").is_empty() {
        errors.push(
            "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set"
                .to_owned(),
        );
    }
}

/// Upstream: pkg/kubeapiserver/options/authorization.go, Validate (v1.36.4).
fn authorization(flags: &Flags, errors: &mut Vec<String>) {
    const MODE: &str = "authorization-mode";
    if !flags.text("authorization-config").is_empty() {
        if flags.names_set().any(|name| name == MODE || name.starts_with("authorization-webhook-")) {
            errors.push(
                "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* \
                 flags are defined"
                    .to_owned(),
            );
            return;
        }
        errors.extend(authorization_file(flags).err());
        return;
    }
    let modes = flags.list(MODE);
    let (policy, webhook) =
        (flags.text("authorization-policy-file"), flags.text("authorization-webhook-config-file"));
    for mode in modes {
        match AuthorizationMode::parse(mode) {
            None => errors.push(format!("authorization-mode {} is not a valid mode", quote(mode))),
            Some(AuthorizationMode::Abac) if policy.is_empty() => {
                errors.push("authorization-mode ABAC's authorization policy file not passed".to_owned());
            }
            Some(AuthorizationMode::Webhook) if webhook.is_empty() => {
                errors.push("authorization-mode Webhook's authorization config file not passed".to_owned());
            }
            Some(_) => (),
        }
    }
    let has = |name: &str| modes.iter().any(|mode| mode == name);
    if !policy.is_empty() && !has("ABAC") {
        errors.push("cannot specify --authorization-policy-file without mode ABAC".to_owned());
    }
    if !webhook.is_empty() && !has("Webhook") {
        errors.push("cannot specify --authorization-webhook-config-file without mode Webhook".to_owned());
    }
    if modes.iter().enumerate().any(|(index, mode)| modes[..index].contains(mode)) {
        let list = modes.iter().map(|mode| quote(mode)).collect::<Vec<_>>().join(" ");
        errors.push(format!("authorization-mode [{list}] has mode specified more than once"));
    }
}

fn authorization_webhook_version(flags: &Flags) -> Result<(), String> {
    let is_asked = flags.list("authorization-mode").iter().any(|it| it == "Webhook");
    let version = flags.text("authorization-webhook-version");
    // A missing kubeconfig is reported first, when the webhook is created.
    let has_kubeconfig = Path::new(flags.text("authorization-webhook-config-file")).exists();
    if is_asked && has_kubeconfig && ReviewVersion::parse(version).is_none() {
        let version = quote(version);
        return Err(format!(
            "invalid authorization config: unsupported webhook authorizer version {version}, supported versions are \"v1\", \"v1beta1\""
        ));
    }
    Ok(())
}

fn authorization_file(flags: &Flags) -> Result<(), String> {
    let path = flags.text("authorization-config");
    let data = go_file::read(Path::new(path))?;
    super::read_authorizers(&data, &[]).map(drop)
}

/// Upstream: staging/src/k8s.io/apiserver/pkg/server/options/audit.go, Validate (v1.36.4).
fn audit(flags: &Flags, backend: &str, enabled_by: &str, errors: &mut Vec<String>) {
    if flags.text(enabled_by).is_empty() {
        return;
    }
    let name = |part: &str| format!("audit-{backend}-{part}");
    let mode = flags.text(&name("mode"));
    let (buffer, batch) = (flags.int(&name("batch-buffer-size")), flags.int(&name("batch-max-size")));
    if !matches!(mode, "batch" | "blocking" | "blocking-strict") {
        let allowed = "\"batch,blocking,blocking-strict\"";
        errors.push(format!("invalid audit {backend} mode {mode}, allowed modes are {allowed}"));
    } else if mode == "batch" && buffer <= 0 {
        errors.push(format!("invalid audit batch {backend} buffer size {buffer}, must be a positive number"));
    } else if mode == "batch" && batch <= 0 {
        errors
            .push(format!("invalid audit batch {backend} max batch size {batch}, must be a positive number"));
    } else if mode == "batch" && flags.is_on(&name("batch-throttle-enable")) {
        let (rate, burst) =
            (flags.float(&name("batch-throttle-qps")), flags.int(&name("batch-throttle-burst")));
        let (what, number) =
            if rate <= 0.0 { ("QPS", rate.to_string()) } else { ("burst", burst.to_string()) };
        if rate <= 0.0 || burst <= 0 {
            errors.push(format!(
                "invalid audit batch {backend} throttle {what} {number}, must be a positive number"
            ));
        }
    }
    let event_size = flags.int(&name("truncate-max-event-size"));
    let batch_size = flags.int(&name("truncate-max-batch-size"));
    if event_size <= 0 {
        errors.push(format!(
            "invalid audit truncate {backend} max event size {event_size}, must be a positive number"
        ));
    } else if batch_size < event_size {
        errors.push(format!(
            "invalid audit truncate {backend} max batch size {batch_size}, must be greater than max event size \
             ({event_size})"
        ));
    }
    if flags.text(&name("version")) != "audit.k8s.io/v1" {
        errors.push("invalid group version, allowed versions are [\"audit.k8s.io/v1\"]".to_owned());
    }
    if backend == "log" {
        audit_log(flags, errors);
    }
}

fn audit_log(flags: &Flags, errors: &mut Vec<String>) {
    let format = flags.text("audit-log-format");
    if !matches!(format, "json" | "legacy") {
        errors.push(format!("invalid audit log format {format}, allowed formats are \"legacy,json\""));
    }
    for name in ["audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize"] {
        let number = flags.int(name);
        if number < 0 {
            errors.push(format!("--{name} {number} can't be a negative number"));
        }
    }
}

/// Upstream: pkg/kubeapiserver/options/admission.go, Validate (v1.36.4).
fn admission(flags: &Flags, errors: &mut Vec<String>) {
    let (all, enabled) = (flags.list("admission-control"), flags.list("enable-admission-plugins"));
    let disabled = flags.list("disable-admission-plugins");
    let has_changes =
        ["enable-admission-plugins", "disable-admission-plugins"].iter().any(|it| flags.was_set(it));
    if flags.was_set("admission-control") && has_changes {
        errors.push(
            "admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive"
                .to_owned(),
        );
    }
    let lists = [
        ("admission-control", all),
        ("enable-admission-plugins", enabled),
        ("disable-admission-plugins", disabled),
    ];
    for (flag, plugins) in lists {
        for plugin in plugins.iter().filter(|plugin| !keelson_kube_admission::is_known(plugin)) {
            errors.push(format!("{flag} plugin {} is unknown", quote(plugin)));
        }
    }
    let mut both: Vec<&str> = enabled.iter().filter(|it| disabled.contains(it)).map(String::as_str).collect();
    both.sort_unstable();
    both.dedup();
    if !both.is_empty() {
        let both = both.join(" ");
        errors.push(format!("[{both}] in enable-admission-plugins and disable-admission-plugins overlapped"));
    }
}

fn token_requests(flags: &Flags, errors: &mut Vec<String>) {
    if !is_upstream(flags) {
        return;
    }
    let has_issuer = flags.list("service-account-issuer").first().is_some_and(|issuer| !issuer.is_empty());
    let has_key = !flags.text("service-account-signing-key-file").is_empty();
    let has_signer = has_key || !flags.text("service-account-signing-endpoint").is_empty();
    if !has_issuer && !has_key && flags.list("api-audiences").is_empty() {
        errors.push(
            "--service-account-signing-key-file and --service-account-issuer are required flags".to_owned(),
        );
    } else if !(has_issuer && has_signer) {
        errors.push(
            "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be specified \
             together"
                .to_owned(),
        );
    }
}

fn leadership(flags: &Flags, errors: &mut Vec<String>) {
    let nanos = |part: &str| flags.duration(&format!("coordinated-leadership-{part}")).nanos();
    if nanos("lease-duration") <= nanos("renew-deadline") {
        errors.push(
            "--coordinated-leadership-lease-duration must be greater than --coordinated-leadership-renew-deadline"
                .to_owned(),
        );
    }
    if nanos("renew-deadline") <= nanos("retry-period") {
        errors.push(
            "--coordinated-leadership-renew-deadline must be greater than --coordinated-leadership-retry-period"
                .to_owned(),
        );
    }
}

fn service_ranges(ranges: &ServiceRanges, errors: &mut Vec<String>) {
    if ranges.count > 2 {
        errors.push("--service-cluster-ip-range must not contain more than two entries".to_owned());
    }
    let is_v4 = |range: &IpNet| matches!(range, IpNet::V4(_));
    if ranges.secondary.is_some_and(|second| is_v4(&second) == is_v4(&ranges.primary)) {
        errors.push(
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family"
                .to_owned(),
        );
    }
}

fn service_node_port(flags: &Flags, errors: &mut Vec<String>) {
    let port = flags.int("kubernetes-service-node-port");
    if !(0..=65535).contains(&port) {
        errors.push(format!(
            "--kubernetes-service-node-port {port} must be between 0 and 65535, inclusive. If 0, the Kubernetes master \
             service will be of type ClusterIP"
        ));
    }
    if let Value::PortRange(range) = flags.value("service-node-port-range")
        && port > 0
        && !range.is_some_and(|(first, last)| (i64::from(first)..=i64::from(last)).contains(&port))
    {
        let range = range.map_or_else(String::new, |(first, last)| format!("{first}-{last}"));
        errors.push(format!("kubernetes service node port range {range} doesn't contain {port}"));
    }
}

/// The service `kubernetes` has one address family, and so must its endpoints.
///
/// Upstream: cmd/kube-apiserver/app/options/validation.go, validatePublicIPServiceClusterIPRangeIPFamilies (v1.36.4).
fn address_family(context: &Context<'_>) -> Option<String> {
    let (flags, range, address) = (context.flags, context.ranges.primary, context.advertise_address);
    // A standalone server takes any address of the machine.
    let is_chosen = is_upstream(flags)
        || ["advertise-address", "service-cluster-ip-range"].iter().any(|it| flags.was_set(it));
    let is_same = matches!(range, IpNet::V4(_)) == address.is_ipv4();
    let is_wrong = is_chosen && !is_same && flags.text("endpoint-reconciler-type") != "none";
    is_wrong.then(|| format!("service IP family \"{range}\" must match public address family \"{address}\""))
}

/// Upstream: pkg/controlplane/apiserver/options/validation.go, validateUnknownVersionInteroperabilityProxyFlags (v1.36.4).
fn peers(context: &Context<'_>) -> Vec<String> {
    const GATE: &str = "UnknownVersionInteroperabilityProxy";
    if context.gates.is_on(GATE) {
        return Vec::new();
    }
    let flags = ["peer-ca-file", "peer-advertise-ip", "peer-advertise-port"].into_iter();
    let set = flags.filter(|name| !context.flags.text(name).is_empty());
    set.map(|name| format!("--{name} requires {GATE} feature to be turned on")).collect()
}

/// Errors of our own flags.
fn own(flags: &Flags, errors: &mut Vec<String>) {
    let store = flags.text("store");
    if !matches!(store, "" | "embedded" | "memory" | "etcd") {
        errors.push(format!("--store {} is not one of embedded, memory, etcd", quote(store)));
    }
    if store == "etcd" && !is_upstream(flags) && flags.list("etcd-servers").is_empty() {
        errors.push("--etcd-servers must be specified".to_owned());
    }
}
