//! `internal.apiserver.k8s.io`: what servers of a cluster tell each other.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Group, NameRule, Resource, Strategy, Version};

use crate::shared::{cells, status};

pub(crate) fn group() -> Group {
    Group::new("internal.apiserver.k8s.io").serve(
        Resource::cluster("StorageVersion", "storageversions")
            .columns([
                Column::name(),
                Column::computed("CommonEncodingVersion", common),
                Column::computed("StorageVersions", versions),
                Column::age(),
            ])
            .version(Version::stored("v1alpha1"))
            .with_status()
            .conditional_update()
            .strategy(StorageVersion),
    )
}

struct StorageVersion;

fn common(object: &Object) -> Cell {
    let status = object.fields.map("status");
    Cell::from(status.and_then(|it| it.str("commonEncodingVersion")).unwrap_or("<unset>"))
}

/// `server-1=apps/v1,server-2=apps/v1`
fn versions(object: &Object) -> Cell {
    let shown = |it: &Map| {
        let text = |key| it.str(key).unwrap_or_default();
        format!("{}={}", text("apiServerID"), text("encodingVersion"))
    };
    let versions = object.fields.map("status").into_iter().flat_map(|it| it.maps("storageVersions"));
    cells::few(&versions.map(shown).collect::<Vec<_>>())
}

impl Strategy for StorageVersion {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    fn prepare_create(&self, _: &Context, object: &mut Object) {
        status::clear(object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::keep(object, old);
    }

    fn prepare_status_update(&self, _: &Context, object: &mut Object, old: &Object) {
        status::alone(object, old);
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let name = object.meta.name.as_str();
        for problem in name_problems(name) {
            errors.invalid(&Path::root("metadata").key("name"), name, problem);
        }
    }
}

/// Upstream: pkg/apis/apiserverinternal/validation/validation.go, ValidateStorageVersionName (v1.36.4).
fn name_problems(name: &str) -> Vec<String> {
    let Some((group, resource)) = name.rsplit_once('.') else {
        return vec![String::from("name must be in the form of <group>.<resource>")];
    };
    let of_group =
        name_rules::dns1123_subdomain(group).into_iter().map(|it| format!("the group segment {it}"));
    let of_resource =
        name_rules::dns1035_label(resource).into_iter().map(|it| format!("the resource segment {it}"));
    of_group.chain(of_resource).collect()
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{StorageVersion, common, name_problems, versions};
    use crate::shared::testing::decoded;

    #[test]
    fn a_name_is_a_group_and_a_resource() {
        let check = |name: &str, expected: &[&str]| {
            let begins = |(found, expected): (&String, &&str)| found.starts_with(*expected);
            let found = name_problems(name);
            assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
            assert!(found.iter().zip(expected).all(begins), "{name}: {found:?}");
        };
        check("apps.deployments", &[]);
        check("networking.k8s.io.ingresses", &[]);
        check("pods", &["name must be in the form of <group>.<resource>"]);
        check("A.b", &["the group segment a lowercase RFC 1123 subdomain"]);
        check("a.1", &["the resource segment a DNS-1035 label"]);
    }

    #[test]
    fn the_table_tells_what_servers_write() {
        let check = |status: &str, expected: [&str; 2]| {
            let kind = "internal.apiserver.k8s.io/v1alpha1 StorageVersion";
            let object = decoded(&StorageVersion, kind, &format!(r#"{{"status": {status}}}"#));
            assert_eq!([common(&object), versions(&object)], expected.map(Cell::from), "{status}");
        };
        check("{}", ["<unset>", "<unset>"]);
        check(
            r#"{"commonEncodingVersion": "v1", "storageVersions": [{"apiServerID": "a", "encodingVersion": "v1"},
                {"apiServerID": "b", "encodingVersion": "v1"}]}"#,
            ["v1", "a=v1,b=v1"],
        );
    }
}
