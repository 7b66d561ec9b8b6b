//! The spec of a definition.
//!
//! Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
//! validateCustomResourceDefinitionSpec (v1.36.4).

use std::collections::HashSet;
use std::sync::Arc;

use keelson_cel::Env;
use keelson_cel::goregex::CompiledPatterns;
use keelson_object::selector::name_rules::{dns1035_label, dns1123_subdomain};
use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::lifecycle::meta_rules;
use keelson_structural::defaults::{self, Checks};
use keelson_structural::{self as structural, Interner, ParseError, parse, structurality};
use keelson_validation_rules::DefaultRules;
use keelson_validation_rules::definition::{self as validation_rules, Definition as RulesOf};
use keelson_validation_rules::definition::{KnownExpressions, Limits};

use super::conversion::{self, Before};
use super::definition::{Definition, has_status, is_established, schema_of};
use super::names;
use super::schema::open_api::{Strictness, Surroundings};
use super::schema::{Schema, form, open_api};
use super::strictness::strictness;
use super::{version_form, versions};
use crate::shared::strings::check_joined;

/// The minor version of Kubernetes to which a cluster must be able to roll back: new rules may use what it knows.
const OLDEST_ROLLBACK: u32 = 35;

const SCOPES: [&str; 2] = ["Cluster", "Namespaced"];

/// Checks the spec of `object`, which replaces `old`.
pub(super) fn check(object: &Object, old: Option<&Object>, errors: &mut FieldErrors) {
    let definition = Definition::of(object);
    let before = old.map(Definition::of);
    let at = Path::root("spec");
    if refuse_deep_schemas(&definition, &at.key("versions"), errors) {
        return;
    }
    let patterns = CompiledPatterns::default();
    let strict = strictness(before.as_ref(), &patterns);
    let check = Check { definition: &definition, old: before.as_ref(), strict, patterns: &patterns };
    check.head(&at, errors);
    check.each_version(&at, errors);
    check.all_versions(&at, errors);
    check.names(&at.key("names"), errors);
    check.common(&at, errors);
    let replaced = Before {
        conversion: before.as_ref().and_then(|it| it.spec.map("conversion")),
        is_served: old.is_some_and(is_established),
    };
    conversion::check(&definition, replaced, errors);
    if let (Some(old), Some(before)) = (old, &before) {
        check_unchanged(definition.spec, before.spec, is_established(old), errors);
    }
}

/// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
/// validateCustomResourceDefinitionSpecUpdate (v1.36.4).
fn check_unchanged(new: &Map, old: &Map, is_served: bool, errors: &mut FieldErrors) {
    let fields = [("scope", is_served), ("names.kind", is_served), ("group", true), ("names.plural", true)];
    let at = Path::root("spec");
    for (field, _) in fields.into_iter().filter(|(_, counts)| *counts) {
        let text = |spec| Map::at(spec, field).and_then(Value::as_str).unwrap_or_default();
        if text(new) != text(old) {
            errors.invalid(&at.key(field), text(new), "field is immutable");
        }
    }
}

/// Schemas that nest too deeply are not checked further: all checks recurse.
fn refuse_deep_schemas(definition: &Definition<'_>, at: &Path<'_>, errors: &mut FieldErrors) -> bool {
    let mut is_refused = false;
    for (index, version) in definition.versions.iter().enumerate() {
        if schema_of(version).is_some_and(Schema::is_too_deep) {
            let at = at.index(index);
            errors.invalid(&at.key("schema.openAPIV3Schema"), "", ParseError::TooDeep.to_string());
            is_refused = true;
        }
    }
    is_refused
}

struct Check<'c, 'o> {
    definition: &'c Definition<'o>,
    old: Option<&'c Definition<'o>>,
    strict: Strictness,
    patterns: &'c CompiledPatterns,
}

impl Check<'_, '_> {
    /// Group, scope, and whether there are schemas.
    fn head(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let spec = self.definition.spec;
        let field = |name| spec.str(name).unwrap_or_default();
        let (group, group_at) = (field("group"), at.key("group"));
        let problems = dns1123_subdomain(group);
        if group.is_empty() {
            errors.required(&group_at, "");
        } else if !problems.is_empty() {
            check_joined(group, &problems, &group_at, errors);
        } else if !group.contains('.') {
            errors.invalid(&group_at, group, "should be a domain with at least one dot");
        }
        match field("scope") {
            "" => errors.required(&at.key("scope"), ""),
            scope if SCOPES.contains(&scope) => {}
            scope => errors.not_supported(&at.key("scope"), scope, &SCOPES),
        }
        let versions_at = at.key("versions");
        for (index, version) in self.definition.versions.iter().enumerate() {
            let at = versions_at.index(index);
            let at = at.key("schema.openAPIV3Schema");
            if schema_of(version).is_some() {
                continue;
            }
            if self.strict.schemas {
                errors.required(&at, "");
            } else if !self.definition.keeps_unknown_fields() && version.bool("served") == Some(true) {
                errors.required(&at, "because otherwise all fields are pruned");
            }
        }
        if self.definition.keeps_unknown_fields() && self.definition.has(&|it| it.default().is_some()) {
            let detail = "must be false in order to use defaults in the schema";
            errors.invalid(&at.key("preserveUnknownFields"), true, detail);
        }
    }

    fn each_version(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let above = &self.definition.above;
        let versions_at = at.key("versions");
        for (index, version) in self.definition.versions.iter().enumerate() {
            let at = versions_at.index(index);
            let name = version.str("name").unwrap_or_default();
            check_joined(name, &dns1035_label(name), &at.key("name"), errors);
            versions::check_deprecation(version, &at, errors);
            if !above.schema {
                self.schema(version, has_status(version), &at.key("schema"), errors);
            }
            if !above.subresources {
                versions::check_subresources(version.map("subresources"), &at.key("subresources"), errors);
            }
            if !above.columns {
                versions::check_columns(version, &at, errors);
            }
            if !above.selectable
                && let Some(fields) = version.get("selectableFields").filter(|it| !it.is_empty())
            {
                let at = at.key("selectableFields");
                match schema_of(version).filter(|_| !above.schema) {
                    Some(schema) => {
                        let old = self.old_selectable(name);
                        versions::check_selectable(fields, schema, old, &at, errors);
                    }
                    None => {
                        let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
                        errors.invalid(&at, "", detail);
                    }
                }
            }
        }
    }

    /// Checks the versions as a list.
    fn all_versions(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let versions = &self.definition.versions;
        let shown = || version_form::shown(self.definition);
        let mut names = HashSet::new();
        if !versions.iter().all(|it| names.insert(it.str("name"))) {
            errors.invalid_as(&at.key("versions"), shown(), "must contain unique version names");
        }
        if versions.iter().filter(|it| it.bool("storage") == Some(true)).count() != 1 {
            let detail = "must have exactly one version marked as storage version";
            errors.invalid_as(&at.key("versions"), shown(), detail);
        }
        let first = versions.first().and_then(|it| it.str("name")).unwrap_or_default();
        if !first.is_empty() {
            check_joined(first, &dns1035_label(first), &at.key("version"), errors);
        }
    }

    fn names(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let nothing = Map::new();
        let names = self.definition.spec.map("names").unwrap_or(&nothing);
        for field in ["plural", "singular", "kind", "listKind"] {
            if names.str(field).is_none_or(str::is_empty) {
                errors.required(&at.key(field), "");
            }
        }
        names::check(names, at, errors);
    }

    /// Checks the fields that are common to all versions.
    fn common(&self, at: &Path<'_>, errors: &mut FieldErrors) {
        let definition = self.definition;
        let Some(first) = definition.versions.first() else { return };
        let above = &definition.above;
        if above.schema {
            let has_status = definition.versions.iter().any(|it| has_status(it));
            self.schema(first, has_status, &at.key("validation"), errors);
        }
        if above.subresources {
            let subresources = definition.common("subresources");
            versions::check_subresources(subresources, &at.key("subresources"), errors);
        }
        if above.columns {
            versions::check_columns(first, at, errors);
        }
        if above.selectable
            && let Some(fields) = definition.first("selectableFields")
        {
            let at = at.key("selectableFields");
            match schema_of(first).filter(|_| above.schema) {
                Some(schema) => {
                    let old = self.old.and_then(|old| old.first("selectableFields"));
                    versions::check_selectable(fields, schema, old, &at, errors);
                }
                None => errors.invalid(&at, "", "may only be set when validations.schema is included"),
            }
        }
    }

    fn old_selectable(&self, name: &str) -> Option<&Value> {
        let version = self.old?.versions.iter().find(|it| it.str("name") == Some(name))?;
        version.get("selectableFields")
    }

    /// Upstream: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go,
    /// validateCustomResourceDefinitionValidation (v1.36.4).
    fn schema(&self, version: &Map, has_status: bool, at: &Path<'_>, errors: &mut FieldErrors) {
        let Some(schema) = schema_of(version) else { return };
        let at = at.key("openAPIV3Schema");
        let before = errors.iter().len();
        if has_status {
            check_root(schema, &at, errors);
        }
        if schema.is("nullable") {
            errors.forbidden(&at.key("nullable"), "nullable cannot be true at the root");
        }
        let parsed = match self.must_be_structural() {
            true => parse(schema.0, &mut Interner::new()).map(Some),
            false => Ok(None),
        };
        if let Ok(Some(_)) | Err(ParseError::UnknownType(_)) = &parsed {
            self.structure(schema, parsed.as_ref().ok().and_then(Option::as_ref), &at, errors);
        }
        let mut found = FieldErrors::default();
        open_api::check(schema, Surroundings::root(self.strict), &at, &mut found);
        let rules = match &parsed {
            Ok(Some(parsed)) => self.validation_rules(version, parsed, &found, &at),
            Ok(None) | Err(_) => FieldErrors::default(),
        };
        errors.append(found);
        errors.append(rules);
        match parsed {
            // Upstream accepts any type; an invalid one is reported elsewhere.
            Ok(_) | Err(ParseError::UnknownType(_)) => {}
            Err(problem) if errors.iter().len() == before => {
                errors.invalid(&at, "", problem.to_string());
            }
            Err(_) => {}
        }
    }

    /// Compiles the rules of a schema and estimates their cost. Expressions that the old definition has may use what
    /// was allowed when they were written.
    fn validation_rules(
        &self,
        version: &Map,
        schema: &Arc<structural::Schema>,
        schema_errors: &FieldErrors,
        at: &Path<'_>,
    ) -> FieldErrors {
        let mut interner = Interner::new();
        let old: Vec<_> = self.old.iter().flat_map(|old| old.schemas()).collect();
        let parsed: Vec<_> = old.iter().filter_map(|it| parse(it.0, &mut interner).ok()).collect();
        let is_same = |old: &Definition<'_>| {
            let same_name = old.versions.iter().find(|it| it.str("name") == version.str("name"));
            same_name.and_then(|it| schema_of(it)).map(|it| it.0) == schema_of(version).map(|it| it.0)
        };
        let definition = RulesOf {
            schema,
            schema_errors,
            known: &KnownExpressions::of(&parsed),
            limits: if self.old.is_some_and(is_same) { Limits::Total } else { Limits::All },
            new: Env::for_version(OLDEST_ROLLBACK),
        };
        validation_rules::check(&definition, at).errors
    }

    /// Checks that a schema is structural and that its defaults are valid.
    fn structure(
        &self,
        schema: Schema<'_>,
        parsed: Option<&Arc<structural::Schema>>,
        at: &Path<'_>,
        errors: &mut FieldErrors,
    ) {
        let before = errors.iter().len();
        structurality::check(schema, at, self.patterns, errors);
        if errors.iter().len() > before {
            return;
        }
        let rules = DefaultRules::default();
        let checks = Checks {
            patterns: self.patterns,
            rules: &meta_rules::check_embedded,
            requires_pruned: self.strict.pruned_defaults,
            expressions: &|default, errors| rules.check(default, errors),
        };
        if let Some(parsed) = parsed {
            errors.append(defaults::check(parsed, at, checks));
        }
    }

    /// Old definitions may keep schemas that are not structural.
    fn must_be_structural(&self) -> bool {
        const EXTENSIONS: [&str; 6] = [
            "x-kubernetes-embedded-resource",
            "x-kubernetes-preserve-unknown-fields",
            "x-kubernetes-int-or-string",
            "x-kubernetes-list-map-keys",
            "x-kubernetes-list-type",
            "x-kubernetes-validations",
        ];
        let has_extension = |schema: Schema<'_>| EXTENSIONS.iter().any(|it| schema.said(it).is_some());
        self.strict.structural
            || !self.definition.keeps_unknown_fields()
            || self.definition.has(&|it| it.default().is_some() || has_extension(it))
    }
}

/// The fields of a schema that may stand at its root when the status is written apart, as upstream calls them.
const ROOT_FIELDS: [(&str, &str); 22] = [
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"),
    ("XValidations", "x-kubernetes-validations"),
];

fn check_root(schema: Schema<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = schema.kind();
    // Upstream decodes field after field and stops at the first invalid one; these come before the type.
    let is_odd = |key: &str| !ROOT_FIELDS.iter().any(|(_, field)| *field == key);
    let odd = |early: bool| {
        let is_early = |key: &str| matches!(key, "id" | "$schema" | "$ref");
        let said = |key: &str| schema.said(key).is_some_and(|it| !it.is_empty());
        schema.0.iter().any(|(key, _)| is_odd(key) && is_early(key) == early && said(key))
    };
    if !odd(true) && !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        errors.invalid(&at.key("type"), kind, detail);
    } else if odd(true) || odd(false) {
        let names: Vec<&str> = ROOT_FIELDS.iter().map(|(name, _)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        errors.invalid_as(at, form::shown(schema), detail);
    }
}
