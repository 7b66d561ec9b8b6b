//! Authorization: from the config to a chain of authorizers, which a file may change while the server runs.

mod counted;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keelson_authz::node::{Features, Feed, Graph, NodeAuthorizer};
use keelson_authz::rbac::Rbac;
use keelson_authz::{
    Abac, AlwaysAllow, AlwaysDeny, Attributes, Authorizer, PrivilegedGroup, RuleSet, Subject, Union, Verdict,
    Webhook, WebhookSettings,
};
use keelson_server::metrics::Collect;
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Client, Proxy, Retry};

use crate::config::{self, AuthorizationMode, Config};
use crate::error::Error;
use crate::kubeconfig_file;
use counted::{Counted, Numbers};

/// How often the file is checked. Upstream is notified of changes, and also checks every minute.
const INTERVAL: Duration = Duration::from_secs(1);

/// Authorization of the server.
pub struct Authz {
    /// All authorizers in the order of the config, after the one for privileged groups.
    pub authorizer: Arc<dyn Authorizer>,
    chain: Arc<Chain>,
    parts: Arc<Parts>,
    file: Option<Followed>,
}

/// What the chains are made from; it stays the same when the file changes.
struct Parts {
    rbac: Arc<Rbac>,
    graph: Option<Arc<Graph>>,
    node: Option<Arc<NodeAuthorizer>>,
    abac: Option<Arc<Abac>>,
    /// Modes that were configured at the start, and must stay.
    required: Vec<AuthorizationMode>,
    numbers: Arc<Numbers>,
    /// The proxy to webhooks.
    proxy: Option<Arc<Proxy>>,
    clock: Clock,
}

/// The file, and its last content.
struct Followed {
    path: PathBuf,
    data: Vec<u8>,
    authorizers: Vec<config::Authorizer>,
}

impl Authz {
    /// Reads the files that the config names.
    pub fn new(config: &Config, rbac: &Arc<Rbac>, clock: &Clock) -> Result<Authz, Error> {
        let settings = &config.authorization;
        let file = settings.config_file.as_deref().map(Followed::read).transpose()?;
        let authorizers = file.as_ref().map_or(&settings.authorizers, |it| &it.authorizers);
        let modes: Vec<AuthorizationMode> = authorizers.iter().map(|it| it.mode).collect();
        let is_on = |feature| config.feature_gates.is_on(feature);
        let features = Features {
            credential_provider_tokens: is_on("KubeletServiceAccountTokenForCredentialProviders"),
            pod_certificates: is_on("PodCertificateRequest"),
            trust_bundles: is_on("ClusterTrustBundle"),
        };
        let graph = modes.contains(&AuthorizationMode::Node).then(|| Arc::new(Graph::new()));
        let policy = settings.policy_file.clone().unwrap_or_default();
        let parts = Parts {
            rbac: rbac.clone(),
            node: graph.clone().map(|graph| Arc::new(NodeAuthorizer::new(graph, features))),
            graph,
            abac: modes.contains(&AuthorizationMode::Abac).then(|| abac(&policy)).transpose()?,
            required: modes.into_iter().filter(|it| *it != AuthorizationMode::Webhook).collect(),
            numbers: Arc::new(Numbers::new()),
            proxy: config.egress.controlplane.clone(),
            clock: clock.clone(),
        };
        let chain = parts.chain(authorizers).map_err(invalid)?;
        if let Some(file) = &file {
            parts.numbers.loaded(&file.data);
        }
        let chain = Arc::new(Chain(ArcSwap::from_pointee(chain)));
        Ok(Authz { authorizer: chain.clone(), chain, parts: Arc::new(parts), file })
    }

    /// The indexes of the mode Node, with the group and plural of the objects that they follow.
    pub fn feeds(&self) -> Vec<(&'static str, &'static str, Arc<Feed>)> {
        self.parts.graph.iter().flat_map(Feed::all).collect()
    }

    /// The metrics.
    pub fn metrics(&self) -> Vec<Arc<dyn Collect>> {
        self.parts.numbers.families()
    }

    /// Follows the file; an invalid file changes nothing.
    pub fn reload(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let (chain, parts, file) = (self.chain.clone(), self.parts.clone(), self.file.take());
        async move {
            let Some(mut file) = file else { return };
            loop {
                parts.clock.sleep(INTERVAL).await;
                let path = file.path.clone();
                let data = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
                let Ok(Ok(data)) = data else {
                    tracing::warn!(file = %file.path.display(), "the authorization config cannot be read");
                    parts.numbers.reload_failed(&parts.clock);
                    continue;
                };
                if data == file.data {
                    continue;
                }
                file.data = data;
                match file.again(&parts) {
                    Ok(None) => {}
                    Ok(Some(new)) => {
                        chain.0.store(Arc::new(new));
                        parts.numbers.reloaded(&file.data, &parts.clock);
                        tracing::info!("the authorization config was read again");
                    }
                    Err(problem) => {
                        parts.numbers.reload_failed(&parts.clock);
                        tracing::error!(problem, "the authorization config stays as it was");
                    }
                }
            }
        }
    }
}

impl Followed {
    fn read(path: &Path) -> Result<Followed, Error> {
        let path = path.to_owned();
        let data = std::fs::read(&path).map_err(|source| Error::Read { path: path.clone(), source })?;
        let authorizers =
            config::read_authorizers(&data, &[]).map_err(|problem| Error::Invalid(vec![problem]))?;
        Ok(Followed { path, data, authorizers })
    }

    /// The chain that the file describes now; `None` if it is unchanged.
    ///
    /// Upstream: pkg/kubeapiserver/authorizer/reload.go, checkFile (v1.36.4).
    fn again(&mut self, parts: &Parts) -> Result<Option<Union>, String> {
        let authorizers = config::read_authorizers(&self.data, &parts.required)?;
        if authorizers == self.authorizers {
            return Ok(None);
        }
        self.authorizers = authorizers;
        parts.chain(&self.authorizers).map(Some)
    }
}

impl Parts {
    /// Upstream: pkg/kubeapiserver/authorizer/reload.go, newForConfig (v1.36.4).
    fn chain(&self, authorizers: &[config::Authorizer]) -> Result<Union, String> {
        let mut chain: Vec<Arc<dyn Authorizer>> = vec![Arc::new(PrivilegedGroup::masters())];
        for authorizer in authorizers {
            let decides = self.authorizer(authorizer)?;
            let numbers = self.numbers.clone();
            chain.push(Arc::new(Counted::new(decides, (authorizer.mode, authorizer.name.clone()), numbers)));
        }
        Ok(Union::new(chain))
    }

    fn authorizer(&self, wanted: &config::Authorizer) -> Result<Arc<dyn Authorizer>, String> {
        let late = || {
            let mode = wanted.mode.name();
            format!("authorizer type {mode} is not allowed if it was not enabled at initial server startup")
        };
        // At the start nothing is required yet.
        let was_there = self.required.contains(&wanted.mode);
        Ok(match (wanted.mode, &wanted.webhook) {
            (AuthorizationMode::AlwaysAllow, _) => Arc::new(AlwaysAllow),
            (AuthorizationMode::AlwaysDeny, _) => Arc::new(AlwaysDeny),
            (AuthorizationMode::Rbac, _) if was_there => self.rbac.clone(),
            (AuthorizationMode::Node, _) => self.node.clone().ok_or_else(late)?,
            (AuthorizationMode::Abac, _) => self.abac.clone().ok_or_else(late)?,
            (AuthorizationMode::Webhook, Some(webhook)) => self.webhook(&wanted.name, webhook)?,
            (AuthorizationMode::Rbac | AuthorizationMode::Webhook, _) => return Err(late()),
        })
    }

    fn webhook(&self, name: &str, wanted: &config::Webhook) -> Result<Arc<dyn Authorizer>, String> {
        let mut target = kubeconfig_file::target(&wanted.kubeconfig)?;
        target.timeout = wanted.timeout.to_std();
        target.proxy = self.proxy.clone();
        let client = Client::new(target, &self.clock).map_err(|error| error.to_string())?;
        let settings = WebhookSettings {
            name: name.to_owned(),
            version: wanted.version,
            authorized_ttl: wanted.authorized_ttl.to_std(),
            unauthorized_ttl: wanted.unauthorized_ttl.to_std(),
            timeout: wanted.timeout.to_std(),
            on_failure: wanted.on_failure,
            retry: Retry::default(),
        };
        Ok(Arc::new(Webhook::new(client, settings, self.numbers.clone(), self.clock.clone())))
    }
}

fn abac(path: &Path) -> Result<Arc<Abac>, Error> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| invalid(format!("open {shown}: {}", in_words(&error))))?;
    Abac::parse(&shown, &text).map(Arc::new).map_err(|error| invalid(error.to_string()))
}

fn invalid(problem: impl std::fmt::Display) -> Error {
    Error::Invalid(vec![format!("invalid authorization config: {problem}")])
}

/// The error of the system, in the words of Go.
fn in_words(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// The current chain.
struct Chain(ArcSwap<Union>);

impl Authorizer for Chain {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        let chain = self.0.load_full();
        async move { chain.authorize(attributes).await }.boxed()
    }

    fn rules(&self, user: &Subject<'_>, namespace: &str) -> Option<RuleSet> {
        self.0.load().rules(user, namespace)
    }
}

#[cfg(test)]
mod tests;
