//! ComponentStatus: the health of the scheduler, the controller manager and the store. Deprecated, and still
//! used.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join};
use keelson_object::{Cell, Map, Object, Value};
use keelson_registry::live::Ground;
use keelson_registry::{Column, Report};
use keelson_stdx::clock::Clock;
use tokio::net::TcpStream;

/// The components on this machine, and the ports at which upstream's server probes them.
const COMPONENTS: [(&str, u16); 2] = [("controller-manager", 10257), ("scheduler", 10259)];

/// The timeout of a probe.
const PATIENCE: Duration = Duration::from_secs(20);

/// Probes the components on each read.
pub(crate) struct Components {
    /// The storage; without it only the other components are reported.
    pub(crate) ground: Option<Ground>,
}

pub(crate) fn columns() -> [Column; 4] {
    [
        Column::name(),
        Column::computed("Status", |object| condition(object, "status")),
        Column::computed("Message", |object| condition(object, "message")),
        Column::computed("Error", |object| condition(object, "error")),
    ]
}

/// Upstream: pkg/printers/internalversion/printers.go, printComponentStatus (v1.36.4).
fn condition(object: &Object, field: &str) -> Cell {
    let healthy = object.fields.maps("conditions").find(|it| it.str("type") == Some("Healthy"));
    let text = healthy.and_then(|it| it.str(field)).unwrap_or_default();
    Cell::from(match (field, text) {
        ("status", "True") => "Healthy",
        ("status", "False") => "Unhealthy",
        ("status", _) => "Unknown",
        _ => text,
    })
}

impl Report for Components {
    fn report(&self) -> BoxFuture<'_, Vec<Object>> {
        async move {
            let ask = |(name, port)| async move { part(name, self.probe(port).await) };
            let [manager, scheduler] = COMPONENTS;
            let (manager, scheduler) = join(ask(manager), ask(scheduler)).await;
            let mut parts = vec![manager, scheduler];
            if let Some(Ground { store, .. }) = &self.ground {
                let health = store.health().await.map_err(|error| error.to_string());
                parts.insert(1, part("etcd-0", health.map(|()| Known::Healthy)));
            }
            parts
        }
        .boxed()
    }
}

/// The result of a probe.
enum Known {
    Healthy,
    /// The port is open, but the health was not checked.
    Listening,
}

impl Components {
    /// Whether the port accepts connections. Upstream sends a request as well, without verifying the server;
    /// we do not.
    async fn probe(&self, port: u16) -> Result<Known, String> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let failed = |why: &str| format!("Get \"https://{address}/healthz\": dial tcp {address}: {why}");
        let clock = self.ground.as_ref().map_or_else(Clock::real, |ground| ground.clock.clone());
        match clock.timeout(PATIENCE, TcpStream::connect(address)).await {
            Some(Ok(_)) => Ok(Known::Listening),
            Some(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                Err(failed("connect: connection refused"))
            }
            Some(Err(error)) => Err(failed(&error.to_string())),
            None => Err(failed("i/o timeout")),
        }
    }
}

fn part(name: &str, health: Result<Known, String>) -> Object {
    let (status, message) = match health {
        Ok(Known::Healthy) => ("True", "ok".to_owned()),
        Ok(Known::Listening) => ("Unknown", "it listens; how it is was not asked".to_owned()),
        Err(message) => ("False", message),
    };
    let mut condition = Map::new();
    condition.push_new("type", "Healthy");
    condition.push_new("status", status);
    condition.push_new("message", message.as_str());
    let mut object = Object { kind: "ComponentStatus".into(), api_version: "v1".into(), ..Object::default() };
    object.meta.name = name.into();
    object.fields.push_new("conditions", Value::List(vec![Value::Map(condition)]));
    object
}

#[cfg(test)]
mod tests {
    use super::{Known, columns, part};
    use keelson_object::Cell;

    #[test]
    fn a_part_says_how_it_is() {
        let check = |health: Result<Known, String>, expected: [&str; 4]| {
            let object = part("x", health);
            let cells: Vec<Cell> = columns().iter().map(|it| it.cell(&object)).collect();
            assert_eq!(cells, expected.map(Cell::from));
        };
        check(Ok(Known::Healthy), ["x", "Healthy", "ok", ""]);
        check(Err("broken".to_owned()), ["x", "Unhealthy", "broken", ""]);
        check(Ok(Known::Listening), ["x", "Unknown", "it listens; how it is was not asked", ""]);
    }
}
