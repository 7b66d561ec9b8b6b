//! What the command line says about etcd.

use std::path::PathBuf;
use std::time::Duration;

use keelson_store::Form;

use super::path;
use crate::flags::Flags;

/// How etcd is reached and used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Etcd {
    /// The addresses of the members.
    pub servers: Vec<String>,
    /// Resources that lie in other clusters.
    pub overrides: Vec<Override>,
    /// What all keys begin with.
    pub prefix: String,
    /// Authorities that vouch for the members.
    pub ca_file: Option<PathBuf>,
    /// The certificate that is shown to them.
    pub cert_file: Option<PathBuf>,
    /// Its key.
    pub key_file: Option<PathBuf>,
    /// In which form objects of built-in kinds are written.
    pub form: Form,
    /// How long `/healthz` and `/livez` wait for an answer.
    pub health_timeout: Duration,
    /// How long `/readyz` waits for an answer.
    pub ready_timeout: Duration,
    /// How often the size of the database is asked for; `None` is never.
    pub size_interval: Option<Duration>,
    /// Whether objects are counted.
    pub counts_objects: bool,
    /// For how long new objects share a lease at most.
    pub lease_reuse: Duration,
}

/// A resource that lies in another cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Its group; empty for that of pods.
    pub group: String,
    /// Its plural.
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
        }
    }
}

/// `group/resource#server;server`, which was checked before.
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
    use super::one_override;

    #[test]
    fn overrides_name_a_resource_and_its_servers() {
        let events = one_override("/events#http://a:1;http://b:2").expect("an override");
        assert_eq!((events.group.as_str(), events.resource.as_str()), ("", "events"));
        assert_eq!(events.servers, ["http://a:1", "http://b:2"]);
        assert_eq!(
            one_override("coordination.k8s.io/leases#x").expect("an override").group,
            "coordination.k8s.io"
        );
    }
}
