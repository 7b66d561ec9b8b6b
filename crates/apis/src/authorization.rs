//! `authorization.k8s.io`: access reviews.

mod access_review;
mod question;
mod rules_review;
mod validation;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;
use access_review::{AccessReviews, Who};
use rules_review::RulesReviews;

pub(crate) fn group(settings: &Settings) -> Group {
    let authorizer = &settings.access.authorizer;
    let review = |who| AccessReviews { authorizer: authorizer.clone(), who };
    Group::new("authorization.k8s.io")
        .serve(
            Resource::namespaced("LocalSubjectAccessReview", "localsubjectaccessreviews")
                .version(Version::stored("v1"))
                .answered(review(Who::NamedInNamespace)),
        )
        .serve(
            Resource::cluster("SelfSubjectAccessReview", "selfsubjectaccessreviews")
                .version(Version::stored("v1"))
                .answered(review(Who::Asks)),
        )
        .serve(
            Resource::cluster("SelfSubjectRulesReview", "selfsubjectrulesreviews")
                .version(Version::stored("v1"))
                .answered(RulesReviews { authorizer: authorizer.clone() }),
        )
        .serve(
            Resource::cluster("SubjectAccessReview", "subjectaccessreviews")
                .version(Version::stored("v1"))
                .answered(review(Who::Named)),
        )
}
