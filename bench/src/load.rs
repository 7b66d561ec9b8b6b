//! `keelson-bench load`: the phases create, get, list, update, watch, delete against a running server.

mod fan_out;
mod template;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{Method, Uri};
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use keelson_testkit::{fixture, memory};
use serde_json::json;

use self::template::Template;

use crate::lane::{Lane, Target};
use crate::measure::{Phase, Tally, processor_time};

/// The annotation that updates change.
const MARK: &str = "bench.example.com/mark";

/// What is written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Config maps.
    ConfigMaps,
    /// Pods.
    Pods,
}

/// How much of everything.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is written and read.
    pub kind: Kind,
    /// How many there are.
    pub objects: usize,
    /// How long the JSON of each config map is; pods are as large as ours is.
    pub size: usize,
    /// How many requests are under way at the same time.
    pub lanes: usize,
    /// With HTTP/2: how many of them share a connection.
    pub streams: usize,
    /// How many lists of everything are under way at the same time.
    pub list_lanes: usize,
    /// How long get, list and update go on.
    pub time: Duration,
    /// How many watch.
    pub watchers: usize,
    /// How many updates they see.
    pub watched_updates: usize,
    /// How many of them are sent per second; zero is as many as possible.
    pub watched_rate: usize,
}

/// A plan, a server and the namespace in which everything happens.
pub struct Load {
    plan: Plan,
    template: Template,
    target: Target,
    namespace: String,
    pid: Option<u32>,
    clock: Clock,
    lanes: Vec<Lane>,
}

impl Load {
    /// Connects and makes the namespace.
    pub async fn prepare(target: Target, plan: Plan, pid: Option<u32>) -> Result<Load> {
        let clock = Clock::real();
        let namespace = format!("bench-{}", clock.unix_millis());
        let mut lanes = target.lanes(plan.lanes, plan.streams).await?;
        let lane = lanes.first_mut().context("a load needs a lane")?;
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "checkout"}});
        for (path, object) in [
            (String::from("/api/v1/namespaces"), fixture::namespace(&namespace)),
            (format!("/api/v1/namespaces/{namespace}/serviceaccounts"), account),
        ] {
            let body = Bytes::from(object.to_string());
            let (status, body) = lane.fetch(Method::POST, target.uri(&path)?, body).await?;
            if !status.is_success() {
                bail!("POST {path}: {status} {}", String::from_utf8_lossy(&body));
            }
        }
        Ok(Load { template: Template::new(&plan)?, plan, target, namespace, pid, clock, lanes })
    }

    /// All phases, one after the other.
    pub async fn run(&mut self) -> Result<Vec<Phase>> {
        let mut phases = vec![self.create().await?, self.get().await?, self.list().await?];
        phases.push(self.update().await?);
        phases.extend(self.watch().await?);
        phases.push(self.delete().await?);
        Ok(phases)
    }

    /// Writes all objects.
    pub async fn create(&mut self) -> Result<Phase> {
        self.each_lane("create", Step::Create).await
    }

    /// Reads single objects for a time.
    pub async fn get(&mut self) -> Result<Phase> {
        self.each_lane("get", Step::Get).await
    }

    /// Reads everything at once for a time.
    pub async fn list(&mut self) -> Result<Phase> {
        let idle = self.lanes.split_off(self.plan.list_lanes.clamp(1, self.lanes.len()));
        let phase = self.each_lane("list", Step::List).await;
        self.lanes.extend(idle);
        phase
    }

    /// Writes objects again for a time.
    pub async fn update(&mut self) -> Result<Phase> {
        self.each_lane("update", Step::Update).await
    }

    /// Updates that many watchers see.
    pub async fn watch(&mut self) -> Result<Vec<Phase>> {
        fan_out::run(self).await
    }

    /// Deletes all objects.
    pub async fn delete(&mut self) -> Result<Phase> {
        let phase = self.each_lane("delete", Step::Delete).await;
        let namespace = self.target.uri(&format!("/api/v1/namespaces/{}", self.namespace))?;
        if let Some(lane) = self.lanes.first_mut() {
            lane.count(Method::DELETE, namespace, Bytes::new()).await?;
        }
        phase
    }

    /// The path of the collection.
    pub fn collection(&self) -> String {
        let plural = match self.plan.kind {
            Kind::ConfigMaps => "configmaps",
            Kind::Pods => "pods",
        };
        format!("/api/v1/namespaces/{}/{plural}", self.namespace)
    }

    /// Any lane, for single questions between phases.
    pub async fn fetch(&mut self, path: &str) -> Result<Bytes> {
        let uri = self.target.uri(path)?;
        let lane = self.lanes.first_mut().context("a load has lanes")?;
        let (status, body) = lane.fetch(Method::GET, uri, Bytes::new()).await?;
        if !status.is_success() {
            bail!("GET {path}: {status} {}", String::from_utf8_lossy(&body));
        }
        Ok(body)
    }

    /// Lets every lane do `step` with rising numbers until there is no more work.
    async fn each_lane(&mut self, name: &'static str, step: Step) -> Result<Phase> {
        let work = Arc::new(Work::new(self, step)?);
        let cpu_before = self.pid.and_then(processor_time);
        let begun = self.clock.monotonic();
        let workers: Vec<_> =
            self.lanes.drain(..).map(|lane| task::spawn("lane", drive(Arc::clone(&work), lane))).collect();
        let mut all = Tally::default();
        for worker in workers {
            let (lane, tally) = worker.await.context("a lane panicked")?;
            self.lanes.extend(lane);
            all.add(tally);
        }
        let took = self.clock.monotonic() - begun;
        if self.lanes.is_empty() {
            bail!("all connections broke: {}", all.complaint.unwrap_or_default());
        }
        let mut phase = self.phase(name, took, all);
        let cpu_after = self.pid.and_then(processor_time);
        phase.cpu = cpu_after.zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        Ok(phase)
    }

    fn phase(&self, name: &'static str, took: Duration, tally: Tally) -> Phase {
        let mut phase = Phase::new(name, took, tally);
        phase.resident = self.pid.and_then(|pid| memory::resident(pid).ok());
        phase
    }
}

/// What the lanes of a phase do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Create,
    Get,
    List,
    Update,
    Delete,
}

/// What the lanes of a phase share.
struct Work {
    step: Step,
    plan: Plan,
    template: Template,
    clock: Clock,
    until: Option<Duration>,
    next: AtomicUsize,
    collection: Uri,
    objects: Vec<Uri>,
}

impl Work {
    fn new(load: &Load, step: Step) -> Result<Work> {
        let collection = load.collection();
        let objects =
            (0..load.plan.objects).map(|number| load.target.uri(&format!("{collection}/{}", name(number))));
        let bounded = matches!(step, Step::Create | Step::Delete);
        Ok(Work {
            step,
            plan: load.plan.clone(),
            template: load.template.clone(),
            clock: load.clock.clone(),
            until: (!bounded).then(|| load.clock.monotonic() + load.plan.time),
            next: AtomicUsize::new(0),
            collection: load.target.uri(&collection)?,
            objects: objects.collect::<Result<_>>()?,
        })
    }

    /// The number of the next request, until the count or the time is used up.
    fn next(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        match self.until {
            Some(end) => (self.clock.monotonic() < end).then_some(number),
            None => (number < self.plan.objects).then_some(number),
        }
    }

    fn request(&self, number: usize) -> (Method, Uri, Bytes) {
        let object = number % self.plan.objects;
        match self.step {
            Step::Create => {
                (Method::POST, self.collection.clone(), self.template.fill(&name(object), "created"))
            }
            // A stride that is coprime to most counts touches all objects in no obvious order.
            Step::Get => {
                let object = number.wrapping_mul(7919) % self.plan.objects;
                (Method::GET, self.objects[object].clone(), Bytes::new())
            }
            Step::List => (Method::GET, self.collection.clone(), Bytes::new()),
            Step::Update => {
                let mark = format!("round {number}");
                (Method::PUT, self.objects[object].clone(), self.template.fill(&name(object), &mark))
            }
            Step::Delete => {
                let options = br#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#;
                (Method::DELETE, self.objects[object].clone(), Bytes::from_static(options))
            }
        }
    }
}

fn name(number: usize) -> String {
    format!("object-{number:06}")
}

/// Sends request after request. Gives the lane back unless its connection broke.
async fn drive(work: Arc<Work>, mut lane: Lane) -> (Option<Lane>, Tally) {
    let mut tally = Tally::default();
    while let Some(number) = work.next() {
        let (method, uri, body) = work.request(number);
        let begun = work.clock.monotonic();
        match lane.count(method, uri.clone(), body).await {
            Ok(received) if received.status.is_success() => {
                tally.success(received.bytes, work.clock.monotonic() - begun);
            }
            Ok(received) => tally.failure(|| format!("{uri}: {}", received.status)),
            Err(error) => {
                tally.failure(|| format!("{uri}: {error:#}"));
                return (None, tally);
            }
        }
    }
    (Some(lane), tally)
}
