//! Warnings about names that become part of pod names.

use keelson_object::Object;
use keelson_object::selector::name_rules;

/// The warnings about the name of a new object.
///
/// Upstream: pkg/registry/apps/deployment/strategy.go, WarningsOnCreate (v1.36.4).
pub(crate) fn on_create(object: &Object) -> Vec<String> {
    // What is not stored yet has no version.
    if !object.meta.resource_version.is_empty() {
        return Vec::new();
    }
    let problems = name_rules::dns1123_label(&object.meta.name);
    if problems.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; \
         a DNS label is recommended: [{}]",
        problems.join(" ")
    )]
}

#[cfg(test)]
mod tests {
    use super::on_create;
    use keelson_object::Object;

    #[test]
    fn a_new_name_that_is_no_label_is_warned_of() {
        let mut object = Object::default();
        object.meta.name = "a.b".into();
        let warning = on_create(&object).join("");
        assert!(warning.starts_with("metadata.name: this is used in Pod names and hostnames"), "{warning}");
        assert!(warning.ends_with("a DNS label is recommended: [must not contain dots]"), "{warning}");
        object.meta.resource_version = "1".into();
        assert!(on_create(&object).is_empty());
        object.meta.resource_version = "".into();
        object.meta.name = "a".into();
        assert!(on_create(&object).is_empty());
    }
}
