//! Progress bar on the terminal; nothing if there is no terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use keelson_stdx::clock::Clock;

const WIDTH: u64 = 30;
/// How often the bar is updated.
const INTERVAL: Duration = Duration::from_millis(100);

/// The progress of a command.
pub(crate) struct Progress {
    what: &'static str,
    total: Option<u64>,
    done: u64,
    shown_at: Duration,
    clock: Clock,
    is_shown: bool,
}

impl Progress {
    /// No progress yet. `total` is the amount of work, if it is known.
    pub(crate) fn new(what: &'static str, total: Option<u64>, clock: &Clock) -> Progress {
        let is_shown = std::io::stderr().is_terminal();
        Progress { what, total, done: 0, shown_at: Duration::ZERO, clock: clock.clone(), is_shown }
    }

    /// Adds progress.
    pub(crate) fn add(&mut self, count: u64) {
        self.done += count;
        let now = self.clock.monotonic();
        if self.is_shown && now.saturating_sub(self.shown_at) >= INTERVAL {
            self.shown_at = now;
            eprint!("\r{}", line(self.what, self.done, self.total));
            let _ = std::io::stderr().flush();
        }
    }

    /// Removes the bar, and returns how much was done.
    pub(crate) fn end(self) -> u64 {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
        self.done
    }
}

fn line(what: &str, done: u64, total: Option<u64>) -> String {
    let Some(total) = total.filter(|total| *total >= done && *total > 0) else {
        return format!("{what} {done}");
    };
    let full = (done * WIDTH / total) as usize;
    let empty = WIDTH as usize - full;
    format!("{what} [{}{}] {done}/{total} {}%", "#".repeat(full), ".".repeat(empty), done * 100 / total)
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_bar_shows_how_far_it_is() {
        assert_eq!(line("entries", 0, Some(4)), "entries [..............................] 0/4 0%");
        assert_eq!(line("entries", 1, Some(2)), "entries [###############...............] 1/2 50%");
        assert_eq!(line("entries", 2, Some(2)), "entries [##############################] 2/2 100%");
        assert_eq!(line("entries", 7, None), "entries 7");
        assert_eq!(line("entries", 7, Some(5)), "entries 7", "more than expected");
    }
}
