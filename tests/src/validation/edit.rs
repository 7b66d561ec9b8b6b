//! Changes by path: `spec.containers[0].name`, `metadata.labels[a/b]`.

use anyhow::{Context, Result, bail, ensure};
use keelson_object::{Map, Value};

/// Makes all changes; `null` removes.
pub(super) fn apply(object: &mut Value, changes: &Map) -> Result<()> {
    for (path, value) in changes.iter() {
        set(object, &steps(path)?, value.clone()).with_context(|| path.to_string())?;
    }
    Ok(())
}

/// The names of fields, positions and keys on the way.
fn steps(path: &str) -> Result<Vec<&str>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = inner.split_once(']').with_context(|| format!("{path} has no end of ["))?;
            steps.push(step);
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            ensure!(end > 0, "{path} has an empty step");
            steps.push(&rest[..end]);
            rest = &rest[end..];
        }
    }
    Ok(steps)
}

fn set(at: &mut Value, steps: &[&str], value: Value) -> Result<()> {
    let Some((step, rest)) = steps.split_first() else {
        *at = value;
        return Ok(());
    };
    if let Value::List(items) = at {
        let position: usize = step.parse().with_context(|| format!("{step} is no position"))?;
        if rest.is_empty() && value.is_null() {
            ensure!(position < items.len(), "there is no item {position}");
            items.remove(position);
            return Ok(());
        }
        ensure!(position <= items.len(), "there are only {} items", items.len());
        if position == items.len() {
            items.push(Value::Null);
        }
        return set(&mut items[position], rest, value);
    }
    if at.is_null() {
        *at = if *step == "0" { Value::List(Vec::new()) } else { Value::Map(Map::new()) };
        return set(at, steps, value);
    }
    let Value::Map(map) = at else { bail!("{step} is below something that has no fields") };
    if rest.is_empty() && value.is_null() {
        map.remove(step);
        return Ok(());
    }
    if !map.contains(step) {
        map.set(*step, Value::Null);
    }
    set(map.get_mut(step).expect("it was just set"), rest, value)
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;
    use keelson_object::Map;

    use super::apply;

    #[track_caller]
    fn check(path: &str, value: &str, expected: &str) {
        let mut object = json::read(br#"{"a":{"b":[{"c":1}],"d":{"x/y":"z"}}}"#).unwrap().value;
        let mut changes = Map::new();
        changes.set(path, json::read(value.as_bytes()).unwrap().value);
        let text = match apply(&mut object, &changes) {
            Ok(()) => String::from_utf8(json::to_bytes(&object).to_vec()).unwrap(),
            Err(error) => format!("{error:#}"),
        };
        assert_eq!(text, expected, "{path}");
    }

    #[test]
    fn fields_items_and_entries_are_set_and_removed() {
        check("a.b[0].c", "2", r#"{"a":{"b":[{"c":2}],"d":{"x/y":"z"}}}"#);
        check("a.b[1].c", "2", r#"{"a":{"b":[{"c":1},{"c":2}],"d":{"x/y":"z"}}}"#);
        check("a.b[0]", "null", r#"{"a":{"b":[],"d":{"x/y":"z"}}}"#);
        check("a.d[x/y]", "null", r#"{"a":{"b":[{"c":1}],"d":{}}}"#);
        check("a.e[0].f", "true", r#"{"a":{"b":[{"c":1}],"d":{"x/y":"z"},"e":[{"f":true}]}}"#);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_a_mistake() {
        check("a.b[3]", "1", "a.b[3]: there are only 1 items");
        check("a.b.c", "1", "a.b.c: c is no position: invalid digit found in string");
        check("a.d[x/y].q", "1", "a.d[x/y].q: q is below something that has no fields");
        check("a.d[x", "1", "a.d[x has no end of [");
    }
}
