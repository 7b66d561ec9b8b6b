//! WebhookClientConfig: the service or the URL of a webhook, and its CA bundle. Admission webhooks and
//! conversion webhooks are configured alike.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::Map;

use crate::{Protocols, Services, Target, Trust};

/// The address of a webhook, and its CA bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientConfig {
    place: Place,
    /// The CA bundle in PEM; if it is empty, the CAs of the system are trusted.
    authorities: Vec<u8>,
}

/// The address of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Place {
    Url {
        origin: String,
        path: String,
    },
    Service {
        namespace: String,
        name: String,
        port: u16,
        path: String,
    },
    /// Neither; validation does not admit that.
    #[default]
    Nowhere,
}

impl ClientConfig {
    /// Reads `clientConfig`.
    #[must_use]
    pub fn read(map: &Map) -> ClientConfig {
        let bundle = map.str("caBundle").unwrap_or_default();
        ClientConfig { place: Place::read(map), authorities: STANDARD.decode(bundle).unwrap_or_default() }
    }

    /// The same, but a CA bundle of nothing but white space counts as none.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apiserver/conversion/webhook_converter.go, webhookClientConfigForCRD
    /// (v1.36.4).
    #[must_use]
    pub fn without_blank_bundle(mut self) -> ClientConfig {
        if self.authorities.trim_ascii().is_empty() {
            self.authorities.clear();
        }
        self
    }

    /// The path of the webhook; `None` if it has no address.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        match &self.place {
            Place::Url { path, .. } | Place::Service { path, .. } => Some(path),
            Place::Nowhere => None,
        }
    }

    /// The host and the port.
    #[must_use]
    pub fn address(&self) -> String {
        match &self.place {
            Place::Service { namespace, name, port, .. } => format!("{name}.{namespace}.svc:{port}"),
            Place::Url { origin, .. } => address(origin).1,
            Place::Nowhere => String::new(),
        }
    }

    /// The target of calls, without the path.
    ///
    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/client.go, hookClientConfig (v1.36.4).
    #[must_use]
    pub fn target(&self, services: &Services) -> Target {
        let mut target = match &self.place {
            Place::Service { namespace, name, .. } => {
                let mut target = Target::new(format!("https://{}", self.address()));
                target.server_name = Some(format!("{name}.{namespace}.svc"));
                target.resolver = Some(services.resolver(namespace, name));
                target.proxy = services.proxies().services.clone();
                target.protocols = Protocols::Http1;
                target
            }
            Place::Url { origin, .. } => {
                let mut target = Target::new(origin.clone());
                target.proxy = services.proxies().urls.clone();
                target.protocols =
                    if is_local(address(origin).0) { Protocols::Any } else { Protocols::Http1 };
                target
            }
            Place::Nowhere => return Target::new(""),
        };
        target.agent = Some("kube-apiserver-admission");
        if !self.authorities.is_empty() {
            target.trust = Trust::Bundle(self.authorities.clone());
        }
        target
    }
}

impl Place {
    fn read(client: &Map) -> Place {
        if let Some(service) = client.map("service") {
            let text = |key: &str| service.str(key).unwrap_or_default().to_owned();
            let port = service.int("port").and_then(|it| u16::try_from(it).ok()).unwrap_or(443);
            return Place::Service {
                namespace: text("namespace"),
                name: text("name"),
                port,
                path: rooted(service.str("path").unwrap_or_default()),
            };
        }
        let Some(url) = client.str("url") else { return Place::Nowhere };
        let after_scheme = url.find("://").map_or(0, |it| it + 3);
        let path = url[after_scheme..].find('/').map_or(url.len(), |it| after_scheme + it);
        Place::Url { origin: url[..path].to_owned(), path: rooted(&url[path..]) }
    }
}

fn rooted(path: &str) -> String {
    format!("/{}", path.trim_start_matches('/'))
}

/// The host of an origin, and the host with its port.
fn address(origin: &str) -> (&str, String) {
    let all = origin.split_once("://").map_or(origin, |(_, it)| it);
    let after_brackets = all.rfind(']').map_or(0, |it| it + 1);
    match all[after_brackets..].rfind(':') {
        Some(colon) => (&all[..after_brackets + colon], all.to_owned()),
        None => (all, format!("{all}:443")),
    }
}

fn is_local(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|it| it.is_loopback())
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;

    use super::{ClientConfig, address, is_local};
    use crate::{Services, Trust};

    #[test]
    fn hosts_have_ports() {
        for (origin, host, expected) in [
            ("https://a.example.com", "a.example.com", "a.example.com:443"),
            ("https://a:8443", "a", "a:8443"),
            ("https://[::1]", "[::1]", "[::1]:443"),
            ("https://[::1]:8443", "[::1]", "[::1]:8443"),
        ] {
            assert_eq!(address(origin), (host, expected.to_owned()));
        }
    }

    #[test]
    fn this_machine_is_known() {
        for (host, expected) in [("Localhost", true), ("127.0.0.9", true), ("[::1]", true), ("a.b", false)] {
            assert_eq!(is_local(host), expected, "{host}");
        }
    }

    #[test]
    fn a_bundle_of_white_space_counts_as_none_where_that_is_wanted() {
        let mut map = Map::new();
        map.push_new("url", "https://a.example.com/convert");
        map.push_new("caBundle", "IAo=");
        let config = ClientConfig::read(&map);
        assert_eq!(config.path(), Some("/convert"));
        let trust = |config: &ClientConfig| config.target(&Services::default()).trust;
        assert_eq!(trust(&config), Trust::Bundle(b" \n".to_vec()));
        assert_eq!(trust(&config.without_blank_bundle()), Trust::System);
    }

    #[test]
    fn a_service_is_called_by_its_name_and_port() {
        let mut service = Map::new();
        service.push_new("name", "hooks");
        service.push_new("namespace", "ns");
        let mut map = Map::new();
        map.push_new("service", service);
        let config = ClientConfig::read(&map);
        assert_eq!((config.address().as_str(), config.path()), ("hooks.ns.svc:443", Some("/")));
        assert_eq!(ClientConfig::default().path(), None);
    }
}
