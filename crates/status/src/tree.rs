//! A status as a tree, for the encodings that are driven by schemas, and back.

use keelson_object::{Map, Value};

use crate::{Cause, Details, Outcome, Reason, Status};

impl Status {
    /// The object with its fields in upstream's order, whatever is empty left out.
    pub fn to_map(&self) -> Map {
        let mut metadata = Map::new();
        put_text(&mut metadata, "continue", &self.continue_token);
        let mut map = Map::with_capacity(8);
        map.push_new("kind", "Status");
        map.push_new("apiVersion", "v1");
        map.push_new("metadata", metadata);
        map.push_new("status", self.outcome.as_str());
        put_text(&mut map, "message", &self.message);
        put_text(&mut map, "reason", self.reason.as_str());
        if let Some(details) = &self.details {
            map.push_new("details", details.to_map());
        }
        put_number(&mut map, "code", self.code.into());
        map
    }

    /// Reads a status that somebody else made, such as a webhook. What is missing is empty; anything but
    /// `Success` is a failure.
    pub fn from_map(map: &Map) -> Status {
        let is_success = map.str("status") == Some("Success");
        Status {
            outcome: if is_success { Outcome::Success } else { Outcome::Failure },
            message: text(map, "message"),
            reason: Reason::parse(map.str("reason").unwrap_or_default()),
            details: map.map("details").map(|details| Box::new(Details::from_map(details))),
            code: map.int("code").and_then(|code| u16::try_from(code).ok()).unwrap_or(0),
            continue_token: map.map("metadata").map(|it| text(it, "continue")).unwrap_or_default(),
        }
    }
}

impl Details {
    fn to_map(&self) -> Map {
        let mut map = Map::new();
        put_text(&mut map, "name", &self.name);
        put_text(&mut map, "group", &self.group);
        put_text(&mut map, "kind", &self.kind);
        put_text(&mut map, "uid", &self.uid);
        if !self.causes.is_empty() {
            let causes: Vec<Value> = self.causes.iter().map(|cause| cause.to_map().into()).collect();
            map.push_new("causes", causes);
        }
        put_number(&mut map, "retryAfterSeconds", self.retry_after_seconds.into());
        map
    }

    fn from_map(map: &Map) -> Details {
        Details {
            name: text(map, "name"),
            group: text(map, "group"),
            kind: text(map, "kind"),
            uid: text(map, "uid"),
            causes: map.maps("causes").map(Cause::from_map).collect(),
            retry_after_seconds: map
                .int("retryAfterSeconds")
                .and_then(|seconds| u32::try_from(seconds).ok())
                .unwrap_or(0),
        }
    }
}

impl Cause {
    fn to_map(&self) -> Map {
        let mut map = Map::new();
        put_text(&mut map, "reason", &self.reason);
        put_text(&mut map, "message", &self.message);
        put_text(&mut map, "field", &self.field);
        map
    }

    fn from_map(map: &Map) -> Cause {
        Cause {
            reason: map.str("reason").unwrap_or_default().into(),
            message: text(map, "message"),
            field: text(map, "field"),
        }
    }
}

fn put_text(map: &mut Map, key: &str, text: &str) {
    if !text.is_empty() {
        map.push_new(key, text);
    }
}

fn put_number(map: &mut Map, key: &str, number: i64) {
    if number != 0 {
        map.push_new(key, number);
    }
}

fn text(map: &Map, key: &str) -> String {
    map.str(key).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use keelson_object::Map;

    use crate::{Cause, Details, Outcome, Reason, Status};

    #[test]
    fn a_status_survives_the_tree() {
        let full = Status {
            outcome: Outcome::Failure,
            message: "no".to_owned(),
            reason: Reason::Other("TooCloudy".into()),
            details: Some(Box::new(Details {
                name: "web".to_owned(),
                group: "apps".to_owned(),
                kind: "deployments".to_owned(),
                uid: "u-1".to_owned(),
                causes: vec![Cause { reason: "X".into(), message: "m".to_owned(), field: "spec".to_owned() }],
                retry_after_seconds: 3,
            })),
            code: 418,
            continue_token: "abc".to_owned(),
        };
        for status in [full, Status::success(Details::default()), Status::bad_request("x")] {
            assert_eq!(Status::from_map(&status.to_map()), status);
        }
    }

    #[test]
    fn a_status_of_nothing_is_a_failure() {
        let status = Status::from_map(&Map::new());
        assert_eq!((status.outcome, status.http_code()), (Outcome::Failure, 500));
    }
}
