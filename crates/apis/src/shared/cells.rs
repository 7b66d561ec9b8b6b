//! Table cells that several kinds share.

use keelson_object::{Cell, Object, Value};
use keelson_registry::Column;

/// More items than these are only counted.
const SHOWN: usize = 3;

/// `a,b,c + 2 more...`, or `<unset>`.
///
/// Upstream: pkg/printers/internalversion/printers.go, listWithMoreString (v1.36.4).
pub(crate) fn few(items: &[String]) -> Cell {
    let shown = items[..items.len().min(SHOWN)].join(",");
    if items.len() > SHOWN {
        return Cell::from(format!("{shown} + {} more...", items.len() - SHOWN));
    }
    Cell::from(if shown.is_empty() { String::from("<unset>") } else { shown })
}

/// The name, and whether this is the default class.
pub(crate) fn name_of_class(object: &Object, annotations: &[&str]) -> Cell {
    let is_default = annotations.iter().any(|it| object.meta.annotations.get(it) == Some("true"));
    if is_default {
        Cell::from(format!("{} (default)", object.meta.name))
    } else {
        Cell::from(&*object.meta.name)
    }
}

/// A boolean column.
pub(crate) fn boolean(name: &str, compute: fn(&Object) -> Cell) -> Column {
    let mut column = Column::computed(name, compute);
    column.kind = "boolean".into();
    column
}

/// A column of names.
pub(crate) fn named(mut column: Column) -> Column {
    column.format = "name".into();
    column
}

/// The whole number at a dotted path; 0 where there is none.
pub(crate) fn number(object: &Object, path: &str) -> i64 {
    object.fields.at(path).and_then(Value::as_int).unwrap_or_default()
}

/// Whether the status has a true condition of this type.
pub(crate) fn has_condition(object: &Object, kind: &str) -> bool {
    let mut conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    conditions.any(|it| it.str("type") == Some(kind) && it.str("status") == Some("True"))
}

/// The text at `path`; empty if there is none.
pub(crate) fn text<'o>(object: &'o Object, path: &str) -> &'o str {
    object.fields.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// The truth value at `path`.
pub(crate) fn truth(object: &Object, path: &str) -> Option<bool> {
    object.fields.at(path).and_then(Value::as_bool)
}

/// The addresses at which load balancers of an object are reached.
pub(crate) fn load_balancers(object: &Object) -> String {
    let status = object.fields.at("status.loadBalancer").and_then(Value::as_map);
    let filled = |text: &&str| !text.is_empty();
    let mut names: Vec<&str> = status
        .into_iter()
        .flat_map(|it| it.maps("ingress"))
        .filter_map(|it| it.str("ip").filter(filled).or(it.str("hostname").filter(filled)))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(",")
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::few;

    #[test]
    fn few_items_are_shown_and_the_others_counted() {
        let check = |items: &[&str], expected: &str| {
            let items: Vec<String> = items.iter().map(|it| String::from(*it)).collect();
            assert_eq!(few(&items), Cell::from(expected));
        };
        check(&[], "<unset>");
        check(&["a"], "a");
        check(&["a", "b", "c"], "a,b,c");
        check(&["a", "b", "c", "d", "e"], "a,b,c + 2 more...");
    }
}
