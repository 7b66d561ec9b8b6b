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
        ([value, _], Some(regex)) => match text_of(site, value) {
            Some(text) => Ok(Val::Bool(regex.is_match(text))),
            None => Err(Failure::no_such_overload()),
        },
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

/// The text in which is searched. Calls with a compiled pattern look at the value of Go, which is a text for the name of
/// a type, too, and for an optional that holds a text.
fn text_of<'v, 'a>(site: &Site, value: &'v Val<'a>) -> Option<&'v Text<'a>> {
    match value {
        Val::Str(text) => Some(text),
        Val::Type(name) if site.regex.is_some() => Some(name),
        Val::Optional(Some(value)) if site.regex.is_some() => text_of(site, value),
        _ => None,
    }
}

/// A part of a text, borrowed if the text is.
fn part<'a>(text: &Text<'a>, start: usize, end: usize) -> Val<'a> {
    match text {
        Text::Borrowed(text) => Val::str(&text[start..end]),
        Text::Shared(text) => Val::text(&text[start..end]),
    }
}

pub(super) fn find<'a>(_: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let Some(text) = args.first().and_then(|value| text_of(site, value)) else { return no_text(site, args) };
    let Some(regex) = pattern(site, args)? else { return mismatch(site, args) };
    Ok(regex.find(text, 0).map_or(Val::str(""), |(start, end)| part(text, start, end)))
}

/// Upstream: Go's regexp, FindAllString: a match that is empty does not follow another match directly.
pub(super) fn find_all<'a>(run: &mut Run<'a>, site: &'a Site, args: &[Val<'a>]) -> Outcome<'a> {
    let count = match args {
        [_, _] => -1,
        [_, _, Val::Int(count)] => *count,
        _ => return no_text(site, args),
    };
    let Some(text) = args.first().and_then(|value| text_of(site, value)) else { return no_text(site, args) };
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
