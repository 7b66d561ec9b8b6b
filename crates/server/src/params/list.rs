//! ListOptions: the options of lists and watches.
//!
//! Upstream: apimachinery/pkg/apis/meta/internalversion/validation, ValidateListOptions, and
//! apiserver/pkg/endpoints/handlers/get.go, listOpts (v1.36.4).

use std::time::Duration;

use keelson_object::selector::{field, label, shard};
use keelson_object::{FieldErrors, Path};
use keelson_registry::Error as RegistryError;
use keelson_registry::options::{Freshness, InitialEvents, ListOptions, Selection, WatchFrom, WatchOptions};

use super::{number, refuse_if_any, revision};
use crate::error::{Error, Result};
use crate::openapi::Offered;
use crate::query::Query;

/// The parameters that lists and watches share, parsed but not yet validated.
struct Raw<'q> {
    selection: Selection,
    revision: &'q str,
    revision_match: &'q str,
    continue_token: &'q str,
    limit: i64,
    timeout_seconds: Option<i64>,
    send_initial_events: Option<bool>,
    bookmarks: bool,
}

/// The options of a list. `name` is the object in the URL or the selector; empty for none.
pub(crate) fn list(query: &Query<'_>, name: &str, shards: Offered) -> Result<ListOptions> {
    let raw = read(query)?;
    refuse_if_any("ListOptions", list_errors(&raw))?;
    let has_token = !raw.continue_token.is_empty();
    let freshness = freshness(&raw)?;
    Ok(ListOptions {
        freshness,
        selection: with_shard(with_name(raw.selection, name)?, query, shards)?,
        // A negative limit is no limit.
        limit: u64::try_from(raw.limit).unwrap_or(0),
        continue_token: raw.continue_token.to_owned(),
        revision_beside_token: has_token && !matches!(raw.revision, "" | "0"),
    })
}

/// The feature gates of a watch.
#[derive(Clone, Copy)]
pub(crate) struct WatchGates {
    /// `ShardedListAndWatch`.
    pub(crate) shards: Offered,
    /// `WatchList`.
    pub(crate) initial_events: Offered,
}

/// The options of a watch; `lives` is `None` if the client leaves the timeout to the server. `name` as for
/// [`list`].
pub(crate) fn watch(query: &Query<'_>, name: &str, gates: WatchGates) -> Result<WatchOptions> {
    let mut raw = read(query)?;
    // The deprecated watch paths have no `watch` in the query: upstream validates their options as those of a
    // list.
    if query.switch("watch").unwrap_or(false) {
        if gates.initial_events == Offered::Yes {
            set_defaults(&mut raw);
        }
        refuse_if_any("ListOptions", watch_errors(&raw, gates.initial_events))?;
    } else {
        refuse_if_any("ListOptions", list_errors(&raw))?;
    }
    let revision = revision(raw.revision).map_err(Error::BadRevision)?;
    let from = match revision {
        None => WatchFrom::Latest,
        Some(0) => WatchFrom::Any,
        Some(revision) => WatchFrom::After(revision),
    };
    let options = WatchOptions {
        from,
        selection: with_shard(with_name(raw.selection, name)?, query, gates.shards)?,
        bookmarks: raw.bookmarks,
        initial_events: match raw.send_initial_events {
            Some(true) => InitialEvents::Marked,
            Some(false) => InitialEvents::Skipped,
            None => InitialEvents::Unmarked,
        },
        // A negative timeout has passed before the watch begins.
        lives: raw
            .timeout_seconds
            .filter(|it| *it != 0)
            .map(|it| Duration::from_secs(u64::try_from(it).unwrap_or(0))),
    };
    Ok(options)
}

/// A watch without a revision, or with revision 0, begins with the state.
///
/// Upstream: apimachinery/pkg/apis/meta/internalversion/defaults.go, SetListOptionsDefaults (v1.36.4).
fn set_defaults(raw: &mut Raw<'_>) {
    let is_silent = raw.send_initial_events.is_none() && raw.revision_match.is_empty();
    if is_silent && matches!(raw.revision, "" | "0") {
        raw.send_initial_events = Some(true);
        raw.revision_match = "NotOlderThan";
    }
}

fn read<'q>(query: &'q Query<'_>) -> Result<Raw<'q>> {
    let bad = |error: &dyn std::fmt::Display| Error::BadRequest(error.to_string());
    let text = |key| query.get(key).unwrap_or_default();
    let labels =
        Some(text("labelSelector")).filter(|it| !it.is_empty()).map(label::Selector::parse).transpose();
    let fields =
        Some(text("fieldSelector")).filter(|it| !it.is_empty()).map(field::Selector::parse).transpose();
    Ok(Raw {
        selection: Selection {
            labels: labels.map_err(|error| bad(&error))?,
            fields: fields.map_err(|error| bad(&error))?,
            shard: None,
        },
        revision: text("resourceVersion"),
        revision_match: text("resourceVersionMatch"),
        continue_token: text("continue"),
        limit: number(query, "limit")?.unwrap_or(0),
        timeout_seconds: number(query, "timeoutSeconds")?,
        send_initial_events: query.switch("sendInitialEvents"),
        bookmarks: query.switch("allowWatchBookmarks").unwrap_or(false),
    })
}

fn list_errors(raw: &Raw<'_>) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let at = Path::root("resourceVersionMatch");
    if !raw.revision_match.is_empty() {
        if raw.revision.is_empty() {
            errors.forbidden(&at, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !raw.continue_token.is_empty() {
            errors.forbidden(&at, "resourceVersionMatch is forbidden when continue is provided");
        }
        if !matches!(raw.revision_match, "Exact" | "NotOlderThan") {
            errors.not_supported(&at, raw.revision_match, &["Exact", "NotOlderThan", ""]);
        }
        if raw.revision_match == "Exact" && raw.revision == "0" {
            errors.forbidden(&at, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
    }
    if raw.send_initial_events.is_some() {
        errors.forbidden(&Path::root("sendInitialEvents"), "sendInitialEvents is forbidden for list");
    }
    errors
}

fn watch_errors(raw: &Raw<'_>, initial_events: Offered) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let at = Path::root("resourceVersionMatch");
    if raw.send_initial_events.is_some() && raw.revision_match != "NotOlderThan" {
        errors.forbidden(&at, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if raw.send_initial_events.is_some() && initial_events == Offered::No {
        errors.forbidden(
            &Path::root("sendInitialEvents"),
            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
        );
    }
    if raw.revision_match.is_empty() {
        return errors;
    }
    if raw.send_initial_events.is_none() {
        errors.forbidden(
            &at,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        );
    }
    if raw.revision_match != "NotOlderThan" {
        errors.not_supported(&at, raw.revision_match, &["NotOlderThan"]);
    }
    if !raw.continue_token.is_empty() {
        errors.forbidden(&at, "resourceVersionMatch is forbidden when continue is provided");
    }
    errors
}

/// The freshness of a list. With a continue token only revision 0 is allowed, and the token is checked first.
fn freshness(raw: &Raw<'_>) -> Result<Freshness> {
    if !raw.continue_token.is_empty() {
        return Ok(if raw.revision == "0" { Freshness::Any } else { Freshness::Latest });
    }
    let revision = revision(raw.revision)
        .map_err(|text| Error::BadRequest(format!("invalid resource version: {text}")))?;
    Ok(match (raw.revision_match, revision) {
        (_, None) => Freshness::Latest,
        // Other ways to write 0 are numbers, and do not mean any revision.
        (_, Some(0)) if raw.revision == "0" => Freshness::Any,
        ("Exact", Some(revision)) => Freshness::Exactly(revision),
        // With a limit and without resourceVersionMatch, a page is of exactly this revision.
        ("", Some(revision)) if raw.limit > 0 && revision > 0 => Freshness::Exactly(revision),
        (_, Some(revision)) => Freshness::AtLeast(revision),
    })
}

/// A name in the URL is a field selector; another field selector must agree with it.
fn with_name(mut selection: Selection, name: &str) -> Result<Selection> {
    if name.is_empty() {
        return Ok(selection);
    }
    match &selection.fields {
        Some(fields) if !fields.is_everything() => {
            if fields.exact("metadata.name") != Some(name) {
                return Err(Error::BadRequest(
                    "fieldSelector metadata.name doesn't match requested name".to_owned(),
                ));
            }
        }
        _ => selection.fields = Some(field::Selector::equals("metadata.name", name)),
    }
    Ok(selection)
}

/// Adds the shard selector; it is ignored if the gate is off.
fn with_shard(mut selection: Selection, query: &Query<'_>, shards: Offered) -> Result<Selection> {
    if let (Some(text), Offered::Yes) = (query.get("shardSelector").filter(|it| !it.is_empty()), shards) {
        let parsed = shard::Selector::parse(text)
            .map_err(|problem| RegistryError::Unclassified(format!("invalid shard selector: {problem}")))?;
        selection.shard = Some(parsed);
    }
    Ok(selection)
}

#[cfg(test)]
mod tests {
    use super::{Offered, Query, WatchGates};
    use crate::error::{Error, Result};
    use keelson_registry::options::{ListOptions, WatchOptions};

    fn list(query: &Query<'_>, name: &str) -> Result<ListOptions> {
        super::list(query, name, Offered::Yes)
    }

    fn watch(query: &Query<'_>, name: &str) -> Result<WatchOptions> {
        super::watch(query, name, WatchGates { shards: Offered::Yes, initial_events: Offered::Yes })
    }

    #[test]
    fn shards_are_asked_for_when_the_gate_is_open() {
        let query = "shardSelector=x";
        let open = super::list(&Query::parse(query), "", Offered::Yes);
        assert_eq!(
            open.unwrap_err().to_string(),
            "invalid shard selector: unexpected expression kind 3; expected shardRange() call or || operator"
        );
        assert!(super::list(&Query::parse(query), "", Offered::No).unwrap().selection.shard.is_none());
    }

    fn text(error: Error) -> String {
        match error {
            Error::InvalidOptions { errors, .. } => errors.to_text(),
            other => other.to_string(),
        }
    }

    #[track_caller]
    fn check_list(query: &str, expected: &str) {
        let found = list(&Query::parse(query), "").map_or_else(text, |it| {
            let beside = if it.revision_beside_token { " and a revision" } else { "" };
            format!("{:?} limit={} continue={}{beside}", it.freshness, it.limit, it.continue_token)
        });
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn initial_events_are_sent_when_the_gate_is_open() {
        let gates = WatchGates { shards: Offered::No, initial_events: Offered::No };
        let asked = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let refused = super::watch(&Query::parse(asked), "", gates).map_or_else(text, |_| String::new());
        let expected =
            "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
        assert!(refused.contains(expected), "{refused}");
        assert!(super::watch(&Query::parse("watch=1&resourceVersion=0"), "", gates).is_ok());
    }

    #[track_caller]
    fn check_watch(query: &str, expected: &str) {
        let query = &format!("watch=1&{query}");
        let found = watch(&Query::parse(query), "").map_or_else(text, |it| {
            format!("{:?} {:?} bookmarks={} {:?}", it.from, it.initial_events, it.bookmarks, it.lives)
        });
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn lists_are_as_fresh_as_asked() {
        check_list("", "Latest limit=0 continue=");
        check_list("resourceVersion=0", "Any limit=0 continue=");
        check_list("resourceVersion=0&limit=500", "Any limit=500 continue=");
        check_list("resourceVersion=00&limit=500", "AtLeast(0) limit=500 continue=");
        check_list("resourceVersion=7", "AtLeast(7) limit=0 continue=");
        check_list("resourceVersion=7&limit=5", "Exactly(7) limit=5 continue=");
        check_list(
            "resourceVersion=7&limit=5&resourceVersionMatch=NotOlderThan",
            "AtLeast(7) limit=5 continue=",
        );
        check_list("resourceVersion=7&resourceVersionMatch=Exact", "Exactly(7) limit=0 continue=");
        check_list("continue=abc&limit=5", "Latest limit=5 continue=abc");
        check_list("continue=abc&resourceVersion=0", "Any limit=0 continue=abc");
        check_list("continue=abc&resourceVersion=x", "Latest limit=0 continue=abc and a revision");
        check_list("limit=-1", "Latest limit=0 continue=");
    }

    #[test]
    fn list_options_are_judged() {
        check_list("limit=x", "strconv.ParseInt: parsing \"x\": invalid syntax");
        check_list(
            "resourceVersion=x",
            "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": \
             invalid syntax",
        );
        check_list(
            "resourceVersionMatch=Exact",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
        );
        check_list(
            "resourceVersion=0&resourceVersionMatch=Exact",
            "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        );
        check_list(
            "resourceVersion=1&resourceVersionMatch=Foo",
            "resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
        );
        check_list(
            "sendInitialEvents=true",
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        );
        check_list("labelSelector=a===", "unable to parse requirement: found '=', expected: identifier");
        check_list("fieldSelector=foo", "invalid selector: 'foo'; can't understand 'foo'");
    }

    #[test]
    fn watches_begin_where_asked() {
        check_watch("", "Latest Marked bookmarks=false None");
        check_watch("resourceVersion=0", "Any Marked bookmarks=false None");
        check_watch("resourceVersion=00", "Any Unmarked bookmarks=false None");
        check_watch("resourceVersion=7&timeoutSeconds=5", "After(7) Unmarked bookmarks=false Some(5s)");
        check_watch(
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            "Latest Marked bookmarks=true None",
        );
        check_watch(
            "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=7",
            "After(7) Marked bookmarks=false None",
        );
    }

    #[test]
    fn watch_options_are_judged() {
        check_watch(
            "sendInitialEvents=true",
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        );
        check_watch(
            "resourceVersionMatch=Exact&resourceVersion=1",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is \
             provided\nresourceVersionMatch: Unsupported value: \"Exact\": supported values: \"NotOlderThan\"",
        );
        check_watch(
            "resourceVersion=x",
            "resource version \"resourceVersion: Invalid value: \\\"x\\\": strconv.ParseUint: parsing \\\"x\\\": invalid syntax\" is no number",
        );
    }

    #[test]
    fn deprecated_watch_paths_have_the_options_of_lists() {
        let begin = |query: &str| {
            watch(&Query::parse(query), "")
                .map_or_else(text, |it| format!("{:?} {:?}", it.from, it.initial_events))
        };
        assert_eq!(begin(""), "Latest Unmarked");
        assert_eq!(begin("resourceVersion=0&allowWatchBookmarks=true"), "Any Unmarked");
        assert_eq!(begin("watch=true"), "Latest Marked");
        let refused = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list";
        assert_eq!(
            begin("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1"),
            refused
        );
    }

    #[test]
    fn a_name_is_a_field_selector() {
        let fields = |query: &str, name: &str| {
            list(&Query::parse(query), name).map_or_else(text, |it| it.selection.fields.unwrap().to_string())
        };
        assert_eq!(fields("", "a"), "metadata.name=a");
        assert_eq!(fields("fieldSelector=metadata.name%3Da", "a"), "metadata.name=a");
        assert_eq!(
            fields("fieldSelector=metadata.name%3Db", "a"),
            "fieldSelector metadata.name doesn't match requested name"
        );
    }
}
