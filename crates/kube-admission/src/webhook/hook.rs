//! Hook: one webhook of a configuration, ready to be called.

use std::sync::OnceLock;
use std::time::Duration;

use keelson_object::selector::label::Selector;
use keelson_object::{Map, Object, Value};
use keelson_stdx::clock::Clock;
use keelson_webhook_client::{Accounts, Client, ClientConfig, Error, ReviewVersion, Services, Target};

use super::breaker::Circuit;
use super::text_list;

/// One webhook.
pub(crate) struct Hook {
    /// The name of its configuration.
    pub(crate) configuration: String,
    /// `pods.example.com`
    pub(crate) name: String,
    /// A unique id, also among webhooks with the same name.
    pub(crate) id: String,
    pub(crate) rules: Vec<Rule>,
    /// Whether the rules match other versions, too (`matchPolicy: Equivalent`).
    pub(crate) equivalent: bool,
    pub(crate) namespaces: Selector,
    pub(crate) objects: Selector,
    /// Whether a request passes when the call fails.
    pub(crate) ignores_failure: bool,
    /// Whether it may be called for a dry run.
    pub(crate) dry_run: bool,
    /// Whether it is called again after later changes (`reinvocationPolicy`).
    pub(crate) reinvoked: bool,
    pub(crate) timeout: Duration,
    /// The version of AdmissionReview that it reads, if we support one of its versions.
    pub(crate) review: Option<ReviewVersion>,
    /// The circuit breaker.
    pub(crate) circuit: Circuit,
    config: ClientConfig,
    client: OnceLock<Client>,
}

/// The settings for reaching webhooks.
pub(crate) struct Reach {
    pub(crate) services: Services,
    pub(crate) accounts: Accounts,
}

/// A rule: the requests that a webhook is called for.
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

impl Hook {
    /// The webhooks of a configuration, in order.
    pub(crate) fn all(configuration: &Object) -> Vec<Hook> {
        let hooks = configuration.fields.maps("webhooks").enumerate();
        hooks.map(|(position, hook)| Hook::read(configuration, position, hook)).collect()
    }

    fn read(configuration: &Object, position: usize, map: &Map) -> Hook {
        let text = |key: &str| map.str(key).unwrap_or_default();
        // An empty selector selects everything; an invalid one was rejected when it was written.
        let selector = |key: &str| {
            let selector = map.map(key).map(Selector::from_label_selector);
            selector.and_then(Result::ok).unwrap_or_else(|| Selector::from_labels([]))
        };
        let mut versions = map.list("admissionReviewVersions").iter().filter_map(Value::as_str);
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
            review: versions.find_map(ReviewVersion::parse),
            config: map.map("clientConfig").map(ClientConfig::read).unwrap_or_default(),
            circuit: Circuit::default(),
            client: OnceLock::new(),
        }
    }

    /// The client of the webhook, whose connections are kept until the configuration changes; and the path.
    pub(crate) fn client(&self, reach: &Reach, clock: &Clock) -> Result<(&Client, &str), String> {
        let path = self.config.path().ok_or("webhook configuration must have either service or URL")?;
        if let Some(client) = self.client.get() {
            return Ok((client, path));
        }
        // Failures are not kept: the cause may be gone the next time.
        let made = self.target(reach).and_then(|target| Client::new(target, clock));
        let made = made.map_err(|error| error.to_string())?;
        Ok((self.client.get_or_init(|| made), path))
    }

    fn target(&self, reach: &Reach) -> Result<Target, Error> {
        let mut target = self.config.target(&reach.services);
        reach.accounts.equip(&self.config.address(), &mut target)?;
        Ok(target)
    }
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
