//! JSON pointers (RFC 6901) into a tree.

use keelson_object::Value;

use crate::Error;

/// The parts of a pointer, unescaped: `/a~1b/0` is `a/b` and `0`.
pub(crate) struct Pointer(Vec<String>);

impl Pointer {
    pub(crate) fn parse(text: &str) -> Result<Pointer, Error> {
        if text.is_empty() {
            return Ok(Pointer(Vec::new()));
        }
        let Some(rest) = text.strip_prefix('/') else {
            return Err(Error::Malformed(format!("invalid JSON pointer {text:?}")));
        };
        Ok(Pointer(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect()))
    }

    /// The parent's parts and the last one; `None` for the whole document.
    pub(crate) fn split(&self) -> Option<(&[String], &str)> {
        let (last, parents) = self.0.split_last()?;
        Some((parents, last))
    }

    pub(crate) fn find<'v>(&self, root: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(root, |value, part| match value {
            Value::Map(map) => map.get(part),
            Value::List(items) => items.get(position(part, items.len())?),
            _ => None,
        })
    }
}

/// The value that `parts` lead to.
pub(crate) fn walk<'v>(root: &'v mut Value, parts: &[String]) -> Option<&'v mut Value> {
    parts.iter().try_fold(root, |value, part| match value {
        Value::Map(map) => map.get_mut(part),
        Value::List(items) => {
            let at = position(part, items.len())?;
            items.get_mut(at)
        }
        _ => None,
    })
}

/// An index into a list of `length` items; negative ones count from the end, as upstream's library lets them.
pub(crate) fn position(part: &str, length: usize) -> Option<usize> {
    let number: i64 = part.parse().ok()?;
    if number < 0 {
        usize::try_from(i64::try_from(length).ok()? + number).ok()
    } else {
        usize::try_from(number).ok()
    }
}
