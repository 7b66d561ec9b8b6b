//! `authentication.k8s.io`: reviews of tokens and of the current user.

mod self_subject_review;
mod token_review;

use keelson_registry::{Group, Resource, Version};

use crate::catalog::Settings;
use self_subject_review::SelfSubjectReviews;
use token_review::TokenReviews;

pub(crate) fn group(settings: &Settings) -> Group {
    Group::new("authentication.k8s.io")
        .serve(
            Resource::cluster("SelfSubjectReview", "selfsubjectreviews")
                .version(Version::stored("v1"))
                .answered(SelfSubjectReviews),
        )
        .serve(
            Resource::cluster("TokenReview", "tokenreviews")
                .version(Version::stored("v1"))
                .answered(TokenReviews(settings.access.clone())),
        )
}
