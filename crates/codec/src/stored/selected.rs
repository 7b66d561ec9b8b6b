//! Picking the values of selectable fields while the scanner passes over an object.
//!
//! At every point of the walk some paths are still in question; of each only the part that lies ahead is kept.
//! Within `spec`, of `spec.nodeName`, `status.phase` and `spec.host.ip` there remain `nodeName` and `host.ip`.

use keelson_object::{SelectableField, SmolStr};

use super::StoredError;
use super::scanner::Scanner;
use crate::json::read_string;

pub(super) struct Selected {
    values: Box<[SmolStr]>,
    /// Which of its paths gave a field its value; empty where no field has two paths.
    ranks: Vec<usize>,
}

/// A path that is still in question.
pub(super) struct Candidate<'f> {
    /// What lies ahead.
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

/// Those that lead through `key`.
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

    /// What was found, in the order of the fields.
    pub(super) fn into_values(self) -> Box<[SmolStr]> {
        self.values
    }

    /// Passes over the value of `key`, and takes from it what the candidates ask for.
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

    /// Gives a scalar to every field that asks for it and has nothing better yet.
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

/// What remains of `path` behind `key`: nothing, or the rest with its dot. `None` where it leads elsewhere.
#[inline]
fn behind<'p>(path: &'p str, key: &[u8]) -> Option<&'p str> {
    // Most keys lead nowhere, and their first letter shows it.
    if path.as_bytes().first() != key.first() {
        return None;
    }
    let rest = path.as_bytes().strip_prefix(key)?;
    let is_whole = rest.is_empty() || rest[0] == b'.';
    if is_whole && !key.contains(&b'.') { Some(&path[path.len() - rest.len()..]) } else { None }
}
