//! Secret: configuration that must not be shown.

mod tls;

use keelson_codec::json;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::data_keys;
use crate::shared::edit::fill;

/// Values together have at most this many bytes.
const SIZE_LIMIT: usize = 1024 * 1024;

/// The annotation with the service account of a token.
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

pub(crate) struct Secret;

pub(crate) fn columns() -> [Column; 4] {
    [Column::name(), Column::text("Type", "type"), Column::computed("Data", entries), Column::age()]
}

fn entries(object: &Object) -> Cell {
    Cell::Int(object.fields.map("data").map_or(0, Map::len) as i64)
}

impl Strategy for Secret {
    /// Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_Secret, and conversion.go (v1.36.4).
    fn default(&self, object: &mut Object) {
        fill(&mut object.fields, "type", "Opaque");
        if let Some(Value::Map(plain)) = object.fields.remove("stringData") {
            let data = object.fields.map_mut("data");
            for (key, value) in plain {
                data.set(key, data_keys::encode(value.as_str().unwrap_or_default()));
            }
            data.sort_keys();
        }
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateSecret (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let mut size = 0;
        for (key, value) in object.fields.map("data").iter().flat_map(|map| map.iter()) {
            data_keys::check(key, &Path::root("data").entry(key), errors);
            size += data_keys::decoded_len(value.as_str().unwrap_or_default());
        }
        if size > SIZE_LIMIT {
            errors.too_long(&Path::root("data"), SIZE_LIMIT);
        }
        require_keys(object, errors);
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateSecretUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        if object.fields.get("type") != old.fields.get("type") {
            let shown = object.fields.str("type").unwrap_or_default();
            errors.invalid(&Path::root("type"), shown, "field is immutable");
        }
        if old.fields.bool("immutable") == Some(true) {
            if object.fields.bool("immutable") != Some(true) {
                errors.forbidden(&Path::root("immutable"), "field is immutable when `immutable` is set");
            }
            if object.fields.get("data") != old.fields.get("data") {
                errors.forbidden(&Path::root("data"), "field is immutable when `immutable` is set");
            }
        }
        self.validate(context, object, errors);
    }

    /// Upstream: pkg/registry/core/secret/strategy.go, warningsForSecret (v1.36.4).
    fn warnings(&self, object: &Object, _: Option<&Object>) -> Vec<String> {
        if object.fields.str("type") != Some("kubernetes.io/tls") {
            return Vec::new();
        }
        let data = object.fields.map("data");
        let pem = |key: &str| {
            let bytes = data_keys::decode(data.and_then(|it| it.str(key)).unwrap_or_default());
            String::from_utf8_lossy(&bytes).into_owned()
        };
        tls::problem(&pem("tls.crt"), &pem("tls.key")).into_iter().collect()
    }
}

/// Types that promise certain keys must have them.
fn require_keys(object: &Object, errors: &mut FieldErrors) {
    let data = object.fields.map("data");
    let has = |key: &str| data.is_some_and(|map| map.contains(key));
    let at = Path::root("data");
    match object.fields.str("type").unwrap_or_default() {
        "kubernetes.io/service-account-token"
            if object.meta.annotations.get(ACCOUNT_NAME).is_none_or(str::is_empty) =>
        {
            errors.required(&Path::root("metadata").key("annotations").entry(ACCOUNT_NAME), "");
        }
        "kubernetes.io/dockercfg" => check_json(data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => check_json(data, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.required(&at.entry("username"), "");
            errors.required(&at.entry("password"), "");
        }
        "kubernetes.io/ssh-auth"
            if data.and_then(|map| map.str("ssh-privatekey")).is_none_or(str::is_empty) =>
        {
            errors.required(&at.entry("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"] {
                if !has(key) {
                    errors.required(&at.entry(key), "");
                }
            }
        }
        _ => {}
    }
}

/// The value is required and must be JSON; it is not shown if it is not.
fn check_json(data: Option<&Map>, key: &str, errors: &mut FieldErrors) {
    let at = Path::root("data");
    let at = at.entry(key);
    let Some(encoded) = data.and_then(|map| map.str(key)) else { return errors.required(&at, "") };
    let problem = match json::read(&data_keys::decode(encoded)).map(|document| document.value) {
        Ok(Value::Map(_) | Value::Null) => return,
        Ok(other) => {
            format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                other.json_type()
            )
        }
        Err(error) => format!("{error}"),
    };
    errors.invalid(&at, "<secret contents redacted>", problem);
}
