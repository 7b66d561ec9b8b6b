//! NonStructuralSchema: definitions from the time before structural schemas say so.
//!
//! New definitions cannot have the condition: only data of v1beta1 can.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/nonstructuralschema/nonstructuralschema_controller.go (v1.36.4).

use keelson_cel::goregex::CompiledPatterns;
use keelson_object::scalar::Time;
use keelson_object::{Condition, FieldErrors, Map, Object, Path, condition};
use keelson_structural::props::Props;
use keelson_structural::{Interner, ParseError, parse, structurality};

use super::{NON_STRUCTURAL_SCHEMA, spec};

/// Sets or removes the condition. Says whether anything changed.
pub(super) fn update(definition: &Object, status: &mut Map, now: Time) -> bool {
    match expected(spec(definition)) {
        Some(condition) if condition.is_in(Some(status)) => false,
        Some(condition) => condition.set(status, now),
        None => condition::remove(status, NON_STRUCTURAL_SCHEMA),
    }
}

fn expected(spec: &Map) -> Option<Condition> {
    let condition =
        |status, reason, message| Some(Condition { kind: NON_STRUCTURAL_SCHEMA, status, reason, message });
    match violations(spec) {
        Ok(errors) if errors.is_empty() => None,
        Ok(errors) => condition("True", "Violations", errors.aggregate()),
        Err(message) => condition("Unknown", "StructuralError", message),
    }
}

/// What makes schemas not structural, or why that cannot be said.
fn violations(spec: &Map) -> Result<FieldErrors, String> {
    let mut errors = FieldErrors::default();
    if spec.bool("preserveUnknownFields") == Some(true) {
        errors.invalid(&Path::root("spec.preserveUnknownFields"), true, "must be false");
    }
    let mut interner = Interner::new();
    let patterns = CompiledPatterns::default();
    let versions_at = Path::root("spec.versions");
    for (index, version) in spec.maps("versions").enumerate() {
        let Some(schema) = version.map("schema").and_then(|it| it.map("openAPIV3Schema")) else { continue };
        match parse(schema, &mut interner) {
            // Upstream accepts any type here and reports unknown types below.
            Ok(_) | Err(ParseError::UnknownType(_)) => {}
            Err(error) => {
                let name = version.str("name").unwrap_or_default();
                return Err(format!("failed to check validation schema for version {name}: {error}"));
            }
        }
        let at = versions_at.index(index);
        structurality::check(Props(schema), &at.key("schema.openAPIV3Schema"), &patterns, &mut errors);
    }
    Ok(errors)
}
