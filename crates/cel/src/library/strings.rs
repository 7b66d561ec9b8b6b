//! Strings library, version 2. Positions count code points.

use super::mismatch;
use crate::fail::{Failure, Outcome, fail};
use crate::program::{Function, Site};
use crate::run::Run;
use crate::value::{Val, code_points};

pub(super) fn find(function: &str, count: usize) -> Option<Function> {
    Some(match (function, count) {
        ("charAt", 2) => char_at,
        ("indexOf", 2 | 3) => index_of,
        ("lastIndexOf", 2 | 3) => last_index_of,
        ("lowerAscii", 1) => lower_ascii,
        ("upperAscii", 1) => upper_ascii,
        ("replace", 3 | 4) => replace,
        ("split", 2 | 3) => split,
        ("substring", 2 | 3) => substring,
        ("trim", 1) => trim,
        ("join", 1 | 2) => join,
        ("strings.quote", 1) => quote,
        _ => return None,
    })
}

pub(super) fn contains<'a>(_: &mut Run<'a>, _: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text), Val::Str(part)] => {
            Ok(Val::Bool(memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some()))
        }
        _ => Err(Failure::no_such_overload()),
    }
}

pub(super) fn starts_with<'a>(_: &mut Run<'a>, _: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text), Val::Str(part)] => Ok(Val::Bool(text.starts_with(part.as_str()))),
        _ => Err(Failure::no_such_overload()),
    }
}

pub(super) fn ends_with<'a>(_: &mut Run<'a>, _: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text), Val::Str(part)] => Ok(Val::Bool(text.ends_with(part.as_str()))),
        _ => Err(Failure::no_such_overload()),
    }
}

/// Upstream: apiserver/pkg/cel/library/jsonpatch.go, escapeKey (v1.36.4).
pub(super) fn escape_key<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(key)] => {
            run.reserve(2 * key.len() as u64)?;
            Ok(Val::text(key.replace('~', "~0").replace('/', "~1")))
        }
        _ => mismatch(site, args),
    }
}

/// The byte at which code point number `index` begins; the end for the number of code points; `None` beyond.
fn byte_at(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    let mut positions = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    positions.nth(index)
}

fn out_of_range(index: i64) -> Failure {
    Failure::new(format!("index out of range: {index}"))
}

fn char_at<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(text), Val::Int(index)] = args else { return mismatch(site, args) };
    let start = byte_at(text, *index).ok_or_else(|| out_of_range(*index))?;
    let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
    Ok(Val::text(&text[start..end]))
}

fn index_of<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (text, part, offset) = match args {
        [Val::Str(text), Val::Str(part)] => (text, part, 0),
        [Val::Str(text), Val::Str(part), Val::Int(offset)] => (text, part, *offset),
        _ => return super::lists::index_of(run, site, args),
    };
    if part.is_empty() {
        return Ok(Val::Int(offset));
    }
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    let Some(start) = byte_at(text, offset).filter(|start| *start < text.len()) else {
        return Ok(Val::Int(-1));
    };
    let found = memchr::memmem::find(&text.as_bytes()[start..], part.as_bytes());
    Ok(Val::Int(found.map_or(-1, |at| offset + code_points(&text[start..start + at]) as i64)))
}

fn last_index_of<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (text, part, offset) = match args {
        [Val::Str(text), Val::Str(part)] => {
            let length = code_points(text) as i64;
            if part.is_empty() {
                return Ok(Val::Int(length));
            }
            if text.len() < part.len() {
                return Ok(Val::Int(-1));
            }
            (text, part, length - 1)
        }
        [Val::Str(text), Val::Str(part), Val::Int(offset)] => (text, part, *offset),
        _ => return super::lists::last_index_of(run, site, args),
    };
    if part.is_empty() {
        return Ok(Val::Int(offset));
    }
    if offset < 0 {
        return Err(out_of_range(offset));
    }
    let Some(start) = byte_at(text, offset).filter(|start| *start < text.len()) else {
        return Ok(Val::Int(-1));
    };
    // A part may begin at the offset, and end after it.
    let end = text.len().min(start + part.len());
    let found = memchr::memmem::rfind(&text.as_bytes()[..end], part.as_bytes());
    Ok(Val::Int(found.map_or(-1, |at| code_points(&text[..at]) as i64)))
}

fn lower_ascii<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => Ok(Val::text(text.to_ascii_lowercase())),
        _ => mismatch(site, args),
    }
}

fn upper_ascii<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => Ok(Val::text(text.to_ascii_uppercase())),
        _ => mismatch(site, args),
    }
}

/// The size of the result is not charged, so that it is computed before anything is allocated.
fn replace<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (text, old, new, count) = match args {
        [Val::Str(text), Val::Str(old), Val::Str(new)] => (text, old, new, -1),
        [Val::Str(text), Val::Str(old), Val::Str(new), Val::Int(count)] => (text, old, new, *count),
        _ => return mismatch(site, args),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let occurrences = if old.is_empty() {
        code_points(text) as usize + 1
    } else {
        memchr::memmem::find_iter(text.as_bytes(), old.as_bytes()).count()
    };
    let replaced = occurrences.min(limit) as u64;
    run.reserve((text.len() as u64).saturating_add(replaced.saturating_mul(new.len() as u64)))?;
    if replaced == 0 || old.as_str() == new.as_str() {
        return Ok(args[0].clone());
    }
    Ok(Val::text(text.replacen(old.as_str(), new, limit)))
}

/// Memory of one text of a list.
const ITEM_BYTES: u64 = 48;

fn split<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (text, separator, count) = match args {
        [Val::Str(text), Val::Str(separator)] => (text, separator, -1),
        [Val::Str(text), Val::Str(separator), Val::Int(count)] => (text, separator, *count),
        _ => return mismatch(site, args),
    };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(Val::list(Vec::new()));
    }
    let pieces = if separator.is_empty() {
        code_points(text) as usize
    } else {
        memchr::memmem::find_iter(text.as_bytes(), separator.as_bytes()).count() + 1
    };
    run.reserve(ITEM_BYTES * pieces.min(limit) as u64 + text.len() as u64)?;
    let items = if separator.is_empty() {
        characters(text, limit)
    } else {
        text.splitn(limit, separator.as_str()).map(Val::text).collect()
    };
    Ok(Val::list(items))
}

/// One text per code point; the last of `limit` has the rest.
fn characters<'a>(text: &str, limit: usize) -> Vec<Val<'a>> {
    let mut items = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = if items.len() + 1 == limit { rest.len() } else { first.len_utf8() };
        items.push(Val::text(&rest[..end]));
        rest = &rest[end..];
    }
    items
}

fn substring<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (text, start, end) = match args {
        [Val::Str(text), Val::Int(start)] => (text, *start, None),
        [Val::Str(text), Val::Int(start), Val::Int(end)] => (text, *start, Some(*end)),
        _ => return mismatch(site, args),
    };
    if let Some(end) = end
        && start > end
    {
        return fail!("invalid substring range. start: {start}, end: {end}");
    }
    let first = byte_at(text, start).ok_or_else(|| out_of_range(start))?;
    let last = match end {
        Some(end) => byte_at(text, end).ok_or_else(|| out_of_range(end))?,
        None => text.len(),
    };
    Ok(Val::text(&text[first..last]))
}

fn trim<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match args {
        [Val::Str(text)] => Ok(Val::text(text.trim())),
        _ => mismatch(site, args),
    }
}

/// Charged by its result: what is not affordable is not built.
fn join<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (list, separator) = match args {
        [Val::List(list)] => (list, ""),
        [Val::List(list), Val::Str(separator)] => (list, separator.as_str()),
        _ => return mismatch(site, args),
    };
    if let Some(first) = list.get(0)
        && !matches!(first, Ok(Val::Str(_)))
    {
        first?;
        return mismatch(site, args);
    }
    let mut text = String::new();
    for (position, item) in list.iter().enumerate() {
        let item = item?;
        let Val::Str(part) = &item else { return fail!("join: invalid input: {}", item.go_text()) };
        let separator = if position == 0 { "" } else { separator };
        // Two tenths of a unit for each character; bytes are at least as many as a quarter of that.
        run.afford((text.len() + separator.len() + part.len()) as u64 / 20)?;
        text.push_str(separator);
        text.push_str(part);
    }
    Ok(Val::text(text))
}

fn quote<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let [Val::Str(text)] = args else { return mismatch(site, args) };
    run.reserve(2 * text.len() as u64 + 2)?;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        let escape = match character {
            '\x07' => "\\a",
            '\x08' => "\\b",
            '\x0c' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\x0b' => "\\v",
            '\\' => "\\\\",
            '"' => "\\\"",
            other => {
                quoted.push(other);
                continue;
            }
        };
        quoted.push_str(escape);
    }
    quoted.push('"');
    Ok(Val::text(quoted))
}
