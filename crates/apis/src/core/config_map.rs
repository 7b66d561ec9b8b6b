//! ConfigMap: configuration as text and bytes.

use keelson_object::{Cell, FieldErrors, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::data_keys;

/// The values of `data` and `binaryData` together have at most this many bytes; keys do not count.
const SIZE_LIMIT: usize = 1024 * 1024;

pub(crate) struct ConfigMap;

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("Data", entries), Column::age()]
}

/// The number of entries, text and binary together.
fn entries(object: &Object) -> Cell {
    let count = |field| object.fields.map(field).map_or(0, |map| map.len());
    Cell::Int((count("data") + count("binaryData")) as i64)
}

impl Strategy for ConfigMap {
    /// Upstream: pkg/apis/core/validation/validation.go, ValidateConfigMap (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let (data, binary) = (object.fields.map("data"), object.fields.map("binaryData"));
        let mut size = 0;
        for (key, value) in data.iter().flat_map(|map| map.iter()) {
            data_keys::check(key, &Path::root("data").entry(key), errors);
            if binary.is_some_and(|binary| binary.contains(key)) {
                let text = "duplicate of key present in binaryData";
                errors.invalid(&Path::root("data").entry(key), key.as_str(), text);
            }
            size += value.as_str().map_or(0, str::len);
        }
        for (key, value) in binary.iter().flat_map(|map| map.iter()) {
            data_keys::check(key, &Path::root("binaryData").entry(key), errors);
            size += data_keys::decoded_len(value.as_str().unwrap_or_default());
        }
        if size > SIZE_LIMIT {
            // Upstream reports this at a path whose only element has no name.
            errors.too_long(&Path::root("[]"), SIZE_LIMIT);
        }
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateConfigMapUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        if old.fields.bool("immutable") == Some(true) {
            if object.fields.get("immutable") != Some(&Value::Bool(true)) {
                errors.forbidden(&Path::root("immutable"), "field is immutable when `immutable` is set");
            }
            for field in ["data", "binaryData"] {
                if object.fields.get(field) != old.fields.get(field) {
                    errors.forbidden(&Path::root(field), "field is immutable when `immutable` is set");
                }
            }
        }
        self.validate(context, object, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::{ConfigMap, SIZE_LIMIT};
    use crate::shared::testing::errors_of;

    fn check(data: &str, expected: &[&str]) {
        let text = format!("{{\"metadata\": {{\"name\": \"a\"}}, {data}}}");
        assert_eq!(errors_of(&ConfigMap, "v1 ConfigMap", &text), expected);
    }

    #[test]
    fn values_together_are_not_too_long() {
        let too_long = ["[]: Too long: may not be more than 1048576 bytes"];
        let full = "x".repeat(SIZE_LIMIT);
        check(&format!("\"data\": {{\"a\": \"{full}\"}}"), &[]);
        check(&format!("\"data\": {{\"a\": \"{full}x\"}}"), &too_long);
        check(&format!("\"data\": {{\"a\": \"{full}\"}}, \"binaryData\": {{\"b\": \"eA==\"}}"), &too_long);
    }
}
