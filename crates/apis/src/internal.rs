//! `internal.apiserver.k8s.io`: StorageVersions, which the servers of a cluster share.

mod rules;

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
        errors.invalid_each(&Path::root("metadata").key("name"), name, rules::name_problems(name));
        rules::check_status(object.fields.map("status"), errors);
    }

    /// Only the metadata can change.
    fn validate_update(&self, _: &Context, _: &Object, _: &Object, _: &mut FieldErrors) {}

    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        rules::check_status(object.fields.map("status"), errors);
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{StorageVersion, common, versions};
    use crate::shared::testing::decoded;

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
