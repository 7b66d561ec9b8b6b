//! What a review asks, as the authorizer wants to hear it.

use keelson_authn::User;
use keelson_authz::{Attributes, Authorizer, Subject, Target, Verdict};
use keelson_object::Map;
use keelson_object::selector::{field, label};

/// Asks about what `spec` describes, for `user`.
///
/// Upstream: pkg/registry/authorization/util/helpers.go, ResourceAttributesFrom, NonResourceAttributesFrom (v1.36.4).
pub(super) async fn ask(authorizer: &dyn Authorizer, user: &User, spec: &Map) -> Verdict {
    let empty = Map::new();
    let resource = spec.map("resourceAttributes");
    let about = resource.or(spec.map("nonResourceAttributes")).unwrap_or(&empty);
    let text = |name| about.str(name).unwrap_or_default();
    let target = match resource {
        None => Target::Path,
        Some(_) => Target::Resource {
            namespace: text("namespace"),
            api_group: text("group"),
            api_version: about.str("version").filter(|it| !it.is_empty()).unwrap_or("*"),
            resource: text("resource"),
            subresource: text("subresource"),
            name: text("name"),
        },
    };
    let user = subject(user);
    authorizer.authorize(&Attributes { user, verb: text("verb"), target, path: text("path") }).await
}

/// A user as authorizers see one.
pub(super) fn subject(user: &User) -> Subject<'_> {
    Subject { name: &user.name, uid: &user.uid, groups: &user.groups, extra: &user.extra }
}

/// What is said about selectors that could not be read, or not all of them.
pub(super) fn unread_selectors(spec: &Map) -> Vec<String> {
    let Some(resource) = spec.map("resourceAttributes") else { return Vec::new() };
    let reads = [
        ("fieldSelector", resource.map("fieldSelector").map(read_field_selector)),
        ("labelSelector", resource.map("labelSelector").map(read_label_selector)),
    ];
    let said = reads.into_iter().filter_map(|(name, read)| {
        let how = match read? {
            Read::Wholly => return None,
            Read::Partly => "partially ignored",
            Read::NotAtAll => "ignored",
        };
        Some(format!("spec.resourceAttributes.{name} {how} due to parse error"))
    });
    said.collect()
}

enum Read {
    Wholly,
    Partly,
    NotAtAll,
}

/// Upstream: pkg/registry/authorization/util/helpers.go, fieldSelectorAsSelector (v1.36.4).
fn read_field_selector(selector: &Map) -> Read {
    let known = |it: &Map| matches!(it.str("operator"), Some("In" | "NotIn")) && it.list("values").len() == 1;
    read(selector, known, |raw| field::Selector::parse(raw).is_ok())
}

/// Upstream: pkg/registry/authorization/util/helpers.go, labelSelectorAsSelector (v1.36.4).
fn read_label_selector(selector: &Map) -> Read {
    let known = |it: &Map| matches!(it.str("operator"), Some("In" | "NotIn" | "Exists" | "DoesNotExist"));
    read(selector, known, |raw| label::Selector::parse(raw).is_ok())
}

fn read(selector: &Map, is_known: impl Fn(&Map) -> bool, parses: impl Fn(&str) -> bool) -> Read {
    let total = selector.maps("requirements").count();
    if total == 0 {
        let raw = selector.str("rawSelector").unwrap_or_default();
        return if parses(raw) { Read::Wholly } else { Read::NotAtAll };
    }
    match selector.maps("requirements").filter(|it| is_known(it)).count() {
        0 => Read::NotAtAll,
        known if known == total => Read::Wholly,
        _ => Read::Partly,
    }
}
