//! Event: an audit event in the form of `audit.k8s.io/v1`.

mod json;
mod line;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use keelson_status::Status;

pub(crate) use self::json::{Form, HEAD, Objects};
use crate::{Level, Stage};

/// An audit event about a request.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// The audit level.
    pub level: Level,
    /// The id under which the client finds the event again.
    pub audit_id: String,
    /// The stage of the request.
    pub stage: Stage,
    /// Path and query as they were sent.
    pub request_uri: String,
    /// `list`; for plain paths the method in lower case.
    pub verb: String,
    /// The user; empty if the request was not authenticated.
    pub user: UserInfo,
    /// The impersonated user.
    pub impersonated_user: Option<UserInfo>,
    /// The verb that allowed that; empty for `impersonate`.
    pub impersonation_constraint: &'static str,
    /// The proxies' word first, the peer last.
    pub source_ips: Vec<String>,
    /// The user agent of the client.
    pub user_agent: String,
    /// The object or resource of the request.
    pub object: Option<ObjectReference>,
    /// The code of the answer; 0 where there is none yet.
    pub code: u16,
    /// The answer, if it is a status.
    pub status: Option<Box<Status>>,
    /// The object that was sent, as JSON.
    pub request_object: Option<Bytes>,
    /// The object that was answered, as JSON.
    pub response_object: Option<Bytes>,
    /// The time at which the request was received, since the epoch.
    pub received: Duration,
    /// The time at which this stage was reached, since the epoch.
    pub stage_time: Duration,
    /// Annotations by plugins, such as admission and authorization.
    pub annotations: BTreeMap<String, String>,
}

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo {
    /// The name.
    pub username: String,
    /// The uid, often empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Further facts.
    pub extra: BTreeMap<String, Vec<String>>,
}

/// The object of a request. Empty fields are not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct ObjectReference {
    pub resource: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub api_group: String,
    pub api_version: String,
    pub resource_version: String,
    pub subresource: String,
}

impl Event {
    /// The annotation that says that the objects were left out because they are too large.
    pub const TRUNCATED: &str = "audit.k8s.io/truncated";
    /// The largest length of a user agent.
    const USER_AGENT: usize = 1024;

    /// The user agent, truncated if it is too long.
    ///
    /// Upstream: apiserver/pkg/audit/request.go, maybeTruncateUserAgent (v1.36.4).
    #[must_use]
    pub fn cut_user_agent(text: &str) -> String {
        if text.len() <= Event::USER_AGENT {
            return text.to_owned();
        }
        format!("{}...TRUNCATED", &text[..text.floor_char_boundary(Event::USER_AGENT)])
    }
}

#[cfg(test)]
mod tests;
