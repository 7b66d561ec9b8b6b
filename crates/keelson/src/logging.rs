//! Logging: `tracing` events as lines on standard error.

mod health;

use std::io::{self, IsTerminal as _};
use std::sync::OnceLock;

use keelson_server::HTTP_LOG;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, reload};

use crate::config::{LogFormat, Logging};

pub use health::check;

/// The filter of log lines, which can be changed while the process runs.
static FILTER: OnceLock<reload::Handle<Targets, Registry>> = OnceLock::new();

/// Starts to log events. Later calls change nothing.
pub fn start(logging: Logging) {
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = match logging.format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let (filter, handle) = reload::Layer::new(filter(logging.level));
    // A test or an embedding program may have a log already.
    if tracing_subscriber::registry().with(lines.with_filter(filter)).try_init().is_ok() {
        let _ = FILTER.set(handle);
    }
}

/// Changes the verbosity, as `-v` does at the start.
pub fn set_level(level: u32) {
    let changed = FILTER.get().map(|it| it.reload(filter(level)));
    if !matches!(changed, Some(Ok(()))) {
        tracing::warn!(level, "the level of this log cannot be changed");
    }
}

/// From this level on every request is logged, as in upstream.
const REQUESTS: u32 = 3;

/// Up to 3 for operators, 4 and 5 for debugging, from 6 on everything; libraries do not log below 8.
fn filter(level: u32) -> Targets {
    let own = match level {
        0..4 => LevelFilter::INFO,
        4..6 => LevelFilter::DEBUG,
        6.. => LevelFilter::TRACE,
    };
    let others = match level {
        0..8 => LevelFilter::WARN,
        8..10 => LevelFilter::DEBUG,
        10.. => LevelFilter::TRACE,
    };
    let requests = if level >= REQUESTS { LevelFilter::INFO } else { LevelFilter::OFF };
    Targets::new().with_target("keelson", own).with_target(HTTP_LOG, requests).with_default(others)
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::{HTTP_LOG, filter};

    #[track_caller]
    fn check(level: u32, target: &str, expected: Level) {
        let filter = filter(level);
        let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
        let last = levels.iter().rfind(|level| filter.would_enable(target, level));
        assert_eq!(last, Some(&expected), "-v={level} for {target}");
    }

    #[test]
    fn requests_are_logged_from_level_3_on() {
        assert!(!filter(2).would_enable(HTTP_LOG, &Level::ERROR));
        for level in [3, 4, 6, 10] {
            check(level, HTTP_LOG, Level::INFO);
        }
    }

    #[test]
    fn more_is_logged_at_higher_levels() {
        for (level, own, others) in [
            (0, Level::INFO, Level::WARN),
            (2, Level::INFO, Level::WARN),
            (4, Level::DEBUG, Level::WARN),
            (6, Level::TRACE, Level::WARN),
            (8, Level::TRACE, Level::DEBUG),
            (10, Level::TRACE, Level::TRACE),
        ] {
            check(level, "keelson", own);
            check(level, "keelson_server::chain", own);
            check(level, "hyper::proto", others);
        }
    }
}
