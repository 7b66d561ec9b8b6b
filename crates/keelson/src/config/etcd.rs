//! Etcd flags.

use std::path::PathBuf;
use std::time::Duration;

use keelson_object::GroupResource;
use keelson_registry::live::{ReadRules, Reads};
use keelson_store::Form;

use super::path;
use crate::flags::Flags;

/// The settings of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Etcd {
    /// The addresses of the members.
    pub servers: Vec<String>,
    /// Resources that are stored in other clusters.
    pub overrides: Vec<Override>,
    /// The prefix of all keys.
    pub prefix: String,
    /// The CAs of the members.
    pub ca_file: Option<PathBuf>,
    /// The client certificate.
    pub cert_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
    /// The form in which objects of built-in kinds are stored.
    pub form: Form,
    /// The timeout of the check in `/healthz` and `/livez`.
    pub health_timeout: Duration,
    /// The timeout of the check in `/readyz`.
    pub ready_timeout: Duration,
    /// The interval at which the size of the database is read; `None` is never.
    pub size_interval: Option<Duration>,
    /// Whether objects are counted.
    pub counts_objects: bool,
    /// How long new objects share a lease at most.
    pub lease_reuse: Duration,
    /// Whether clients read from the cache or from the store.
    pub reads: ReadRules,
}

/// A resource that is stored in another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The group; empty for the core group.
    pub group: String,
    /// The plural.
    pub resource: String,
    /// The addresses of the members.
    pub servers: Vec<String>,
}

impl Etcd {
    pub(super) fn read(flags: &Flags) -> Etcd {
        let time = |name: &str| flags.duration(name).to_std();
        let seconds = u64::try_from(flags.int("lease-reuse-duration-seconds")).unwrap_or_default();
        Etcd {
            servers: flags.list("etcd-servers").to_vec(),
            overrides: flags
                .list("etcd-servers-overrides")
                .iter()
                .filter_map(|it| one_override(it))
                .collect(),
            prefix: flags.text("etcd-prefix").to_owned(),
            ca_file: path(flags, "etcd-cafile"),
            cert_file: path(flags, "etcd-certfile"),
            key_file: path(flags, "etcd-keyfile"),
            form: match flags.text("storage-media-type") {
                "" | "application/vnd.kubernetes.protobuf" => Form::Protobuf,
                _ => Form::Json,
            },
            health_timeout: time("etcd-healthcheck-timeout"),
            ready_timeout: time("etcd-readycheck-timeout"),
            size_interval: Some(time("etcd-db-metric-poll-interval")).filter(|it| !it.is_zero()),
            counts_objects: !time("etcd-count-metric-poll-period").is_zero(),
            lease_reuse: Duration::from_secs(seconds),
            reads: read_rules(flags),
        }
    }
}

/// Upstream: cmd/kube-apiserver/app/options/completion.go, Complete, and
/// pkg/kubeapiserver/default_storage_factory_builder.go, DefaultWatchCacheSizes (v1.36.4).
fn read_rules(flags: &Flags) -> ReadRules {
    if !flags.is_on("watch-cache") {
        return ReadRules { usual: Reads::Store, from_store: Vec::new() };
    }
    let mut from_store = vec![resource("events"), resource("events.events.k8s.io")];
    for (name, size) in flags.list("watch-cache-sizes").iter().filter_map(|it| cache_size(it).ok()) {
        from_store.retain(|it| *it != name);
        if size == 0 {
            from_store.push(name);
        }
    }
    ReadRules { usual: Reads::Cache, from_store }
}

/// Parses `resource.group#size`.
///
/// Upstream: apiserver/pkg/server/options/etcd.go, ParseWatchCacheSizes (v1.36.4).
pub(super) fn cache_size(text: &str) -> Result<(GroupResource, u64), String> {
    let Some((name, size)) = text.split_once('#').filter(|(_, size)| !size.contains('#')) else {
        return Err(format!("invalid value of watch cache size: {text}"));
    };
    let size: i64 = size.parse().map_err(|_| format!("invalid size of watch cache size: {text}"))?;
    match u64::try_from(size) {
        Ok(size) => Ok((resource(name), size)),
        Err(_) => Err(format!("watch cache size cannot be negative: {text}")),
    }
}

/// `resource` or `resource.group`
fn resource(text: &str) -> GroupResource {
    let (resource, group) = text.split_once('.').unwrap_or((text, ""));
    GroupResource { group: group.into(), resource: resource.into() }
}

/// `group/resource#server;server`, which was validated before.
fn one_override(text: &str) -> Option<Override> {
    let (name, servers) = text.split_once('#')?;
    let (group, resource) = name.split_once('/')?;
    Some(Override {
        group: group.to_owned(),
        resource: resource.to_owned(),
        servers: servers.split(';').map(String::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::{cache_size, one_override};

    #[test]
    fn resources_are_named_in_two_ways() {
        let events = one_override("/events#http://a:1;http://b:2").expect("an override");
        assert_eq!((events.group.as_str(), events.resource.as_str()), ("", "events"));
        assert_eq!(events.servers, ["http://a:1", "http://b:2"]);
        let size = |text| cache_size(text).map(|(name, size)| format!("{name} {size}"));
        assert_eq!(size("secrets#0").as_deref(), Ok("secrets 0"));
        assert_eq!(size("leases.coordination.k8s.io#100").as_deref(), Ok("leases.coordination.k8s.io 100"));
        for (text, problem) in [
            ("secrets", "invalid value of watch cache size: secrets"),
            ("a#1#2", "invalid value of watch cache size: a#1#2"),
            ("a#x", "invalid size of watch cache size: a#x"),
            ("a#-1", "watch cache size cannot be negative: a#-1"),
        ] {
            assert_eq!(size(text), Err(problem.to_owned()));
        }
        assert_eq!(
            one_override("coordination.k8s.io/leases#x").expect("an override").group,
            "coordination.k8s.io"
        );
    }
}
