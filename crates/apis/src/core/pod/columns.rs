//! Columns of `kubectl get pods`.
//!
//! Upstream: pkg/printers/internalversion/printers.go, printPod (v1.36.4).

use keelson_object::scalar::Time;
use keelson_object::{Cell, Map, Object, Value};
use keelson_registry::Column;

pub(crate) fn columns() -> [Column; 9] {
    [
        Column::name(),
        Column::computed("Ready", |object| Summary::of(object).ready()),
        Column::computed("Status", |object| Cell::from(Summary::of(object).reason)),
        Column::computed("Restarts", |object| Summary::of(object).restarts()),
        Column::age(),
        Column::computed("IP", |object| {
            let first = status(object).and_then(|it| it.maps("podIPs").next()?.str("ip"));
            or_none(first)
        })
        .wide(),
        Column::computed("Node", |object| or_none(spec(object).and_then(|it| it.str("nodeName")))).wide(),
        Column::computed("Nominated Node", |object| {
            or_none(status(object).and_then(|it| it.str("nominatedNodeName")))
        })
        .wide(),
        Column::computed("Readiness Gates", readiness_gates).wide(),
    ]
}

fn spec(object: &Object) -> Option<&Map> {
    object.fields.map("spec")
}

fn status(object: &Object) -> Option<&Map> {
    object.fields.map("status")
}

fn or_none(text: Option<&str>) -> Cell {
    Cell::from(text.filter(|it| !it.is_empty()).unwrap_or("<none>"))
}

fn condition_is_true(object: &Object, kind: &str) -> bool {
    let mut conditions = status(object).into_iter().flat_map(|it| it.maps("conditions"));
    conditions.any(|it| it.str("type") == Some(kind) && it.str("status") == Some("True"))
}

fn readiness_gates(object: &Object) -> Cell {
    let gates: Vec<&str> = spec(object)
        .into_iter()
        .flat_map(|it| it.maps("readinessGates"))
        .filter_map(|it| it.str("conditionType"))
        .collect();
    if gates.is_empty() {
        return Cell::from("<none>");
    }
    let open = gates.iter().filter(|gate| condition_is_true(object, gate)).count();
    Cell::from(format!("{open}/{}", gates.len()))
}

/// The combined state of all containers.
#[derive(Default)]
struct Summary {
    reason: String,
    containers: usize,
    ready: usize,
    restarts: i64,
    last_restart: Option<Time>,
}

impl Summary {
    fn of(object: &Object) -> Summary {
        let empty = Map::new();
        let (spec, status) = (spec(object).unwrap_or(&empty), status(object).unwrap_or(&empty));
        let mut summary = Summary { reason: first_reason(status), ..Summary::default() };
        let sidecars =
            spec.maps("initContainers").filter(|it| it.str("restartPolicy") == Some("Always")).count();
        summary.containers = spec.list("containers").len() + sidecars;
        let initializing = summary.look_at_init_containers(spec, status);
        if !initializing || condition_is_true(object, "Initialized") {
            summary.look_at_containers(object, spec, status);
        }
        let phase = status.str("phase").unwrap_or_default();
        if object.meta.is_being_deleted() {
            if status.str("reason") == Some("NodeLost") {
                summary.reason = "Unknown".to_owned();
            } else if !matches!(phase, "Succeeded" | "Failed") {
                summary.reason = "Terminating".to_owned();
            }
        }
        summary
    }

    /// Whether the pod is still running its init containers.
    fn look_at_init_containers(&mut self, spec: &Map, status: &Map) -> bool {
        for (position, container) in status.maps("initContainerStatuses").enumerate() {
            self.count_restarts(container);
            let state = State::of(container);
            let started = is_sidecar(spec, container) && container.bool("started") == Some(true);
            match state {
                State::Terminated { code: 0, .. } => continue,
                _ if started => {
                    self.ready += usize::from(container.bool("ready") == Some(true));
                    continue;
                }
                State::Terminated { .. } => self.reason = format!("Init:{}", state.terminated_reason()),
                State::Waiting(reason) if !reason.is_empty() && reason != "PodInitializing" => {
                    self.reason = format!("Init:{reason}");
                }
                _ => self.reason = format!("Init:{position}/{}", spec.list("initContainers").len()),
            }
            return true;
        }
        false
    }

    fn look_at_containers(&mut self, object: &Object, spec: &Map, status: &Map) {
        (self.restarts, self.last_restart) = (0, None);
        for container in status.maps("initContainerStatuses").filter(|it| is_sidecar(spec, it)) {
            self.count_restarts(container);
        }
        let (mut running, mut failure) = (false, None);
        let containers: Vec<&Map> = status.maps("containerStatuses").collect();
        for container in containers.into_iter().rev() {
            self.count_restarts(container);
            match State::of(container) {
                State::Waiting(reason) if !reason.is_empty() => self.reason = reason.to_owned(),
                state @ State::Terminated { code, .. } => {
                    self.reason = state.terminated_reason();
                    if code != 0 {
                        failure = Some(self.reason.clone());
                    }
                }
                State::Running if container.bool("ready") == Some(true) => {
                    running = true;
                    self.ready += 1;
                }
                _ => {}
            }
        }
        if self.reason == "Completed" {
            if running && condition_is_true(object, "Ready") {
                self.reason = "Running".to_owned();
            } else if let Some(failure) = failure {
                self.reason = failure;
            } else if running {
                self.reason = "NotReady".to_owned();
            }
        }
    }

    fn count_restarts(&mut self, container: &Map) {
        self.restarts += container.int("restartCount").unwrap_or_default();
        let finished = container.at("lastState.terminated.finishedAt").and_then(Value::as_str);
        let finished = finished.and_then(|it| Time::parse(it).ok());
        self.last_restart = self.last_restart.max(finished);
    }

    fn ready(&self) -> Cell {
        Cell::from(format!("{}/{}", self.ready, self.containers))
    }

    fn restarts(&self) -> Cell {
        match self.last_restart {
            Some(then) if self.restarts > 0 => Cell::Since(format!("{}", self.restarts).into(), then),
            _ => Cell::from(format!("{}", self.restarts)),
        }
    }
}

fn first_reason(status: &Map) -> String {
    let gated =
        |it: &Map| it.str("type") == Some("PodScheduled") && it.str("reason") == Some("SchedulingGated");
    if status.maps("conditions").any(gated) {
        return "SchedulingGated".to_owned();
    }
    let reason = status.str("reason").filter(|it| !it.is_empty());
    reason.or(status.str("phase")).unwrap_or_default().to_owned()
}

fn is_sidecar(spec: &Map, status: &Map) -> bool {
    let mut inits = spec.maps("initContainers");
    inits.any(|it| it.str("name") == status.str("name") && it.str("restartPolicy") == Some("Always"))
}

#[derive(Clone, Copy)]
enum State<'c> {
    Waiting(&'c str),
    Running,
    Terminated { reason: &'c str, code: i64, signal: i64 },
    Unknown,
}

impl<'c> State<'c> {
    fn of(container: &'c Map) -> State<'c> {
        let Some(state) = container.map("state") else { return State::Unknown };
        if let Some(terminated) = state.map("terminated") {
            return State::Terminated {
                reason: terminated.str("reason").unwrap_or_default(),
                code: terminated.int("exitCode").unwrap_or_default(),
                signal: terminated.int("signal").unwrap_or_default(),
            };
        }
        if let Some(waiting) = state.map("waiting") {
            return State::Waiting(waiting.str("reason").unwrap_or_default());
        }
        if state.contains("running") { State::Running } else { State::Unknown }
    }

    fn terminated_reason(self) -> String {
        match self {
            State::Terminated { reason, .. } if !reason.is_empty() => reason.to_owned(),
            State::Terminated { signal, .. } if signal != 0 => format!("Signal:{signal}"),
            State::Terminated { code, .. } => format!("ExitCode:{code}"),
            _ => String::new(),
        }
    }
}
