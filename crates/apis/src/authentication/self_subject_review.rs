//! SelfSubjectReview: returns the user of the request.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use keelson_object::{Map, Object, ObjectMeta};
use keelson_registry::{Answer, Context, Result};

pub(crate) struct SelfSubjectReviews;

impl Answer for SelfSubjectReviews {
    /// The posted object does not matter.
    ///
    /// Upstream: pkg/registry/authentication/selfsubjectreview/rest.go, Create (v1.36.4).
    fn answer<'a>(&'a self, context: &'a Context, _: &'a str, body: Object) -> BoxFuture<'a, Result<Object>> {
        let mut fields = Map::new();
        fields.map_mut("status").set("userInfo", context.user.info());
        let meta = ObjectMeta { creation_timestamp: Some(context.now()), ..ObjectMeta::default() };
        std::future::ready(Ok(Object { meta, fields, ..body })).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::SelfSubjectReviews;
    use crate::shared::testing::{answer, text};

    #[test]
    fn the_user_of_the_request_is_told() {
        let body = r#"{"metadata": {"name": "x"}, "status": {"userInfo": {"username": "other"}}}"#;
        let object = answer(&SelfSubjectReviews, "", body).expect("an answer");
        assert_eq!(text(&object.fields.into()), r#"{"status":{"userInfo":{"username":"tester"}}}"#);
        assert!(object.meta.creation_timestamp.is_some());
        assert_eq!(object.meta.name, "");
    }
}
