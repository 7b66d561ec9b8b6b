//! ConfigMap: configuration as text and bytes.

use keelson_object::{Cell, FieldErrors, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::data_keys;

/// Keys and values of `data` and `binaryData` together have at most this many bytes.
const SIZE_LIMIT: usize = 1024 * 1024;

pub(crate) struct ConfigMap;

pub(crate) fn columns() -> [Column; 3] {
    [Column::name(), Column::computed("Data", entries), Column::age()]
}

/// How many entries there are, text and bytes together.
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
            size += key.len() + value.as_str().map_or(0, str::len);
        }
        for (key, value) in binary.iter().flat_map(|map| map.iter()) {
            data_keys::check(key, &Path::root("binaryData").entry(key), errors);
            size += key.len() + data_keys::decoded_len(value.as_str().unwrap_or_default());
        }
        if size > SIZE_LIMIT {
            errors.too_long(&Path::empty(), SIZE_LIMIT);
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
