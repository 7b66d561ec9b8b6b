//! CPU profiles: a signal interrupts threads in proportion to the time they use, and their stack is recorded.
//!
//! See docs/decisions/0016-pprof-samples-the-processor.md.

use std::time::Duration;

use keelson_stdx::clock::Clock;
use pprof::{Frames, ProfilerGuard, ProfilerGuardBuilder};

use super::profile::{Call, Profile, Stack};

/// Samples per second, as in Go.
const FREQUENCY: i32 = 100;

/// Code in which a thread may hold the locks of the unwinder.
const NOT_INTERRUPTED: [&str; 4] = ["libc", "libgcc", "pthread", "vdso"];

/// Samples for the duration `time`, and returns a profile in pprof's format. Sampling stops when the request
/// is dropped.
pub(super) async fn profile(clock: &Clock, time: Duration) -> Result<Vec<u8>, String> {
    let sampler = ProfilerGuardBuilder::default().frequency(FREQUENCY).blocklist(&NOT_INTERRUPTED);
    let sampler = sampler.build().map_err(|error| match error {
        pprof::Error::Running => "cpu profiling already in use".to_owned(),
        other => other.to_string(),
    })?;
    let begun = clock.since_epoch();
    clock.sleep(time).await;
    // The names of functions are read from the binary, which takes long.
    let finished = tokio::task::spawn_blocking(move || finish(sampler, begun, time)).await;
    finished.map_err(|error| error.to_string())?
}

fn finish(sampler: ProfilerGuard<'static>, begun: Duration, duration: Duration) -> Result<Vec<u8>, String> {
    let report = sampler.report().build().map_err(|error| error.to_string())?;
    drop(sampler);
    let stacks = report.data.iter().map(|(frames, count)| stack(frames, *count)).collect();
    let period = Duration::from_secs(1) / FREQUENCY.unsigned_abs();
    Profile { begun, duration, period, stacks }.to_gzip().map_err(|error| error.to_string())
}

fn stack(frames: &Frames, count: isize) -> Stack {
    let calls = frames.frames.iter().flatten().map(|symbol| Call {
        function: symbol.name(),
        symbol: symbol.sys_name().into_owned(),
        file: symbol.filename().into_owned(),
        line: symbol.lineno(),
    });
    let calls = calls.skip_while(|it| is_sampler(&it.function)).collect();
    Stack { calls, thread: frames.thread_name.clone(), count: count as i64 }
}

/// Whether a function belongs to the sampler: the innermost calls of every stack walk the stack.
fn is_sampler(function: &str) -> bool {
    function.starts_with("backtrace::") || function.contains("pprof::")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keelson_stdx::clock::Clock;

    use super::{is_sampler, profile};

    #[test]
    fn the_sampler_is_no_part_of_a_stack() {
        assert!(is_sampler("backtrace::backtrace::trace_unsynchronized"));
        assert!(is_sampler("<pprof::backtrace::backtrace_rs::Trace as pprof::backtrace::Trace>::trace"));
        assert!(!is_sampler("keelson_codec::json::write"));
    }

    #[tokio::test]
    async fn one_profile_is_taken_at_a_time() {
        let (clock, time) = (Clock::real(), Duration::from_millis(100));
        let (first, second) = tokio::join!(profile(&clock, time), profile(&clock, time));
        assert!(first.expect("a profile").starts_with(&[0x1f, 0x8b]), "gzip");
        assert_eq!(second, Err("cpu profiling already in use".to_owned()));
    }
}
