//! Lease: who holds something, and until when.

use keelson_object::Object;
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::gated::{Feature, Off};

pub(crate) struct Lease(Off);

/// What only a server that picks the holder understands.
const FEATURES: [Feature; 2] = [election(&["spec.strategy"]), election(&["spec.preferredHolder"])];

const fn election(paths: &'static [&'static str]) -> Feature {
    Feature { gates: &["CoordinatedLeaderElection"], paths, signs: &[] }
}

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::text("Holder", "spec.holderIdentity"), Column::age()]
}

impl Strategy for Lease {
    /// Upstream: pkg/registry/coordination/lease/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        self.0.drop_new(&mut object.fields, None);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        self.0.drop_new(&mut object.fields, Some(&old.fields));
    }
}

impl Lease {
    pub(crate) fn new(settings: &Settings) -> Lease {
        Lease(Off::of(settings, &FEATURES))
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;
    use keelson_registry::Strategy;

    use super::Lease;
    use crate::catalog::Settings;
    use crate::shared::testing::{context, decoded, text};

    fn lease(spec: &str) -> Object {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, \"spec\": {spec}}}");
        decoded(&with(&[]), "coordination.k8s.io/v1 Lease", &text)
    }

    fn with(features: &[&str]) -> Lease {
        let features = features.iter().map(|it| String::from(*it)).collect();
        Lease::new(&Settings { features, ..Settings::default() })
    }

    #[test]
    fn elections_need_their_feature() {
        let given = r#"{"holderIdentity":"me","strategy":"OldestEmulationVersion","preferredHolder":"you"}"#;
        let spec = |object: &Object| text(object.fields.get("spec").unwrap());
        let created = |features: &[&str]| {
            let mut object = lease(given);
            with(features).prepare_create(&context(), &mut object);
            spec(&object)
        };
        assert_eq!(created(&["CoordinatedLeaderElection"]), given);
        assert_eq!(created(&[]), r#"{"holderIdentity":"me"}"#);
        let (mut object, old) = (lease(given), lease(r#"{"preferredHolder": "you"}"#));
        with(&[]).prepare_update(&context(), &mut object, &old);
        assert_eq!(spec(&object), r#"{"holderIdentity":"me","preferredHolder":"you"}"#);
    }
}
