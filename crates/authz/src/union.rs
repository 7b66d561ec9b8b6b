//! Asking several authorizers in order.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Attributes, Authorizer, AuthzError, Decision, RuleSet, Subject, Verdict, aggregate};

/// The first that has an opinion decides.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authorization/union/union.go (v1.36.4).
pub struct Union(Vec<Arc<dyn Authorizer>>);

impl Union {
    /// Asks in this order.
    #[must_use]
    pub fn new(authorizers: Vec<Arc<dyn Authorizer>>) -> Union {
        Union(authorizers)
    }
}

impl Authorizer for Union {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        async move {
            let mut reasons: Vec<Cow<'static, str>> = Vec::new();
            let mut errors: Vec<AuthzError> = Vec::new();
            for authorizer in &self.0 {
                let verdict = authorizer.authorize(attributes).await;
                match verdict.decision {
                    Decision::Allow { .. } | Decision::Deny { .. } => return verdict,
                    Decision::NoOpinion { reason } if reason.is_empty() => (),
                    Decision::NoOpinion { reason } => reasons.push(reason),
                }
                errors.extend(verdict.error);
            }
            Verdict { decision: Decision::NoOpinion { reason: joined(reasons) }, error: first_of(errors) }
        }
        .boxed()
    }

    fn rules(&self, user: &Subject<'_>, namespace: &str) -> Option<RuleSet> {
        let mut all = RuleSet::default();
        self.0.iter().filter_map(|it| it.rules(user, namespace)).for_each(|it| all.add(it));
        Some(all)
    }
}

fn joined(mut reasons: Vec<Cow<'static, str>>) -> Cow<'static, str> {
    match reasons.len() {
        0 => Cow::Borrowed(""),
        1 => reasons.remove(0),
        _ => Cow::Owned(reasons.join("\n")),
    }
}

fn first_of(mut errors: Vec<AuthzError>) -> Option<AuthzError> {
    if errors.len() < 2 {
        return errors.pop();
    }
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    aggregate(&texts).map(|reason| AuthzError::Rules { reason })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::Union;
    use crate::{Attributes, Authorizer, Decision, Selectors, Subject, Target, Verdict};

    struct Fixed(Decision);

    impl Authorizer for Fixed {
        fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
            std::future::ready(self.0.clone().into()).boxed()
        }
    }

    /// `allow:why`, `deny:why` or `pass:why`.
    fn fixed(word: &str) -> Arc<dyn Authorizer> {
        let (decision, reason) = word.split_once(':').expect("decision:reason");
        let reason = Cow::Owned(reason.to_owned());
        Arc::new(Fixed(match decision {
            "allow" => Decision::Allow { reason },
            "deny" => Decision::Deny { reason },
            _ => Decision::NoOpinion { reason },
        }))
    }

    #[track_caller]
    fn check(words: &str, expected: &Decision) {
        let union = Union::new(words.split_whitespace().map(fixed).collect());
        let user = Subject { name: "jane", uid: "", groups: &[], extra: &BTreeMap::new() };
        let attributes = Attributes {
            user,
            verb: "get",
            target: Target::Path,
            path: "/",
            selectors: Selectors::default(),
        };
        let verdict = union.authorize(&attributes).now_or_never().expect("nothing waits");
        assert_eq!(verdict.decision, *expected);
    }

    #[test]
    fn the_first_opinion_decides() {
        check("pass: allow:first deny:second", &Decision::Allow { reason: "first".into() });
        check("pass:a deny:b allow:c", &Decision::Deny { reason: "b".into() });
    }

    #[test]
    fn without_opinions_all_reasons_are_told() {
        check("", &Decision::NO_OPINION);
        check("pass:a pass: pass:b", &Decision::NoOpinion { reason: "a\nb".into() });
    }
}
