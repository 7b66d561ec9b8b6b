//! Matching rules that webhooks and policies have in common: matched requests and call conditions.

use std::future::ready;

use futures_util::future::BoxFuture;
use keelson_object::{FieldErrors, GroupKind, Map, Object, Path};
use keelson_registry::{Error, Guard, Result, Write};

use crate::shared::edit::parts;

/// Empty selectors, which match everything, are the default.
///
/// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_MatchResources, SetDefaults_ValidatingWebhook
/// (v1.36.4).
pub(super) fn default_selectors(map: &mut Map) {
    map.default_to("matchPolicy", "Equivalent");
    map.default_to("namespaceSelector", Map::new());
    map.default_to("objectSelector", Map::new());
}

/// Upstream: pkg/apis/admissionregistration/v1/defaults.go, SetDefaults_Rule (v1.36.4).
pub(super) fn default_rules(map: &mut Map, list: &str) {
    for rule in parts(map, list) {
        rule.default_to("scope", "*");
    }
}

/// Defaults of MatchResources, in policies and bindings of every version.
pub(super) fn default_match_resources(map: &mut Map) {
    default_selectors(map);
    default_rules(map, "resourceRules");
    default_rules(map, "excludeResourceRules");
}

/// Names with this suffix are reserved for configurations in files.
const STATIC_SUFFIX: &str = ".static.k8s.io";

/// Upstream: pkg/apis/admissionregistration/validation/static_suffix.go, WarningsForStaticSuffix (v1.36.4).
pub(super) fn name_warnings(object: &Object) -> Vec<String> {
    if !object.meta.name.ends_with(STATIC_SUFFIX) {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: names ending with {STATIC_SUFFIX:?} are reserved for static manifest-based configurations and \
         cannot be managed via the API"
    )]
}

/// Rejects names that are reserved for configurations in files.
///
/// Upstream: pkg/apis/admissionregistration/validation/static_suffix.go, ValidateStaticSuffix (v1.36.4).
pub(super) struct ReservedNames {
    pub(super) kind: GroupKind,
}

impl Guard for ReservedNames {
    fn check<'g>(&'g self, write: &'g Write<'g>) -> BoxFuture<'g, Result<()>> {
        Box::pin(ready(self.judge(&write.object.meta.name, write.old)))
    }
}

impl ReservedNames {
    fn judge(&self, name: &str, old: Option<&Object>) -> Result<()> {
        if old.is_some() || !name.ends_with(STATIC_SUFFIX) {
            return Ok(());
        }
        let mut errors = FieldErrors::default();
        let why = format!(
            "names ending with {STATIC_SUFFIX:?} are reserved for static manifest-based configurations and cannot be \
             managed via the API"
        );
        errors.invalid(&Path::root("metadata").key("name"), name, &why);
        Err(Error::Invalid { kind: self.kind.clone(), name: name.to_owned(), errors })
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Object;

    use super::{GroupKind, ReservedNames, name_warnings};

    #[test]
    fn names_of_files_are_refused_where_there_are_files() {
        let guard = ReservedNames { kind: GroupKind { group: "g".into(), kind: "K".into() } };
        assert!(guard.judge("a.static.k8s.io", None).is_err());
        assert!(guard.judge("a.static.k8s.io", Some(&Object::default())).is_ok());
        assert!(guard.judge("a", None).is_ok());
    }

    #[test]
    fn names_of_files_are_warned_of() {
        let mut object = Object::default();
        object.meta.name = "a.static.k8s.io".into();
        assert_eq!(
            name_warnings(&object),
            ["metadata.name: names ending with \".static.k8s.io\" are reserved for static manifest-based \
              configurations and cannot be managed via the API"]
        );
        object.meta.name = "a.k8s.io".into();
        assert!(name_warnings(&object).is_empty());
    }
}
