//! Impersonation headers.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};
use keelson_authz::impersonation::Wanted;
use keelson_object::scalar::quote;

use crate::query::{Plus, decode};

const USER: HeaderName = HeaderName::from_static("impersonate-user");
const GROUP: HeaderName = HeaderName::from_static("impersonate-group");
const UID: HeaderName = HeaderName::from_static("impersonate-uid");
const EXTRA: &str = "impersonate-extra-";

/// The wording of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The gate `ConstrainedImpersonation` is off.
    Plain,
    /// The gate is on.
    Constrained,
}

/// The user to impersonate, or what is wrong with the headers.
pub(super) fn wanted(headers: &HeaderMap, style: Style) -> Result<Option<Wanted>, String> {
    // Most requests do not impersonate.
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(None);
    }
    let first = |name| headers.get(name).map(text).unwrap_or_default();
    let wanted = Wanted {
        name: first(USER),
        uid: first(UID),
        groups: headers.get_all(GROUP).iter().map(text).collect(),
        extra: extra(headers),
    };
    let is_name_missing = wanted.name.is_empty();
    let is_more_wanted = !wanted.uid.is_empty() || !wanted.groups.is_empty() || !wanted.extra.is_empty();
    match (is_name_missing, is_more_wanted, style) {
        (false, ..) => Ok(Some(wanted)),
        (true, false, _) => Ok(None),
        (true, true, Style::Constrained) => {
            Err(format!("requested {} without impersonating a user name", go_syntax(&wanted)))
        }
        (true, true, Style::Plain) => {
            Err(format!("requested [{}] without impersonating a user", references(&wanted).join(" ")))
        }
    }
}

/// Removes the headers: nothing after this step depends on whether the request impersonates.
pub(super) fn remove(headers: &mut HeaderMap) {
    let names =
        headers.keys().filter(|name| [USER, GROUP, UID].contains(name) || name.as_str().starts_with(EXTRA));
    for name in names.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
}

fn extra(headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
    let mut extra = BTreeMap::<String, Vec<String>>::new();
    for (name, value) in headers {
        let Some(key) = name.as_str().strip_prefix(EXTRA) else { continue };
        // A key that cannot be decoded is taken literally.
        let key = decode(key, Plus::Plus).map_or_else(|| key.to_owned(), std::borrow::Cow::into_owned);
        extra.entry(key).or_default().push(text(value));
    }
    extra
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// As Go's `%#v` prints the user.
fn go_syntax(wanted: &Wanted) -> String {
    let list = |texts: &[String]| {
        let quoted: Vec<String> = texts.iter().map(|it| quote(it)).collect();
        format!("[]string{{{}}}", quoted.join(", "))
    };
    let groups = if wanted.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&wanted.groups) };
    let entries: Vec<String> =
        wanted.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values))).collect();
    let extra = if entries.is_empty() { "(nil)".to_owned() } else { format!("{{{}}}", entries.join(", ")) };
    format!(
        "&user.DefaultInfo{{Name:{}, UID:{}, Groups:{groups}, Extra:map[string][]string{extra}}}",
        quote(&wanted.name),
        quote(&wanted.uid),
    )
}

/// As Go's `%v` prints the object references to the requested identity: kind, namespace, name, uid, version,
/// revision, field.
fn references(wanted: &Wanted) -> Vec<String> {
    const VERSION: &str = "authentication.k8s.io/v1";
    let groups = wanted.groups.iter().map(|group| format!("{{Group  {group}    }}"));
    let extra = wanted.extra.iter().flat_map(|(key, values)| {
        values.iter().map(move |value| format!("{{UserExtra  {value}  {VERSION}  {key}}}"))
    });
    let uid = Some(&wanted.uid).filter(|it| !it.is_empty()).map(|uid| format!("{{UID  {uid}  {VERSION}  }}"));
    groups.chain(extra).chain(uid).collect()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::{Style, remove, wanted};

    fn headers(lines: &[&str]) -> HeaderMap {
        let pairs = lines.iter().map(|line| line.split_once(": ").unwrap());
        let read = |(name, value): (&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
        };
        let mut map = HeaderMap::new();
        pairs.map(read).for_each(|(name, value)| {
            map.append(name, value);
        });
        map
    }

    #[track_caller]
    fn check(lines: &[&str], style: Style, expected: &str) {
        let found = match wanted(&headers(lines), style) {
            Ok(None) => "nobody".to_owned(),
            Ok(Some(it)) => format!("{} {:?} {:?} {:?}", it.name, it.uid, it.groups, it.extra),
            Err(problem) => problem,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn a_user_may_have_uid_groups_and_more() {
        check(&["accept: x"], Style::Constrained, "nobody");
        check(&["Impersonate-User: bob"], Style::Constrained, "bob \"\" [] {}");
        check(
            &[
                "Impersonate-User: bob",
                "Impersonate-User: eve",
                "Impersonate-Uid: 7",
                "Impersonate-Group: a",
                "Impersonate-Group: b, c",
                "Impersonate-Extra-Acme.io%2Fkey: 1",
                "Impersonate-Extra-ACME.io%2fkey: 2",
                "Impersonate-Extra-bad%zz: 3",
            ],
            Style::Plain,
            "bob \"7\" [\"a\", \"b, c\"] {\"acme.io/key\": [\"1\", \"2\"], \"bad%zz\": [\"3\"]}",
        );
    }

    #[test]
    fn nobody_has_no_groups() {
        check(&["Impersonate-User: "], Style::Constrained, "nobody");
        check(
            &["Impersonate-Group: a", "Impersonate-Extra-k: v"],
            Style::Constrained,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"a\"}, \
             Extra:map[string][]string{\"k\":[]string{\"v\"}}} without impersonating a user name",
        );
        check(
            &["Impersonate-Uid: 7"],
            Style::Constrained,
            "requested &user.DefaultInfo{Name:\"\", UID:\"7\", Groups:[]string(nil), \
             Extra:map[string][]string(nil)} without impersonating a user name",
        );
        check(
            &["Impersonate-Uid: 7", "Impersonate-Group: a", "Impersonate-Extra-k: v"],
            Style::Plain,
            "requested [{Group  a    } {UserExtra  v  authentication.k8s.io/v1  k} \
             {UID  7  authentication.k8s.io/v1  }] without impersonating a user",
        );
    }

    #[test]
    fn the_wish_goes_no_further() {
        let mut headers = headers(&[
            "accept: x",
            "impersonate-user: a",
            "impersonate-group: b",
            "impersonate-group: c",
            "impersonate-uid: d",
            "impersonate-extra-e: f",
        ]);
        remove(&mut headers);
        assert_eq!(headers.keys().collect::<Vec<_>>(), ["accept"]);
    }
}
