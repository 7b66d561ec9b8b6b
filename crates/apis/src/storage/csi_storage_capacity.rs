//! CSIStorageCapacity: how much room there is somewhere for volumes of a class.

use keelson_object::scalar::Quantity;
use keelson_object::selector::{name_rules, validate_label_selector};
use keelson_object::{FieldErrors, Object, Path};
use keelson_registry::{Context, Strategy};

use crate::shared::{amounts, immutable, node_labels};

pub(crate) struct CsiStorageCapacity;

impl Strategy for CsiStorageCapacity {
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let topology = object.fields.map("nodeTopology");
        topology.map(|it| node_labels::selector_warnings(it, &Path::root("nodeTopology"))).unwrap_or_default()
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateCSIStorageCapacity (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        if let Some(topology) = object.fields.map("nodeTopology") {
            validate_label_selector(topology, &Path::root("nodeTopology"), errors);
        }
        let class = object.fields.str("storageClassName").unwrap_or_default();
        errors.invalid_each(&Path::root("storageClassName"), class, name_rules::dns1123_subdomain(class));
        if let Some(capacity) = object.fields.get("capacity").and_then(|it| Quantity::from_value(it).ok()) {
            amounts::non_negative(&capacity, &Path::root("capacity"), errors);
        }
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateCSIStorageCapacityUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let (new, old) = (&object.fields, &old.fields);
        immutable::value(
            new.get("nodeTopology"),
            old.get("nodeTopology"),
            &Path::root("nodeTopology"),
            errors,
        );
        immutable::text("storageClassName", new, old, &Path::root("storageClassName"), errors);
    }
}
