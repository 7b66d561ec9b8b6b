//! LeaseCandidate: a candidate for the holder of a lease.

use keelson_object::{FieldErrors, Map, Object, Path};
use keelson_registry::{Context, NameRule, Strategy};

use super::lease::{OLDEST_EMULATION_VERSION, check_strategy};
use super::version::SemVer;
use crate::shared::immutable;

pub(crate) struct LeaseCandidate;

impl Strategy for LeaseCandidate {
    /// Upstream: pkg/apis/coordination/validation/validation.go, ValidLeaseCandidateName (v1.36.4).
    fn name_rule(&self) -> NameRule {
        NameRule::ConfigMapKey
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        check(object.fields.map("spec").unwrap_or(&Map::new()), &Path::root("spec"), errors);
    }

    /// Upstream: pkg/apis/coordination/validation/validation.go, ValidateLeaseCandidateUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let empty = Map::new();
        let (new, old) =
            (object.fields.map("spec").unwrap_or(&empty), old.fields.map("spec").unwrap_or(&empty));
        immutable::text("leaseName", new, old, &Path::root("spec.leaseName"), errors);
    }
}

/// Upstream: pkg/apis/coordination/validation/validation.go, ValidateLeaseCandidateSpec (v1.36.4).
fn check(spec: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |field: &str| spec.str(field).unwrap_or_default();
    if text("leaseName").is_empty() {
        errors.required(&at.key("leaseName"), "");
    }
    // What cannot be read counts as the lowest version.
    let mut version = |field: &str| {
        let read = SemVer::parse(text(field));
        if read.is_none() && !text(field).is_empty() {
            errors.invalid(&at.key(field), text(field), "must be a valid semantic version");
        } else if read.is_none() && field == "binaryVersion" {
            errors.required(&at.key(field), "");
        }
        read.unwrap_or_default()
    };
    let (emulated, binary) = (version("emulationVersion"), version("binaryVersion"));
    let are_said = !text("binaryVersion").is_empty() && !text("emulationVersion").is_empty();
    if are_said && binary < emulated {
        let detail = "must be greater than or equal to `emulationVersion`";
        errors.invalid(&at.key("binaryVersion"), text("binaryVersion"), detail);
    }
    match text("strategy") {
        "" => errors.required(&at.key("strategy"), ""),
        strategy => {
            if strategy == OLDEST_EMULATION_VERSION && emulated == SemVer::default() {
                let detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
                errors.required(&at.key("emulationVersion"), detail);
            }
            check_strategy(strategy, &at.key("strategy"), errors);
        }
    }
}
