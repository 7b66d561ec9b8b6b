//! Conditions in the status of an object: find, set, remove.

use crate::scalar::Time;
use crate::value::{Map, Value};

/// A condition without its lastTransitionTime, which is set when its status changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// `type`
    pub kind: &'static str,
    /// `True`, `False` or `Unknown`
    pub status: &'static str,
    /// `reason`
    pub reason: &'static str,
    /// `message`
    pub message: String,
}

impl Condition {
    /// Sets the condition in `status`. Other fields of an existing condition stay as they are, and its time
    /// changes only with its status. Returns whether anything changed.
    ///
    /// Upstream: apiextensions-apiserver/pkg/apihelpers/helpers.go, SetCRDCondition (v1.36.4).
    pub fn set(&self, status: &mut Map, now: Time) -> bool {
        let mut conditions = status.list("conditions").to_vec();
        let is_it = |it: &&mut Map| it.str("type") == Some(self.kind);
        let changed = match conditions.iter_mut().filter_map(Value::as_map_mut).find(is_it) {
            Some(condition) => self.replace(condition, now),
            None => {
                let mut condition = Map::with_capacity(5);
                condition.set("type", self.kind);
                self.replace(&mut condition, now);
                conditions.push(Value::Map(condition));
                true
            }
        };
        if changed {
            status.set("conditions", conditions);
        }
        changed
    }

    fn replace(&self, condition: &mut Map, now: Time) -> bool {
        let before = condition.clone();
        if condition.str("status") != Some(self.status)
            || condition.str("lastTransitionTime").is_none_or(str::is_empty)
        {
            condition.set("status", self.status);
            condition.set("lastTransitionTime", now.to_string());
        }
        condition.set("reason", self.reason);
        condition.set("message", self.message.as_str());
        *condition != before
    }

    /// Whether `status` has this condition, whatever its time.
    pub fn is_in(&self, status: Option<&Map>) -> bool {
        find(status, self.kind).is_some_and(|it| {
            let text = |field| it.str(field).unwrap_or_default();
            text("status") == self.status && text("reason") == self.reason && text("message") == self.message
        })
    }
}

/// The first condition of a type.
pub fn find<'s>(status: Option<&'s Map>, kind: &str) -> Option<&'s Map> {
    status?.maps("conditions").find(|it| it.str("type") == Some(kind))
}

/// The status of the first condition of a type.
pub fn status_of<'s>(status: Option<&'s Map>, kind: &str) -> Option<&'s str> {
    find(status, kind)?.str("status")
}

/// Removes the conditions of a type. Returns whether there were any.
pub fn remove(status: &mut Map, kind: &str) -> bool {
    let is_it = |it: &Value| it.as_map().and_then(|it| it.str("type")) == Some(kind);
    let conditions = status.list("conditions");
    let left: Vec<Value> = conditions.iter().filter(|it| !is_it(it)).cloned().collect();
    let changed = left.len() != conditions.len();
    if changed {
        status.set("conditions", left);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::{Condition, find, remove, status_of};
    use crate::scalar::Time;
    use crate::value::Map;

    fn ready(status: &'static str) -> Condition {
        Condition { kind: "Ready", status, reason: "R", message: "m".to_owned() }
    }

    fn time_of(status: &Map) -> &str {
        find(Some(status), "Ready").and_then(|it| it.str("lastTransitionTime")).unwrap_or_default()
    }

    #[test]
    fn the_time_changes_with_the_status_alone() {
        let mut status = Map::new();
        let at = Time::from_unix;
        assert!(ready("False").set(&mut status, at(0)));
        assert!(ready("False").is_in(Some(&status)));
        assert!(!ready("False").set(&mut status, at(1)));
        assert_eq!(time_of(&status), "1970-01-01T00:00:00Z");
        let other = Condition { reason: "Other", ..ready("False") };
        assert!(!other.is_in(Some(&status)));
        assert!(other.set(&mut status, at(2)));
        assert_eq!(time_of(&status), "1970-01-01T00:00:00Z");
        assert!(ready("True").set(&mut status, at(3)));
        assert_eq!(time_of(&status), "1970-01-01T00:00:03Z");
        assert_eq!(status_of(Some(&status), "Ready"), Some("True"));
        assert_eq!(status.list("conditions").len(), 1);
    }

    #[test]
    fn other_fields_and_other_conditions_stay() {
        let mut status = Map::new();
        Condition { kind: "Other", ..ready("True") }.set(&mut status, Time::from_unix(0));
        ready("True").set(&mut status, Time::from_unix(0));
        let mut conditions = status.list("conditions").to_vec();
        conditions[1].as_map_mut().unwrap().set("observedGeneration", 4);
        status.set("conditions", conditions);
        ready("False").set(&mut status, Time::from_unix(1));
        assert_eq!(find(Some(&status), "Ready").unwrap().int("observedGeneration"), Some(4));
        assert!(remove(&mut status, "Ready"));
        assert!(!remove(&mut status, "Ready"));
        assert_eq!(status_of(Some(&status), "Other"), Some("True"));
    }
}
