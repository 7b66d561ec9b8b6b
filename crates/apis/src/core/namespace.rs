//! Namespace: a scope for objects. It is removed when its finalizers are gone.

use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Object, Path, SmolStr, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, NameRule, Strategy, Verb};

pub(crate) struct Namespace;

/// Namespaces have no deletecollection.
pub(crate) const VERBS: &[Verb] =
    &[Verb::Create, Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Update, Verb::Watch];

/// Held by the controller that empties a namespace.
const KUBERNETES: &str = "kubernetes";

/// Finalizers without a domain.
const STANDARD_FINALIZERS: [&str; 3] = [KUBERNETES, "orphan", "foregroundDeletion"];

/// The label with the name of the namespace, for selectors.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::text("Status", "status.phase"), Column::age()]
}

impl Strategy for Namespace {
    /// Upstream: pkg/registry/core/namespace/strategy.go, namespaceFinalizeStrategy.GetResetFields (v1.36.4).
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        matches!(part, Part::Named(_)).then_some(&["status"])
    }

    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Namespace (v1.36.4).
    fn default(&self, object: &mut Object) {
        label(object);
        let status = object.fields.map_mut("status");
        if status.str("phase").is_none_or(str::is_empty) {
            status.set("phase", "Active");
        }
    }

    /// Upstream: pkg/registry/core/namespace/strategy.go, PrepareForCreate (v1.36.4).
    fn prepare_create(&self, _: &Context, object: &mut Object) {
        object.fields.remove("status");
        object.fields.map_mut("status").set("phase", "Active");
        let spec = object.fields.map_mut("spec");
        let mut finalizers = spec.list("finalizers").to_vec();
        if !finalizers.iter().any(|it| it.as_str() == Some(KUBERNETES)) {
            finalizers.push(Value::String(SmolStr::new_static(KUBERNETES)));
        }
        spec.set("finalizers", finalizers);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        let finalizers = old.fields.map("spec").and_then(|spec| spec.get("finalizers")).cloned();
        let spec = object.fields.map_mut("spec");
        match finalizers {
            Some(finalizers) => spec.set("finalizers", finalizers),
            None => {
                spec.remove("finalizers");
            }
        }
        object.fields.keep("status", &old.fields);
    }

    /// Controllers remove their finalizers through the subresource `finalize`.
    fn prepare_part_update(&self, _: &Context, _: &'static str, object: &mut Object, old: &Object) {
        let finalizers = object.fields.map("spec").and_then(|spec| spec.get("finalizers")).cloned();
        object.fields = old.fields.clone();
        let spec = object.fields.map_mut("spec");
        match finalizers {
            Some(finalizers) => spec.set("finalizers", finalizers),
            None => {
                spec.remove("finalizers");
            }
        }
    }

    /// A generated name is set by now.
    fn canonicalize(&self, object: &mut Object) {
        label(object);
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateNamespace (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec.finalizers");
        finalizers(object).for_each(|it| check_finalizer(it, &at, errors));
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateNamespaceFinalizeUpdate (v1.36.4).
    fn validate_part_update(&self, _: &'static str, object: &Object, _: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec.finalizers");
        for (position, finalizer) in finalizers(object).enumerate() {
            check_finalizer(finalizer, &at.index(position), errors);
        }
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateNamespaceStatusUpdate (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        // Upstream writes this field with a capital letter.
        let at = Path::root("status.Phase");
        let phase = object.fields.map("status").and_then(|it| it.str("phase")).unwrap_or_default();
        if object.meta.is_being_deleted() {
            if phase != "Terminating" {
                errors.invalid(&at, phase, "may only be 'Terminating' if `deletionTimestamp` is not empty");
            }
        } else if phase != "Active" {
            errors.invalid(&at, phase, "may only be 'Active' if `deletionTimestamp` is empty");
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label
    }

    /// A namespace waits for the finalizers in its spec, too.
    fn may_go(&self, object: &Object) -> bool {
        object.fields.map("spec").is_none_or(|spec| spec.list("finalizers").is_empty())
    }

    /// A terminating namespace has the phase Terminating and no grace period.
    ///
    /// Upstream: pkg/registry/core/namespace/storage/storage.go, Delete (v1.36.4).
    fn begin_delete(&self, object: &mut Object) {
        object.meta.deletion_grace_period_seconds = None;
        object.fields.map_mut("status").set("phase", "Terminating");
    }
}

fn finalizers(object: &Object) -> impl Iterator<Item = &str> {
    let spec = object.fields.map("spec");
    spec.into_iter().flat_map(|it| it.list("finalizers")).filter_map(Value::as_str)
}

/// Upstream: pkg/apis/core/validation/validation.go, validateFinalizerName (v1.36.4).
fn check_finalizer(finalizer: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    errors.invalid_each(at, finalizer, name_rules::qualified_name(finalizer));
    if !finalizer.contains('/') && !STANDARD_FINALIZERS.contains(&finalizer) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(at, finalizer, detail);
    }
}

/// The label is always the name, whatever the client sends.
fn label(object: &mut Object) {
    if !object.meta.name.is_empty() {
        let name = object.meta.name.clone();
        object.meta.labels.set(NAME_LABEL, name);
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::Strategy as _;

    use super::{NAME_LABEL, Namespace};
    use crate::shared::testing::{context, decoded, tree};

    #[test]
    fn the_label_is_the_name() {
        let text = format!(r#"{{"metadata": {{"name": "a", "labels": {{"{NAME_LABEL}": "b"}}}}}}"#);
        assert_eq!(decoded(&Namespace, "v1 Namespace", &text).meta.labels.get(NAME_LABEL), Some("a"));
        let mut generated = decoded(&Namespace, "v1 Namespace", "{}");
        assert_eq!(generated.meta.labels.get(NAME_LABEL), None);
        generated.meta.name = "x".into();
        Namespace.canonicalize(&mut generated);
        assert_eq!(generated.meta.labels.get(NAME_LABEL), Some("x"));
    }

    #[test]
    fn a_new_namespace_is_active_and_held() {
        let mut object = decoded(
            &Namespace,
            "v1 Namespace",
            r#"{"spec": {"finalizers": ["x.y/z"]}, "status": {"phase": "Terminating"}}"#,
        );
        Namespace.prepare_create(&context(), &mut object);
        assert_eq!(object.fields.at("status.phase"), Some(&"Active".into()));
        assert_eq!(object.fields.at("spec.finalizers"), Some(&tree(r#"["x.y/z", "kubernetes"]"#)));
    }
}
