//! Tests of audit backends.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use keelson_stdx::clock::Clock;
use parking_lot::Mutex;

use super::{
    BackendSettings, BatchSettings, LogFile, Mode, Output, Post, Rotation, Throttle, Truncate, Webhook,
};
use crate::{Audit, Event, Policy, Request, Target};

const BATCH: BatchSettings =
    BatchSettings { buffer_size: 4, max_size: 2, max_wait: Duration::from_millis(20), throttle: None };

fn settings(mode: Mode) -> BackendSettings {
    BackendSettings { mode, batch: BATCH, truncate: None }
}

fn audit(clock: &Clock) -> Audit {
    let text = "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: RequestResponse}]}";
    Audit::new(Policy::read(text.as_bytes()).expect("a policy").0, clock.clone())
}

/// One request from beginning to end, with an object of `size` bytes.
async fn request(audit: &Arc<Audit>, id: &str, size: usize) -> bool {
    let judgement = audit.judge(&Request { user: None, verb: "get", target: Target::Path, path: "/" });
    let record = audit.record(judgement, Event { audit_id: id.to_owned(), ..Event::default() });
    if !record.received().await {
        return false;
    }
    record.request_object(Bytes::from(format!("\"{}\"", "x".repeat(size))));
    record.answered(200, None);
    record.complete();
    record.complete();
    true
}

fn errors(audit: &Audit) -> Vec<(&'static str, u64)> {
    audit.counts().errors().filter(|(_, count)| *count > 0).collect()
}

/// `a RequestReceived`, for every line.
fn stages(text: &str) -> Vec<String> {
    let field = |line: &str, key: &str| {
        let start = line.find(key).expect("the field") + key.len();
        line[start..].split('"').next().unwrap_or_default().to_owned()
    };
    let line = |line: &str| format!("{} {}", field(line, "\"auditID\":\""), field(line, "\"stage\":\""));
    text.lines().map(line).collect()
}

/// A webhook that records its requests and fails as often as configured.
#[derive(Default)]
struct Receiver {
    bodies: Mutex<Vec<String>>,
    failures: Mutex<usize>,
}

impl Post for Receiver {
    fn post(&self, body: Bytes) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let mut failures = self.failures.lock();
            if *failures > 0 {
                *failures -= 1;
                return Err("the server says 500".to_owned());
            }
            self.bodies.lock().push(String::from_utf8(body.to_vec()).expect("text"));
            Ok(())
        })
    }
}

#[tokio::test]
async fn a_log_has_every_stage_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new/audit.log");
    let clock = Clock::real();
    let file = LogFile::open(&path, Rotation::default(), &clock).expect("a file");
    let audit = Arc::new(audit(&clock).with(settings(Mode::Blocking), Output::Log(file)));
    assert!(request(&audit, "a", 1).await);
    let text = fs::read_to_string(&path).expect("the log");
    assert_eq!(stages(&text), ["a RequestReceived", "a ResponseComplete"]);
    assert_eq!(audit.counts().events(), 2);
    assert!(errors(&audit).is_empty());
}

#[tokio::test]
async fn a_log_in_batch_mode_is_written_when_it_is_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.log");
    let clock = Clock::real();
    let file = LogFile::open(&path, Rotation::default(), &clock).expect("a file").legacy();
    let audit = Arc::new(audit(&clock).with(settings(Mode::Batch), Output::Log(file)));
    assert!(request(&audit, "a", 1).await);
    audit.close(Duration::from_secs(10)).await;
    let text = fs::read_to_string(&path).expect("the log");
    assert_eq!(text.lines().count(), 2);
    assert!(text.contains(" AUDIT: id=\"a\" stage=\"ResponseComplete\""), "{text}");
    assert!(request(&audit, "late", 1).await);
    assert_eq!(errors(&audit), [("buffered", 2)]);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_refused_only_in_strict_mode() {
    let clock = Clock::real();
    for (mode, expected) in [(Mode::Blocking, true), (Mode::BlockingStrict, false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("audit.log");
        let tiny = Rotation { max_size: 10, ..Rotation::default() };
        let file = LogFile::open(&path, tiny, &clock).expect("a file");
        let audit = Arc::new(audit(&clock).with(settings(mode), Output::Log(file)));
        assert_eq!(request(&audit, "a", 1).await, expected);
        assert_eq!(audit.counts().rejected(), u64::from(!expected));
        assert_eq!(errors(&audit), [("log", if expected { 2 } else { 1 })]);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|it| it.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|it| it.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Without a runtime, old files are cleaned up before the write returns.
#[test]
fn full_files_are_put_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.log");
    let (clock, hands) = Clock::manual();
    let rotation = Rotation { max_size: 10, max_backups: 2, compress: true, ..Rotation::default() };
    let file = LogFile::open(&path, rotation, &clock).expect("a file");
    for line in ["12345678\n", "2\n", "3\n", "4\n", "12345678\n", "12345679\n"] {
        file.write(line.as_bytes()).expect("written");
        hands.advance(Duration::from_millis(1500));
    }
    let found = names(folder.path());
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[2], "audit.log");
    assert!(found[..2].iter().all(|it| it.starts_with("audit-") && it.ends_with(".log.gz")), "{found:?}");
    assert_eq!(fs::read_to_string(&path).expect("the log"), "12345679\n");
}

#[test]
fn old_files_are_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("audit.log");
    let (clock, hands) = Clock::manual();
    let day = Duration::from_secs(24 * 60 * 60);
    let rotation = Rotation { max_size: 10, max_age: day, ..Rotation::default() };
    let file = LogFile::open(&path, rotation, &clock).expect("a file");
    for _ in 0..3 {
        file.write(b"12345678\n").expect("written");
        hands.advance(Duration::from_secs(23 * 60 * 60));
    }
    fs::write(folder.path().join("audit-mine.log"), "not ours").expect("written");
    assert_eq!(names(folder.path()).len(), 4);
    file.write(b"12345678\n").expect("written");
    let found = names(folder.path());
    assert_eq!(found.len(), 4, "the oldest is gone: {found:?}");
    let lines = fs::read_to_string(&path).expect("the log");
    assert_eq!(lines, "12345678\n");
}

#[tokio::test]
async fn a_webhook_gets_lists_of_some_events() {
    let receiver = Arc::new(Receiver::default());
    let webhook = Webhook::new(receiver.clone(), Duration::from_millis(1));
    let mut settings = settings(Mode::Batch);
    settings.batch.throttle = Some(Throttle { per_second: 1000.0, burst: 1 });
    let audit = Arc::new(audit(&Clock::real()).with(settings, Output::Webhook(webhook)));
    assert!(request(&audit, "a", 1).await);
    assert!(request(&audit, "b", 1).await);
    audit.close(Duration::from_secs(10)).await;
    let mut bodies = receiver.bodies.lock().clone();
    bodies.sort();
    assert_eq!(bodies.len(), 2);
    let head = r#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[{"level":"RequestResponse","auditID":"a","#;
    assert!(bodies[0].starts_with(head), "{}", bodies[0]);
    assert!(errors(&audit).is_empty());
}

#[tokio::test]
async fn a_webhook_that_fails_is_told_again() {
    let receiver = Arc::new(Receiver { failures: Mutex::new(4), ..Receiver::default() });
    let webhook = Webhook::new(receiver.clone(), Duration::from_millis(1));
    let audit =
        Arc::new(audit(&Clock::real()).with(settings(Mode::BlockingStrict), Output::Webhook(webhook)));
    assert!(request(&audit, "a", 1).await);
    assert_eq!(*receiver.failures.lock(), 0);
    while receiver.bodies.lock().len() < 2 {
        tokio::task::yield_now().await;
    }
    *receiver.failures.lock() = 5;
    assert!(!request(&audit, "b", 1).await);
    assert_eq!(errors(&audit), [("webhook", 1)]);
}

/// Never answers.
struct Hanging;

impl Post for Hanging {
    fn post(&self, _: Bytes) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_webhook_that_hangs_holds_nobody_up() {
    let webhook = Webhook::new(Arc::new(Hanging), Duration::from_secs(10));
    let mut settings = settings(Mode::Batch);
    settings.batch.max_size = 1;
    let audit = Arc::new(audit(&Clock::real()).with(settings, Output::Webhook(webhook)));
    for number in 0..500 {
        assert!(request(&audit, &format!("{number}"), 1).await);
        tokio::task::yield_now().await;
    }
    let lost: u64 = errors(&audit).iter().map(|(_, count)| count).sum();
    // Each of the batches under way has one event, and so many wait.
    assert!(lost > 500, "{lost} of 1000 are lost");
    assert_eq!(errors(&audit)[0].0, "buffered");
    audit.close(Duration::from_millis(10)).await;
}

#[tokio::test]
async fn large_events_lose_their_objects() {
    let receiver = Arc::new(Receiver::default());
    let webhook = Webhook::new(receiver.clone(), Duration::from_millis(1));
    let truncate = Some(Truncate { max_event: 1000, max_batch: 1500 });
    let mut settings = BackendSettings { truncate, ..settings(Mode::Batch) };
    settings.batch = BatchSettings { buffer_size: 100, max_size: 100, ..BATCH };
    let audit = Arc::new(audit(&Clock::real()).with(settings, Output::Webhook(webhook)));
    assert!(request(&audit, "small", 10).await);
    assert!(request(&audit, "large", 1000).await);
    assert!(request(&audit, &"x".repeat(1000), 1).await);
    audit.close(Duration::from_secs(10)).await;
    let bodies = receiver.bodies.lock().clone();
    let all = bodies.concat();
    assert_eq!(all.matches("\"audit.k8s.io/truncated\":\"true\"").count(), 1);
    assert_eq!(all.matches("requestObject").count(), 1);
    assert!(bodies.iter().all(|it| it.len() < 1700));
    assert_eq!(errors(&audit), [("truncate", 2)]);
}
