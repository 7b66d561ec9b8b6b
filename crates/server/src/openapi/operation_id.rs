//! Operation ids and tags: `readAppsV1NamespacedThing`, `apps_v1`.
//!
//! Upstream: apiserver/pkg/endpoints/openapi/openapi.go, GetOperationIDAndTags (v1.36.4).

/// The id of the operation `verb` + `rest` (`read` + `NamespacedThing`) at `path`, and the tag it is filed under.
pub(super) fn id_and_tag(verb: &str, rest: &str, path: &str) -> (String, String) {
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if parts[0] == "api" {
        parts.splice(0..1, ["apis", "core"]);
    }
    let (mut id, mut tag) = (verb.to_owned(), String::new());
    if parts[0] == "apis" && parts.len() > 1 {
        let group = parts[1].strip_suffix(".k8s.io").unwrap_or(parts[1]);
        id.push_str(&camel(group, First::Upper));
        tag.push_str(&camel(group, First::AsItIs));
        if let Some(version) = parts.get(2) {
            id.push_str(&camel(version, First::Upper));
            tag.push('_');
            tag.push_str(&camel(version, First::AsItIs));
        }
    } else {
        tag.push_str(&camel(parts[0], First::AsItIs));
    }
    id.push_str(&camel(rest, First::Upper));
    (id, tag)
}

/// The case of the first letter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Upper,
    AsItIs,
}

/// Letters, digits and underscores stay; a letter after anything else becomes a capital.
fn camel(text: &str, first: First) -> String {
    let mut out = String::with_capacity(text.len());
    let mut raise = first == First::Upper;
    for (at, letter) in text.char_indices() {
        if letter.is_alphabetic() || letter == '_' || (at != 0 && letter.is_numeric()) {
            if raise {
                out.extend(letter.to_uppercase());
            } else {
                out.push(letter);
            }
            raise = false;
        } else {
            raise = true;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::id_and_tag;

    #[test]
    fn an_id_carries_group_and_version() {
        let check = |verb: &str, rest: &str, path: &str, expected: (&str, &str)| {
            let (id, tag) = id_and_tag(verb, rest, path);
            assert_eq!((id.as_str(), tag.as_str()), expected, "{path}");
        };
        check(
            "read",
            "NamespacedThing",
            "/api/v1/namespaces/{namespace}/things",
            ("readCoreV1NamespacedThing", "core_v1"),
        );
        check(
            "delete",
            "collectionThing",
            "/apis/apps/v1/things",
            ("deleteAppsV1CollectionThing", "apps_v1"),
        );
        check(
            "list",
            "Thing",
            "/apis/rbac.authorization.k8s.io/v1/things",
            ("listRbacAuthorizationV1Thing", "rbacAuthorization_v1"),
        );
        check("get", "APIGroup", "/apis/apps/", ("getAppsAPIGroup", "apps"));
        check("get", "APIVersions", "/apis/", ("getAPIVersions", "apis"));
        check("get", "APIVersions", "/api/", ("getCoreAPIVersions", "core"));
        check("get", "CodeVersion", "/version/", ("getCodeVersion", "version"));
    }
}
