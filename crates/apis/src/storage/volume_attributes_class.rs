//! VolumeAttributesClass: the mutable attributes of volumes.

use keelson_object::{FieldErrors, Object, Path};
use keelson_registry::{Context, Strategy};

use super::parameters;

pub(crate) struct VolumeAttributesClass;

impl Strategy for VolumeAttributesClass {
    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateVolumeAttributesClass (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("parameters");
        let driver = object.fields.str("driverName").unwrap_or_default();
        parameters::check_driver(driver, &Path::root("driverName"), errors);
        parameters::check(object.fields.map("parameters"), &at, errors);
        if !parameters::is_there(object.fields.get("parameters")) {
            errors.required(&at, "must contain at least one key/value pair");
        }
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateVolumeAttributesClassUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        for field in ["driverName", "parameters"] {
            if object.fields.get(field) != old.fields.get(field) {
                errors.forbidden(&Path::root(field), format!("updates to {field} are forbidden."));
            }
        }
        self.validate(context, object, errors);
    }
}
