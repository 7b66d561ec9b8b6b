//! Selectable fields: collects their values while the scanner walks an object.
//!
//! At every point of the walk some paths can still match; of each only the remaining part is kept. Within
//! `spec`, of `spec.nodeName`, `status.phase` and `spec.host.ip` there remain `nodeName` and `host.ip`.

use keelson_object::{SelectableField, SmolStr};

use super::StoredError;
use super::scanner::Scanner;
use crate::json::read_string;

pub(super) struct Selected {
    values: Box<[SmolStr]>,
    /// The position of the path that gave each field its value; empty if no field has two paths.
    ranks: Vec<usize>,
}

/// A path that can still match.
pub(super) struct Candidate<'f> {
    /// The remaining part.
    rest: &'f str,
    /// The position of its field.
    field: usize,
    /// Its position among the paths of the field.
    rank: usize,
}

/// All paths of `fields`.
pub(super) fn candidates(fields: &[SelectableField]) -> Vec<Candidate<'_>> {
    let mut all = Vec::with_capacity(fields.iter().map(|it| it.paths.len()).sum());
    for (field, selectable) in fields.iter().enumerate() {
        all.extend(selectable.paths.iter().enumerate().map(|(rank, path)| Candidate {
            rest: path,
            field,
            rank,
        }));
    }
    all
}

/// The candidates that go through `key`.
pub(super) fn below<'f>(candidates: &[Candidate<'f>], key: &[u8]) -> Vec<Candidate<'f>> {
    let step = |it: &Candidate<'f>| {
        let rest = behind(it.rest, key)?.strip_prefix('.')?;
        Some(Candidate { rest, field: it.field, rank: it.rank })
    };
    candidates.iter().filter_map(step).collect()
}

impl Selected {
    pub(super) fn new(fields: &[SelectableField]) -> Selected {
        let values = fields.iter().map(|it| it.default.clone()).collect();
        let has_choice = fields.iter().any(|it| it.paths.len() > 1);
        let ranks = if has_choice { vec![usize::MAX; fields.len()] } else { Vec::new() };
        Selected { values, ranks }
    }

    /// The values, in the order of the fields.
    pub(super) fn into_values(self) -> Box<[SmolStr]> {
        self.values
    }

    /// Reads the value of `key`, and takes the values that the candidates need.
    pub(super) fn value(
        &mut self,
        scanner: &mut Scanner<'_>,
        candidates: &[Candidate<'_>],
        key: &[u8],
    ) -> Result<(), StoredError> {
        let (mut is_wanted, mut leads_on) = (false, false);
        for candidate in candidates {
            match behind(candidate.rest, key) {
                None => {}
                Some("") => is_wanted = true,
                Some(_) => leads_on = true,
            }
        }
        if leads_on && scanner.peek() == Some(b'{') {
            return self.members(scanner, &below(candidates, key));
        }
        scanner.peek();
        let start = scanner.at();
        scanner.skip_value()?;
        if is_wanted { self.take(scanner.since(start), candidates, key) } else { Ok(()) }
    }

    fn members(
        &mut self,
        scanner: &mut Scanner<'_>,
        candidates: &[Candidate<'_>],
    ) -> Result<(), StoredError> {
        scanner.open()?;
        while let Some(member) = scanner.next_member()? {
            self.value(scanner, candidates, &member.key)?;
        }
        Ok(())
    }

    /// Gives a scalar to every field that needs it and has nothing better yet.
    fn take(&mut self, raw: &[u8], candidates: &[Candidate<'_>], key: &[u8]) -> Result<(), StoredError> {
        let text = match raw {
            [b'"', ..] => read_string(raw, 1)?.0,
            [b'{' | b'[' | b'n', ..] => return Ok(()),
            _ => SmolStr::new(String::from_utf8_lossy(raw)),
        };
        if text.is_empty() {
            return Ok(());
        }
        for candidate in candidates.iter().filter(|it| behind(it.rest, key) == Some("")) {
            if let Some(present) = self.ranks.get_mut(candidate.field) {
                if *present <= candidate.rank {
                    continue;
                }
                *present = candidate.rank;
            }
            self.values[candidate.field] = text.clone();
        }
        Ok(())
    }
}

/// The rest of `path` after `key`: nothing, or the rest with its dot. `None` if the path does not go through
/// `key`.
#[inline]
fn behind<'p>(path: &'p str, key: &[u8]) -> Option<&'p str> {
    // Most keys match no path, and their first letter shows it.
    if path.as_bytes().first() != key.first() {
        return None;
    }
    let rest = path.as_bytes().strip_prefix(key)?;
    let is_whole = rest.is_empty() || rest[0] == b'.';
    if is_whole && !key.contains(&b'.') { Some(&path[path.len() - rest.len()..]) } else { None }
}
