//! Reviews: the common part of sending TokenReview and SubjectAccessReview to webhooks.

use keelson_object::{Map, Value};

/// The version in which reviews are sent and expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVersion {
    /// `v1`
    V1,
    /// `v1beta1`
    V1beta1,
}

impl ReviewVersion {
    /// The version called `name`.
    #[must_use]
    pub fn parse(name: &str) -> Option<ReviewVersion> {
        match name {
            "v1" => Some(ReviewVersion::V1),
            "v1beta1" => Some(ReviewVersion::V1beta1),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            ReviewVersion::V1 => "v1",
            ReviewVersion::V1beta1 => "v1beta1",
        }
    }

    /// `group/v1`
    #[must_use]
    pub fn of(self, group: &str) -> String {
        format!("{group}/{}", self.name())
    }

    /// The status of a review that came back, if it is one of `kind` in this version of `group`. A reply
    /// without kind and version counts as the expected one.
    pub fn status(self, (group, kind): (&str, &str), reply: Value) -> Result<Map, String> {
        let Value::Map(mut review) = reply else {
            return Err(format!("the reply is no object but {}", reply.json_type()));
        };
        let text = |key: &str| review.str(key).unwrap_or_default();
        let (version, found) = (text("apiVersion"), text("kind"));
        let is_ours = ["", &self.of(group)].contains(&version) && ["", kind].contains(&found);
        if !is_ours {
            let (version, wanted) = (version.rsplit('/').next().unwrap_or_default(), self.name());
            return Err(format!("converting ({version}.{found}) to ({wanted}.{kind}): unknown conversion"));
        }
        match review.remove("status") {
            Some(Value::Map(status)) => Ok(status),
            _ => Ok(Map::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::{Map, Value};

    use super::ReviewVersion;

    #[track_caller]
    fn check(reply: &[(&'static str, Value)], expected: Result<Option<bool>, &str>) {
        let reply: Map = reply.iter().map(|(key, value)| ((*key).into(), value.clone())).collect();
        let status = ReviewVersion::V1beta1.status(("example.com", "Review"), Value::Map(reply.clone()));
        let found = status.map(|it| it.bool("allowed"));
        assert_eq!(found, expected.map_err(str::to_owned), "{reply:?}");
    }

    #[test]
    fn replies_are_reviews_of_the_version_that_was_sent() {
        let status: Map = [("allowed".into(), Value::from(true))].into_iter().collect();
        let status = ("status", Value::Map(status));
        let (version, kind) = (("apiVersion", "example.com/v1beta1".into()), ("kind", "Review".into()));
        check(&[version.clone(), kind.clone(), status.clone()], Ok(Some(true)));
        check(&[version, kind.clone()], Ok(None));
        check(std::slice::from_ref(&status), Ok(Some(true)));
        let newer = ("apiVersion", "example.com/v1".into());
        let refused = "converting (v1.Review) to (v1beta1.Review): unknown conversion";
        check(&[newer, kind, status], Err(refused));
        let other = ReviewVersion::V1.status(("example.com", "Review"), Value::from("x"));
        assert_eq!(other.map_err(|it| it.len() > 10), Err(true));
    }
}
