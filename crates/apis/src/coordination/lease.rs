//! Lease: the holder of a lock, and until when it holds it.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_registry::{Column, Context, Strategy};

use crate::catalog::Settings;
use crate::shared::gated::{Feature, Off};

pub(crate) struct Lease(Off);

/// The one way in which Kubernetes itself picks a holder.
pub(super) const OLDEST_EMULATION_VERSION: &str = "OldestEmulationVersion";

/// Fields of coordinated leader election, in which the server picks the holder.
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

    /// Upstream: pkg/apis/coordination/validation/validation.go, ValidateLeaseSpec (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let (at, empty) = (Path::root("spec"), Map::new());
        let spec = object.fields.map("spec").unwrap_or(&empty);
        if let Some(seconds) = spec.int("leaseDurationSeconds") {
            errors.positive(&at.key("leaseDurationSeconds"), seconds);
        }
        errors.non_negative(&at.key("leaseTransitions"), spec.int("leaseTransitions"));
        if let Some(strategy) = spec.str("strategy") {
            check_strategy(strategy, &at.key("strategy"), errors);
        }
        let is_said = |field| spec.str(field).is_some_and(|it| !it.is_empty());
        if is_said("preferredHolder") && !is_said("strategy") {
            let detail = "may only be specified if `strategy` is defined";
            errors.forbidden(&at.key("preferredHolder"), detail);
        }
    }
}

/// Checks how a holder is picked, here and in candidates.
///
/// Upstream: pkg/apis/coordination/validation/validation.go, ValidateCoordinatedLeaseStrategy (v1.36.4), which names
/// the field twice.
pub(super) fn check_strategy(strategy: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    let at = at.key("strategy");
    if strategy.contains('/') {
        errors.invalid_each(&at, strategy, name_rules::qualified_name(strategy));
    } else if strategy != OLDEST_EMULATION_VERSION {
        errors.not_supported(&at, strategy, &[OLDEST_EMULATION_VERSION]);
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
