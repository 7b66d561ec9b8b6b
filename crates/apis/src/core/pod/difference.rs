//! Difference between two specs, for messages about forbidden updates.
//!
//! Upstream prints a diff of its internal types, line by line; ours has the field names that the client
//! knows:
//!
//! ```text
//! -  "hostname": "a"
//! +  "hostname": "b"
//! ```

use keelson_object::Map;

use super::same::same;
use crate::shared::go_form::as_json;

/// The fields that one of the two has.
pub(super) fn fields<'m>(new: &'m Map, was: &'m Map) -> impl Iterator<Item = &'m str> {
    let gone = was.iter().map(|(field, _)| field.as_str()).filter(|field| !new.contains(field));
    new.iter().map(|(field, _)| field.as_str()).chain(gone)
}

/// The fields in which the two differ.
pub(super) fn differing<'m>(new: &'m Map, was: &'m Map) -> Vec<&'m str> {
    fields(new, was).filter(|field| !same(new.get(field), was.get(field))).collect()
}

/// `changed` fields, before and after.
pub(super) fn difference(changed: &[&str], new: &Map, was: &Map) -> String {
    let mut lines = String::new();
    for field in changed {
        for (sign, map) in [('-', was), ('+', new)] {
            if let Some(value) = map.get(field) {
                lines.push_str(&format!("{sign}  \"{field}\": {}\n", as_json(value)));
            }
        }
    }
    lines
}
