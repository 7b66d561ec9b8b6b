//! Structural schema rules: every value has one type, and `allOf` and the like restrict values without describing them.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go (v1.36.4).

mod completeness;

use keelson_object::{FieldErrors, Path, Value};

use crate::pattern::Patterns;
use crate::props::{Additional, Props};

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Checks that a schema, which [`parse`](crate::parse()) can read, is structural. Errors are in the order of their text.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go, ValidateStructural (v1.36.4).
pub fn check(schema: Props<'_>, at: &Path<'_>, patterns: &dyn Patterns, errors: &mut FieldErrors) {
    let mut found = FieldErrors::default();
    Walk { patterns, errors: &mut found }.node(schema, Level::Root, at);
    completeness::check(schema, at, &mut found);
    if found.is_empty() {
        return;
    }
    let mut found: Vec<_> = found.iter().cloned().map(|it| (it.to_string(), it)).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.into_iter().for_each(|(_, error)| errors.push(error));
}

struct Walk<'w> {
    patterns: &'w dyn Patterns,
    errors: &'w mut FieldErrors,
}

impl Walk<'_> {
    /// Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go, validateStructuralInvariants (v1.36.4).
    fn node(&mut self, schema: Props<'_>, level: Level, at: &Path<'_>) {
        match schema.items() {
            Some(items) => self.node(items, Level::Item, &at.key("items")),
            None if schema.kind() == "array" => self.errors.required(&at.key("items"), "must be specified"),
            None => {}
        }
        let properties_at = at.key("properties");
        for (name, property) in schema.properties() {
            self.node(property, Level::Field, &properties_at.entry(name));
        }
        let additional_at = at.key("additionalProperties");
        if schema.additional().is_some() && level == Level::Root {
            self.errors.forbidden(&additional_at, "must not be used at the root");
        }
        if let Some(additional) = schema.additional_schema() {
            self.node(additional, Level::Field, &additional_at);
        }
        check_int_or_string(schema, at, self.errors);
        self.values(schema, Skipped::of(schema), at);
        check_type(schema, level, at, self.errors);
        check_resource(schema, level, at, self.errors);
    }

    /// Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go, validateValueValidation (v1.36.4).
    fn values(&mut self, schema: Props<'_>, skipped: Skipped, at: &Path<'_>) {
        for field in ["anyOf", "allOf", "oneOf"] {
            if field == "anyOf" && skipped.any_of {
                continue;
            }
            let list_at = at.key(field);
            for (index, nested) in schema.list(field).enumerate() {
                let any_of = field == "allOf" && index == 0 && skipped.first_all_of;
                self.nested(nested, Skipped { any_of, first_all_of: false }, &list_at.index(index));
            }
        }
        if let Some(not) = schema.negated() {
            self.nested(not, Skipped::default(), &at.key("not"));
        }
        let text = schema.text("pattern");
        if let Some(problem) = self.patterns.problem(text) {
            let detail = format!("must be a valid regular expression, but isn't: {problem}");
            self.errors.invalid(&at.key("pattern"), text, detail);
        }
    }

    /// Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go, validateNestedValueValidation (v1.36.4).
    fn nested(&mut self, schema: Props<'_>, skipped: Skipped, at: &Path<'_>) {
        self.values(schema, skipped, at);
        if let Some(items) = schema.items() {
            self.nested(items, Skipped::default(), &at.key("items"));
        }
        let properties_at = at.key("properties");
        for (name, property) in schema.properties() {
            self.nested(property, Skipped::default(), &properties_at.entry(name));
        }
        check_forbidden(schema, at, self.errors);
    }
}

fn check_int_or_string(schema: Props<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    if !schema.is("x-kubernetes-int-or-string") {
        return;
    }
    for field in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if schema.is(field) {
            errors.invalid(&at.key(field), true, "must be false if x-kubernetes-int-or-string is true");
        }
    }
}

fn check_type(schema: Props<'_>, level: Level, at: &Path<'_>, errors: &mut FieldErrors) {
    let kind = schema.kind();
    let at = at.key("type");
    let is_open = schema.is("x-kubernetes-int-or-string") || schema.keeps_unknown_fields();
    if schema.is_embedded() && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        match kind {
            "" => errors.required(&at, detail),
            _ => errors.invalid(&at, kind, detail),
        }
    } else if kind.is_empty() && !is_open {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.required(&at, detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.invalid(&at, kind, "must be object at the root");
    }
}

/// What belongs to every object is not described again.
fn check_resource(schema: Props<'_>, level: Level, at: &Path<'_>, errors: &mut FieldErrors) {
    let is_embedded = schema.is_embedded();
    if is_embedded && schema.additional().is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(&at.key("additionalProperties"), detail);
    }
    let properties_at = at.key("properties");
    if is_embedded || level == Level::Root {
        for (name, wanted) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
            if let Some(property) = schema.property(name)
                && property.kind() != wanted
            {
                let at = properties_at.entry(name);
                errors.invalid(&at.key("type"), property.kind(), format!("must be {wanted}"));
            }
        }
    }
    if level == Level::Root && schema.property("metadata").is_some_and(|it| !is_plain_metadata(it)) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
            specified";
        errors.forbidden(&properties_at.entry("metadata"), detail);
    }
    if is_embedded && !schema.keeps_unknown_fields() && !schema.has_properties() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
            x-kubernetes-preserve-unknown-fields";
        errors.required(&properties_at, detail);
    }
}

/// Whether nothing is said of metadata but of names.
fn is_plain_metadata(metadata: Props<'_>) -> bool {
    let is_plain = |(key, value): (&str, &Value)| match key {
        "type" | "default" => true,
        "properties" => metadata.properties().all(|(name, _)| matches!(name, "name" | "generateName")),
        "additionalProperties" => value.is_null(),
        _ => value.is_empty() && !matches!(value, Value::Int(_) | Value::Float(_)),
    };
    metadata.0.iter().all(|(key, value)| is_plain((key, value)))
}

/// Where numbers or texts are meant, `anyOf` says so in the one form that is known.
#[derive(Clone, Copy, Default)]
struct Skipped {
    any_of: bool,
    first_all_of: bool,
}

impl Skipped {
    fn of(schema: Props<'_>) -> Skipped {
        let first_all_of = schema.list("allOf").next().is_some_and(is_int_or_string);
        Skipped { any_of: is_int_or_string(schema), first_all_of }
    }
}

/// `anyOf: [{type: integer}, {type: string}]`
fn is_int_or_string(schema: Props<'_>) -> bool {
    let mut kinds = schema.list("anyOf").map(|it| (it.kind(), it.0.len()));
    let found = [kinds.next(), kinds.next(), kinds.next()];
    found == [Some(("integer", 1)), Some(("string", 1)), None]
}

/// What is refused inside of `allOf` and the like.
fn check_forbidden(schema: Props<'_>, at: &Path<'_>, errors: &mut FieldErrors) {
    const EMPTY: &str = "must be empty to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FALSE: &str = "must be false to be structural";
    const FORBIDDEN: [(&str, &str); 11] = [
        ("type", EMPTY),
        ("default", UNDEFINED),
        ("title", EMPTY),
        ("description", EMPTY),
        ("nullable", FALSE),
        ("x-kubernetes-preserve-unknown-fields", FALSE),
        ("x-kubernetes-embedded-resource", FALSE),
        ("x-kubernetes-int-or-string", FALSE),
        ("x-kubernetes-list-map-keys", EMPTY),
        ("x-kubernetes-list-type", UNDEFINED),
        ("x-kubernetes-map-type", UNDEFINED),
    ];
    for (field, detail) in FORBIDDEN {
        let is_said = |it: &Value| if detail == UNDEFINED { !it.is_null() } else { !it.is_empty() };
        if schema.0.get(field).is_some_and(is_said) {
            errors.forbidden(&at.key(field), detail);
        }
    }
    if matches!(schema.additional(), Some(Additional::Allowed | Additional::Of(_))) {
        errors.forbidden(&at.key("additionalProperties"), UNDEFINED);
    }
    if !schema.0.list("x-kubernetes-validations").is_empty() {
        errors.forbidden(&at.key("x-kubernetes-validations"), EMPTY);
    }
    if schema.property("metadata").is_some() {
        let properties_at = at.key("properties");
        errors.forbidden(&properties_at.entry("metadata"), "must not be specified in a nested context");
    }
}
