//! AlwaysAllow and AlwaysDeny.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::{Attributes, Authorizer, Decision, RuleSet, Subject, Verdict};

/// The mode `AlwaysAllow`.
pub struct AlwaysAllow;

impl Authorizer for AlwaysAllow {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        std::future::ready(Decision::ALLOW.into()).boxed()
    }

    fn rules(&self, _: &Subject<'_>, _: &str) -> Option<RuleSet> {
        Some(RuleSet::everything())
    }
}

/// The mode `AlwaysDeny`. It has no opinion, so that it refuses only what no other mode allows.
pub struct AlwaysDeny;

impl Authorizer for AlwaysDeny {
    fn authorize<'a>(&'a self, _: &'a Attributes<'a>) -> BoxFuture<'a, Verdict> {
        let decision = Decision::NoOpinion { reason: "Everything is forbidden.".into() };
        std::future::ready(decision.into()).boxed()
    }

    fn rules(&self, _: &Subject<'_>, _: &str) -> Option<RuleSet> {
        Some(RuleSet::default())
    }
}
