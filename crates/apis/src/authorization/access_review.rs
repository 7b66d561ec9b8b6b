//! SubjectAccessReview, SelfSubjectAccessReview and LocalSubjectAccessReview.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_authn::User;
use keelson_authz::{Authorizer, Decision, Verdict};
use keelson_object::{GroupKind, Map, Object, SmolStr};
use keelson_registry::{Answer, Context, Error, Result};

use super::question::Question;
use super::validation;

pub(crate) struct AccessReviews {
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) who: Who,
}

/// The user whose access is reviewed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// The user that the review names.
    Named,
    /// The user that the review names, in the namespace of the review.
    NamedInNamespace,
    /// The user of the request.
    Asks,
}

impl Answer for AccessReviews {
    fn answer<'a>(
        &'a self,
        context: &'a Context,
        namespace: &'a str,
        body: Object,
    ) -> BoxFuture<'a, Result<Object>> {
        self.review(context, namespace, body).boxed()
    }
}

impl AccessReviews {
    /// Upstream: pkg/registry/authorization/{subjectaccessreview,localsubjectaccessreview,selfsubjectaccessreview}/rest.go,
    /// Create (v1.36.4).
    async fn review(&self, context: &Context, namespace: &str, mut body: Object) -> Result<Object> {
        settle_namespace(self.who, namespace, &mut body)?;
        let errors = validation::check(self.who, &body);
        if !errors.is_empty() {
            // Upstream's message has no kind here.
            let kind =
                GroupKind { group: SmolStr::new_static("authorization.k8s.io"), kind: SmolStr::default() };
            return Err(Error::Invalid { kind, name: String::new(), errors });
        }
        let spec = body.fields.map("spec").cloned().unwrap_or_default();
        let user = match self.who {
            Who::Asks => context.user.clone(),
            Who::Named | Who::NamedInNamespace => Arc::new(User::read(&spec, "user")),
        };
        let question = Question::new(&spec);
        let verdict = question.ask(&*self.authorizer, &user).await;
        body.fields.set("status", status(&verdict, question.unread()));
        Ok(body)
    }
}

/// A LocalSubjectAccessReview is posted in its namespace; the others have none.
fn settle_namespace(who: Who, namespace: &str, body: &mut Object) -> Result<()> {
    let there = &mut body.meta.namespace;
    if who != Who::NamedInNamespace {
        *there = SmolStr::default();
    } else if there.is_empty() {
        *there = namespace.into();
    } else if there != namespace {
        return Err(Error::BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Upstream: pkg/registry/authorization/util/helpers.go, BuildEvaluationError (v1.36.4).
fn status(verdict: &Verdict, unread: Vec<String>) -> Map {
    let mut status = Map::new();
    status.set("allowed", verdict.decision.is_allowed());
    if let Decision::Deny { .. } = verdict.decision {
        status.set("denied", true);
    }
    if !verdict.decision.reason().is_empty() {
        status.set("reason", verdict.decision.reason());
    }
    let error = verdict.error.iter().map(ToString::to_string);
    let errors: Vec<String> = error.chain(unread).collect();
    if !errors.is_empty() {
        status.set("evaluationError", errors.join("; "));
    }
    status
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use keelson_authz::{AlwaysDeny, PrivilegedGroup, Union};

    use super::{AccessReviews, Who};
    use crate::shared::testing::{answer, text};

    /// The authorizer of the test: masters may do everything, other users nothing.
    #[track_caller]
    fn check(who: Who, body: &str, expected: &str) {
        let authorizer = Union::new(vec![Arc::new(PrivilegedGroup::masters()), Arc::new(AlwaysDeny)]);
        let namespace = if who == Who::NamedInNamespace { "here" } else { "" };
        let found = match answer(&AccessReviews { authorizer: Arc::new(authorizer), who }, namespace, body) {
            Ok(object) => text(&object.fields.get("status").cloned().unwrap_or_default()),
            Err(keelson_registry::Error::Invalid { errors, .. }) => errors.aggregate(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{body}");
    }

    const REFUSED: &str = r#"{"allowed":false,"reason":"Everything is forbidden."}"#;

    #[test]
    fn the_named_user_is_reviewed() {
        let named = |who: &str| format!(r#"{{"spec": {{{who}, "resourceAttributes": {{"verb": "get"}}}}}}"#);
        check(Who::Named, &named(r#""user": "a", "groups": ["system:masters"]"#), r#"{"allowed":true}"#);
        check(Who::Named, &named(r#""groups": ["x", "system:masters"]"#), r#"{"allowed":true}"#);
        check(Who::Named, &named(r#""user": "a""#), REFUSED);
        check(Who::Asks, &named(r#""resourceAttributes": {}"#), REFUSED);
    }

    #[test]
    fn a_review_of_a_namespace_is_posted_there() {
        let local = |there: &str, about: &str| {
            format!(
                r#"{{"metadata": {{"namespace": "{there}"}},
                    "spec": {{"user": "a", "resourceAttributes": {{"namespace": "{about}"}}}}}}"#
            )
        };
        check(Who::NamedInNamespace, &local("", "here"), REFUSED);
        check(Who::NamedInNamespace, &local("here", "here"), REFUSED);
        check(
            Who::NamedInNamespace,
            &local("there", "there"),
            "the namespace of the provided object does not match the namespace sent on the request",
        );
        check(
            Who::NamedInNamespace,
            &local("", "there"),
            r#"spec.resourceAttributes.namespace: Invalid value: "there": must match metadata.namespace"#,
        );
        check(
            Who::NamedInNamespace,
            r#"{"spec": {"user": "a", "nonResourceAttributes": {"path": "/", "verb": "get"}}}"#,
            r#"spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":"get"}: disallowed on this kind of request"#,
        );
    }

    #[test]
    fn a_review_asks_one_thing_about_somebody() {
        check(
            Who::Named,
            r#"{"metadata": {"name": "x"}}"#,
            "[spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes \
             must be specified, spec.user: Invalid value: \"\": at least one of user or group must be specified, \
             metadata: Invalid value: {\"name\":\"x\"}: must be empty]",
        );
        check(
            Who::Asks,
            r#"{"spec": {"resourceAttributes": {}, "nonResourceAttributes": {"path": "/"}}}"#,
            "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/\",\"Verb\":\"\"}: cannot be specified in \
             combination with resourceAttributes",
        );
    }

    #[test]
    fn selectors_that_cannot_be_read_are_told_of() {
        let about = |selectors: &str| {
            format!(r#"{{"spec": {{"user": "a", "resourceAttributes": {{"verb": "list", {selectors}}}}}}}"#)
        };
        let told = |what: &str| {
            format!(r#"{{"allowed":false,"reason":"Everything is forbidden.","evaluationError":"{what}"}}"#)
        };
        let field = |text: &str| about(&format!(r#""fieldSelector": {{{text}}}"#));
        let label = |text: &str| about(&format!(r#""labelSelector": {{{text}}}"#));
        check(Who::Named, &field(r#""rawSelector": "a=b""#), REFUSED);
        let ignored = told("spec.resourceAttributes.fieldSelector ignored due to parse error");
        check(Who::Named, &field(r#""rawSelector": "a""#), &ignored);
        let partly = told("spec.resourceAttributes.labelSelector partially ignored due to parse error");
        let requirements =
            r#""requirements": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Like"}]"#;
        check(Who::Named, &label(requirements), &partly);
        check(
            Who::Named,
            &label(""),
            "spec.resourceAttributes.labelSelector.requirements: Required value: when \
             spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is required",
        );
    }
}
