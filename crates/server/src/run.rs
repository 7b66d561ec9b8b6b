//! Run loop of a server: from the first connection to the last byte.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use keelson_stdx::task::Tasks;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::builder::Server;
use crate::listen::connection::{self, Shared};
use crate::listen::tcp;
use crate::settings::LateClients;

/// A pre-shutdown hook, which runs between the stop signal and the last request: for example to remove this
/// server from a list of servers.
pub struct Hook {
    /// The name in logs.
    pub name: &'static str,
    /// The work. Requests are still answered while it runs.
    pub work: BoxFuture<'static, Result<(), String>>,
}

/// How long connections have to close if late clients were asked to retry.
const SHORT_SHUTDOWN: Duration = Duration::from_secs(2);

impl Server {
    /// Serves the connections of `listener` until `stop` is done, then shuts down in order.
    pub async fn serve(
        self: Arc<Server>,
        listener: TcpListener,
        stop: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let tls =
            self.tls.clone().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no certificates"))?;
        let address = listener.local_addr()?;
        let background = Tasks::new();
        background.spawn("certificates", {
            let (tls, server) = (Arc::clone(&tls), Arc::clone(&self));
            async move {
                let seen = |reload| server.metrics.count_reload("serving", reload);
                tls.watch(&server.clock, server.settings.certificate_poll, seen).await;
            }
        });
        let shared = Arc::new(Shared {
            handler: Arc::clone(&self),
            tls,
            limits: self.settings.limits,
            clock: self.clock.clone(),
            draining: CancellationToken::new(),
        });
        info!("Serving securely on {address}");
        self.moments.mux_and_discovery_complete.happen();
        tokio::join!(self.listen(listener, shared), self.end(stop));
        background.end(&self.clock, SHORT_SHUTDOWN).await;
        info!("[graceful-termination] apiserver is exiting");
        Ok(())
    }

    /// Accepts connections until the listener closes, then waits for the remaining ones.
    async fn listen(&self, listener: TcpListener, shared: Arc<Shared<Server>>) {
        let connections = Tasks::new();
        let accept = async {
            loop {
                let (stream, peer) = tcp::accept(&listener).await;
                connections.spawn("connection", connection::serve(Arc::clone(&shared), stream, peer));
            }
        };
        let moments = &self.moments;
        let (door, patience) = match self.settings.late_clients {
            LateClients::NotLetIn => (&moments.not_accepting_new_request, self.settings.request_timeout),
            LateClients::ToldToComeBack => {
                info!(timeout = ?SHORT_SHUTDOWN, "[graceful-termination] using HTTP Server shutdown timeout");
                (&moments.in_flight_requests_drained, SHORT_SHUTDOWN)
            }
        };
        tokio::select! {
            () = accept => {}
            () = door.wait() => {}
        }
        drop(listener);
        moments.http_server_stopped_listening.announce();
        shared.draining.cancel();
        if !connections.wait(&self.clock, patience).await {
            error!("failed to shut down all connections in time");
            connections.end(&self.clock, SHORT_SHUTDOWN).await;
        }
    }

    /// The shutdown sequence, drawn at the top of `shutdown.rs`.
    async fn end(&self, stop: impl Future<Output = ()>) {
        let moments = &self.moments;
        info!("[graceful-termination] waiting for shutdown to be initiated");
        stop.await;
        moments.shutdown_initiated.announce();
        let delay = async {
            self.clock.sleep(self.settings.shutdown_delay).await;
            moments.after_shutdown_delay.announce();
        };
        let hooks = async {
            self.run_hooks().await;
            moments.pre_shutdown_hooks_stopped.happen();
            let name = moments.pre_shutdown_hooks_stopped.name();
            info!(name, "[graceful-termination] pre-shutdown hooks completed");
        };
        tokio::join!(delay, hooks);
        moments.not_accepting_new_request.announce();
        tokio::join!(self.drain_requests(), self.drain_watches());
        moments.in_flight_requests_drained.announce();
    }

    async fn run_hooks(&self) {
        let hooks = std::mem::take(&mut *self.hooks.lock());
        for hook in hooks {
            if let Err(problem) = hook.work.await {
                error!(hook = hook.name, problem, "a pre-shutdown hook failed");
            }
        }
    }

    /// Waits for requests, which have a deadline; so this ends.
    async fn drain_requests(&self) {
        let drained = self.clock.timeout(self.settings.request_timeout, self.under_way.drained()).await;
        match drained {
            Some(()) => info!("[graceful-termination] in-flight non long-running request(s) have drained"),
            None => error!(left = self.under_way.count(), "in-flight requests did not drain in time"),
        }
    }

    async fn drain_watches(&self) {
        let grace = self.settings.watch_termination_grace;
        if grace.is_zero() {
            info!("[graceful-termination] not going to wait for active watch request(s) to drain");
            return;
        }
        let before = self.watches.count();
        let _ = self.clock.timeout(grace, self.watches.drained()).await;
        let after = self.watches.count();
        info!(duration = ?grace, before, after, "[graceful-termination] active watch request(s) have drained");
    }
}
