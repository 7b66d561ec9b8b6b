//! Many watch, few write: how many events arrive per second, and how long after the update was sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::{Bytes, BytesMut};
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use keelson_stdx::clock::Clock;
use keelson_stdx::task;
use memchr::memmem::{self, Finder};
use serde_json::Value;
use tokio::time::timeout;

use super::{Load, MARK, name};
use crate::lane::Lane;
use crate::measure::{Phase, Tally};

/// Writers that are enough to keep the watchers busy.
const WRITERS: usize = 4;
/// What a revision comes after.
const VERSION: &[u8] = br#""resourceVersion":""#;
/// Between two events of one watcher.
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens the watchers, writes, and waits until everybody has seen everything.
pub(super) async fn run(load: &mut Load) -> Result<Vec<Phase>> {
    if load.plan.watchers == 0 {
        return Ok(Vec::new());
    }
    let revision = revision(load).await?;
    let path = format!("{}?watch=true&resourceVersion={revision}", load.collection());
    let uri = load.target.uri(&path)?;
    let mut lanes = load.target.lanes(load.plan.watchers, load.plan.streams).await?;
    let mut watchers = Vec::with_capacity(lanes.len());
    for lane in &mut lanes {
        let response = lane.send(Method::GET, uri.clone(), Bytes::new()).await?;
        if !response.status().is_success() {
            bail!("GET {path}: {}", response.status());
        }
        let (clock, expected) = (load.clock.clone(), load.plan.watched_updates);
        watchers.push(task::spawn("watcher", watch(response.into_body(), clock, expected)));
    }

    let begun = load.clock.monotonic();
    let written = write(load).await?;
    let wrote_for = load.clock.monotonic() - begun;
    let mut seen = Tally::default();
    for watcher in watchers {
        seen.add(watcher.await.context("a watcher panicked")?);
    }
    let took = load.clock.monotonic() - begun;
    Ok(vec![load.phase("watched update", wrote_for, written), load.phase("watch event", took, seen)])
}

async fn revision(load: &mut Load) -> Result<String> {
    let list = load.fetch(&format!("{}?limit=1", load.collection())).await?;
    let list: Value = serde_json::from_slice(&list)?;
    let revision = list["metadata"]["resourceVersion"].as_str();
    Ok(revision.context("a list has a resourceVersion")?.to_owned())
}

async fn write(load: &mut Load) -> Result<Tally> {
    let (next, begun) = (Arc::new(AtomicU64::new(0)), load.clock.monotonic());
    let count = load.plan.watched_updates as u64;
    let idle = load.lanes.split_off(WRITERS.min(load.lanes.len()));
    let mut writers = Vec::new();
    for mut lane in std::mem::take(&mut load.lanes) {
        let (next, template, clock) = (Arc::clone(&next), load.template.clone(), load.clock.clone());
        let (target, collection) = (load.target.clone(), load.collection());
        let (objects, rate) = (load.plan.objects, load.plan.watched_rate);
        writers.push(task::spawn("writer", async move {
            let mut tally = Tally::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<(Lane, Tally), anyhow::Error>((lane, tally));
                }
                if rate > 0 {
                    let due = begun + Duration::from_nanos(number * 1_000_000_000 / rate as u64);
                    clock.sleep(due.saturating_sub(clock.monotonic())).await;
                }
                let object = usize::try_from(number)? % objects;
                let uri = target.uri(&format!("{collection}/{}", name(object)))?;
                let begun = clock.monotonic();
                let mark = format!("sent {}.", begun.as_nanos());
                let received = lane.count(Method::PUT, uri, template.fill(&name(object), &mark)).await?;
                if received.status.is_success() {
                    tally.success(received.bytes, clock.monotonic() - begun);
                } else {
                    tally.failure(|| format!("PUT: {}", received.status));
                }
            }
        }));
    }
    let mut all = Tally::default();
    for writer in writers {
        let (lane, tally) = writer.await.context("a writer panicked")??;
        load.lanes.push(lane);
        all.add(tally);
    }
    load.lanes.extend(idle);
    Ok(all)
}

async fn watch(mut events: Incoming, clock: Clock, expected: usize) -> Tally {
    let mark = Finder::new("sent ");
    let annotation = Finder::new(MARK);
    let mut tally = Tally::default();
    let mut rest = BytesMut::new();
    let mut last = 0;
    while tally.done < expected as u64 {
        let data = match timeout(PATIENCE, events.frame()).await {
            Ok(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            Ok(Some(Err(error))) => return failed(tally, || error.to_string()),
            Ok(None) => return failed(tally, || String::from("the watch ended")),
            Err(_) => return failed(tally, || String::from("an event did not come")),
        };
        rest.extend_from_slice(&data);
        while let Some(end) = memchr::memchr(b'\n', &rest) {
            let line = rest.split_to(end + 1);
            let sent = annotation.find(&line).and_then(|at| sent_at(&mark, &line[at..]));
            let before = std::mem::replace(&mut last, version_of(&line).unwrap_or_default());
            match sent {
                Some(_) if last <= before => {
                    return failed(tally, || format!("revision {last} came after {before}"));
                }
                Some(sent) => tally.success(line.len() as u64, clock.monotonic().saturating_sub(sent)),
                None => tally.failure(|| String::from_utf8_lossy(&line).chars().take(300).collect()),
            }
        }
    }
    tally
}

/// The revision of the object in an event.
fn version_of(line: &[u8]) -> Option<u64> {
    let digits = &line[memmem::find(line, VERSION)? + VERSION.len()..];
    std::str::from_utf8(&digits[..memchr::memchr(b'"', digits)?]).ok()?.parse().ok()
}

fn failed(mut tally: Tally, complaint: impl FnOnce() -> String) -> Tally {
    tally.failure(complaint);
    tally
}

/// When the update was sent, out of `…sent 12345.…`.
fn sent_at(mark: &Finder<'_>, line: &[u8]) -> Option<Duration> {
    let digits = &line[mark.find(line)? + mark.needle().len()..];
    let digits = &digits[..memchr::memchr(b'.', digits)?];
    let nanos: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_has_the_revision_of_its_object() {
        for (line, expected) in [
            (r#"{"metadata":{"uid":"u","resourceVersion":"17","x":"18"}}"#, Some(17)),
            (r#"{"metadata":{"resourceVersion":"x"}}"#, None),
            ("{}", None),
        ] {
            assert_eq!(version_of(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn the_time_of_an_update_travels_in_the_event() {
        for (line, expected) in [
            (r#""bench.example.com/mark":"sent 1500.","x""#, Some(1500)),
            (r#""bench.example.com/mark":"round 7""#, None),
            ("sent x.", None),
        ] {
            let found = sent_at(&Finder::new("sent "), line.as_bytes());
            assert_eq!(found, expected.map(Duration::from_nanos), "{line}");
        }
    }
}
