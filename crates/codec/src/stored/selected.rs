//! Picking the values of selectable fields while the scanner passes over an object.
//!
//! All paths that are still in question at some point of the walk share what has been walked. So a place is named
//! by any of them: `prefix` is the walked part of a path, with its dot, and a key below it leads on if some path
//! goes on with that key.

use keelson_object::{SelectableField, SmolStr};

use super::StoredError;
use super::scanner::Scanner;
use crate::json::read_string;

pub(super) struct Selected<'f> {
    fields: &'f [SelectableField],
    values: Box<[SmolStr]>,
    /// Which of its paths gave a field its value; empty where no field has two paths.
    ranks: Vec<usize>,
}

impl<'f> Selected<'f> {
    pub(super) fn new(fields: &'f [SelectableField]) -> Selected<'f> {
        let values = fields.iter().map(|it| it.default.clone()).collect();
        let has_choice = fields.iter().any(|it| it.paths.len() > 1);
        let ranks = if has_choice { vec![usize::MAX; fields.len()] } else { Vec::new() };
        Selected { fields, values, ranks }
    }

    /// What was found, in the order of the fields.
    pub(super) fn into_values(self) -> Box<[SmolStr]> {
        self.values
    }

    /// Passes over the value of `key` below `prefix`, and takes from it what the fields ask for.
    pub(super) fn value(
        &mut self,
        scanner: &mut Scanner<'_>,
        prefix: &str,
        key: &[u8],
    ) -> Result<(), StoredError> {
        let mut is_wanted = false;
        for path in self.fields.iter().flat_map(|it| &it.paths) {
            match continuation(path, prefix, key) {
                None => {}
                Some("") => is_wanted = true,
                Some(rest) => {
                    if scanner.peek() == Some(b'{') {
                        return self.members(scanner, &path[..path.len() - rest.len() + 1]);
                    }
                }
            }
        }
        scanner.peek();
        let start = scanner.at();
        scanner.skip_value()?;
        if is_wanted {
            let raw = scanner.since(start);
            self.take(raw, prefix, key)?;
        }
        Ok(())
    }

    fn members(&mut self, scanner: &mut Scanner<'_>, prefix: &str) -> Result<(), StoredError> {
        scanner.open()?;
        while let Some(member) = scanner.next_member()? {
            self.value(scanner, prefix, &member.key)?;
        }
        Ok(())
    }

    /// Gives a scalar to every field that has this place among its paths and nothing better yet.
    #[cold]
    fn take(&mut self, raw: &[u8], prefix: &str, key: &[u8]) -> Result<(), StoredError> {
        let text = match raw {
            [b'"', ..] => read_string(raw, 1)?.0,
            [b'{' | b'[' | b'n', ..] => return Ok(()),
            _ => SmolStr::new(String::from_utf8_lossy(raw)),
        };
        if text.is_empty() {
            return Ok(());
        }
        for (position, field) in self.fields.iter().enumerate() {
            let rank = field.paths.iter().position(|it| continuation(it, prefix, key) == Some(""));
            let Some(rank) = rank else { continue };
            if let Some(present) = self.ranks.get_mut(position) {
                if *present <= rank {
                    continue;
                }
                *present = rank;
            }
            self.values[position] = text.clone();
        }
        Ok(())
    }
}

/// What remains of `path` behind `prefix` and `key`: nothing, or the rest with its dot. `None` where it leads
/// elsewhere.
#[inline]
fn continuation<'p>(path: &'p str, prefix: &str, key: &[u8]) -> Option<&'p str> {
    // Most keys lead nowhere, and their first letter shows it.
    if path.as_bytes().get(prefix.len()) != key.first() {
        return None;
    }
    let rest = path.strip_prefix(prefix)?;
    let behind = rest.as_bytes().strip_prefix(key)?;
    if (behind.is_empty() || behind[0] == b'.') && !key.contains(&b'.') {
        Some(&rest[rest.len() - behind.len()..])
    } else {
        None
    }
}
