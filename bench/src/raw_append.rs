//! What the disk gives: records appended to a file, one fdatasync for all that wait.
//!
//! The batching is that of a group commit: every writer hands in one record and waits; the one who
//! appends takes everything that waits, appends it, syncs once and lets all of them go on.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use keelson_stdx::clock::Clock;

use crate::measure::{Phase, Tally};

/// A record and where to say that it is durable.
struct Record {
    bytes: Vec<u8>,
    durable: Sender<()>,
}

/// `writers` writers, `records` records of `size` bytes in all.
pub fn run(folder: &Path, writers: usize, records: usize, size: usize) -> Result<Phase> {
    let clock = Clock::real();
    let file = File::create(folder.join("raw-append")).context("a file to append to")?;
    let (queue, waiting) = channel();
    let begun = clock.monotonic();
    let mut all = Tally::default();
    thread::scope(|scope| -> Result<()> {
        let appender = scope.spawn(move || append(file, &waiting));
        let workers: Vec<_> = (0..writers)
            .map(|number| {
                let share = records / writers + usize::from(number < records % writers);
                let (queue, clock) = (queue.clone(), clock.clone());
                scope.spawn(move || write(&queue, &clock, share, size))
            })
            .collect();
        drop(queue);
        for worker in workers {
            all.add(worker.join().expect("a writer does not panic"));
        }
        appender.join().expect("the appender does not panic")
    })?;
    Ok(Phase::new("raw append", clock.monotonic() - begun, all))
}

fn write(queue: &Sender<Record>, clock: &Clock, records: usize, size: usize) -> Tally {
    let mut tally = Tally::default();
    for _ in 0..records {
        let begun: Duration = clock.monotonic();
        let (durable, done) = channel();
        let bytes = vec![b'k'; size];
        if queue.send(Record { bytes, durable }).is_err() || done.recv().is_err() {
            tally.failure(|| String::from("the file cannot be written"));
            return tally;
        }
        tally.success(size as u64, clock.monotonic() - begun);
    }
    tally
}

fn append(mut file: File, waiting: &Receiver<Record>) -> Result<()> {
    let mut batch = Vec::new();
    while let Ok(first) = waiting.recv() {
        batch.push(first);
        batch.extend(waiting.try_iter());
        for record in &batch {
            file.write_all(&record.bytes)?;
        }
        file.sync_data()?;
        for record in batch.drain(..) {
            let _ = record.durable.send(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let phase = run(folder.path(), 3, 10, 100).unwrap();
        assert_eq!((phase.done, phase.failed, phase.bytes), (10, 0, 1000));
        assert_eq!(std::fs::metadata(folder.path().join("raw-append")).unwrap().len(), 1000);
    }
}
