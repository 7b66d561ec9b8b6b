//! SelfSubjectRulesReview: what may I do in this namespace?

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_authz::{Attributes, Authorizer, Target};
use keelson_object::{Map, Object, ObjectMeta, Value};
use keelson_registry::{Answer, Context, Error, Result};

use super::question;

pub(crate) struct RulesReviews {
    pub(crate) authorizer: Arc<dyn Authorizer>,
}

/// Stands for every verb, group, resource and path.
const EVERYTHING: &str = "*";

impl Answer for RulesReviews {
    fn answer<'a>(&'a self, context: &'a Context, _: &'a str, body: Object) -> BoxFuture<'a, Result<Object>> {
        self.review(context, body).boxed()
    }
}

impl RulesReviews {
    /// An authorizer answers questions and does not list its rules, but one question tells all: who may do everything
    /// has a rule that says so. Of others we do not know the rules, and say that.
    ///
    /// Upstream: pkg/registry/authorization/selfsubjectrulesreview/rest.go, Create (v1.36.4).
    async fn review(&self, context: &Context, body: Object) -> Result<Object> {
        let namespace = body.fields.map("spec").and_then(|spec| spec.str("namespace")).unwrap_or_default();
        if namespace.is_empty() {
            return Err(Error::BadRequest("no namespace on request".to_owned()));
        }
        let all_resources = Target::Resource {
            namespace,
            api_group: EVERYTHING,
            api_version: EVERYTHING,
            resource: EVERYTHING,
            subresource: "",
            name: "",
        };
        let resources = self.allows(context, all_resources).await;
        let paths = self.allows(context, Target::Path).await;
        let mut fields = Map::new();
        fields.set("spec", Map::new());
        fields.set("status", status(resources, paths));
        Ok(Object { meta: ObjectMeta::default(), fields, ..body })
    }

    async fn allows(&self, context: &Context, target: Target<'_>) -> bool {
        let user = question::subject(&context.user);
        let attributes = Attributes { user, verb: EVERYTHING, target, path: EVERYTHING };
        self.authorizer.authorize(&attributes).await.decision.is_allowed()
    }
}

fn status(resources: bool, paths: bool) -> Map {
    let mut status = Map::new();
    status.set("resourceRules", rules(resources, &["verbs", "apiGroups", "resources"]));
    status.set("nonResourceRules", rules(paths, &["verbs", "nonResourceURLs"]));
    status.set("incomplete", !(resources && paths));
    if !(resources && paths) {
        status.set("evaluationError", "the authorizers do not support user rule resolution");
    }
    status
}

/// The rule that covers everything, if it is there.
fn rules(has: bool, fields: &[&str]) -> Vec<Value> {
    let everything = || vec![Value::from(EVERYTHING)];
    let rule: Map = fields.iter().map(|field| ((*field).into(), everything().into())).collect();
    if has { vec![rule.into()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keelson_authz::{AlwaysAllow, AlwaysDeny, Authorizer};

    use super::RulesReviews;
    use crate::shared::testing::{answer, text};

    #[track_caller]
    fn check(authorizer: Arc<dyn Authorizer>, spec: &str, expected: &str) {
        let found = match answer(&RulesReviews { authorizer }, "", &format!("{{\"spec\": {spec}}}")) {
            Ok(object) => text(&object.fields.into()),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn who_may_do_everything_has_a_rule_for_it() {
        check(
            Arc::new(AlwaysAllow),
            r#"{"namespace": "a"}"#,
            r#"{"spec":{},"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],"incomplete":false}}"#,
        );
    }

    #[test]
    fn rules_that_are_not_known_are_not_made_up() {
        check(
            Arc::new(AlwaysDeny),
            r#"{"namespace": "a"}"#,
            r#"{"spec":{},"status":{"resourceRules":[],"nonResourceRules":[],"incomplete":true,"evaluationError":"the authorizers do not support user rule resolution"}}"#,
        );
    }

    #[test]
    fn a_review_is_of_a_namespace() {
        check(Arc::new(AlwaysAllow), "{}", "no namespace on request");
    }
}
