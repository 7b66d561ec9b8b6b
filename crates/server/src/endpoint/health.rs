//! `/healthz`, `/livez`, `/readyz`: named checks, all or one at a time.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::StatusCode;
use keelson_object::scalar::quote;
use keelson_stdx::clock::Clock;
use tracing::info;

use crate::metrics::HealthMetrics;
use crate::query::Query;
use crate::response::{NOSNIFF, Response, text, text_error};
use crate::shutdown::Moment;

/// A health check; the error is for the log.
pub trait Check: Send + Sync {
    /// Runs the check.
    fn check(&self) -> BoxFuture<'_, Result<(), String>>;
}

impl<F> Check for F
where
    F: Fn() -> Result<(), String> + Send + Sync,
{
    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::ready(self()))
    }
}

/// A check, and the name by which clients select or exclude it.
#[derive(Clone)]
pub struct NamedCheck {
    name: String,
    check: Arc<dyn Check>,
    /// `/livez` ignores the check before this time of the server's clock.
    livez_from: Duration,
    in_livez: bool,
    /// `exclude=` of this name leaves the check out as well.
    group: &'static str,
}

impl NamedCheck {
    /// A check under a name.
    pub fn new(name: impl Into<String>, check: impl Check + 'static) -> NamedCheck {
        NamedCheck {
            name: name.into(),
            check: Arc::new(check),
            livez_from: Duration::ZERO,
            in_livez: true,
            group: "",
        }
    }

    /// The same check, which is excluded together with all others of a group: `etcd-override-0` with `etcd`.
    #[must_use]
    pub fn in_group(self, group: &'static str) -> NamedCheck {
        NamedCheck { group, ..self }
    }

    /// The same check, but not for `/livez`: a restart would not help.
    #[must_use]
    pub fn without_livez(self) -> NamedCheck {
        NamedCheck { in_livez: false, ..self }
    }

    fn is_in(&self, group: &str) -> bool {
        !self.group.is_empty() && self.group == group
    }

    /// Always succeeds.
    pub fn ping() -> NamedCheck {
        NamedCheck::new("ping", || Ok(()))
    }

    /// Fails once `moment` has happened.
    pub fn before(name: &str, moment: Moment, complaint: &'static str) -> NamedCheck {
        NamedCheck::new(name, move || if moment.has_happened() { Err(complaint.to_owned()) } else { Ok(()) })
    }

    /// Fails until `moment` has happened.
    pub fn after(name: &str, moment: Moment) -> NamedCheck {
        NamedCheck::new(
            name,
            move || if moment.has_happened() { Ok(()) } else { Err("not finished".to_owned()) },
        )
    }
}

/// One of the three endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// `/healthz`, the old one: everything but shutdown.
    Healthz,
    /// `/livez`: the server should be restarted if this fails.
    Livez,
    /// `/readyz`: the server should get no requests if this fails.
    Readyz,
}

impl Probe {
    const ALL: [Probe; 3] = [Probe::Healthz, Probe::Livez, Probe::Readyz];

    fn name(self) -> &'static str {
        match self {
            Probe::Healthz => "healthz",
            Probe::Livez => "livez",
            Probe::Readyz => "readyz",
        }
    }
}

/// The checks of a server.
pub struct Health {
    clock: Clock,
    checks: Vec<NamedCheck>,
    readyz_only: Vec<NamedCheck>,
    boot_checks: Vec<NamedCheck>,
    shutdown: NamedCheck,
    ready: Moment,
    counts: HealthMetrics,
}

/// The parts of the health endpoints.
pub struct HealthSettings {
    /// The clock for the grace period.
    pub clock: Clock,
    /// Checks of all three endpoints.
    pub checks: Vec<NamedCheck>,
    /// Checks of the startup: `/livez` ignores them for the grace period.
    pub boot_checks: Vec<NamedCheck>,
    /// The grace period.
    pub livez_grace: Duration,
    /// Checks of `/readyz` alone.
    pub readyz_only: Vec<NamedCheck>,
    /// The last check of `/readyz`.
    pub shutdown: NamedCheck,
    /// Happens when `/readyz` succeeds for the first time.
    pub ready: Moment,
    /// Counts checks by name, endpoint and result.
    pub counts: HealthMetrics,
}

impl Health {
    /// Sets the grace period of the startup checks.
    pub fn new(settings: HealthSettings) -> Health {
        let HealthSettings { clock, checks, boot_checks, livez_grace, readyz_only, shutdown, ready, counts } =
            settings;
        let livez_from = if livez_grace.is_zero() { Duration::ZERO } else { clock.monotonic() + livez_grace };
        let boot_checks = boot_checks.into_iter().map(|check| NamedCheck { livez_from, ..check }).collect();
        Health { clock, checks, readyz_only, boot_checks, shutdown, ready, counts }
    }

    /// The response to a path, if it is a health endpoint.
    pub async fn answer(&self, path: &str, query: &Query<'_>) -> Option<Response> {
        for probe in Probe::ALL {
            let Some(rest) = path.strip_prefix('/').and_then(|it| it.strip_prefix(probe.name())) else {
                continue;
            };
            return match rest.strip_prefix('/') {
                None if rest.is_empty() => Some(self.all(probe, query).await),
                None => None,
                Some(name) => self.one(probe, name).await,
            };
        }
        None
    }

    /// The paths of the health endpoints.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        Probe::ALL.into_iter().flat_map(|probe| {
            let single = self.checks(probe).map(move |check| format!("/{}/{}", probe.name(), check.name));
            std::iter::once(format!("/{}", probe.name())).chain(single)
        })
    }

    /// The checks of an endpoint, in upstream's order.
    fn checks(&self, probe: Probe) -> impl Iterator<Item = &NamedCheck> {
        let is_readyz = probe == Probe::Readyz;
        let only = if is_readyz { &self.readyz_only[..] } else { &[] };
        let shutdown = is_readyz.then_some(&self.shutdown);
        let all = self.checks.iter().chain(only).chain(&self.boot_checks).chain(shutdown);
        all.filter(move |check| check.in_livez || probe != Probe::Livez)
    }

    async fn run(&self, probe: Probe, check: &NamedCheck) -> Result<(), String> {
        if probe == Probe::Livez && self.clock.monotonic() < check.livez_from {
            return Ok(());
        }
        check.check.check().await
    }

    async fn one(&self, probe: Probe, name: &str) -> Option<Response> {
        let check = self.checks(probe).find(|check| check.name == name)?;
        Some(match self.run(probe, check).await {
            Ok(()) => text(StatusCode::OK, "ok"),
            Err(error) => {
                text_error(StatusCode::INTERNAL_SERVER_ERROR, &format!("internal server error: {error}"))
            }
        })
    }

    /// Upstream: apiserver/pkg/server/healthz/healthz.go, handleRootHealth (v1.36.4).
    async fn all(&self, probe: Probe, query: &Query<'_>) -> Response {
        let excluded: Vec<&str> = query.all("exclude").collect();
        let (mut lines, mut failed, mut log) = (String::new(), Vec::new(), String::new());
        for check in self.checks(probe) {
            let name = &check.name;
            if excluded.contains(&name.as_str()) {
                let _ = writeln!(lines, "[+]{name} excluded: ok");
                continue;
            }
            if excluded.iter().any(|it| check.is_in(it)) {
                let _ = writeln!(lines, "[+]{name} excluded with {}: ok", check.group);
                continue;
            }
            let result = self.run(probe, check).await;
            self.counts.count(name, probe.name(), &result);
            match result {
                Ok(()) => {
                    let _ = writeln!(lines, "[+]{name} ok");
                }
                Err(error) => {
                    let _ = writeln!(lines, "[-]{name} failed: reason withheld");
                    let _ = writeln!(log, "[-]{name} failed: {error}");
                    failed.push(name.as_str());
                }
            }
        }
        self.warn_of_unknown(probe, &excluded, &mut lines);
        if !failed.is_empty() {
            info!("{} check failed: {}\n{log}", failed.join(","), probe.name());
            let message = format!("{lines}{} check failed", probe.name());
            return text_error(StatusCode::INTERNAL_SERVER_ERROR, &message);
        }
        if probe == Probe::Readyz {
            self.ready.happen();
        }
        let verbose = query.has("verbose");
        let body = if verbose { format!("{lines}{} check passed\n", probe.name()) } else { "ok".to_owned() };
        let mut response = text(StatusCode::OK, body);
        response.headers_mut().insert(NOSNIFF.0, NOSNIFF.1);
        response
    }

    fn warn_of_unknown(&self, probe: Probe, excluded: &[&str], lines: &mut String) {
        let is_known = |name: &str| self.checks(probe).any(|check| check.name == name || check.is_in(name));
        let mut unknown: Vec<&str> = excluded.iter().copied().filter(|name| !is_known(name)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        if !unknown.is_empty() {
            let quoted: Vec<String> = unknown.into_iter().map(quote).collect();
            let _ = writeln!(
                lines,
                "warn: some health checks cannot be excluded: no matches for {}",
                quoted.join(",")
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_stdx::clock::{Clock, ManualClock};

    use super::{Health, HealthSettings, NamedCheck};
    use crate::metrics::HealthMetrics;
    use crate::query::Query;
    use crate::shutdown::Moments;

    fn health() -> (Health, Moments, ManualClock) {
        let (clock, hand) = Clock::manual();
        let moments = Moments::default();
        let health = Health::new(HealthSettings {
            clock,
            checks: vec![NamedCheck::ping()],
            boot_checks: vec![NamedCheck::after("boot", moments.mux_and_discovery_complete.clone())],
            livez_grace: Duration::from_secs(10),
            readyz_only: vec![NamedCheck::new("events-ready", || Ok(())).in_group("store-ready")],
            shutdown: NamedCheck::before(
                "shutdown",
                moments.shutdown_initiated.clone(),
                "process is shutting down",
            ),
            ready: moments.has_been_ready.clone(),
            counts: HealthMetrics::new(),
        });
        (health, moments, hand)
    }

    #[track_caller]
    fn check(health: &Health, request: &str, expected: &str) {
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let query = Query::parse(query);
        let answer = futures_util::FutureExt::now_or_never(health.answer(path, &query)).unwrap();
        let found = answer.map_or_else(
            || "none".to_owned(),
            |response| {
                let code = response.status().as_u16();
                let chunks = response.into_body().into_chunks().unwrap();
                let text = chunks.iter().map(|it| String::from_utf8_lossy(it)).collect::<String>();
                format!("{code} {text}")
            },
        );
        assert_eq!(found, expected, "{request}");
    }

    #[test]
    fn answers_read_as_upstreams() {
        let (health, moments, hand) = health();
        check(&health, "/livez", "200 ok");
        check(&health, "/livez/boot", "200 ok");
        check(&health, "/readyz/boot", "500 internal server error: not finished\n");
        check(
            &health,
            "/readyz",
            "500 [+]ping ok\n[+]events-ready ok\n[-]boot failed: reason withheld\n[+]shutdown ok\n\
             readyz check failed\n",
        );
        check(
            &health,
            "/readyz?verbose&exclude=boot&exclude=nothing&exclude=store-ready",
            "200 [+]ping ok\n[+]events-ready excluded with store-ready: ok\n[+]boot excluded: ok\n\
             [+]shutdown ok\n\
             warn: some health checks cannot be excluded: no matches for \"nothing\"\nreadyz check passed\n",
        );
        hand.advance(Duration::from_secs(10));
        check(&health, "/livez", "500 [+]ping ok\n[-]boot failed: reason withheld\nlivez check failed\n");

        moments.mux_and_discovery_complete.happen();
        check(&health, "/healthz?verbose", "200 [+]ping ok\n[+]boot ok\nhealthz check passed\n");
        check(&health, "/healthz/ping", "200 ok");
        check(&health, "/healthz/nothing", "none");
        check(&health, "/healthzz", "none");
        check(&health, "/healthz/shutdown", "none");

        moments.shutdown_initiated.happen();
        check(&health, "/livez", "200 ok");
        check(&health, "/readyz/shutdown", "500 internal server error: process is shutting down\n");
    }

    #[test]
    fn being_ready_is_a_moment() {
        let (health, moments, _hand) = health();
        check(&health, "/readyz?exclude=boot", "200 ok");
        assert!(moments.has_been_ready.has_happened());
        assert_eq!(
            health.paths().collect::<Vec<_>>(),
            [
                "/healthz",
                "/healthz/ping",
                "/healthz/boot",
                "/livez",
                "/livez/ping",
                "/livez/boot",
                "/readyz",
                "/readyz/ping",
                "/readyz/events-ready",
                "/readyz/boot",
                "/readyz/shutdown"
            ]
        );
    }
}
