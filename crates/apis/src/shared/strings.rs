//! Lists of texts, as rules look at them.

use keelson_object::Value;

/// Whether `text` is one of `items`.
pub(crate) fn is_listed(items: &[Value], text: &str) -> bool {
    items.iter().any(|it| it.as_str() == Some(text))
}
