//! Decoding of the configuration: unknown fields are rejected, absent ones get their defaults.

use keelson_object::scalar::{Duration, quote};
use keelson_object::{Map, Value};

use super::{Configuration, KmsRule, NamedKey, ProviderRule, Rule};

const API_VERSION: &str = "apiserver.config.k8s.io/v1";
const KIND: &str = "EncryptionConfiguration";
const DEFAULT_TIMEOUT: &str = "3s";
const DEFAULT_CACHE_SIZE: i64 = 1000;

/// Reads the whole document, or returns all unknown fields.
pub(super) fn configuration(document: &Value) -> Result<Configuration, String> {
    let Value::Map(map) = document else {
        return Err("couldn't get version/kind; json parse error: the document is no object".to_owned());
    };
    let (kind, version) = (map.str("kind").unwrap_or_default(), map.str("apiVersion").unwrap_or_default());
    if kind.is_empty() {
        return Err("Object 'Kind' is missing in the document".to_owned());
    }
    if version.is_empty() {
        return Err("Object 'apiVersion' is missing in the document".to_owned());
    }
    if (kind, version) != (KIND, API_VERSION) {
        let (kind, version) = (quote(kind), quote(version));
        return Err(format!(
            "no kind {kind} is registered for version {version} in scheme \"pkg/runtime/scheme.go:111\""
        ));
    }
    let mut reader = Reader { unknown: Vec::new() };
    reader.known(map, "", &["kind", "apiVersion", "resources"]);
    let rules = reader.each(map, ("", "resources"), Reader::rule)?;
    if !reader.unknown.is_empty() {
        return Err(format!("strict decoding error: {}", reader.unknown.join(", ")));
    }
    Ok(Configuration { rules })
}

struct Reader {
    unknown: Vec<String>,
}

impl Reader {
    fn known(&mut self, map: &Map, at: &str, names: &[&str]) {
        for (name, _) in map.iter().filter(|(name, _)| !names.contains(&name.as_str())) {
            self.unknown.push(format!("unknown field {}", quote(&join(at, name))));
        }
    }

    fn each<T>(
        &mut self,
        map: &Map,
        (at, name): (&str, &str),
        read: fn(&mut Reader, &Map, &str) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let at = join(at, name);
        let items = match map.get(name) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::List(items)) => items,
            Some(other) => return Err(wrong(other, &at, "list")),
        };
        let item = |(position, item): (usize, &Value)| match item {
            Value::Map(map) => read(self, map, &format!("{at}[{position}]")),
            Value::Null => read(self, &Map::default(), &at),
            other => Err(wrong(other, &at, "object")),
        };
        items.iter().enumerate().map(item).collect()
    }

    fn rule(&mut self, map: &Map, at: &str) -> Result<Rule, String> {
        self.known(map, at, &["resources", "providers"]);
        let resources = match map.get("resources") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::List(items)) => {
                let at = join(at, "resources");
                let text =
                    |item: &Value| item.as_str().map(str::to_owned).ok_or_else(|| wrong(item, &at, "string"));
                items.iter().map(text).collect::<Result<_, _>>()?
            }
            Some(other) => return Err(wrong(other, &join(at, "resources"), "list")),
        };
        Ok(Rule { resources, providers: self.each(map, (at, "providers"), Reader::provider)? })
    }

    fn provider(&mut self, map: &Map, at: &str) -> Result<ProviderRule, String> {
        self.known(map, at, &["aesgcm", "aescbc", "secretbox", "identity", "kms"]);
        let kms = member(map, (at, "kms"))?;
        let identity = member(map, (at, "identity"))?;
        if let Some(identity) = identity {
            self.known(identity, &join(at, "identity"), &[]);
        }
        Ok(ProviderRule {
            aes_gcm: self.keys(map, (at, "aesgcm"))?,
            aes_cbc: self.keys(map, (at, "aescbc"))?,
            secretbox: self.keys(map, (at, "secretbox"))?,
            identity: identity.is_some(),
            kms: kms.map(|kms| self.kms(kms, &join(at, "kms"))).transpose()?,
        })
    }

    fn keys(&mut self, map: &Map, (at, name): (&str, &str)) -> Result<Option<Vec<NamedKey>>, String> {
        let Some(provider) = member(map, (at, name))? else { return Ok(None) };
        let at = join(at, name);
        self.known(provider, &at, &["keys"]);
        self.each(provider, (&at, "keys"), Reader::key).map(Some)
    }

    fn key(&mut self, map: &Map, at: &str) -> Result<NamedKey, String> {
        self.known(map, at, &["name", "secret"]);
        Ok(NamedKey { name: text(map, (at, "name"))?, secret: text(map, (at, "secret"))? })
    }

    /// Upstream: apiserver/pkg/apis/apiserver/v1/defaults.go, SetDefaults_KMSConfiguration (v1.36.4).
    fn kms(&mut self, map: &Map, at: &str) -> Result<KmsRule, String> {
        self.known(map, at, &["apiVersion", "name", "cachesize", "endpoint", "timeout"]);
        let mut api_version = text(map, (at, "apiVersion"))?;
        if api_version.is_empty() {
            "v1".clone_into(&mut api_version);
        }
        let timeout = match map.get("timeout") {
            None | Some(Value::Null) => DEFAULT_TIMEOUT,
            Some(Value::String(text)) => text,
            Some(other) => return Err(wrong(other, &join(at, "timeout"), "string")),
        };
        let timeout = Duration::parse(timeout).map_err(|error| error.to_string())?;
        let cache_size = match map.get("cachesize") {
            None | Some(Value::Null) => (api_version == "v1").then_some(DEFAULT_CACHE_SIZE),
            Some(Value::Int(number)) => Some(*number),
            Some(other) => return Err(wrong(other, &join(at, "cachesize"), "int32")),
        };
        let (name, endpoint) = (text(map, (at, "name"))?, text(map, (at, "endpoint"))?);
        Ok(KmsRule { api_version, name, cache_size, endpoint, timeout })
    }
}

fn member<'m>(map: &'m Map, (at, name): (&str, &str)) -> Result<Option<&'m Map>, String> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Map(map)) => Ok(Some(map)),
        Some(other) => Err(wrong(other, &join(at, name), "object")),
    }
}

fn text(map: &Map, (at, name): (&str, &str)) -> Result<String, String> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(other) => Err(wrong(other, &join(at, name), "string")),
    }
}

/// The value itself is not repeated: it may be a key.
fn wrong(value: &Value, at: &str, expected: &str) -> String {
    format!("json: cannot unmarshal {} into Go struct field {at} of type {expected}", value.json_type())
}

fn join(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}
