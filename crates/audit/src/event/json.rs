//! An event as JSON, field by field as Go writes it.

use std::collections::BTreeMap;

use bytes::{BufMut, BytesMut};
use keelson_codec::json::write_text;
use keelson_object::scalar::MicroTime;
use keelson_status::Status;

use super::{Event, ObjectReference, UserInfo};

/// The first fields of an event that is not part of a list.
pub(crate) const HEAD: &[u8] = br#""kind":"Event","apiVersion":"audit.k8s.io/v1","#;

/// Whether the event includes its kind and apiVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A line of a log.
    Whole,
    /// An item of a list.
    Item,
}

/// Which objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Objects {
    /// The request and response objects of the event.
    All,
    /// No objects; an annotation says that they were left out.
    LeftOut,
}

impl Event {
    /// Writes the event, without a line end.
    pub(crate) fn write_json(&self, form: Form, objects: Objects, out: &mut BytesMut) {
        out.put_u8(b'{');
        if form == Form::Whole {
            out.put_slice(HEAD);
        }
        text(out, "\"level\":", self.level.as_str());
        text(out, ",\"auditID\":", &self.audit_id);
        text(out, ",\"stage\":", self.stage.as_str());
        text(out, ",\"requestURI\":", &self.request_uri);
        text(out, ",\"verb\":", &self.verb);
        out.put_slice(b",\"user\":");
        user(out, &self.user);
        if let Some(impersonated) = &self.impersonated_user {
            out.put_slice(b",\"impersonatedUser\":");
            user(out, impersonated);
        }
        if !self.impersonation_constraint.is_empty() {
            text(
                out,
                ",\"authenticationMetadata\":{\"impersonationConstraint\":",
                self.impersonation_constraint,
            );
            out.put_u8(b'}');
        }
        if !self.source_ips.is_empty() {
            out.put_slice(b",\"sourceIPs\":");
            texts(out, &self.source_ips);
        }
        if !self.user_agent.is_empty() {
            text(out, ",\"userAgent\":", &self.user_agent);
        }
        if let Some(object) = &self.object {
            reference(out, object);
        }
        self.write_status(out);
        if objects == Objects::All {
            for (key, object) in [
                (",\"requestObject\":", &self.request_object),
                (",\"responseObject\":", &self.response_object),
            ] {
                if let Some(object) = object {
                    out.put_slice(key.as_bytes());
                    out.put_slice(object);
                }
            }
        }
        for (key, time) in
            [(",\"requestReceivedTimestamp\":", self.received), (",\"stageTimestamp\":", self.stage_time)]
        {
            let micros = MicroTime::from_unix_micros(i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
            text(out, key, &micros.to_string());
        }
        self.write_annotations(objects, out);
        out.put_u8(b'}');
    }

    fn write_status(&self, out: &mut BytesMut) {
        match &self.status {
            None if self.code == 0 => {}
            None => {
                let status = format!(",\"responseStatus\":{{\"metadata\":{{}},\"code\":{}}}", self.code);
                out.put_slice(status.as_bytes());
            }
            Some(status) => {
                let code = if self.code == 0 { status.code } else { self.code };
                let known = Status { code, continue_token: String::new(), ..Status::clone(status) };
                let whole = known.to_json();
                let rest = whole.strip_prefix(STATUS_HEAD).unwrap_or(&whole[1..]);
                out.put_slice(b",\"responseStatus\":{");
                out.put_slice(rest);
            }
        }
    }

    fn write_annotations(&self, objects: Objects, out: &mut BytesMut) {
        let truncated = [(Event::TRUNCATED, "true")];
        let more = match objects {
            Objects::LeftOut => &truncated[..],
            Objects::All => &[],
        };
        let own = self.annotations.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let mut all: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
        if all.is_empty() {
            return;
        }
        all.sort_unstable();
        all.dedup_by_key(|(key, _)| *key);
        let mut before = ",\"annotations\":{";
        for (key, value) in all {
            text(out, before, key);
            text(out, ":", value);
            before = ",";
        }
        out.put_u8(b'}');
    }
}

const STATUS_HEAD: &[u8] = br#"{"kind":"Status","apiVersion":"v1","#;

fn text(out: &mut BytesMut, before: &str, text: &str) {
    out.put_slice(before.as_bytes());
    write_text(text, out);
}

fn texts(out: &mut BytesMut, texts: &[String]) {
    let mut before = "[";
    for it in texts {
        text(out, before, it);
        before = ",";
    }
    out.put_slice(if texts.is_empty() { b"[]" } else { b"]" });
}

fn user(out: &mut BytesMut, user: &UserInfo) {
    let mut fields = Fields { out, before: "{" };
    fields.text("username", &user.username);
    fields.text("uid", &user.uid);
    if !user.groups.is_empty() {
        fields.key("groups");
        texts(fields.out, &user.groups);
    }
    if !user.extra.is_empty() {
        fields.key("extra");
        extra(fields.out, &user.extra);
    }
    fields.end();
}

fn extra(out: &mut BytesMut, extra: &BTreeMap<String, Vec<String>>) {
    let mut before = "{";
    for (key, values) in extra {
        text(out, before, key);
        out.put_u8(b':');
        texts(out, values);
        before = ",";
    }
    out.put_u8(b'}');
}

fn reference(out: &mut BytesMut, object: &ObjectReference) {
    out.put_slice(b",\"objectRef\":");
    let mut fields = Fields { out, before: "{" };
    fields.text("resource", &object.resource);
    fields.text("namespace", &object.namespace);
    fields.text("name", &object.name);
    fields.text("uid", &object.uid);
    fields.text("apiGroup", &object.api_group);
    fields.text("apiVersion", &object.api_version);
    fields.text("resourceVersion", &object.resource_version);
    fields.text("subresource", &object.subresource);
    fields.end();
}

/// A map whose empty fields are not written.
struct Fields<'o> {
    out: &'o mut BytesMut,
    before: &'static str,
}

impl Fields<'_> {
    fn key(&mut self, key: &str) {
        self.out.put_slice(self.before.as_bytes());
        self.before = ",";
        write_text(key, self.out);
        self.out.put_u8(b':');
    }

    fn text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.key(key);
            write_text(value, self.out);
        }
    }

    fn end(self) {
        self.out.put_slice(if self.before == "{" { b"{}" } else { b"}" });
    }
}
