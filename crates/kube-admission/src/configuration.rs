//! Plugin configuration: reads a document of a known kind from the admission configuration file, as
//! upstream's decoder does.

use keelson_codec::config_file::{ConfigKind, Error};
use keelson_codec::json;
use keelson_object::{Map, Value};

/// A document of one of these kinds. What is unknown in it is left out.
///
/// Upstream: apimachinery/pkg/runtime/serializer/json/json.go, Decode, without strict options (v1.36.4).
pub(crate) fn read(document: &Map, kinds: &[ConfigKind<'_>]) -> Result<Map, Error> {
    let text = |field| document.str(field).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    for (field, text) in [("Kind", kind), ("apiVersion", api_version)] {
        if text.is_empty() {
            let whole = json::to_bytes(&Value::Map(document.clone()));
            return Err(Error::Unnamed { field, text: String::from_utf8_lossy(&whole).into_owned() });
        }
    }
    let found = kinds.iter().find(|it| (it.kind, it.api_version) == (kind, api_version));
    let found = found
        .ok_or_else(|| Error::OtherKind { kind: kind.to_owned(), api_version: api_version.to_owned() })?;
    let mut value = Value::Map(document.clone());
    found.schema.conform(&mut value)?;
    let Value::Map(map) = value else { return Err(Error::NoObject { found: "null" }) };
    Ok(map)
}
