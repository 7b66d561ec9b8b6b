//! Kubeconfig of the administrator.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The parts of a kubeconfig; certificates and key in PEM.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access<'a> {
    /// The address of the server.
    pub(super) address: SocketAddr,
    /// The CA of the server.
    pub(super) authority: &'a str,
    /// The certificate of the administrator.
    pub(super) certificate: &'a str,
    /// Its key.
    pub(super) key: &'a str,
}

impl Access<'_> {
    /// A kubeconfig with embedded certificates and key.
    pub(super) fn kubeconfig(&self) -> String {
        let [server, authority, certificate, key] = self.facts();
        format!(
            "apiVersion: v1\n\
             kind: Config\n\
             clusters:\n\
             - name: keelson\n\
             \x20 cluster:\n\
             \x20   server: {server}\n\
             \x20   certificate-authority-data: {authority}\n\
             users:\n\
             - name: kubernetes-admin\n\
             \x20 user:\n\
             \x20   client-certificate-data: {certificate}\n\
             \x20   client-key-data: {key}\n\
             contexts:\n\
             - name: kubernetes-admin@keelson\n\
             \x20 context:\n\
             \x20   cluster: keelson\n\
             \x20   user: kubernetes-admin\n\
             current-context: kubernetes-admin@keelson\n"
        )
    }

    /// Whether a kubeconfig is still valid for this server. Users may have changed the rest of it, for
    /// example the namespace.
    pub(super) fn is_in(&self, kubeconfig: &str) -> bool {
        self.facts()
            .iter()
            .all(|fact| kubeconfig.split_whitespace().any(|word| word.trim_matches('"') == fact))
    }

    fn facts(&self) -> [String; 4] {
        let encode = |pem: &str| STANDARD.encode(pem);
        [url(self.address), encode(self.authority), encode(self.certificate), encode(self.key)]
    }
}

/// The URL by which a client on this machine reaches a server that listens at `address`.
#[must_use]
pub(crate) fn url(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::{Access, url};

    #[track_caller]
    fn check(address: &str, expected: &str) {
        assert_eq!(url(address.parse().expect("an address")), expected);
    }

    #[test]
    fn a_client_can_call_the_url() {
        check("127.0.0.1:6443", "https://127.0.0.1:6443");
        check("0.0.0.0:6443", "https://127.0.0.1:6443");
        check("[::]:6443", "https://[::1]:6443");
        check("10.0.0.7:443", "https://10.0.0.7:443");
    }

    #[test]
    fn a_file_that_a_user_changed_still_leads_here() {
        let address = "127.0.0.1:6443".parse().expect("an address");
        let access = Access { address, authority: "ca", certificate: "cert", key: "key" };
        let file = access.kubeconfig();
        assert!(access.is_in(&file));
        assert!(
            access.is_in(&file.replace("    cluster: keelson", "    cluster: keelson\n    namespace: dev"))
        );
        assert!(!access.is_in(""));
        let moved = Access { address: "127.0.0.1:7443".parse().expect("an address"), ..access };
        assert!(!moved.is_in(&file));
    }
}
