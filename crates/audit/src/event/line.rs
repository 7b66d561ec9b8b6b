//! An event as one line for people: the format `legacy`.
//!
//! Upstream: apiserver/pkg/audit/format.go (v1.36.4).

use keelson_object::scalar::{MicroTime, quote};

use super::Event;

impl Event {
    /// The line, without its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        const NONE: &str = "<none>";
        let list = |texts: &[String]| texts.iter().map(|it| quote(it)).collect::<Vec<_>>().join(",");
        let user = &self.user;
        let (name, groups) = match (&*user.username, &user.groups[..]) {
            ("", _) => (NONE, NONE.to_owned()),
            (name, []) => (name, NONE.to_owned()),
            (name, groups) => (name, list(groups)),
        };
        let (as_user, as_groups) = match &self.impersonated_user {
            None => ("<self>", "<lookup>".to_owned()),
            Some(it) => (&*it.username, list(&it.groups)),
        };
        let namespace =
            self.object.as_ref().map(|it| &*it.namespace).filter(|it| !it.is_empty()).unwrap_or(NONE);
        let response = if self.code == 0 { "<deferred>".to_owned() } else { self.code.to_string() };
        let ip = self.source_ips.first().map_or("<unknown>", String::as_str);
        format!(
            "{} AUDIT: id={} stage={} ip={} method={} user={} groups={} as={} asgroups={} user-agent={} \
             namespace={} uri={} response=\"{response}\"",
            self.received_text(),
            quote(&self.audit_id),
            quote(self.stage.as_str()),
            quote(ip),
            quote(&self.verb),
            quote(name),
            quote(&groups),
            quote(as_user),
            quote(&as_groups),
            quote(&self.user_agent),
            quote(namespace),
            quote(&self.request_uri),
        )
    }

    /// RFC 3339 with as many digits of a second as there are.
    fn received_text(&self) -> String {
        let nanos = self.received.subsec_nanos();
        let micros = i64::try_from(self.received.as_micros()).unwrap_or(i64::MAX);
        let text = MicroTime::from_unix_micros(micros).to_string();
        let seconds = text.split('.').next().unwrap_or_default();
        let fraction = format!(".{nanos:09}");
        format!("{seconds}{}Z", fraction.trim_end_matches('0').trim_end_matches('.'))
    }
}
