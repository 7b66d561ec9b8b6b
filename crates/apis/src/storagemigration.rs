//! `storagemigration.k8s.io`: bringing stored objects to the version in which they are stored today.

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Group, Resource, Strategy, Version};

use crate::shared::strings::check_joined;
use crate::shared::{cells, conditions, status};

pub(crate) fn group() -> Group {
    Group::new("storagemigration.k8s.io").serve(
        Resource::cluster("StorageVersionMigration", "storageversionmigrations")
            .columns([
                Column::computed("Name", |object| Cell::from(&*object.meta.name)),
                Column::computed("Resource", resource),
                Column::computed("Status", progress),
            ])
            .version(Version::stored("v1beta1").gate("StorageVersionMigrator"))
            .with_status()
            .conditional_update()
            .strategy(Migration),
    )
}

/// `deployments.apps`
fn resource(object: &Object) -> Cell {
    let (group, resource) =
        (cells::text(object, "spec.resource.group"), cells::text(object, "spec.resource.resource"));
    if group.is_empty() { Cell::from(resource) } else { Cell::from(format!("{resource}.{group}")) }
}

/// The last true condition.
fn progress(object: &Object) -> Cell {
    let conditions = object.fields.map("status").into_iter().flat_map(|it| it.maps("conditions"));
    let holds = conditions.filter(|it| it.str("status") == Some("True")).filter_map(|it| it.str("type"));
    let known = holds.filter(|it| ["Running", "Failed", "Succeeded"].contains(it));
    Cell::from(known.last().unwrap_or("Unknown"))
}

struct Migration;

impl Strategy for Migration {
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

    /// Upstream: pkg/apis/storagemigration/validation/validation.go, ValidateStorageVersionMigration (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec.resource");
        match named(object, "resource") {
            "" => errors.required(&at.key("resource"), "resource is required to be set"),
            name => check_joined(name, &name_rules::dns1035_label(name), &at.key("resource"), errors),
        }
        match named(object, "group") {
            "" => {}
            name => check_joined(name, &name_rules::dns1123_subdomain(name), &at.key("group"), errors),
        }
    }

    /// Upstream: pkg/apis/storagemigration/validation/validation.go, ValidateStorageVersionMigrationUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let fields = ["group", "resource"];
        if fields.iter().any(|field| named(object, field) != named(old, field)) {
            let inner: Map =
                fields.iter().map(|field| ((*field).into(), named(object, field).into())).collect();
            let shown: Map = [("Resource".into(), inner.into())].into_iter().collect();
            errors.invalid(&Path::root("spec"), &Value::Map(shown), "field is immutable");
        }
    }

    /// Upstream: pkg/apis/storagemigration/validation/validation.go, ValidateStorageVersionMigrationStatusUpdate
    /// (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let nothing = Map::new();
        let new = object.fields.map("status").unwrap_or(&nothing);
        let old = old.fields.map("status").unwrap_or(&nothing);
        let version = |status| Map::str(status, "resourceVersion").unwrap_or_default();
        let version_at = Path::root("status.resourceVersion");
        if let Some(problem) = version_problem(version(new)) {
            errors.invalid(&version_at, version(new), problem);
        }
        let at = Path::root("status.conditions");
        conditions::check(new.list("conditions"), &at, errors);
        if !version(old).is_empty() && version(old) != version(new) {
            errors.invalid(&version_at, version(new), "field is immutable");
        }
        let holds = |status, kind| conditions::status_of(Some(status), kind) == Some("True");
        let conditions = new.get("conditions").unwrap_or(&Value::Null);
        if holds(new, "Succeeded") && holds(new, "Failed") {
            let text = "Both success and failed conditions cannot be true at the same time";
            errors.invalid(&at, conditions, text);
        }
        for (kind, word) in [("Succeeded", "Success"), ("Failed", "Failed")] {
            if holds(old, kind) && !holds(new, kind) {
                let text = format!("{word} condition cannot be set to false once it is true");
                errors.invalid(&at, conditions, text);
            }
        }
    }
}

fn named<'o>(object: &'o Object, field: &str) -> &'o str {
    let resource = object.fields.map("spec").and_then(|it| it.map("resource"));
    resource.and_then(|it| it.str(field)).unwrap_or_default()
}

/// Upstream: apimachinery/pkg/util/resourceversion/resourceversion.go, CompareResourceVersion (v1.36.4).
fn version_problem(version: &str) -> Option<String> {
    let is_number = version.bytes().all(|byte| byte.is_ascii_digit()) && !version.starts_with('0');
    (!is_number).then(|| format!("resource version is not well formed: {version}"))
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{Migration, progress, resource};
    use crate::shared::testing::decoded;

    #[track_caller]
    fn check(text: &str, expected: [&str; 2]) {
        let kind = "storagemigration.k8s.io/v1beta1 StorageVersionMigration";
        let object = decoded(&Migration, kind, text);
        assert_eq!([resource(&object), progress(&object)], expected.map(Cell::from), "{text}");
    }

    #[test]
    fn the_table_tells_what_is_brought_over_and_how_far_it_is() {
        check("{}", ["", "Unknown"]);
        check(r#"{"spec": {"resource": {"resource": "pods"}}}"#, ["pods", "Unknown"]);
        check(
            r#"{"spec": {"resource": {"group": "apps", "resource": "deployments"}},
                "status": {"conditions": [{"type": "Succeeded", "status": "True"}, {"type": "Running", "status": "False"},
                {"type": "Other", "status": "True"}]}}"#,
            ["deployments.apps", "Succeeded"],
        );
    }
}
