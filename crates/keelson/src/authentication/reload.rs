//! Reload of the authentication configuration while the server runs. An invalid one leaves the old one in
//! use.

use std::sync::Arc;
use std::time::Duration;

use keelson_authn::jws::Algorithm;
use keelson_authn::oidc::{Issuers, Oidc};
use keelson_object::{FieldErrors, Path};
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use tracing::{error, info};

use super::{ConfigFile, Numbers, issuers};
use crate::authentication_config::AuthenticationConfiguration;

/// How often files are checked.
const INTERVAL: Duration = Duration::from_secs(1);
/// How long new issuers may take to become ready before the reload fails.
///
/// Upstream: pkg/kubeapiserver/options/authentication.go, UpdateAuthenticationConfigTimeout (v1.36.4).
const PATIENCE: Duration = Duration::from_secs(60);
/// How often they are checked for readiness.
const POLL: Duration = Duration::from_millis(100);
/// How long to wait after failures that may be temporary.
const AGAIN_AFTER: Duration = Duration::from_secs(10);

async fn contents(path: &std::path::Path) -> Option<Vec<u8>> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || std::fs::read(path).ok()).await.ok().flatten()
}

/// The configuration file, and the authenticators that it configures.
pub(super) struct Config {
    pub(super) file: ConfigFile,
    pub(super) issuers: Arc<Issuers>,
    pub(super) numbers: Arc<Numbers>,
    pub(super) clock: Clock,
}

enum Problem {
    /// This content will never be usable.
    Lasting(String),
    /// This content may become usable later.
    Passing(String),
}

impl Config {
    /// Upstream: pkg/kubeapiserver/options/authentication.go, ApplyTo (v1.36.4).
    pub(super) async fn follow(mut self) {
        loop {
            self.clock.sleep(INTERVAL).await;
            let Some(data) = contents(&self.file.path).await else {
                self.failed("the authentication config file cannot be read");
                self.clock.sleep(AGAIN_AFTER).await;
                continue;
            };
            if data == self.file.data {
                continue;
            }
            match self.apply(&data).await {
                Ok(()) => {
                    info!("reloaded authentication config");
                    self.numbers.reloaded("success");
                    self.numbers.in_force(&data);
                    self.file.data = data;
                }
                Err(Problem::Lasting(problem)) => {
                    self.failed(&problem);
                    self.file.data = data;
                }
                Err(Problem::Passing(problem)) => {
                    self.failed(&problem);
                    self.clock.sleep(AGAIN_AFTER).await;
                }
            }
        }
    }

    fn failed(&self, problem: &str) {
        error!(problem, "authentication config stays as it was");
        self.numbers.reloaded("failure");
    }

    async fn apply(&self, data: &[u8]) -> Result<(), Problem> {
        let configuration = AuthenticationConfiguration::parse(data).map_err(Problem::Lasting)?;
        let mut errors: FieldErrors = configuration.validate(&self.file.disallowed);
        if configuration.anonymous != self.file.anonymous {
            errors.forbidden(&Path::root("anonymous"), "changed from initial configuration file");
        }
        if !errors.is_empty() {
            return Err(Problem::Lasting(errors.aggregate()));
        }
        let made = issuers(&configuration.jwt, &Algorithm::ALL, &self.numbers, &self.clock);
        let made = made.map_err(Problem::Passing)?;
        for issuer in &made {
            task::spawn("issuer", issuer.discover());
        }
        self.wait_for(&made).await.map_err(Problem::Passing)?;
        self.issuers.replace(made);
        Ok(())
    }

    /// Waits until all issuers are ready.
    async fn wait_for(&self, issuers: &[Arc<Oidc>]) -> Result<(), String> {
        let deadline = self.clock.monotonic() + PATIENCE;
        loop {
            let problems: Vec<String> = issuers.iter().filter_map(|it| it.health().err()).collect();
            if problems.is_empty() {
                return Ok(());
            }
            if self.clock.monotonic() >= deadline {
                return Err(problems.join(", "));
            }
            self.clock.sleep(POLL).await;
        }
    }
}
