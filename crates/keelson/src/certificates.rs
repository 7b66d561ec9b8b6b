//! Certificate loops: publishes the trusted CAs, and signs approved certificate requests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use keelson_authz::Authorizer;
use keelson_housekeeping::certificates::Certificates;
use keelson_housekeeping::cluster_authentication::{ClusterAuthentication, FrontProxy, Trust};
use keelson_registry::CatalogHandle;
use keelson_stdx::clock::Clock;
use keelson_stdx::task::Tasks;
use tokio::sync::Notify;

use crate::config::{self, Config};
use crate::start::Prepared;

/// What both loops need.
pub struct Shared<'a> {
    /// The catalog.
    pub catalog: &'a CatalogHandle,
    /// The clock.
    pub clock: &'a Clock,
    /// The tasks in which loops run.
    pub loops: &'a Tasks,
}

/// Maintains `kube-system/extension-apiserver-authentication`. Returns a handle that is notified when a file
/// has changed.
pub fn publish_trust(
    shared: &Shared<'_>,
    client_cas: &[PathBuf],
    proxy: Option<&config::FrontProxy>,
    done: impl FnOnce() + Send + 'static,
) -> Arc<Notify> {
    let changed = Arc::new(Notify::new());
    let files = client_cas.to_vec();
    let proxy = proxy.cloned();
    let trust = move || Trust {
        client_ca: files.iter().filter_map(|path| read(path)).collect(),
        front_proxy: proxy.as_ref().map(front_proxy),
    };
    let kept = ClusterAuthentication {
        catalog: shared.catalog.clone(),
        clock: shared.clock.clone(),
        trust: Arc::new(trust),
        changed: Arc::clone(&changed),
    };
    shared.loops.spawn("cluster authentication", kept.run(done));
    changed
}

fn front_proxy(proxy: &config::FrontProxy) -> FrontProxy {
    let settings = &proxy.settings;
    FrontProxy {
        ca: read(&proxy.ca_file).unwrap_or_default(),
        username_headers: settings.username_headers.clone(),
        uid_headers: settings.uid_headers.clone(),
        group_headers: settings.group_headers.clone(),
        extra_headers_prefix: settings.extra_header_prefixes.clone(),
        allowed_names: settings.allowed_names.clone(),
    }
}

/// Approves and signs certificate requests, if the server has a CA of its own.
pub fn sign_requests(
    shared: &Shared<'_>,
    config: &Config,
    prepared: &Prepared,
    authorizer: Arc<dyn Authorizer>,
) {
    let Some(pki) = prepared.pki.as_ref().filter(|_| config.sign_certificates) else { return };
    let certificates = Certificates {
        catalog: shared.catalog.clone(),
        authorizer,
        authority_certificate: pki.ca_cert.clone(),
        authority_key: pki.ca_key.clone(),
        clock: shared.clock.clone(),
    };
    shared.loops.spawn("certificate requests", certificates.run());
}

/// The content of a file; `None` while it is absent.
fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(if text.ends_with('\n') { text } else { text + "\n" })
}
