//! Memory use of a process, and the process that listens on a port.

use std::fs;

use anyhow::{Context, Result};

/// The resident memory of a process in bytes.
pub fn resident(pid: u32) -> Result<u64> {
    status_field(pid, "VmRSS:")
}

/// The largest resident memory that a process has had, in bytes.
pub fn resident_peak(pid: u32) -> Result<u64> {
    status_field(pid, "VmHWM:")
}

/// The local process that listens on a TCP port, if it is one of ours.
pub fn listener(port: u16) -> Option<u32> {
    let socket = listening_socket(port)?;
    let wanted = format!("socket:[{socket}]");
    let processes = fs::read_dir("/proc").ok()?;
    processes.flatten().find_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let mut files = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        files
            .any(|file| fs::read_link(file.path()).is_ok_and(|link| link.as_os_str() == wanted.as_str()))
            .then_some(pid)
    })
}

fn status_field(pid: u32, name: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u64 = kilobytes.with_context(|| format!("{path} has no {name}"))?.parse()?;
    Ok(kilobytes * 1024)
}

/// The inode of the socket that listens on `port`, from `/proc/net/tcp` and its sibling for IPv6.
fn listening_socket(port: u16) -> Option<u64> {
    const LISTEN: &str = "0A";
    let ending = format!(":{port:04X}");
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().skip(1).find_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let (local, state) = (columns.get(1)?, columns.get(3)?);
            let inode = columns.get(9)?.parse().ok()?;
            (local.ends_with(&ending) && *state == LISTEN).then_some(inode)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_own_memory_and_port() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let me = std::process::id();
        assert_eq!(listener(socket.local_addr().unwrap().port()), Some(me));
        assert!(resident(me).unwrap() > 100_000);
        assert!(resident_peak(me).unwrap() >= resident(me).unwrap() / 2);
    }
}
