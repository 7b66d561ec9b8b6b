//! Strategy of custom resources: the hooks that every version of every CustomResourceDefinition shares.

use std::sync::Arc;

use keelson_cel::goregex::CompiledPatterns;
use keelson_object::selector::name_rules;
use keelson_object::{FieldErrors, Object, Path, SmolStr, Value};
use keelson_registry::lifecycle::meta_rules;
use keelson_registry::options::Part;
use keelson_registry::{Context, Strategy};
use keelson_structural::coerce::Root;
use keelson_structural::scale::ScalePaths;
use keelson_structural::{Schema, embedded, list_types, validate};
use keelson_validation_rules::{Check, Rules, Scope, blocking_error};

use crate::definition::VersionDefinition;

/// The strategy of one version.
pub struct CustomKind {
    schema: Option<Arc<Schema>>,
    has_status: bool,
    scale: Option<ScalePaths>,
    /// `x-kubernetes-validations`; they are compiled when they are first evaluated.
    rules: Option<Rules>,
    patterns: Arc<CompiledPatterns>,
}

impl CustomKind {
    /// The strategy of `version`.
    pub fn new(
        version: &VersionDefinition,
        scale: Option<ScalePaths>,
        patterns: Arc<CompiledPatterns>,
    ) -> CustomKind {
        let rules = version.schema.as_ref().and_then(|schema| Rules::new(schema, Scope::Resource));
        CustomKind { schema: version.schema.clone(), has_status: version.has_status, scale, rules, patterns }
    }
}

impl Strategy for CustomKind {
    fn prepare_create(&self, _context: &Context, object: &mut Object) {
        if self.has_status {
            object.fields.remove("status");
        }
        object.meta.generation = 1;
    }

    fn prepare_update(&self, _context: &Context, object: &mut Object, old: &Object) {
        if self.has_status {
            object.fields.keep("status", &old.fields);
        }
        object.meta.generation = old.meta.generation;
        if object.fields != old.fields {
            object.meta.generation += 1;
        }
    }

    /// Only the status and its managers are taken from the request.
    fn prepare_status_update(&self, _context: &Context, object: &mut Object, old: &Object) {
        let status = object.fields.remove("status");
        let managers = std::mem::take(&mut object.meta.managed_fields);
        object.meta = old.meta.clone();
        object.meta.managed_fields = managers;
        object.fields = old.fields.clone();
        match status {
            Some(status) => object.fields.set("status", status),
            None => {
                object.fields.remove("status");
            }
        }
    }

    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        match part {
            Part::Status => Some(&["metadata", "spec"]),
            _ => None,
        }
    }

    fn validate(&self, context: &Context, object: &Object, errors: &mut FieldErrors) {
        let value = object.clone().into_value();
        if let Some(schema) = &self.schema {
            errors.append(validate::validate(&value, schema, "", &*self.patterns));
        }
        if let Some(scale) = &self.scale {
            scale.check_spec(&object.fields, errors);
            scale.check_status(&object.fields, errors);
        }
        self.check_embedded(&value, errors);
        if let Some(schema) = &self.schema {
            errors.append(list_types::check(&object.fields, schema));
        }
        self.check_rules(context, Check::create(&value), errors);
    }

    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        // Upstream checks this twice, and says it twice.
        meta_rules::check_update(&object.meta, &old.meta, errors);
        let (value, old_value) = (object.clone().into_value(), old.clone().into_value());
        if let Some(schema) = &self.schema {
            errors.append(validate::validate_update(&value, &old_value, schema, "", &*self.patterns));
        }
        if let Some(scale) = &self.scale {
            scale.check_spec(&object.fields, errors);
            scale.check_status(&object.fields, errors);
        }
        self.check_embedded(&value, errors);
        if let Some(schema) = &self.schema {
            errors.append(list_types::check_update(&object.fields, &old.fields, schema));
        }
        self.check_rules(context, Check::update(&value, &old_value), errors);
    }

    fn validate_status_update(
        &self,
        context: &Context,
        object: &Object,
        old: &Object,
        errors: &mut FieldErrors,
    ) {
        meta_rules::check_update(&object.meta, &old.meta, errors);
        let status_schema = self.schema.as_ref().and_then(|it| it.property("status"));
        if let (Some(status), Some(schema)) = (object.fields.get("status"), status_schema) {
            errors.append(match old.fields.get("status") {
                Some(old) => validate::validate_update(status, old, schema, "status", &*self.patterns),
                None => validate::validate(status, schema, "status", &*self.patterns),
            });
        }
        if let Some(scale) = &self.scale {
            scale.check_status(&object.fields, errors);
        }
        if let Some(schema) = &self.schema {
            errors.append(list_types::check_update(&object.fields, &old.fields, schema));
        }
        if self.rules.is_some() {
            let (value, old_value) = (object.clone().into_value(), old.clone().into_value());
            self.check_rules(context, Check::update(&value, &old_value), errors);
        }
    }

    fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let is_new = |name: &&SmolStr| old.is_none_or(|old| !old.meta.finalizers.contains(name));
        let mut added: Vec<&SmolStr> = object.meta.finalizers.iter().filter(is_new).collect();
        added.sort_unstable();
        added.dedup();
        added.into_iter().flat_map(|name| finalizer_warnings(name)).collect()
    }

    fn unknown_field(&self, label: &str) -> Option<String> {
        Some(format!("field label not supported: {label}"))
    }
}

impl CustomKind {
    /// Evaluates the validation rules, unless the object is so wrong that they might fail because of that.
    fn check_rules(&self, context: &Context, check: Check<'_>, errors: &mut FieldErrors) {
        let Some(rules) = &self.rules else { return };
        if let Some(blocking) = blocking_error(errors) {
            errors.push(blocking);
            return;
        }
        let outcome = rules.validate(&Path::empty(), check);
        outcome.warnings.into_iter().for_each(|warning| context.warn(warning));
        errors.append(outcome.errors);
    }

    fn check_embedded(&self, value: &Value, errors: &mut FieldErrors) {
        let Some(schema) = self.schema.as_deref() else { return };
        errors.append(embedded::validate(value, Some(schema), Root::Value, &meta_rules::check_embedded));
    }
}

/// Upstream: apiextensions-apiserver/pkg/registry/customresource/validator.go, validateKubeFinalizerName (v1.36.4).
fn finalizer_warnings(name: &str) -> Vec<String> {
    const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];
    let at = Path::root("metadata.finalizers");
    let mut texts = name_rules::qualified_name(name);
    if !name.contains('/') && !STANDARD.contains(&name) {
        let including = if name.contains('.') { " including a path (/)" } else { "" };
        texts.push(format!(
            "prefer a domain-qualified finalizer name{including} to avoid accidental conflicts with other \
             finalizer writers"
        ));
    }
    texts.into_iter().map(|text| format!("{at}: {name:?}: {text}")).collect()
}
