//! The wide columns of kinds with a pod template.

use keelson_object::selector::label::Selector;
use keelson_object::{Cell, Map, Object};
use keelson_registry::Column;

/// Containers, images, selector.
pub(crate) fn wide() -> [Column; 3] {
    [
        Column::computed("Containers", |object| joined(template_spec(object), "name")).wide(),
        Column::computed("Images", |object| joined(template_spec(object), "image")).wide(),
        Column::computed("Selector", selector).wide(),
    ]
}

/// The spec in the template of a workload.
pub(crate) fn template_spec(object: &Object) -> Option<&Map> {
    object.fields.at("spec.template.spec").and_then(|it| it.as_map())
}

/// The texts at `field` of the containers of a spec: `web,sidecar`.
pub(crate) fn joined(spec: Option<&Map>, field: &str) -> Cell {
    let containers = spec.into_iter().flat_map(|spec| spec.maps("containers"));
    let texts: Vec<&str> = containers.map(|it| it.str(field).unwrap_or_default()).collect();
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
