//! Hook: one webhook of a configuration, ready to be asked.

use std::sync::OnceLock;
use std::time::Duration;

use keelson_object::selector::label::Selector;
use keelson_object::{Map, Object, Value};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Accounts, Client, Error, Protocols, Target, Trust};

use super::breaker::Circuit;
use super::service::Services;
use super::text_list;

/// One webhook.
pub(crate) struct Hook {
    /// The configuration that it stands in.
    pub(crate) configuration: String,
    /// `pods.example.com`
    pub(crate) name: String,
    /// Tells it apart from all others, also from others of its name.
    pub(crate) id: String,
    pub(crate) rules: Vec<Rule>,
    /// Whether other versions of what the rules name are meant, too.
    pub(crate) equivalent: bool,
    pub(crate) namespaces: Selector,
    pub(crate) objects: Selector,
    /// Whether a request passes when the webhook cannot be asked.
    pub(crate) ignores_failure: bool,
    /// Whether it may be asked when nothing is to be written.
    pub(crate) dry_run: bool,
    /// Whether it wants to see what others have changed.
    pub(crate) reinvoked: bool,
    pub(crate) timeout: Duration,
    /// The form of review that it reads, if it is one that we write.
    pub(crate) review: Option<Review>,
    /// Whether it is asked at all.
    pub(crate) circuit: Circuit,
    place: Place,
    authorities: Vec<u8>,
    client: OnceLock<Client>,
}

/// What is needed to reach webhooks.
pub(crate) struct Reach {
    pub(crate) services: Services,
    pub(crate) accounts: Accounts,
}

/// The forms of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Review {
    V1,
    V1beta1,
}

/// What a webhook wants to be asked about.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) operations: Vec<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) versions: Vec<String>,
    /// `pods`, `pods/status`, `*/*`.
    pub(crate) resources: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`.
    pub(crate) scope: String,
}

/// Where a webhook listens.
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
    /// Neither; validation lets nobody write that.
    Nowhere,
}

impl Hook {
    /// The webhooks of a configuration, in order.
    pub(crate) fn all(configuration: &Object) -> Vec<Hook> {
        let hooks = configuration.fields.maps("webhooks").enumerate();
        hooks.map(|(position, hook)| Hook::read(configuration, position, hook)).collect()
    }

    fn read(configuration: &Object, position: usize, map: &Map) -> Hook {
        let text = |key: &str| map.str(key).unwrap_or_default();
        // An empty selector selects everything; one that makes no sense was refused when it was written.
        let selector = |key: &str| {
            let selector = map.map(key).map(Selector::from_label_selector);
            selector.and_then(Result::ok).unwrap_or_else(|| Selector::from_labels([]))
        };
        let known = |version: &str| match version {
            "v1" => Some(Review::V1),
            "v1beta1" => Some(Review::V1beta1),
            _ => None,
        };
        let client = map.map("clientConfig");
        let bundle = client.and_then(|it| it.str("caBundle")).unwrap_or_default();
        let seconds = map.int("timeoutSeconds").and_then(|it| u64::try_from(it).ok()).unwrap_or(10);
        Hook {
            configuration: configuration.meta.name.to_string(),
            name: text("name").to_owned(),
            id: format!("{}/{position}/{}", configuration.meta.name, text("name")),
            rules: map.maps("rules").map(Rule::read).collect(),
            equivalent: text("matchPolicy") != "Exact",
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            ignores_failure: text("failurePolicy") == "Ignore",
            dry_run: matches!(text("sideEffects"), "None" | "NoneOnDryRun"),
            reinvoked: text("reinvocationPolicy") == "IfNeeded",
            timeout: Duration::from_secs(seconds),
            review: map.list("admissionReviewVersions").iter().filter_map(Value::as_str).find_map(known),
            place: client.map_or(Place::Nowhere, Place::read),
            circuit: Circuit::default(),
            authorities: base64::Engine::decode(&base64::engine::general_purpose::STANDARD, bundle)
                .unwrap_or_default(),
            client: OnceLock::new(),
        }
    }

    /// Who asks it, on connections that are kept as long as the configuration stays as it is; and the path.
    pub(crate) fn client(&self, reach: &Reach, clock: &Clock) -> Result<(&Client, &str), String> {
        let path = match &self.place {
            Place::Url { path, .. } | Place::Service { path, .. } => path,
            Place::Nowhere => return Err("webhook configuration must have either service or URL".to_owned()),
        };
        if let Some(client) = self.client.get() {
            return Ok((client, path));
        }
        // What keeps us from making one may be gone the next time.
        let made = self.target(reach).and_then(|target| Client::new(target, clock));
        let made = made.map_err(|error| error.to_string())?;
        Ok((self.client.get_or_init(|| made), path))
    }

    /// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/client.go, hookClientConfig (v1.36.4).
    fn target(&self, reach: &Reach) -> Result<Target, Error> {
        let (mut target, address) = match &self.place {
            Place::Service { namespace, name, port, .. } => {
                let host = format!("{name}.{namespace}.svc");
                let address = format!("{host}:{port}");
                let mut target = Target::new(format!("https://{address}"));
                target.server_name = Some(host);
                target.resolver = Some(reach.services.resolver(namespace, name));
                target.proxy = reach.services.proxies().services.clone();
                target.protocols = Protocols::Http1;
                (target, address)
            }
            Place::Url { origin, .. } => {
                let (host, address) = address(origin);
                let mut target = Target::new(origin.clone());
                target.proxy = reach.services.proxies().urls.clone();
                target.protocols = if is_local(host) { Protocols::Any } else { Protocols::Http1 };
                (target, address)
            }
            Place::Nowhere => return Ok(Target::new("")),
        };
        target.agent = Some("kube-apiserver-admission");
        if !self.authorities.is_empty() {
            target.trust = Trust::Bundle(self.authorities.clone());
        }
        reach.accounts.equip(&address, &mut target)?;
        Ok(target)
    }
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

impl Rule {
    fn read(map: &Map) -> Rule {
        Rule {
            operations: text_list(map, "operations"),
            groups: text_list(map, "apiGroups"),
            versions: text_list(map, "apiVersions"),
            resources: text_list(map, "resources"),
            scope: map.str("scope").unwrap_or("*").to_owned(),
        }
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

#[cfg(test)]
mod tests {
    use super::{address, is_local};

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
}
