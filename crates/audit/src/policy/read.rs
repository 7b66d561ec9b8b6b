//! A policy as operators write it: `audit.k8s.io/v1`, in YAML or JSON.
//!
//! Upstream: apiserver/pkg/audit/policy/reader.go and apis/audit/validation/validation.go (v1.36.4).

use keelson_codec::yaml;
use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Path, Value};

use super::{GroupResources, Policy, Rule};
use crate::{Error, Level, Stage, Stages};

const LEVELS: [&str; 4] = ["None", "Metadata", "Request", "RequestResponse"];

impl Policy {
    /// Reads a policy: returns it with the complaints of a strict reader, or all errors.
    pub fn read(text: &[u8]) -> Result<(Policy, Vec<String>), Error> {
        let failed = |problem: &dyn std::fmt::Display| Error::Policy(format!("failed decoding: {problem}"));
        let document = yaml::read(text).map_err(|error| failed(&error))?;
        let mut complaints: Vec<String> = document.strict_problem().into_iter().collect();
        if document.value.is_null() {
            let text = "unknown group version field audit.k8s.io/__internal, Kind=Policy in policy";
            return Err(Error::Policy(text.to_owned()));
        }
        let Value::Map(map) = &document.value else {
            let found = document.value.json_type();
            return Err(failed(&format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of \
                 type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                 \"json:\\\"kind,omitempty\\\"\" }}"
            )));
        };
        check_identity(map, text).map_err(|problem| failed(&problem))?;
        let mut reader =
            Reader { wrong: Vec::new(), complaints: &mut complaints, errors: FieldErrors::default() };
        let policy = reader.policy(map);
        let Reader { wrong, errors, .. } = reader;
        if !wrong.is_empty() {
            return Err(failed(&wrong.join(", ")));
        }
        if !errors.is_empty() {
            return Err(Error::Policy(errors.aggregate()));
        }
        if policy.rules.is_empty() {
            return Err(Error::Policy("loaded illegal policy with 0 rules".to_owned()));
        }
        Ok((policy, complaints))
    }
}

fn check_identity(map: &Map, text: &[u8]) -> Result<(), String> {
    let (version, kind) = (map.str("apiVersion").unwrap_or_default(), map.str("kind").unwrap_or_default());
    let shown = || quote(&String::from_utf8_lossy(text));
    match (version, kind) {
        (_, "") => Err(format!("Object 'Kind' is missing in {}", shown().trim_matches('"'))),
        ("", _) => Err(format!("Object 'apiVersion' is missing in {}", shown().trim_matches('"'))),
        ("audit.k8s.io/v1", "Policy") => Ok(()),
        (version, kind) => {
            Err(format!("no kind {} is registered for version {} in scheme", quote(kind), quote(version)))
        }
    }
}

struct Reader<'r> {
    /// Fields with the wrong type.
    wrong: Vec<String>,
    /// Unknown fields and other complaints of a strict reader.
    complaints: &'r mut Vec<String>,
    errors: FieldErrors,
}

impl Reader<'_> {
    fn policy(&mut self, map: &Map) -> Policy {
        let at = Path::empty();
        self.known(map, &at, &["apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"]);
        let omit_stages = self.stages(map, &at);
        let omit_managed_fields = self.switch(map, &at, "omitManagedFields").unwrap_or(false);
        let rules = self.maps(map, &at, "rules").into_iter().enumerate();
        let rules = rules.map(|(position, rule)| self.rule(rule, &Path::root("rules").index(position)));
        Policy { rules: rules.collect(), omit_stages, omit_managed_fields }
    }

    fn rule(&mut self, map: &Map, at: &Path<'_>) -> Rule {
        const FIELDS: [&str; 9] = [
            "level",
            "users",
            "userGroups",
            "verbs",
            "resources",
            "namespaces",
            "nonResourceURLs",
            "omitStages",
            "omitManagedFields",
        ];
        self.known(map, at, &FIELDS);
        let mut rule = Rule {
            level: self.level(map, at),
            users: self.texts(map, at, "users"),
            user_groups: self.texts(map, at, "userGroups"),
            verbs: self.texts(map, at, "verbs"),
            namespaces: self.texts(map, at, "namespaces"),
            non_resource_urls: self.urls(map, at),
            omit_managed_fields: self.switch(map, at, "omitManagedFields"),
            ..Rule::default()
        };
        let resources = self.maps(map, at, "resources").into_iter();
        rule.resources = resources.map(|it| self.group_resources(it, &at.key("resources"))).collect();
        rule.omit_stages = self.stages(map, at);
        let is_about_resources = !rule.resources.is_empty() || !rule.namespaces.is_empty();
        if !rule.non_resource_urls.is_empty() && is_about_resources {
            let shown = list(&rule.non_resource_urls);
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            self.errors.invalid_as(&at.key("nonResourceURLs"), shown, detail);
        }
        rule
    }

    fn level(&mut self, map: &Map, at: &Path<'_>) -> Level {
        let text = self.text(map, at, "level");
        let at = at.key("level");
        match (Level::parse(&text), &*text) {
            (Some(level), _) => return level,
            (None, "") => self.errors.required(&at, ""),
            (None, other) => self.errors.not_supported(&at, other, &LEVELS),
        }
        Level::None
    }

    fn urls(&mut self, map: &Map, at: &Path<'_>) -> Vec<String> {
        let urls = self.texts(map, at, "nonResourceURLs");
        let at = at.key("nonResourceURLs");
        for (position, url) in urls.iter().enumerate().filter(|(_, url)| *url != "*") {
            let at = at.index(position);
            if !url.starts_with('/') {
                self.errors.invalid(
                    &at,
                    url.as_str(),
                    "non-resource URL rules must begin with a '/' character",
                );
            }
            if url.strip_suffix('*').unwrap_or(url).contains('*') {
                let detail = "non-resource URL wildcards '*' must be the final character of the rule";
                self.errors.invalid(&at, url.as_str(), detail);
            }
        }
        urls
    }

    fn group_resources(&mut self, map: &Map, at: &Path<'_>) -> GroupResources {
        self.known(map, at, &["group", "resources", "resourceNames"]);
        let found = GroupResources {
            group: self.text(map, at, "group"),
            resources: self.texts(map, at, "resources"),
            resource_names: self.texts(map, at, "resourceNames"),
        };
        if !found.group.is_empty() && found.group != "*" {
            let problems = name_rules::dns1123_subdomain(&found.group);
            if !problems.is_empty() {
                self.errors.invalid(&at.key("group"), found.group.as_str(), problems.join(","));
            }
        }
        if !found.resource_names.is_empty() && found.resources.is_empty() {
            let shown = list(&found.resource_names);
            let detail = "using resourceNames requires at least one resource";
            self.errors.invalid_as(&at.key("resourceNames"), shown, detail);
        }
        found
    }

    fn stages(&mut self, map: &Map, at: &Path<'_>) -> Stages {
        let names = self.texts(map, at, "omitStages");
        let at = at.key("omitStages");
        let mut stages = Vec::new();
        for (position, name) in names.iter().enumerate() {
            match Stage::parse(name) {
                Some(stage) => stages.push(stage),
                None => {
                    let known = Stage::ALL.map(Stage::as_str).join(",");
                    let detail = format!("allowed stages are {known}");
                    self.errors.invalid(&at.index(position), name.as_str(), detail);
                }
            }
        }
        stages.into_iter().collect()
    }

    fn known(&mut self, map: &Map, at: &Path<'_>, fields: &[&str]) {
        let unknown = map.iter().map(|(key, _)| key).filter(|key| !fields.contains(&key.as_str()));
        self.complaints
            .extend(unknown.map(|key| format!("unknown field {}", quote(&at.key(key).to_string()))));
    }

    fn text(&mut self, map: &Map, at: &Path<'_>, key: &str) -> String {
        match map.get(key) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.to_string(),
            Some(other) => {
                self.mismatch(other, &at.key(key), "string");
                String::new()
            }
        }
    }

    fn switch(&mut self, map: &Map, at: &Path<'_>, key: &str) -> Option<bool> {
        match map.get(key)? {
            Value::Null => None,
            Value::Bool(on) => Some(*on),
            other => {
                self.mismatch(other, &at.key(key), "bool");
                None
            }
        }
    }

    fn list<'m>(&mut self, map: &'m Map, at: &Path<'_>, key: &str) -> &'m [Value] {
        match map.get(key) {
            None | Some(Value::Null) => &[],
            Some(Value::List(items)) => items,
            Some(other) => {
                self.mismatch(other, &at.key(key), "list");
                &[]
            }
        }
    }

    fn texts(&mut self, map: &Map, at: &Path<'_>, key: &str) -> Vec<String> {
        let mut texts = Vec::new();
        for (position, item) in self.list(map, at, key).iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.to_string()),
                other => self.mismatch(other, &at.key(key).index(position), "string"),
            }
        }
        texts
    }

    fn maps<'m>(&mut self, map: &'m Map, at: &Path<'_>, key: &str) -> Vec<&'m Map> {
        let mut maps = Vec::new();
        for (position, item) in self.list(map, at, key).iter().enumerate() {
            match item {
                Value::Map(map) => maps.push(map),
                other => self.mismatch(other, &at.key(key).index(position), "map"),
            }
        }
        maps
    }

    fn mismatch(&mut self, found: &Value, at: &Path<'_>, wanted: &str) {
        self.wrong.push(format!("{at}: a {wanted} is wanted and not a {}", found.json_type()));
    }
}

/// Formats a list of strings like upstream: `["a","b"]`.
fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|it| quote(it)).collect();
    format!("[{}]", quoted.join(","))
}
