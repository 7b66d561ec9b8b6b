//! `metadata` of resources: read as Go reads `ObjectMeta`, and brought to the form in which Go writes it.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go (v1.36.4).

use std::sync::LazyLock;

use keelson_object::{Map, Value};
use keelson_schema::{Schema as Kind, Shape};

/// The fields of `ObjectMeta`.
static OBJECT_META: LazyLock<Kind> = LazyLock::new(|| {
    let namespace = Kind::builtin("", "v1", "Namespace").expect("every server has namespaces");
    match namespace.root().field("metadata").map(|field| &field.ty.shape) {
        Some(Shape::Struct(target)) => Kind::new(target.clone()),
        _ => unreachable!("the metadata of a namespace is a struct"),
    }
});

/// The table of `ObjectMeta`, which is the type of `metadata` in custom resources.
pub fn object_meta() -> &'static Kind {
    &OBJECT_META
}

/// Reads `metadata`. Gives its canonical form and the paths of unknown fields below it; the error is Go's.
pub(crate) fn read(metadata: &Value) -> Result<(Map, Vec<String>), String> {
    let mut metadata = if metadata.is_null() { Value::Map(Map::new()) } else { metadata.clone() };
    make_whole(&mut metadata);
    let unknown = OBJECT_META.conform(&mut metadata).map_err(|error| error.to_string())?;
    let Value::Map(mut map) = metadata else { return Ok((Map::new(), unknown)) };
    map.retain(|_, value| !value.is_null());
    Ok((map, unknown))
}

/// Makes floats without fraction whole numbers: upstream reads metadata from JSON, where they look alike.
fn make_whole(value: &mut Value) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e18 => {
                *value = Value::Int(*number as i64);
            }
            Value::List(items) => open.extend(items),
            Value::Map(map) => open.extend(map.iter_mut().map(|(_, value)| value)),
            _ => {}
        }
    }
}

/// Reads `metadata` field by field and leaves out those that cannot be read. `None` if it is no map.
pub(crate) fn read_leniently(metadata: &Value) -> Option<(Map, Vec<String>)> {
    if let Ok(found) = read(metadata) {
        return Some(found);
    }
    let mut good = Map::new();
    let mut unknown = Vec::new();
    for (key, value) in metadata.as_map()?.iter() {
        let one: Map = [(key.clone(), value.clone())].into_iter().collect();
        if let Ok((_, paths)) = read(&Value::Map(one)) {
            unknown.extend(paths);
            good.push_new(key.clone(), value.clone());
        }
    }
    let (map, _) = read(&Value::Map(good)).ok()?;
    Some((map, unknown))
}
