//! Kubeconfig: a target from its current context.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_object::{Map, Value};

use crate::identity::read_file;
use crate::{Bearer, Error, Identity, Target, Trust};

impl Target {
    /// The target of the current context. Relative paths are relative to `folder`.
    ///
    /// Upstream: staging/src/k8s.io/client-go/tools/clientcmd (v1.36.4).
    pub fn from_kubeconfig(config: &Value, folder: &Path) -> Result<Target, Error> {
        let reader = Reader { root: config.as_map().ok_or_else(|| bad(NOTHING))?, folder };
        let cluster = reader.cluster()?;
        let server = cluster.str("server").unwrap_or_default();
        if server.is_empty() {
            let name = reader.name_of("cluster");
            return Err(bad(format!("no server found for cluster \"{name}\"")));
        }
        if cluster.str("proxy-url").is_some_and(|url| !url.is_empty()) {
            return Err(bad("proxy-url is not supported"));
        }
        let mut target = Target::new(server);
        target.trust = reader.trust(cluster)?;
        target.server_name = cluster.str("tls-server-name").filter(|it| !it.is_empty()).map(str::to_owned);
        if let Some(user) = reader.user()? {
            reader.add_user(user, &mut target)?;
        }
        Ok(target)
    }
}

/// Upstream's message for an empty kubeconfig, and for one without a current context.
const NOTHING: &str =
    "no configuration has been provided, try setting KUBERNETES_MASTER environment variable";

/// Finds things in a kubeconfig.
pub(crate) struct Reader<'a> {
    pub(crate) root: &'a Map,
    pub(crate) folder: &'a Path,
}

impl<'a> Reader<'a> {
    /// The current context; a kubeconfig of one cluster and one user needs none.
    fn context(&self) -> Result<Option<&'a Map>, Error> {
        match self.root.str("current-context").filter(|name| !name.is_empty()) {
            None => Ok(None),
            Some(name) => self.named("contexts", "context", name).map(Some).ok_or_else(|| {
                bad(format!(
                    "[context was not found for specified context: {name}, cluster has no server defined]"
                ))
            }),
        }
    }

    fn cluster(&self) -> Result<&'a Map, Error> {
        let name = self.context()?.and_then(|it| it.str("cluster")).unwrap_or_default();
        self.named("clusters", "cluster", name).ok_or_else(|| match name {
            "" => bad(NOTHING),
            name => bad(format!("cluster \"{name}\" does not exist")),
        })
    }

    /// A user by name.
    pub(crate) fn user_named(&self, name: &str) -> Option<&'a Map> {
        self.named("users", "user", name)
    }

    /// The user of the current context.
    pub(crate) fn user(&self) -> Result<Option<&'a Map>, Error> {
        match self.context()?.and_then(|it| it.str("user")).filter(|name| !name.is_empty()) {
            None => Ok(None),
            Some(name) => {
                let missing = || bad(format!("user \"{name}\" does not exist"));
                self.user_named(name).map(Some).ok_or_else(missing)
            }
        }
    }

    /// `{name: <name>, <inner>: …}` of a list.
    fn named(&self, list: &str, inner: &str, name: &str) -> Option<&'a Map> {
        self.root.maps(list).find(|it| it.str("name").unwrap_or_default() == name)?.map(inner)
    }

    fn trust(&self, cluster: &Map) -> Result<Trust, Error> {
        let data = self.data(cluster, "certificate-authority")?;
        if cluster.bool("insecure-skip-tls-verify") == Some(true) {
            if data.is_some() {
                return Err(bad("specifying a root certificates file with the insecure flag is not allowed"));
            }
            return Ok(Trust::Anybody);
        }
        Ok(data.map_or(Trust::System, Trust::Bundle))
    }

    /// Gives a target the credentials of a user.
    pub(crate) fn add_user(&self, user: &Map, target: &mut Target) -> Result<(), Error> {
        for unknown in ["exec", "auth-provider", "as"] {
            if user.contains(unknown) {
                return Err(bad(format!("{unknown} credentials are not supported for webhooks")));
            }
        }
        let is_set = |name: &str| user.str(name).is_some_and(|it| !it.is_empty());
        if (is_set("token") || is_set("tokenFile")) && is_set("username") {
            let user = self.name_of("user");
            return Err(bad(format!(
                "more than one authentication method found for {user}; found [token basicAuth], only one is allowed"
            )));
        }
        target.identity = self.identity(user)?;
        target.bearer = match (self.file(user, "tokenFile"), user.str("token").filter(|it| !it.is_empty())) {
            (Some(path), _) => Bearer::File(path),
            (None, Some(token)) => Bearer::Fixed(token.to_owned()),
            (None, None) => Bearer::None,
        };
        let name = user.str("username").filter(|it| !it.is_empty());
        target.basic = name.map(|it| (it.to_owned(), user.str("password").unwrap_or_default().to_owned()));
        Ok(())
    }

    fn identity(&self, user: &Map) -> Result<Option<Identity>, Error> {
        let is_data = |name: &str| user.str(&format!("{name}-data")).is_some_and(|it| !it.is_empty());
        if !is_data("client-certificate") && !is_data("client-key") {
            let (certificate, key) = (self.file(user, "client-certificate"), self.file(user, "client-key"));
            if let (Some(certificate), Some(key)) = (certificate, key) {
                return Ok(Some(Identity::Files { certificate, key }));
            }
        }
        match (self.data(user, "client-certificate")?, self.data(user, "client-key")?) {
            (Some(certificate), Some(key)) => Ok(Some(Identity::Pem { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(self.incomplete("client-key-data or client-key")),
            (None, Some(_)) => Err(self.incomplete("client-cert-data or client-cert")),
        }
    }

    fn incomplete(&self, what: &str) -> Error {
        let user = self.name_of("user");
        bad(format!("{what} must be specified for {user} to use the clientCert authentication method."))
    }

    /// The name of the cluster or user of the current context.
    fn name_of(&self, what: &str) -> &'a str {
        self.context().ok().flatten().and_then(|it| it.str(what)).unwrap_or_default()
    }

    /// `<name>-data` in base64, or the content of the file that `<name>` names.
    fn data(&self, map: &Map, name: &'static str) -> Result<Option<Vec<u8>>, Error> {
        if let Some(text) = map.str(&format!("{name}-data")).filter(|it| !it.is_empty()) {
            let text: String = text.split_whitespace().collect();
            let bytes = STANDARD.decode(text);
            return bytes.map(Some).map_err(|error| bad(format!("{name}-data: {error}")));
        }
        let Some(path) = self.file(map, name) else { return Ok(None) };
        let owner = self.name_of(if name == "certificate-authority" { "cluster" } else { "user" });
        let unread =
            |error| bad(format!("unable to read {name} {} for {owner} due to {error}", path.display()));
        read_file(&path).map(Some).map_err(unread)
    }

    fn file(&self, map: &Map, name: &str) -> Option<PathBuf> {
        map.str(name).filter(|it| !it.is_empty()).map(|path| self.folder.join(path))
    }
}

fn bad(reason: impl Into<String>) -> Error {
    Error::BadKubeconfig { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use keelson_object::{Map, Value};

    use crate::{Bearer, Target, Trust};

    fn map(pairs: &[(&str, Value)]) -> Value {
        Value::Map(Map::from_distinct(
            pairs.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
        ))
    }

    fn named(kind: &str, fields: &[(&str, Value)]) -> Value {
        Value::List(vec![map(&[("name", "it".into()), (kind, map(fields))])])
    }

    fn config(cluster: &[(&str, Value)], user: &[(&str, Value)]) -> Value {
        map(&[
            ("current-context", "it".into()),
            ("contexts", named("context", &[("cluster", "it".into()), ("user", "it".into())])),
            ("clusters", named("cluster", cluster)),
            ("users", named("user", user)),
        ])
    }

    /// `url trust bearer`, or why not.
    #[track_caller]
    fn check(config: &Value, expected: &str) {
        let text = match Target::from_kubeconfig(config, Path::new("/nowhere")) {
            Err(error) => error.to_string(),
            Ok(target) => {
                let trust = match target.trust {
                    Trust::System => "system".to_owned(),
                    Trust::Bundle(pem) => String::from_utf8_lossy(&pem).into_owned(),
                    Trust::Anybody => "anybody".to_owned(),
                    Trust::File(path) => path.display().to_string(),
                };
                let bearer = match target.bearer {
                    Bearer::None => "-".to_owned(),
                    Bearer::Fixed(token) => token,
                    Bearer::File(path) => path.display().to_string(),
                };
                format!("{} {trust} {bearer}", target.url)
            }
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn the_current_context_counts() {
        let server = ("server", Value::from("https://a/b"));
        check(&config(std::slice::from_ref(&server), &[]), "https://a/b system -");
        check(&config(std::slice::from_ref(&server), &[("token", "t".into())]), "https://a/b system t");
        let files = [("token", "t".into()), ("tokenFile", "token".into())];
        check(&config(std::slice::from_ref(&server), &files), "https://a/b system /nowhere/token");
        let authority = ("certificate-authority-data", Value::from("YWJj"));
        check(&config(&[server.clone(), authority], &[]), "https://a/b abc -");
        let insecure = ("insecure-skip-tls-verify", Value::from(true));
        check(&config(&[server, insecure], &[]), "https://a/b anybody -");
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        check(
            &Value::Null,
            "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable",
        );
        check(&config(&[], &[]), "invalid configuration: no server found for cluster \"it\"");
        let server = ("server", Value::from("https://a"));
        let exec = [("exec", map(&[("command", "x".into())]))];
        check(
            &config(std::slice::from_ref(&server), &exec),
            "invalid configuration: exec credentials are not supported for webhooks",
        );
        let half = [("client-certificate-data", "YWJj".into())];
        check(
            &config(std::slice::from_ref(&server), &half),
            "invalid configuration: client-key-data or client-key must be specified for it to use the clientCert \
             authentication method.",
        );
        let missing = ("certificate-authority", Value::from("ca.pem"));
        check(
            &config(&[server.clone(), missing], &[]),
            "invalid configuration: unable to read certificate-authority /nowhere/ca.pem for it due to open /nowhere/ca.pem: no such file or directory",
        );
        let both = [
            server.clone(),
            ("certificate-authority-data", "YWJj".into()),
            ("insecure-skip-tls-verify", true.into()),
        ];
        check(
            &config(&both, &[]),
            "invalid configuration: specifying a root certificates file with the insecure flag is not allowed",
        );
        let mut lost = config(&[server], &[]);
        lost.as_map_mut().expect("a map").set("current-context", "other");
        check(
            &lost,
            "invalid configuration: [context was not found for specified context: other, cluster has no server defined]",
        );
    }
}
