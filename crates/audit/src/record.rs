//! Record: collects the audit event of one request, and sends it to the backends at each stage.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use keelson_codec::json;
use keelson_object::Value;
use keelson_status::{Outcome, Status};
use parking_lot::Mutex;
use tracing::warn;

use crate::{Audit, Event, Judgement, Level, Stage};

/// The audit record of one request.
pub struct Record {
    audit: Arc<Audit>,
    judgement: Judgement,
    event: Mutex<Event>,
    is_complete: AtomicBool,
}

impl Record {
    /// Objects that are larger are not recorded, and an annotation says so.
    pub const MAX_OBJECT: usize = 10 << 20;

    pub(crate) fn new(audit: Arc<Audit>, judgement: Judgement, mut event: Event) -> Record {
        event.level = judgement.level;
        Record { audit, judgement, event: Mutex::new(event), is_complete: AtomicBool::new(false) }
    }

    /// Whether the request object is recorded.
    pub fn wants_request(&self) -> bool {
        self.judgement.level >= Level::Request
    }

    /// Whether the response object is recorded.
    pub fn wants_response(&self) -> bool {
        self.judgement.level >= Level::RequestResponse
    }

    /// Changes the event.
    pub fn edit(&self, change: impl FnOnce(&mut Event)) {
        change(&mut self.event.lock());
    }

    /// Adds an annotation. The first value of a `key` wins.
    pub fn annotate(&self, key: &str, value: impl Into<String>) {
        let value = value.into();
        let mut event = self.event.lock();
        match event.annotations.get(key) {
            None => {
                event.annotations.insert(key.to_owned(), value);
            }
            Some(known) if *known == value => {}
            Some(known) => warn!(
                key,
                audit_id = event.audit_id,
                "Failed to set annotations[{key:?}] to {value:?}, it has already been set to {known:?}"
            ),
        }
    }

    /// The object that was sent, as JSON.
    pub fn request_object(&self, object: Bytes) {
        let object = self.fit(object);
        self.event.lock().request_object = object;
    }

    /// The patch that was sent, as JSON. Its managedFields are kept.
    pub fn request_patch(&self, patch: Bytes) {
        let patch = self.bounded(patch);
        self.event.lock().request_object = patch;
    }

    /// The object that is answered, as JSON.
    pub fn response_object(&self, object: Bytes) {
        let object = self.fit(object);
        self.event.lock().response_object = object;
    }

    /// The response begins with this code. `status` is its body, if that is a Status.
    pub fn answered(&self, code: u16, status: Option<Box<Status>>) {
        let object = status.as_ref().filter(|_| self.wants_response()).map(|it| it.to_json());
        let mut event = self.event.lock();
        event.code = code;
        if status.is_some() {
            event.status = status;
        }
        if object.is_some() {
            event.response_object = object;
        }
    }

    /// The request came in. `false`: it could not be recorded and must not go on.
    pub async fn received(&self) -> bool {
        let is_recorded = self.reach(Stage::RequestReceived).await;
        if !is_recorded {
            self.is_complete.store(true, Ordering::Relaxed);
            self.audit.count_rejected();
        }
        is_recorded
    }

    /// The answer begins, unless the server has failed.
    pub async fn started(&self) {
        if !self.is_complete.load(Ordering::Relaxed) {
            self.reach(Stage::ResponseStarted).await;
        }
    }

    /// The response begins, and no event is recorded at its end.
    pub async fn refused(&self) {
        self.is_complete.store(true, Ordering::Relaxed);
        self.reach(Stage::ResponseStarted).await;
    }

    /// The server failed with this message.
    pub fn panicked(&self, message: &str) {
        let mut status = Status::internal_error(message);
        status.message = format!("APIServer panic'd: {message}");
        status.details = None;
        self.answered(500, Some(Box::new(status)));
        self.event.lock().response_object = None;
        self.end(Stage::Panic);
    }

    /// The last byte is sent, or the client has disconnected.
    pub fn complete(&self) {
        self.end(Stage::ResponseComplete);
    }

    fn end(&self, stage: Stage) {
        if self.is_complete.swap(true, Ordering::Relaxed) || self.judgement.omit_stages.contains(stage) {
            return;
        }
        let mut event = self.event.lock();
        if event.code == 0 {
            event.code = 200;
            event.status = Some(Box::new(closed_early()));
        }
        self.stamp(&mut event, stage);
        self.audit.tell_now(&event);
    }

    async fn reach(&self, stage: Stage) -> bool {
        if self.judgement.omit_stages.contains(stage) {
            return true;
        }
        self.stamp(&mut self.event.lock(), stage);
        self.audit.tell(&self.event).await
    }

    fn stamp(&self, event: &mut Event, stage: Stage) {
        event.stage = stage;
        event.stage_time = if stage == Stage::RequestReceived { event.received } else { self.audit.now() };
    }

    /// The object in the form that the policy wants.
    fn fit(&self, object: Bytes) -> Option<Bytes> {
        let object = self.bounded(object)?;
        Some(if self.judgement.omit_managed_fields { without_managed_fields(object) } else { object })
    }

    /// `None` if the object is too large.
    fn bounded(&self, object: Bytes) -> Option<Bytes> {
        if object.len() > Record::MAX_OBJECT {
            self.annotate(Event::TRUNCATED, "true");
            return None;
        }
        Some(object)
    }
}

/// The Status for a request without a response because the client has disconnected.
///
/// Upstream: apiserver/pkg/endpoints/filters/audit.go, WithAudit (v1.36.4).
fn closed_early() -> Status {
    let message = "Connection closed early".to_owned();
    Status { outcome: Outcome::Success, message, ..Status::default() }
}

/// Removes managedFields from an object, from the items of a list and from the objects in the rows of a
/// table.
///
/// Upstream: apiserver/pkg/audit/request.go, copyWithoutManagedFields (v1.36.4).
fn without_managed_fields(object: Bytes) -> Bytes {
    const KEY: &[u8] = b"\"managedFields\"";
    if !object.windows(KEY.len()).any(|it| it == KEY) {
        return object;
    }
    let Ok(mut document) = json::read(&object) else { return object };
    let forget = |value: &mut Value| {
        let metadata = value.as_map_mut().and_then(|map| map.get_mut("metadata"));
        if let Some(metadata) = metadata.and_then(Value::as_map_mut) {
            metadata.remove("managedFields");
        }
    };
    forget(&mut document.value);
    let Some(map) = document.value.as_map_mut() else { return object };
    let is_table = map.str("kind") == Some("Table");
    for (list, inner) in [("items", None), ("rows", Some("object"))] {
        if inner.is_some() && !is_table {
            continue;
        }
        for item in map.get_mut(list).and_then(Value::as_list_mut).into_iter().flatten() {
            match inner {
                None => forget(item),
                Some(key) => item.as_map_mut().and_then(|it| it.get_mut(key)).into_iter().for_each(forget),
            }
        }
    }
    json::to_bytes(&document.value)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::without_managed_fields;

    #[track_caller]
    fn check(object: &'static str, expected: &str) {
        assert_eq!(without_managed_fields(Bytes::from_static(object.as_bytes())), expected.as_bytes());
    }

    #[test]
    fn managed_fields_are_forgotten_everywhere() {
        check(
            r#"{"metadata":{"name":"a","managedFields":[{}]},"data":{"managedFields":"kept"}}"#,
            r#"{"metadata":{"name":"a"},"data":{"managedFields":"kept"}}"#,
        );
        check(
            r#"{"kind":"AList","metadata":{},"items":[{"metadata":{"managedFields":[{}]}},{}]}"#,
            r#"{"kind":"AList","metadata":{},"items":[{"metadata":{}},{}]}"#,
        );
        check(
            r#"{"kind":"Table","rows":[{"cells":[1],"object":{"metadata":{"managedFields":[]}}}]}"#,
            r#"{"kind":"Table","rows":[{"cells":[1],"object":{"metadata":{}}}]}"#,
        );
        check("{\"plain\":1}", "{\"plain\":1}");
    }
}
