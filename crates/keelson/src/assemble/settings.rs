//! Settings of the parts of the server, derived from the config.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use keelson_apis::services::{Family, ServiceCounts};
use keelson_authz::rbac::bootstrap::Policy;
use keelson_kube_admission::webhook::Webhooks;
use keelson_registry::live::Ground;
use keelson_registry::{CatalogHandle, Emulation, Enablement, Group};
use keelson_server::metrics::{Computed, Kind, Sample};
use keelson_server::openapi::{self, Offered};
use keelson_server::{
    CertificateSource, FrontProxyHeaders, LateClients, Limits, Mounted, NamedCertificate, PemSource,
    Protocols, Settings, Statusz, TlsSettings, Version, flagz, statusz,
};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Proxies, Route, Services};
use regex::Regex;
use tracing::warn;

use super::security::Security;
use crate::config::Config;
use crate::error::Error;
use crate::flags::Face;
use crate::pki::CertificateFiles;
use crate::webhook_metrics::WebhookMetrics;

/// The feature gates, for `/metrics`.
///
/// Upstream: component-base/metrics/prometheus/feature/metrics.go (v1.36.4).
pub(super) fn features(config: &Config) -> Computed {
    let sample = |(name, stage, on): (&str, &str, bool)| Sample {
        labels: vec![name.to_owned(), stage.to_owned()],
        value: if on { 1.0 } else { 0.0 },
    };
    let samples: Vec<Sample> = config.feature_gates.stages().map(sample).collect();
    let help = "[BETA] The features there are, their stages, and whether they are on.";
    Computed::new("kubernetes_feature_enabled", help, Kind::Gauge, move || samples.clone())
        .labels(&["name", "stage"])
}

/// The feature gates that this crate reads.
const SERVER_FEATURES: [&str; 23] = [
    "APIResponseCompression",
    "APIServerIdentity",
    "AllowParsingUserUIDFromCertAuth",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConstrainedImpersonation",
    "DetectCacheInconsistency",
    "KMSv1",
    "KubeletServiceAccountTokenForCredentialProviders",
    "LoggingAlphaOptions",
    "LoggingBetaOptions",
    "ManifestBasedAdmissionControlConfig",
    "OpenAPIEnums",
    "RemoteRequestHeaderUID",
    "ShardedListAndWatch",
    "StorageVersionAPI",
    "StorageVersionHash",
    "UnauthenticatedHTTP2DOSMitigation",
    "UnknownVersionInteroperabilityProxy",
    "WatchCacheInitializationPostStartHook",
    "WatchList",
];

fn features_on(config: &Config) -> BTreeSet<String> {
    config.feature_gates.iter().filter(|(_, on)| *on).map(|(name, _)| name.to_owned()).collect()
}

/// How admission webhooks and conversion webhooks are reached.
pub(super) fn webhook_services(config: &Config, catalog: &CatalogHandle) -> Services {
    // A standalone server has no kube-proxy that forwards from the cluster IP to the endpoints.
    let route = match config.face {
        Face::KubeApiserver if !config.aggregator_routing => Route::ClusterIp,
        Face::KubeApiserver | Face::Standalone => Route::Endpoints,
    };
    Services::new(Arc::new(catalog.clone()), route).through(Proxies {
        services: config.egress.cluster.clone(),
        urls: config.egress.controlplane.clone(),
    })
}

pub(super) fn admission_settings(
    config: &Config,
    catalog: &CatalogHandle,
    observer: Arc<WebhookMetrics>,
) -> keelson_kube_admission::Settings {
    keelson_kube_admission::Settings {
        features: features_on(config),
        services: webhook_services(config, catalog),
        ledger: config.count_quota_usage.then(keelson_kube_admission::Ledger::default),
        webhooks: Webhooks { observer: Some(observer), ..config.plugins.webhooks.clone() },
        ..config.plugins.clone()
    }
}

/// The built-in groups that the operator enables.
pub(super) fn groups(
    config: &Config,
    access: keelson_apis::Access,
    ground: &Ground,
    service_counts: &Arc<ServiceCounts>,
) -> Result<Vec<Group>, Error> {
    let features = features_on(config);
    let settings = keelson_apis::Settings {
        event_ttl: config.event_ttl,
        features,
        off: config.feature_gates.iter().filter(|(_, on)| !on).map(|(name, _)| name.to_owned()).collect(),
        allow_privileged: config.allow_privileged,
        access,
        ground: Some(ground.clone()),
        services: keelson_apis::ServiceRanges {
            primary: Family::of(config.service_ranges.primary.addr()),
            is_dual: config.service_ranges.secondary.is_some(),
            node_ports: config.node_ports,
        },
        service_counts: service_counts.clone(),
        ..keelson_apis::Settings::default()
    };
    let mut groups = keelson_apis::groups(&settings);
    let enablement = Enablement::read(&config.runtime_config, &groups);
    let enablement = enablement.map_err(|error| Error::Invalid(vec![error]))?;
    let compatibility = &config.compatibility;
    let emulation = Emulation {
        minor: u8::try_from(compatibility.emulated.number()).unwrap_or(u8::MAX),
        forward: compatibility.forward,
        forward_by_name: compatibility.forward_by_name,
    };
    enablement.emulate(emulation, &mut groups).map_err(|error| Error::Invalid(vec![error]))?;
    enablement.apply(&mut groups, |feature| settings.is_on(feature));
    let asked = settings.asked();
    let is_idle = |name: &&str| {
        !asked.contains(*name)
            && !SERVER_FEATURES.contains(name)
            && !Policy::features().any(|it| it == *name)
            && !keelson_kube_admission::FEATURES.contains(name)
    };
    for name in config.feature_gates.named().filter(is_idle) {
        warn!("feature gate {name} is accepted but switches nothing yet");
    }
    Ok(groups)
}

pub(super) fn tls(config: &Config, certificate: &CertificateFiles, security: &Security) -> TlsSettings {
    let named = config.sni.iter().map(|pair| NamedCertificate {
        source: CertificateSource::files(&pair.cert_file, &pair.key_file),
        names: pair.names.clone(),
    });
    TlsSettings {
        named: named.collect(),
        client_cas: security
            .authn
            .client_ca_files
            .iter()
            .chain(&security.others.proxy_ca_file)
            .cloned()
            .map(PemSource::File)
            .collect(),
        min_version: config.tls.min_version,
        cipher_suites: config.tls.cipher_suites.clone(),
        groups: config.tls.groups.clone(),
        protocols: if config.listen.http2 { Protocols::Http2AndHttp1 } else { Protocols::Http1 },
        ..TlsSettings::new(CertificateSource::files(&certificate.cert, &certificate.key))
    }
}

pub(super) fn openapi_settings(config: &Config, security: &Security) -> openapi::Settings {
    let mut settings = openapi::Settings::new(&version(config));
    if !config.feature_gates.is_on("OpenAPIEnums") {
        settings.features.enums = openapi::Enums::Hidden;
    }
    settings.features.cbor = offered(config, "CBORServingAndStorage");
    if security.accounts.openid.is_some() {
        settings.extras.push(openapi::Extra::Issuer);
    }
    settings
}

/// The content of `/version`.
pub(super) fn version(config: &Config) -> Version {
    let own = Version::KUBERNETES;
    Version {
        emulation_minor: config.compatibility.emulated.number().to_string().into(),
        min_compatibility_minor: config.compatibility.oldest.number().to_string().into(),
        git_version: config.reported_version.clone().map_or(own.git_version, Into::into),
        ..own
    }
}

/// `/statusz` and `/flagz`, if their feature gates are on.
pub(super) fn zpages(config: &Config, clock: &Clock) -> Vec<Mounted> {
    let cbor = offered(config, "CBORServingAndStorage");
    let is_on = |gate| config.feature_gates.is_on(gate);
    let mut paths = vec!["/healthz", "/livez", "/metrics", "/readyz", "/version"];
    let mut pages = Vec::new();
    if is_on("ComponentFlagz") {
        paths.push("/flagz");
        pages.push(flagz(config.flags.clone(), cbor));
    }
    if is_on("ComponentStatusz") {
        paths.push("/statusz");
        paths.sort_unstable();
        let status = Statusz {
            version: version(config),
            started: clock.unix_seconds(),
            clock: clock.clone(),
            paths: paths.into_iter().map(str::to_owned).collect(),
        };
        pages.push(statusz(status, cbor));
    }
    pages
}

/// Whether a feature gate is on.
fn offered(config: &Config, gate: &str) -> Offered {
    if config.feature_gates.is_on(gate) { Offered::Yes } else { Offered::No }
}

pub(super) fn server_settings(config: &Config, address: SocketAddr) -> Result<Settings, Error> {
    let requests = &config.requests;
    let origins = requests.cors_allowed_origins.iter().map(|it| Regex::new(it));
    let origins =
        origins.collect::<Result<_, _>>().map_err(|error| Error::Invalid(vec![error.to_string()]))?;
    let late_clients =
        if config.shutdown.send_retry_after { LateClients::ToldToComeBack } else { LateClients::NotLetIn };
    Ok(Settings {
        version: version(config),
        cbor: offered(config, "CBORServingAndStorage"),
        shards: offered(config, "ShardedListAndWatch"),
        initial_events: offered(config, "WatchList"),
        constrained_impersonation: offered(config, "ConstrainedImpersonation"),
        compression: offered(config, "APIResponseCompression"),
        storage_version_hashes: offered(config, "StorageVersionHash"),
        http2_mitigation: offered(config, "UnauthenticatedHTTP2DOSMitigation"),
        unreadable_deletion: offered(config, "AllowUnsafeMalformedObjectDeletion"),
        object_counts: if config.etcd.counts_objects { Offered::Yes } else { Offered::No },
        limits: Limits { streams: config.listen.http2_max_streams, ..Limits::default() },
        max_body: requests.max_body_bytes,
        request_timeout: requests.timeout,
        min_request_timeout: requests.min_watch,
        max_read_only: requests.max_in_flight.unwrap_or_default(),
        max_mutating: requests.max_mutating_in_flight.unwrap_or_default(),
        shutdown_delay: config.shutdown.delay,
        late_clients,
        watch_termination_grace: config.shutdown.watch_grace_period,
        livez_grace: config.livez_grace_period,
        goaway_chance: requests.goaway_chance,
        cors_allowed_origins: origins,
        hsts_directives: requests.strict_transport_security.iter().cloned().collect(),
        external_address: external_address(config, address.port()),
        front_proxy: front_proxy(config),
        ..Settings::default()
    })
}

/// The headers in which a front proxy sends the user.
fn front_proxy(config: &Config) -> FrontProxyHeaders {
    let Some(proxy) = &config.authentication.others.request_header else {
        return FrontProxyHeaders::default();
    };
    let it = &proxy.settings;
    let names = it.username_headers.iter().chain(&it.uid_headers).chain(&it.group_headers);
    FrontProxyHeaders::new(names, &it.extra_header_prefixes)
}

/// `host:port`, with brackets around hosts that contain colons.
pub(super) fn external_address(config: &Config, port: u16) -> String {
    match config.external_host.parse::<IpAddr>() {
        Ok(address) => SocketAddr::new(address, port).to_string(),
        Err(_) => format!("{}:{port}", config.external_host),
    }
}
