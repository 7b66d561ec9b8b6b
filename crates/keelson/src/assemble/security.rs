//! Security: authentication and authorization, and their background loops.

use std::sync::Arc;

use keelson_authz::rbac::Rbac;
use keelson_registry::CatalogHandle;
use keelson_server::Server;
use keelson_server::metrics::Registry;
use keelson_stdx::clock::Clock;

use super::loops::Loops;
use crate::access::{Authn, Authz, Setup};
use crate::authentication::Others;
use crate::certificates;
use crate::config::Config;
use crate::error::Error;
use crate::reload;
use crate::service_accounts::ServiceAccounts;
use crate::start::Prepared;
use crate::token_metrics::TokenMetrics;

/// Authentication and authorization of the server.
pub(super) struct Security {
    pub(super) authn: Authn,
    pub(super) authz: Authz,
    pub(super) accounts: ServiceAccounts,
    pub(super) others: Others,
    rbac: Arc<Rbac>,
    token_metrics: Arc<TokenMetrics>,
}

/// Authentication and authorization, created before anything is changed, so that their errors are reported
/// first.
pub(super) struct Deciders {
    rbac: Arc<Rbac>,
    authz: Authz,
}

impl Deciders {
    pub(super) fn new(config: &Config, clock: &Clock) -> Result<Deciders, Error> {
        let rbac = Arc::new(Rbac::default());
        Ok(Deciders { authz: Authz::new(config, &rbac, clock)?, rbac })
    }
}

impl Security {
    /// Reads keys and files. `external` is the address at which the server is reached.
    pub(super) async fn new(
        config: &Config,
        prepared: &Prepared,
        Deciders { rbac, authz }: Deciders,
        external: String,
        (catalog, clock): (&CatalogHandle, &Clock),
    ) -> Result<Security, Error> {
        let pki = prepared.pki.as_ref();
        let accounts = ServiceAccounts::new(&config.authentication, pki, external, catalog, clock).await?;
        let token_metrics = Arc::new(TokenMetrics::new());
        let others = Others::new(&config.authentication, Arc::new(catalog.clone()), clock)?;
        let setup = Setup {
            own_authority: pki.map(|it| it.ca_cert.as_path()),
            service_accounts: Some(accounts.tokens.clone()),
            others: &others,
            cache_metrics: token_metrics.clone(),
            clock,
        };
        let authn = Authn::new(&config.authentication, &setup)?;
        Ok(Security { authn, authz, accounts, others, rbac, token_metrics })
    }

    /// What access reviews are answered from.
    pub(super) fn access(&self, config: &Config) -> keelson_apis::Access {
        keelson_apis::Access {
            authenticator: self.authn.authenticator.clone(),
            authorizer: self.authz.authorizer.clone(),
            rbac: self.rbac.clone(),
            api_audiences: config.authentication.api_audiences.clone(),
            tokens: self.accounts.issue.clone(),
        }
    }

    /// Follows objects and files; returns what is notified when CAs change.
    pub(super) fn start(
        &mut self,
        loops: &Loops<'_>,
        prepared: &Prepared,
    ) -> Result<Arc<tokio::sync::Notify>, Error> {
        let Loops { config, catalog, clock, tasks, .. } = loops;
        loops.start_roles(&self.rbac);
        for (group, plural, feed) in self.authz.feeds() {
            loops.feed(group, plural, feed);
        }
        tasks.spawn("authorization config", self.authz.reload());
        self.accounts.start(catalog, &self.authn.token_cache, clock, tasks);
        let shared = certificates::Shared { catalog, clock, loops: tasks };
        let proxy = config.authentication.others.request_header.as_ref();
        let done = loops.done(|it| &it.cluster_authentication);
        let trust_changed = certificates::publish_trust(&shared, &self.authn.client_ca_files, proxy, done);
        certificates::sign_requests(&shared, config, prepared, self.authz.authorizer.clone());
        if let Some(pki) = prepared.pki.as_ref().filter(|_| config.default_service_accounts) {
            self.accounts.make_defaults(pki, catalog, clock, tasks)?;
        }
        self.others.start(tasks, &trust_changed);
        Ok(trust_changed)
    }

    /// Reads client CAs again when their files change.
    pub(super) fn follow_authorities(
        &self,
        server: &Arc<Server>,
        loops: &Loops<'_>,
        trust_changed: Arc<tokio::sync::Notify>,
    ) {
        let server = server.clone();
        let reloaded = move |reload| {
            server.count_reload("client-ca", reload);
            trust_changed.notify_one();
        };
        let reload = reload::client_authorities(&self.authn, loops.clock.clone(), reloaded);
        loops.tasks.spawn("client authorities", reload);
    }

    /// Adds the metrics to `registry`.
    pub(super) fn add_metrics(&self, registry: &Registry) {
        self.authz.metrics().into_iter().for_each(|it| registry.add(it));
        self.token_metrics.add_to(registry);
        self.accounts.add_metrics(registry);
        self.others.numbers.add_to(registry);
    }
}
