//! ABAC: rules in a file, one JSON object per line.
//!
//! ```text
//! # jane may read everything in the namespace web
//! {"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy",
//!  "spec":{"user":"jane","namespace":"web","resource":"*","apiGroup":"*","readonly":true}}   (on one line)
//! {"user":"joe","resource":"pods"}                                                           (the old form)
//! ```

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_codec::{json, yaml};
use keelson_object::scalar::quote;
use keelson_object::{Map, SmolStr, Value};

use crate::{
    Attributes, Authorizer, AuthzError, Decision, PathRule, ResourceRule, RuleSet, Subject, Target, Verdict,
};

/// Allows what a rule matches, and has no opinion about the rest.
///
/// Upstream: pkg/auth/authorizer/abac/abac.go (v1.36.4).
#[derive(Debug, Default)]
pub struct Abac(Vec<Policy>);

/// One rule. `*` matches everything; an empty text matches what is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Policy {
    user: String,
    group: String,
    readonly: bool,
    api_group: String,
    resource: String,
    namespace: String,
    non_resource_path: String,
}

const GROUP: &str = "abac.authorization.kubernetes.io/";
const AUTHENTICATED: &str = "system:authenticated";

impl Abac {
    /// Reads the rules of the file at `path`, which holds `text`.
    pub fn parse(path: &str, text: &str) -> Result<Abac, AuthzError> {
        let mut policies = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with('#') {
                continue;
            }
            policies.push(Policy::read(line).map_err(|reason| AuthzError::PolicyFile {
                path: path.to_owned(),
                line: number + 1,
                text: line.to_owned(),
                reason,
            })?);
        }
        Ok(Abac(policies))
    }

    fn decide(&self, attributes: &Attributes<'_>) -> Decision {
        match self.0.iter().any(|it| it.matches(attributes)) {
            true => Decision::ALLOW,
            false => Decision::NoOpinion { reason: "No policy matched.".into() },
        }
    }
}

impl Authorizer for Abac {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        std::future::ready(self.decide(attributes).into()).boxed()
    }

    fn rules(&self, user: &Subject<'_>, namespace: &str) -> Option<RuleSet> {
        let mut rules = RuleSet::default();
        let is_here = |it: &&Policy| it.is_for(user) && covers(&it.namespace, namespace);
        for policy in self.0.iter().filter(is_here) {
            let verbs: Vec<SmolStr> = match policy.readonly {
                true => ["get", "list", "watch"].map(SmolStr::new_static).to_vec(),
                false => vec![SmolStr::new_static("*")],
            };
            if !policy.resource.is_empty() {
                rules.resources.push(ResourceRule {
                    verbs: verbs.clone(),
                    api_groups: vec![policy.api_group.as_str().into()],
                    resources: vec![policy.resource.as_str().into()],
                    resource_names: Vec::new(),
                });
            }
            if !policy.non_resource_path.is_empty() {
                rules.paths.push(PathRule { verbs, paths: vec![policy.non_resource_path.as_str().into()] });
            }
        }
        Some(rules)
    }
}

impl Policy {
    fn read(line: &str) -> Result<Policy, String> {
        let value = parse(line)?;
        let Value::Map(map) = value else {
            let kind = value.json_type();
            return Err(format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go value of type \
                struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; \
                Kind string \"json:\\\"kind,omitempty\\\"\" }}"
            ));
        };
        let fields = Fields { map: &map, at: "Policy." };
        let (version, kind) = (fields.text("apiVersion")?, fields.text("kind")?);
        match (version.strip_prefix(GROUP), kind) {
            (Some("v1beta1"), "Policy") => Policy::current(&map),
            _ if version.is_empty() || kind.is_empty() => Policy::old(&fields),
            (Some("v0"), "Policy") => Policy::old(&fields),
            _ => Err(format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                quote(kind),
                quote(version)
            )),
        }
    }

    /// Upstream: pkg/apis/abac/v1beta1/conversion.go, Convert_v1beta1_Policy_To_abac_Policy (v1.36.4).
    fn current(map: &Map) -> Result<Policy, String> {
        let empty = Map::new();
        let spec = match map.get("spec") {
            None | Some(Value::Null) => &empty,
            Some(Value::Map(spec)) => spec,
            Some(other) => return Err(mismatch(other, "Policy.spec", "v1beta1.PolicySpec")),
        };
        let fields = Fields { map: spec, at: "PolicySpec.spec." };
        let mut policy = Policy {
            user: fields.owned("user")?,
            group: fields.owned("group")?,
            readonly: fields.flag("readonly")?,
            api_group: fields.owned("apiGroup")?,
            resource: fields.owned("resource")?,
            namespace: fields.owned("namespace")?,
            non_resource_path: fields.owned("nonResourcePath")?,
        };
        policy.everybody_is_authenticated();
        Ok(policy)
    }

    /// Fields that are left out in the old form match everything.
    ///
    /// Upstream: pkg/apis/abac/v0/conversion.go, Convert_v0_Policy_To_abac_Policy (v1.36.4).
    fn old(fields: &Fields<'_>) -> Result<Policy, String> {
        let (namespace, resource) = (fields.owned("namespace")?, fields.owned("resource")?);
        let or_all = |text: &String| if text.is_empty() { "*".to_owned() } else { text.clone() };
        let mut policy = Policy {
            user: fields.owned("user")?,
            group: fields.owned("group")?,
            readonly: fields.flag("readonly")?,
            api_group: "*".to_owned(),
            resource: or_all(&resource),
            namespace: or_all(&namespace),
            non_resource_path: or_all(&(namespace + &resource)),
        };
        if policy.non_resource_path != "*" {
            policy.non_resource_path.clear();
        }
        if policy.user.is_empty() && policy.group.is_empty() {
            AUTHENTICATED.clone_into(&mut policy.group);
        }
        policy.everybody_is_authenticated();
        Ok(policy)
    }

    /// A policy for all users does not include unauthenticated users.
    fn everybody_is_authenticated(&mut self) {
        if self.user == "*" || self.group == "*" {
            AUTHENTICATED.clone_into(&mut self.group);
            self.user.clear();
        }
    }

    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        self.is_for(&attributes.user)
            && (!self.readonly || attributes.is_read_only())
            && match attributes.target {
                Target::Resource { namespace, api_group, resource, .. } => {
                    covers(&self.namespace, namespace)
                        && covers(&self.resource, resource)
                        && covers(&self.api_group, api_group)
                }
                Target::Path => self.covers_path(attributes.path),
            }
    }

    fn is_for(&self, user: &Subject<'_>) -> bool {
        let is_user = self.user.is_empty() || self.user == user.name;
        let is_member = self.group.is_empty() || user.is_in_group(&self.group);
        is_user && is_member && !(self.user.is_empty() && self.group.is_empty())
    }

    fn covers_path(&self, path: &str) -> bool {
        let pattern = self.non_resource_path.as_str();
        covers(pattern, path) || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
    }
}

/// A line that does not begin like JSON is read as YAML.
fn parse(line: &str) -> Result<Value, String> {
    if line.trim_start().starts_with('{') {
        let document = json::read(line.as_bytes());
        return document
            .map(|it| it.value)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"));
    }
    yaml::read(line.as_bytes()).map(|it| it.value).map_err(|error| error.to_string())
}

fn covers(pattern: &str, text: &str) -> bool {
    pattern == "*" || pattern == text
}

/// The fields of one level, and where they stand.
struct Fields<'m> {
    map: &'m Map,
    at: &'static str,
}

impl<'m> Fields<'m> {
    fn text(&self, key: &str) -> Result<&'m str, String> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(mismatch(other, &format!("{}{key}", self.at), "string")),
        }
    }

    fn owned(&self, key: &str) -> Result<String, String> {
        self.text(key).map(String::from)
    }

    fn flag(&self, key: &str) -> Result<bool, String> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(mismatch(other, &format!("{}{key}", self.at), "bool")),
        }
    }
}

fn mismatch(found: &Value, field: &str, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go struct field {field} of type {wanted}", found.json_type())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Abac;
    use crate::{Attributes, Selectors, Subject, Target};

    const POLICY: &str = r#"
# comments and blank lines are skipped
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"jane","namespace":"web","resource":"*","apiGroup":"*","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"group":"dev","namespace":"*","resource":"pods"}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"*","nonResourcePath":"/api*","readonly":true}}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"user":"joe","group":"ops","nonResourcePath":"/metrics"}}
{"user":"old","resource":"services"}
{"user":"root"}
{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"namespace":"*","resource":"*","apiGroup":"*"}}
"#;

    /// `user:groups verb target`, where the target is `group/resource/namespace` or a path that begins with a slash.
    #[track_caller]
    fn check(request: &str, expected: bool) {
        let words: Vec<&str> = request.split(' ').collect();
        let [who, verb, what] = words[..] else { panic!("three words: {request}") };
        let (name, groups) = who.split_once(':').unwrap_or((who, ""));
        let groups: Vec<String> =
            groups.split(',').map(String::from).chain(["system:authenticated".to_owned()]).collect();
        let parts: Vec<&str> = what.split('/').collect();
        let target = match parts[..] {
            ["", ..] => Target::Path,
            [api_group, resource, namespace] => Target::Resource {
                namespace,
                api_group: if api_group == "core" { "" } else { api_group },
                api_version: "v1",
                resource,
                subresource: "",
                name: "",
            },
            _ => panic!("group/resource/namespace: {what}"),
        };
        let extra = BTreeMap::new();
        let user = Subject { name, uid: "", groups: &groups, extra: &extra };
        let policies = Abac::parse("policy", POLICY).expect("the file is good");
        let decision =
            policies.decide(&Attributes { user, verb, target, path: what, selectors: Selectors::default() });
        assert_eq!(decision.is_allowed(), expected, "{request}: {decision:?}");
    }

    #[test]
    fn rules_give_what_they_say() {
        check("jane get core/pods/web", true);
        check("jane list apps/deployments/web", true);
        check("jane create core/pods/web", false);
        check("jane get core/pods/other", false);
        check("ann:dev delete core/pods/any", true);
        check("ann:dev delete metrics.k8s.io/pods/any", false);
        check("ann:other delete core/pods/any", false);
    }

    #[test]
    fn paths_have_rules_of_their_own() {
        check("anybody get /api", true);
        check("anybody get /apis/apps", true);
        check("anybody post /api", false);
        check("joe:ops get /metrics", true);
        check("joe:dev get /metrics", false);
        check("ann:ops get /metrics", false);
        check("jane get /metrics", false);
    }

    #[test]
    fn what_the_old_form_leaves_out_matches_everything() {
        check("old delete core/services/any", true);
        check("old delete core/pods/any", false);
        check("old get /metrics", false);
        check("root delete apps/deployments/any", true);
        check("root post /metrics", true);
    }

    #[test]
    fn a_rule_without_a_subject_is_for_nobody() {
        check("nobody get core/nodes/", false);
    }

    #[track_caller]
    fn check_refused(line: &str, expected: &str) {
        let error = Abac::parse("abac.jsonl", &format!("# one\n{line}\n")).expect_err("it is wrong");
        let whole = format!("error reading policy file abac.jsonl, line 2: {line}: {expected}");
        assert_eq!(error.to_string(), whole);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        check_refused(
            "rubbish",
            "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { \
            APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        );
        check_refused("{", "couldn't get version/kind; json parse error: unexpected end of JSON input");
        check_refused(
            r#"{"user":1}"#,
            "json: cannot unmarshal number into Go struct field Policy.user of type string",
        );
        check_refused(
            r#"{"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy","spec":{"readonly":"yes"}}"#,
            "json: cannot unmarshal string into Go struct field PolicySpec.spec.readonly of type bool",
        );
        check_refused(
            r#"{"apiVersion":"v1","kind":"Pod"}"#,
            r#"no kind "Pod" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
        );
    }
}
