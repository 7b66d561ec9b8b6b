//! The names of schemas: `io.k8s.api.apps.v1.Deployment`.

/// The published name of the struct `name` of the table at `path`.
pub(super) fn of_struct(path: &str, name: &str) -> String {
    let home = match path.split('/').next() {
        Some("meta") => "io.k8s.apimachinery.pkg.apis",
        Some("apiextensions") => "io.k8s.apiextensions-apiserver.pkg.apis",
        Some("apiregistration") => "io.k8s.kube-aggregator.pkg.apis",
        _ => "io.k8s.api",
    };
    format!("{home}.{}.{name}", path.replace('/', "."))
}

/// The published name of a kind that is not built in: `com.example.stable.v1.CronTab`.
pub fn custom_name(group: &str, version: &str, kind: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').rev().filter(|it| !it.is_empty()).collect();
    parts.extend([version, kind]);
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::{custom_name, of_struct};

    #[test]
    fn a_name_says_where_the_type_is_from() {
        let check = |path: &str, name: &str, expected: &str| assert_eq!(of_struct(path, name), expected);
        check("core/v1", "PodSpec", "io.k8s.api.core.v1.PodSpec");
        check("meta/v1", "ObjectMeta", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
        check(
            "apiextensions/v1",
            "JSONSchemaProps",
            "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
        );
        check(
            "apiregistration/v1",
            "APIService",
            "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
        );
    }

    #[test]
    fn the_group_of_a_custom_kind_is_turned_around() {
        assert_eq!(custom_name("stable.example.com", "v1", "CronTab"), "com.example.stable.v1.CronTab");
    }
}
