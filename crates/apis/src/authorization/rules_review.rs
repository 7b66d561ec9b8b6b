//! SelfSubjectRulesReview: lists the user's permissions in a namespace.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_authz::{Authorizer, RuleSet, aggregate};
use keelson_object::{Map, Object, ObjectMeta, SmolStr, Value};
use keelson_registry::{Answer, Context, Error, Result};

use super::question;

pub(crate) struct RulesReviews {
    pub(crate) authorizer: Arc<dyn Authorizer>,
}

impl Answer for RulesReviews {
    fn answer<'a>(&'a self, context: &'a Context, _: &'a str, body: Object) -> BoxFuture<'a, Result<Object>> {
        std::future::ready(self.review(context, body)).boxed()
    }
}

impl RulesReviews {
    /// Upstream: pkg/registry/authorization/selfsubjectrulesreview/rest.go, Create (v1.36.4).
    fn review(&self, context: &Context, body: Object) -> Result<Object> {
        let namespace = body.fields.map("spec").and_then(|spec| spec.str("namespace")).unwrap_or_default();
        if namespace.is_empty() {
            return Err(Error::BadRequest("no namespace on request".to_owned()));
        }
        let rules = self.authorizer.rules(&question::subject(&context.user), namespace);
        let mut fields = Map::new();
        fields.set("spec", Map::new());
        fields.set("status", status(&rules.unwrap_or_default()));
        Ok(Object { meta: ObjectMeta::default(), fields, ..body })
    }
}

fn status(rules: &RuleSet) -> Map {
    let resources = rules.resources.iter().map(|rule| {
        let lists = [
            ("verbs", &rule.verbs),
            ("apiGroups", &rule.api_groups),
            ("resources", &rule.resources),
            ("resourceNames", &rule.resource_names),
        ];
        shown(&lists)
    });
    let paths =
        rules.paths.iter().map(|rule| shown(&[("verbs", &rule.verbs), ("nonResourceURLs", &rule.paths)]));
    let mut status = Map::new();
    status.set("resourceRules", resources.collect::<Vec<_>>());
    status.set("nonResourceRules", paths.collect::<Vec<_>>());
    status.set("incomplete", rules.is_incomplete);
    if let Some(error) = aggregate(&rules.errors) {
        status.set("evaluationError", error);
    }
    status
}

/// Lists that are empty are not shown; every rule has verbs.
fn shown(lists: &[(&'static str, &Vec<SmolStr>)]) -> Value {
    let list = |items: &[SmolStr]| Value::List(items.iter().cloned().map(Value::from).collect());
    let lists = lists.iter().filter(|(_, items)| !items.is_empty());
    Value::Map(lists.map(|(name, items)| (SmolStr::new_static(name), list(items))).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use keelson_authz::{
        AlwaysAllow, AlwaysDeny, Attributes, Authorizer, Decision, RuleSet, Subject, Union, Verdict,
    };

    use super::RulesReviews;
    use crate::shared::testing::{answer, text};

    /// Decides without rules.
    struct Mute;

    impl Authorizer for Mute {
        fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
            std::future::ready(Decision::NO_OPINION.into()).boxed()
        }

        fn rules(&self, _: &Subject<'_>, _: &str) -> Option<RuleSet> {
            Some(RuleSet::unknown("it does not tell"))
        }
    }

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
            r#"{"spec":{},"status":{"resourceRules":[],"nonResourceRules":[],"incomplete":false}}"#,
        );
        check(
            Arc::new(Union::new(vec![Arc::new(AlwaysAllow), Arc::new(Mute)])),
            r#"{"namespace": "a"}"#,
            r#"{"spec":{},"status":{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],"incomplete":true,"evaluationError":"it does not tell"}}"#,
        );
    }

    #[test]
    fn a_review_is_of_a_namespace() {
        check(Arc::new(AlwaysAllow), "{}", "no namespace on request");
    }
}
