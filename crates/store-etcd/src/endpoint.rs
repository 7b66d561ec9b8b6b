//! Endpoints: the forms in which the address of an etcd member can be written, and how to connect to it.
//!
//! ```text
//! https://10.0.0.1:2379  unixs:///run/etcd.sock          TLS
//! http://10.0.0.1:2379                                   no TLS
//! 10.0.0.1:2379  unix:///run/kine.sock  unix://kine.sock TLS if certificates were given
//! ```
//!
//! The first endpoint of a list decides about TLS for all of them, as for every client of etcd.
//!
//! Upstream: etcd client/v3/internal/endpoint/endpoint.go, translateEndpoint, and client/v3/client.go,
//! credentialsForEndpoint (v3.6.8).

use std::io;
use std::path::PathBuf;

use http::Uri;
use tokio::net::{TcpStream, UnixStream};

/// Whether an endpoint is reached with TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Security {
    Required,
    Absent,
    /// Only if certificates are configured.
    Optional,
}

/// The endpoint of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) address: Address,
    /// The name in the member's certificate.
    pub(crate) server_name: String,
    pub(crate) security: Security,
}

/// The address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// `host:port`. Anything else fails when it is connected to, so that one wrong endpoint of a list does no
    /// harm.
    Tcp(String),
    Unix(PathBuf),
}

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Endpoint {
        for (scheme, security) in [("unix:", Security::Optional), ("unixs:", Security::Required)] {
            let Some(path) = text.strip_prefix(scheme) else { continue };
            let path = path.strip_prefix("//").unwrap_or(path);
            let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            return Endpoint {
                address: Address::Unix(PathBuf::from(path)),
                server_name: host(name).to_owned(),
                security,
            };
        }
        let security = match text.split_once("://").map(|(scheme, _)| scheme) {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => Security::Required,
            Some(scheme) if scheme.eq_ignore_ascii_case("http") => Security::Absent,
            _ => Security::Optional,
        };
        let address = match (security, text.split_once("://")) {
            (Security::Required | Security::Absent, Some((_, rest))) => authority(rest),
            _ => text,
        };
        let server_name = host(address).to_owned();
        Endpoint { address: Address::Tcp(address.to_owned()), server_name, security }
    }

    /// The host that requests to the member name.
    pub(crate) fn origin(&self, is_tls: bool) -> Option<Uri> {
        let authority = match &self.address {
            Address::Tcp(address) => address.as_str(),
            // A path is not a host. gRPC uses this instead.
            Address::Unix(_) => "localhost",
        };
        let scheme = if is_tls { "https" } else { "http" };
        Uri::builder().scheme(scheme).authority(authority).path_and_query("/").build().ok()
    }
}

impl Address {
    pub(crate) async fn connect(&self) -> io::Result<Stream> {
        match self {
            Address::Unix(path) => UnixStream::connect(path).await.map(Stream::Unix),
            Address::Tcp(address) => {
                let (host, port) = split_host_port(address)?;
                let stream = TcpStream::connect((host, port)).await?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

/// A connection without TLS.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// `user@host:port/path?query` without the parts that do not matter to a connection.
fn authority(rest: &str) -> &str {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

/// The host of `host:port`, without brackets; all of it if there is no port.
fn host(address: &str) -> &str {
    split(address).map_or(address, |(host, _)| host)
}

fn split_host_port(address: &str) -> io::Result<(&str, u16)> {
    let unusable =
        |problem: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("address {address}: {problem}"));
    let (host, port) = split(address).map_err(unusable)?;
    let port = port.parse().map_err(|_| unusable("invalid port"))?;
    Ok((if host.is_empty() { "localhost" } else { host }, port))
}

/// Upstream: Go's net.SplitHostPort, whose words these are.
fn split(address: &str) -> Result<(&str, &str), &'static str> {
    const MISSING_PORT: &str = "missing port in address";
    const TOO_MANY_COLONS: &str = "too many colons in address";
    if let Some(rest) = address.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("missing ']' in address")?;
        return match rest.strip_prefix(':') {
            Some(port) if !port.contains(':') => Ok((host, port)),
            Some(_) => Err(TOO_MANY_COLONS),
            None => Err(MISSING_PORT),
        };
    }
    let (host, port) = address.split_once(':').ok_or(MISSING_PORT)?;
    if port.contains(':') { Err(TOO_MANY_COLONS) } else { Ok((host, port)) }
}

#[cfg(test)]
mod tests {
    use super::{Address, Endpoint, Security};

    #[track_caller]
    fn check(text: &str, address: &str, server_name: &str, security: Security) {
        let endpoint = Endpoint::parse(text);
        let found = match &endpoint.address {
            Address::Tcp(address) => format!("tcp {address}"),
            Address::Unix(path) => format!("unix {}", path.display()),
        };
        let found = (found.as_str(), endpoint.server_name.as_str(), endpoint.security);
        assert_eq!(found, (address, server_name, security), "{text}");
    }

    /// The cases of etcd's own test of its endpoints, and what an operator may write beside them.
    #[test]
    fn every_form_of_an_endpoint() {
        use Security::{Absent, Optional, Required};
        check("unix:/tmp/abs.sock", "unix /tmp/abs.sock", "abs.sock", Optional);
        check("unix:/tmp/abs.sock:123", "unix /tmp/abs.sock:123", "abs.sock", Optional);
        check("unix:///tmp/abs.sock", "unix /tmp/abs.sock", "abs.sock", Optional);
        check("unix:local.sock", "unix local.sock", "local.sock", Optional);
        check("unix://local.sock", "unix local.sock", "local.sock", Optional);
        check("unix://127.0.0.1:2222", "unix 127.0.0.1:2222", "127.0.0.1", Optional);
        check("unix://temp/local.sock", "unix temp/local.sock", "local.sock", Optional);
        check("unixs:///tmp/abs.sock", "unix /tmp/abs.sock", "abs.sock", Required);
        check("unixs:local.sock", "unix local.sock", "local.sock", Required);
        check("unixs://localhost:m0", "unix localhost:m0", "localhost", Required);
        check("http://127.0.0.1:2379", "tcp 127.0.0.1:2379", "127.0.0.1", Absent);
        check("HTTP://127.0.0.1:2379", "tcp 127.0.0.1:2379", "127.0.0.1", Absent);
        check("https://127.0.0.1:2379/a/path?q=1", "tcp 127.0.0.1:2379", "127.0.0.1", Required);
        check(
            "https://user:pw@etcd.example.com:2379",
            "tcp etcd.example.com:2379",
            "etcd.example.com",
            Required,
        );
        check("https://[::1]:2379", "tcp [::1]:2379", "::1", Required);
        check("localhost:2379", "tcp localhost:2379", "localhost", Optional);
        check("10.0.0.44:437", "tcp 10.0.0.44:437", "10.0.0.44", Optional);
        check("localhost", "tcp localhost", "localhost", Optional);
        check("dns://8.8.8.8/a:1", "tcp dns://8.8.8.8/a:1", "dns://8.8.8.8/a:1", Optional);
    }

    #[tokio::test]
    async fn wrong_addresses_fail_when_they_are_used() {
        for (text, problem) in [
            ("http://127.0.0.1", "address 127.0.0.1: missing port in address"),
            ("tcp://127.0.0.1:2379", "address tcp://127.0.0.1:2379: too many colons in address"),
            ("http://[::1:2379", "address [::1:2379: missing ']' in address"),
            ("127.0.0.1:70000", "address 127.0.0.1:70000: invalid port"),
        ] {
            let error = Endpoint::parse(text).address.connect().await.err().map(|it| it.to_string());
            assert_eq!(error.as_deref(), Some(problem), "{text}");
        }
    }

    #[test]
    fn requests_name_a_host() {
        let origin = |text: &str, is_tls| Endpoint::parse(text).origin(is_tls).map(|it| it.to_string());
        assert_eq!(origin("unix:///run/kine.sock", false).as_deref(), Some("http://localhost/"));
        assert_eq!(origin("https://[::1]:2379/x", true).as_deref(), Some("https://[::1]:2379/"));
        assert_eq!(origin("a b", false), None);
    }
}
