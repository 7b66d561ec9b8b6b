//! JSON pointers (RFC 6901) into a tree.

use keelson_object::Value;

/// The parts of a pointer, unescaped: `/a~1b/0` is `a/b` and `0`.
pub(crate) struct Pointer {
    /// As it was written.
    pub(crate) text: String,
    parts: Vec<String>,
}

impl Pointer {
    /// What is before the first slash does not count, as in upstream's library.
    pub(crate) fn new(text: &str) -> Pointer {
        Pointer { text: text.to_owned(), parts: text.split('/').skip(1).map(unescaped).collect() }
    }

    /// The last part; `None` for the whole document.
    pub(crate) fn last(&self) -> Option<&str> {
        self.parts.last().map(String::as_str)
    }

    /// What the last part is looked for in.
    pub(crate) fn parent<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        let (_, parents) = self.parts.split_last()?;
        let found = parents.iter().try_fold(root, |value, part| match value {
            Value::Map(map) => map.get(part),
            Value::List(items) => items.get(existing(part, items.len()).ok()?),
            _ => None,
        })?;
        matches!(found, Value::Map(_) | Value::List(_)).then_some(found)
    }

    /// The same, to edit.
    pub(crate) fn parent_mut<'v>(&self, root: &'v mut Value) -> Option<&'v mut Value> {
        let (_, parents) = self.parts.split_last()?;
        follow(parents, root).filter(|found| matches!(found, Value::Map(_) | Value::List(_)))
    }

    /// The parts of every place on the way to the last part.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &[String]> {
        (1..self.parts.len()).map(|length| &self.parts[..length])
    }
}

/// What `parts` lead to, to edit.
pub(crate) fn follow<'v>(parts: &[String], root: &'v mut Value) -> Option<&'v mut Value> {
    parts.iter().try_fold(root, |value, part| match value {
        Value::Map(map) => map.get_mut(part),
        Value::List(items) => {
            let at = existing(part, items.len()).ok()?;
            items.get_mut(at)
        }
        _ => None,
    })
}

/// `~01` is `~1`.
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The index of one of `length` items; negative ones count from the end, as upstream's library lets them.
pub(crate) fn existing(part: &str, length: usize) -> Result<usize, String> {
    let number = number(part)?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let at = if number < 0 { number.saturating_add(length) } else { number };
    let found = usize::try_from(at).ok().filter(|_| at < length);
    found.ok_or_else(|| format!("Unable to access invalid index: {number}: invalid index referenced"))
}

fn number(part: &str) -> Result<i64, String> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    part.parse::<i64>().map_err(|error| {
        let problem = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {part:?}: {problem}")
    })
}
