//! Process metrics: CPU, memory, files. Empty if the system does not provide them.

use std::fs;
use std::sync::Arc;

use super::Registry;
use super::family::{Computed, Kind};

/// Adds the `process_*` families.
pub fn add_to(registry: &Registry) {
    let number = |name, help, kind, compute: fn() -> Option<f64>| {
        registry.add(Arc::new(Computed::number(name, help, kind, compute)));
    };
    number("process_cpu_seconds_total", "CPU seconds used by the process.", Kind::Counter, cpu_seconds);
    number(
        "process_resident_memory_bytes",
        "Memory of the process that is in RAM.",
        Kind::Gauge,
        resident_bytes,
    );
    number("process_virtual_memory_bytes", "Address space of the process.", Kind::Gauge, virtual_bytes);
    number(
        "process_virtual_memory_max_bytes",
        "Largest address space that the process may have.",
        Kind::Gauge,
        max_virtual_bytes,
    );
    number(
        "process_network_receive_bytes_total",
        "Bytes that came in over the network of the process.",
        Kind::Counter,
        || octets("InOctets"),
    );
    number(
        "process_network_transmit_bytes_total",
        "Bytes that went out over the network of the process.",
        Kind::Counter,
        || octets("OutOctets"),
    );
    number("process_open_fds", "Open file descriptors.", Kind::Gauge, open_files);
    number("process_max_fds", "Most file descriptors that may be open.", Kind::Gauge, max_files);
    add_start_time_to(registry, "When the process started, in Unix time.");
}

/// Adds the start time of the process, which is needed to interpret counters.
pub(super) fn add_start_time_to(registry: &Registry, help: &'static str) {
    registry.add(Arc::new(Computed::number("process_start_time_seconds", help, Kind::Gauge, start_time)));
}

/// Linux counts in hundredths of a second in `/proc`, whatever it does internally.
const TICKS_PER_SECOND: f64 = 100.0;

fn cpu_seconds() -> Option<f64> {
    let ticks = stat_field(13)? + stat_field(14)?;
    Some(ticks / TICKS_PER_SECOND)
}

fn virtual_bytes() -> Option<f64> {
    stat_field(22)
}

fn resident_bytes() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim().strip_suffix("kB")?;
    Some(kilobytes.trim().parse::<f64>().ok()? * 1024.0)
}

fn start_time() -> Option<f64> {
    let since_boot = stat_field(21)? / TICKS_PER_SECOND;
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + since_boot)
}

fn open_files() -> Option<f64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count() as f64)
}

fn max_files() -> Option<f64> {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.map(|it| it as f64)
}

/// Without a limit it is the largest number, as in upstream.
#[allow(clippy::unnecessary_wraps)]
fn max_virtual_bytes() -> Option<f64> {
    Some(rustix::process::getrlimit(rustix::process::Resource::As).current.unwrap_or(u64::MAX) as f64)
}

/// A column of the two lines that `/proc/self/net/netstat` has about IP: names, and numbers below them.
fn octets(column: &str) -> Option<f64> {
    let text = fs::read_to_string("/proc/self/net/netstat").ok()?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let position = names.split_whitespace().position(|it| it == column)?;
    numbers.split_whitespace().nth(position)?.parse().ok()
}

/// The n-th field of `/proc/self/stat`, counted from zero. The second is in parentheses and may hold spaces.
fn stat_field(position: usize) -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(position.checked_sub(2)?)?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::Registry;

    #[test]
    fn a_process_takes_something() {
        let registry = Registry::default();
        super::add_to(&registry);
        let text = registry.text();
        for name in [
            "process_resident_memory_bytes ",
            "process_virtual_memory_max_bytes ",
            "process_network_receive_bytes_total ",
            "process_network_transmit_bytes_total ",
            "process_open_fds ",
            "process_start_time_seconds ",
        ] {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            let number: f64 = line[name.len()..].parse().unwrap();
            // A machine may have no traffic at all.
            assert!(number > 0.0 || name.contains("network"), "{line}");
        }
    }
}
