//! Machine: environment, terminal, host name and addresses.

use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::PathBuf;

use crate::config::Environment;

/// The environment of this process.
#[must_use]
pub fn environment() -> Environment {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Environment { xdg_data_home: folder("XDG_DATA_HOME"), home: folder("HOME"), addresses: addresses() }
}

/// The width of the terminal on standard output, if it is one.
#[must_use]
pub fn terminal_columns() -> Option<usize> {
    let output = io::stdout();
    if !output.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(output).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The host name.
#[must_use]
pub fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
    Some(name).filter(|name| is_dns_name(name))
}

fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() < 64
            && label.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    name.len() < 254 && name.split('.').all(is_label)
}

/// The addresses of the machine; that of the default route first, no loopback and no link-local ones.
fn addresses() -> Vec<IpAddr> {
    let mut found = Vec::new();
    found.extend(route_to(Ipv4Addr::new(192, 0, 2, 1).into()));
    found.extend(route_to(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into()));
    // Other systems have no such files; the addresses of the routes are enough there.
    found.extend(local_v4(&std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default()));
    found.extend(local_v6(&std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default()));
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found {
        if is_usable(&address) && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

fn is_usable(address: &IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    !address.is_loopback() && !address.is_unspecified() && !is_link_local
}

/// The source address of packets to `target`. Nothing is sent: a connected UDP socket is only an entry in the
/// kernel.
fn route_to(target: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match target {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect((target, 9)).ok()?;
    socket.local_addr().ok().map(|local| local.ip())
}

/// In Linux's table an address is in the line before its `host LOCAL`:
///
/// ```text
///            |-- 10.1.2.3
///               /32 host LOCAL
/// ```
fn local_v4(table: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    let mut last = "";
    for line in table.lines() {
        match line.trim().strip_prefix("|-- ") {
            Some(address) => last = address,
            None if line.contains("/32 host LOCAL") => found.extend(last.parse::<IpAddr>()),
            None => (),
        }
    }
    found
}

/// Linux writes an address in 32 hexadecimal digits at the beginning of a line.
fn local_v6(table: &str) -> Vec<IpAddr> {
    let address = |line: &str| u128::from_str_radix(line.split_whitespace().next()?, 16).ok();
    table.lines().filter_map(address).map(|bits| Ipv6Addr::from_bits(bits).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::{addresses, is_dns_name, local_v4, local_v6};

    #[test]
    fn tables_of_the_kernel_are_read() {
        let table = "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.1.2.0\n        /24 link UNICAST\n     \
                     |-- 10.1.2.3\n        /32 host LOCAL\n     |-- 10.1.2.255\n        /32 link BROADCAST\n";
        assert_eq!(local_v4(table), ["10.1.2.3".parse::<std::net::IpAddr>().expect("an address")]);
        let table = "00000000000000000000000000000001 01 80 10 80       lo\nfd000000000000000000000000000007 02 40 00 80 eth0\n";
        assert_eq!(local_v6(table).len(), 2);
        assert_eq!(local_v6(table)[1].to_string(), "fd00::7");
        assert!(local_v4("").is_empty() && local_v6("rubbish").is_empty());
    }

    #[test]
    fn loopback_is_not_among_the_addresses() {
        assert!(addresses().iter().all(|address| !address.is_loopback()));
    }

    #[test]
    fn only_names_that_can_be_asked_for_are_names() {
        assert!(is_dns_name("my-host.example.com") && is_dns_name("my_host"));
        assert!(!is_dns_name("") && !is_dns_name("a..b") && !is_dns_name("h\u{e4}"));
    }
}
