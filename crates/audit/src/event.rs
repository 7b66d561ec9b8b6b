//! Event: what is recorded about a request, as `audit.k8s.io/v1` writes it.

mod json;
mod line;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use keelson_status::Status;

pub(crate) use self::json::{Form, HEAD, Objects};
use crate::{Level, Stage};

/// What is recorded about a request.
#[derive(Clone, Debug, Default)]
pub struct Event {
    /// How much is recorded.
    pub level: Level,
    /// The id under which the client finds the event again.
    pub audit_id: String,
    /// When this is recorded.
    pub stage: Stage,
    /// Path and query as they were sent.
    pub request_uri: String,
    /// `list`; for plain paths the method in lower case.
    pub verb: String,
    /// Who asked; empty where nobody was recognised.
    pub user: UserInfo,
    /// As whom.
    pub impersonated_user: Option<UserInfo>,
    /// The verb that allowed that; empty for `impersonate`.
    pub impersonation_constraint: &'static str,
    /// The proxies' word first, the peer last.
    pub source_ips: Vec<String>,
    /// What the client says it is.
    pub user_agent: String,
    /// What it is about.
    pub object: Option<ObjectReference>,
    /// The code of the answer; 0 where there is none yet.
    pub code: u16,
    /// The answer, if it is a status.
    pub status: Option<Box<Status>>,
    /// The object that was sent, as JSON.
    pub request_object: Option<Bytes>,
    /// The object that was answered, as JSON.
    pub response_object: Option<Bytes>,
    /// When the request came in, since the epoch.
    pub received: Duration,
    /// When this stage was reached, since the epoch.
    pub stage_time: Duration,
    /// What others have to say.
    pub annotations: BTreeMap<String, String>,
}

/// Somebody.
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

/// What a request is about. Empty fields are not written.
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
    /// How long what a client says it is may be.
    const USER_AGENT: usize = 1024;

    /// What a client says it is, cut if that is long.
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
