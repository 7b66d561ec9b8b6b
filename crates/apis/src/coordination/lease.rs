//! Lease: who holds something, and until when.

use keelson_object::Object;
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::{is_set, part};

pub(crate) struct Lease {
    /// Whether the server picks the holder: the feature `CoordinatedLeaderElection`.
    pub(crate) election: bool,
}

/// What only a server that picks the holder understands.
const OF_ELECTIONS: [&str; 2] = ["strategy", "preferredHolder"];

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::text("Holder", "spec.holderIdentity"), Column::age()]
}

impl Strategy for Lease {
    /// Upstream: pkg/registry/coordination/lease/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        self.drop_disabled(object, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.drop_disabled(object, Some(old));
    }
}

impl Lease {
    fn drop_disabled(&self, object: &mut Object, old: Option<&Object>) {
        if self.election {
            return;
        }
        let had = old.and_then(|old| old.fields.map("spec"));
        let Some(spec) = part(&mut object.fields, "spec") else { return };
        for field in OF_ELECTIONS {
            if !had.is_some_and(|had| is_set(had, field)) {
                spec.remove(field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::Lease;
    use crate::shared::testing::{context, decoded, text};

    fn lease(election: bool, spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(&Lease { election }, "coordination.k8s.io/v1 Lease", &text)
    }

    #[test]
    fn elections_need_their_feature() {
        let given = r#"{"holderIdentity":"me","strategy":"OldestEmulationVersion","preferredHolder":"you"}"#;
        let created = |election: bool| {
            let mut object = lease(election, given);
            Lease { election }.prepare_create(&context(), &mut object);
            text(object.fields.get("spec").unwrap())
        };
        assert_eq!(created(true), given);
        assert_eq!(created(false), r#"{"holderIdentity":"me"}"#);
        let (mut object, old) = (lease(false, given), lease(false, r#"{"preferredHolder": "you"}"#));
        Lease { election: false }.prepare_update(&context(), &mut object, &old);
        assert_eq!(
            text(object.fields.get("spec").unwrap()),
            r#"{"holderIdentity":"me","preferredHolder":"you"}"#
        );
    }
}
