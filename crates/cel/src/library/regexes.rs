//! Regular expressions: `matches`, `find`, `findAll`.

use std::borrow::Cow;

use super::{mismatch, no_operation};
use crate::fail::{Failure, Outcome, fail};
use crate::goregex::Regex;
use crate::program::Site;
use crate::run::Run;
use crate::value::{Text, Val};

/// Memory of one text of a list.
const ITEM_BYTES: u64 = 48;

pub(super) fn matches<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    match (args, &site.regex) {
        // With a compiled pattern, cel-go takes the name of a type for text.
        ([Val::Str(text) | Val::Type(text), _], Some(regex)) => Ok(Val::Bool(regex.is_match(text))),
        ([_, _], Some(_)) => Err(Failure::no_such_overload()),
        ([Val::Str(text), Val::Str(pattern)], None) => {
            let regex = Regex::new(pattern).map_err(|error| Failure::new(error.to_string()))?;
            Ok(Val::Bool(regex.is_match(text)))
        }
        ([Val::Str(_), _], None) => Err(Failure::no_such_overload()),
        ([first, ..], _) => no_operation(site, first),
        ([], _) => mismatch(site, args),
    }
}

/// The compiled pattern of the call, or that of the second argument.
fn pattern<'s>(site: &'s Site, args: &[Val<'_>]) -> Result<Option<Cow<'s, Regex>>, Failure> {
    match (&site.regex, args.get(1)) {
        (Some(regex), _) => Ok(Some(Cow::Borrowed(regex))),
        (None, Some(Val::Str(pattern))) => match Regex::new(pattern) {
            Ok(regex) => Ok(Some(Cow::Owned(regex))),
            Err(error) => fail!("Illegal regex: {error}"),
        },
        _ => Ok(None),
    }
}

/// Calls with a compiled pattern do not name the types of their arguments.
fn no_text<'a>(site: &Site, args: &[Val<'a>]) -> Outcome<'a> {
    if site.regex.is_some() { Err(Failure::no_such_overload()) } else { mismatch(site, args) }
}

/// A part of a text, borrowed if the text is.
fn part<'a>(text: &Text<'a>, start: usize, end: usize) -> Val<'a> {
    match text {
        Text::Borrowed(text) => Val::str(&text[start..end]),
        Text::Shared(text) => Val::text(&text[start..end]),
    }
}

pub(super) fn find<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let text = match args {
        [Val::Str(text), _] => text,
        [Val::Type(name), _] if site.regex.is_some() => name,
        _ => return no_text(site, args),
    };
    let Some(regex) = pattern(site, args)? else { return mismatch(site, args) };
    Ok(regex.find(text, 0).map_or(Val::str(""), |(start, end)| part(text, start, end)))
}

/// Upstream: Go's regexp, FindAllString: a match that is empty does not follow another match directly.
pub(super) fn find_all<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let (text, count) = match args {
        [Val::Str(text), _] => (text, -1),
        [Val::Str(text), _, Val::Int(count)] => (text, *count),
        [Val::Type(name), _] if site.regex.is_some() => (name, -1),
        [Val::Type(name), _, Val::Int(count)] if site.regex.is_some() => (name, *count),
        _ => return no_text(site, args),
    };
    let Some(regex) = pattern(site, args)? else { return mismatch(site, args) };
    let limit = usize::try_from(count).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let (mut at, mut previous_end) = (0, None);
    while found.len() < limit && at <= text.len() {
        let Some((start, end)) = regex.find(text, at) else { break };
        let follows_match = start == end && previous_end == Some(start);
        if end > at {
            at = end;
        } else {
            at = end + text[end..].chars().next().map_or(1, char::len_utf8);
        }
        previous_end = Some(end);
        if !follows_match {
            run.reserve(ITEM_BYTES)?;
            found.push(part(text, start, end));
        }
    }
    Ok(Val::list(found))
}
