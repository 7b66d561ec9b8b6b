//! The wide columns of kinds with a pod template.

use keelson_object::selector::label::Selector;
use keelson_object::{Cell, Map, Object};
use keelson_registry::Column;

/// Containers, images, selector.
pub(crate) fn wide() -> [Column; 3] {
    [
        Column::computed("Containers", |object| joined(object, "name")).wide(),
        Column::computed("Images", |object| joined(object, "image")).wide(),
        Column::computed("Selector", selector).wide(),
    ]
}

fn joined(object: &Object, field: &str) -> Cell {
    let template = object.fields.at("spec.template.spec").and_then(|it| it.as_map());
    let texts: Vec<&str> =
        template.iter().flat_map(|spec| spec.maps("containers")).filter_map(|it| it.str(field)).collect();
    Cell::from(texts.join(","))
}

fn selector(object: &Object) -> Cell {
    let Some(selector) = object.fields.map("spec").and_then(|spec| spec.map("selector")) else {
        return Cell::from("<none>");
    };
    match Selector::from_label_selector(selector) {
        Ok(selector) => Cell::from(selector.to_string()),
        Err(_) => Cell::from("<invalid>"),
    }
}

/// `a=1,b=2`, or `<none>`.
pub(crate) fn labels(map: Option<&Map>) -> String {
    let mut pairs: Vec<String> = map
        .iter()
        .flat_map(|map| map.iter())
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}
