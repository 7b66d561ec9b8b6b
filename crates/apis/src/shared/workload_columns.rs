//! The wide columns of kinds with a pod template.

use keelson_object::selector::label::Selector;
use keelson_object::{Cell, Map, Object, Value};
use keelson_registry::Column;

/// Containers, images, selector.
pub(crate) fn wide() -> [Column; 3] {
    [
        Column::computed("Containers", |object| containers(template_spec(object), "name")).wide(),
        Column::computed("Images", |object| containers(template_spec(object), "image")).wide(),
        Column::computed("Selector", selector).wide(),
    ]
}

/// The spec in the template of a workload.
pub(crate) fn template_spec(object: &Object) -> Option<&Map> {
    object.fields.at("spec.template.spec").and_then(Value::as_map)
}

/// One field of every container of the spec of a pod.
pub(crate) fn containers(spec: Option<&Map>, field: &str) -> Cell {
    let containers = spec.into_iter().flat_map(|spec| spec.maps("containers"));
    let texts: Vec<&str> = containers.map(|it| it.str(field).unwrap_or_default()).collect();
    Cell::from(texts.join(","))
}

fn selector(object: &Object) -> Cell {
    selected(object.fields.at("spec.selector").and_then(Value::as_map))
}

/// A label selector as text.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/helpers.go, FormatLabelSelector (v1.36.4).
pub(crate) fn selected(selector: Option<&Map>) -> Cell {
    let Some(selector) = selector else { return Cell::from("<none>") };
    match Selector::from_label_selector(selector).map(|it| it.to_string()) {
        Ok(text) if text.is_empty() => Cell::from("<none>"),
        Ok(text) => Cell::from(text),
        Err(_) => Cell::from("<error>"),
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
