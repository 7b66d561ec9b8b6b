//! StorageClass: a class of storage for volumes.

use keelson_object::{Cell, FieldErrors, Object, Path};
use keelson_registry::{Column, Context, Strategy};

use super::{parameters, topology};
use crate::shared::node_labels::outdated;
use crate::shared::{cells, immutable};

/// What happens to a released volume.
const RECLAIM_POLICIES: [&str; 2] = ["Delete", "Retain"];

/// When a claim is bound to a volume.
const BINDING_MODES: [&str; 2] = ["Immediate", "WaitForFirstConsumer"];

/// The annotations of the default class, the current one and the old one.
const IS_DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

pub(crate) struct StorageClass;

pub(crate) fn columns() -> [Column; 6] {
    [
        cells::named(Column::computed("Name", |object| cells::name_of_class(object, &IS_DEFAULT))),
        Column::text("Provisioner", "provisioner"),
        Column::text("ReclaimPolicy", "reclaimPolicy"),
        Column::text("VolumeBindingMode", "volumeBindingMode"),
        Column::computed("AllowVolumeExpansion", |object| {
            Cell::Bool(cells::truth(object, "allowVolumeExpansion").unwrap_or(false))
        }),
        Column::age(),
    ]
}

impl Strategy for StorageClass {
    /// Upstream: pkg/apis/storage/v1/defaults.go, SetDefaults_StorageClass (v1.36.4).
    fn default(&self, object: &mut Object) {
        object.fields.default_to("reclaimPolicy", "Delete");
        object.fields.default_to("volumeBindingMode", "Immediate");
    }

    /// Upstream: pkg/api/storage/util.go, GetWarningsForStorageClass (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        let mut warnings = Vec::new();
        for (i, topology) in object.fields.maps("allowedTopologies").enumerate() {
            for (j, expression) in topology.maps("matchLabelExpressions").enumerate() {
                let advice = expression.str("key").and_then(outdated);
                warnings.extend(advice.map(|advice| {
                    format!("allowedTopologies[{i}].matchLabelExpressions[{j}].key: {advice}")
                }));
            }
        }
        warnings
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateStorageClass (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let fields = &object.fields;
        let text = |field| fields.str(field).unwrap_or_default();
        parameters::check_driver(text("provisioner"), &Path::root("provisioner"), errors);
        parameters::check(fields.map("parameters"), &Path::root("parameters"), errors);
        let policy = text("reclaimPolicy");
        if !policy.is_empty() && !RECLAIM_POLICIES.contains(&policy) {
            errors.not_supported(&Path::root("reclaimPolicy"), policy, &RECLAIM_POLICIES);
        }
        let mode = text("volumeBindingMode");
        if !BINDING_MODES.contains(&mode) {
            errors.not_supported(&Path::root("volumeBindingMode"), mode, &BINDING_MODES);
        }
        topology::check(fields, &Path::root("allowedTopologies"), errors);
    }

    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateStorageClassUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
            let (new, old) = (object.fields.get(field), old.fields.get(field));
            immutable::value(new, old, &Path::root(field), errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;
    use keelson_registry::Strategy;

    use super::{StorageClass, columns};
    use crate::shared::testing::decoded;

    #[track_caller]
    fn check(text: &str, expected: [&str; 4], expands: bool) {
        let object = decoded(&StorageClass, "storage.k8s.io/v1 StorageClass", text);
        let found: Vec<Cell> = columns()[..5].iter().map(|column| column.cell(&object)).collect();
        let mut cells: Vec<Cell> = expected.map(Cell::from).to_vec();
        cells.push(Cell::Bool(expands));
        assert_eq!(found, cells, "{text}");
    }

    #[test]
    fn volumes_are_deleted_and_bound_at_once_unless_somebody_says_otherwise() {
        check(r#"{"metadata": {"name": "a"}, "provisioner": "p"}"#, ["a", "p", "Delete", "Immediate"], false);
        check(
            r#"{"metadata": {"name": "a", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
                "provisioner": "p", "reclaimPolicy": "Retain", "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": true}"#,
            ["a (default)", "p", "Retain", "WaitForFirstConsumer"],
            true,
        );
    }

    #[test]
    fn outdated_labels_of_nodes_are_told() {
        let text = r#"{"provisioner": "p", "allowedTopologies": [{"matchLabelExpressions":
            [{"key": "z", "values": ["a"]}, {"key": "beta.kubernetes.io/arch", "values": ["a"]}]}]}"#;
        let object = decoded(&StorageClass, "storage.k8s.io/v1 StorageClass", text);
        let expected = "allowedTopologies[0].matchLabelExpressions[1].key: deprecated since v1.14; \
            use \"kubernetes.io/arch\" instead";
        assert_eq!(StorageClass.warnings(&object, None), [expected]);
    }
}
