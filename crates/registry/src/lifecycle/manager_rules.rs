//! Validation of managedFields.

use keelson_object::{FieldErrors, Map, ObjectMeta, Path, Value};

const MANAGER_BYTES: usize = 128;
const SUBRESOURCE_BYTES: usize = 256;

/// Validates the managedFields of an object.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateManagedFields (v1.36.4).
pub(super) fn check(meta: &ObjectMeta, at: &Path<'_>, errors: &mut FieldErrors) {
    for (position, entry) in meta.managed_fields.iter().enumerate() {
        if let Value::Map(entry) = entry {
            check_entry(entry, &at.index(position), errors);
        }
    }
}

fn check_entry(entry: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let text = |field: &str| entry.str(field).unwrap_or_default();
    if !["Apply", "Update"].contains(&text("operation")) {
        errors.invalid(&at.key("operation"), text("operation"), "must be `Apply` or `Update`");
    }
    if !["", "FieldsV1"].contains(&text("fieldsType")) {
        errors.invalid(&at.key("fieldsType"), text("fieldsType"), "must be `FieldsV1`");
    }
    check_manager(text("manager"), &at.key("manager"), errors);
    if text("subresource").len() > SUBRESOURCE_BYTES {
        errors.too_long(&at.key("subresource"), SUBRESOURCE_BYTES);
    }
}

/// Validates the name of a field manager.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateFieldManager (v1.36.4).
pub fn check_manager(name: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if name.len() > MANAGER_BYTES {
        errors.too_long(at, MANAGER_BYTES);
    }
    for (position, character) in name.char_indices().filter(|(_, it)| !is_printable(*it)) {
        let number = u32::from(character);
        errors.invalid(at, name, format!("invalid character U+{number:04X} (at position {position})"));
    }
}

/// As Go's `unicode.IsPrint`: letters, marks, numbers, punctuation, symbols and the space.
fn is_printable(character: char) -> bool {
    character == ' ' || !(character.is_control() || character.is_whitespace() || is_unassigned(character))
}

/// Formats, surrogates, private use and what will never be a character.
fn is_unassigned(character: char) -> bool {
    matches!(u32::from(character),
        0xAD | 0x600..=0x605 | 0x61C | 0x6DD | 0x70F | 0x180E | 0x200B..=0x200F | 0x202A..=0x202E
        | 0x2060..=0x206F | 0xE000..=0xF8FF | 0xFEFF | 0xFFF0..=0xFFFB | 0xFFFE..=0xFFFF
        | 0xE0000..=0xE0FFF | 0xF0000..=0x10FFFF)
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::{FieldErrors, ObjectMeta, Path};

    use super::check;

    #[track_caller]
    fn refused(entry: &str, expected: &[&str]) {
        let entry = json::read(entry.as_bytes()).unwrap().value;
        let meta = ObjectMeta { managed_fields: vec![entry], ..ObjectMeta::default() };
        let mut errors = FieldErrors::default();
        check(&meta, &Path::root("managedFields"), &mut errors);
        let found: Vec<String> = errors.iter().map(|it| format!("{it}")).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn managers_have_names_that_can_be_shown() {
        let named = |name: &str| format!(r#"{{"operation": "Update", "manager": "{name}"}}"#);
        refused(&named("kubectl edit ☃"), &[]);
        refused(&named(""), &[]);
        let expected =
            r#"managedFields[0].manager: Invalid value: "a\nb": invalid character U+000A (at position 1)"#;
        refused(&named(r"a\nb"), &[expected]);
        refused(&named(&"x".repeat(128)), &[]);
        let expected = "managedFields[0].manager: Too long: may not be more than 128 bytes";
        refused(&named(&"x".repeat(129)), &[expected]);
    }

    #[test]
    fn entries_are_of_this_world() {
        let wrong = r#"{"operation": "Nope", "fieldsType": "FieldsV2", "manager": "a"}"#;
        refused(
            wrong,
            &[
                "managedFields[0].operation: Invalid value: \"Nope\": must be `Apply` or `Update`",
                "managedFields[0].fieldsType: Invalid value: \"FieldsV2\": must be `FieldsV1`",
            ],
        );
        let long = format!(r#"{{"operation": "Apply", "subresource": "{}"}}"#, "x".repeat(257));
        refused(&long, &["managedFields[0].subresource: Too long: may not be more than 256 bytes"]);
    }
}
