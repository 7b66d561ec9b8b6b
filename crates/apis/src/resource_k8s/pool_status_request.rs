//! ResourcePoolStatusRequest: a one-time query for the free devices of a driver.

use keelson_object::scalar::Time;
use keelson_object::{Cell, FieldErrors, Map, Object, Path};
use keelson_registry::options::Part;
use keelson_registry::{Column, Context, Strategy};

use super::{forms, pool_request_rules};
use crate::shared::edit::part;
use crate::shared::{conditions, status};

/// The default limit of reported pools.
const LIMIT: i64 = 100;

pub(crate) struct ResourcePoolStatusRequest;

pub(crate) fn columns() -> [Column; 10] {
    [
        Column::name(),
        Column::text("Driver", "spec.driver"),
        Column::computed("Total", |object| sum(object, "totalDevices")),
        Column::computed("Available", |object| sum(object, "availableDevices")),
        Column::computed("Allocated", |object| sum(object, "allocatedDevices")),
        Column::computed("Unavailable", |object| sum(object, "unavailableDevices")),
        Column::computed("Errors", errors),
        Column::counted("Pools", |object| Cell::Int(pool_count(object))),
        Column::computed("Status", progress),
        Column::computed("Completed", completed),
    ]
}

/// The end of a request.
enum End<'o> {
    Complete(&'o Map),
    Failed,
}

/// The first condition that means the end.
///
/// Upstream: pkg/printers/internalversion/printers.go, printResourcePoolStatusRequest (v1.36.4).
fn end(object: &Object) -> Option<End<'_>> {
    let conditions = object.fields.map("status")?.maps("conditions");
    conditions.filter(|it| it.str("status") == Some("True")).find_map(|it| match it.str("type") {
        Some("Complete") => Some(End::Complete(it)),
        Some("Failed") => Some(End::Failed),
        _ => None,
    })
}

/// The reported pools; `None` if there is no status, or the request failed.
fn pools(object: &Object) -> Option<Vec<&Map>> {
    let status = object.fields.map("status")?;
    (!matches!(end(object), Some(End::Failed))).then(|| status.maps("pools").collect())
}

fn sum(object: &Object, field: &str) -> Cell {
    let total = |pools: Vec<&Map>| pools.iter().filter_map(|it| it.int(field)).sum::<i64>();
    pools(object).map_or(Cell::from("-"), |it| Cell::from(total(it).to_string()))
}

fn errors(object: &Object) -> Cell {
    let count = |pools: Vec<&Map>| pools.iter().filter(|it| it.str("validationError").is_some()).count();
    pools(object).map_or(Cell::from("-"), |it| Cell::from(count(it).to_string()))
}

fn pool_count(object: &Object) -> i64 {
    object.fields.map("status").and_then(|it| it.int("poolCount")).unwrap_or_default()
}

fn progress(object: &Object) -> Cell {
    let all = pool_count(object);
    let shown = object.fields.map("status").map_or(0, |it| it.list("pools").len());
    match end(object) {
        None => Cell::from("Pending"),
        Some(End::Failed) => Cell::from("Failed"),
        Some(End::Complete(_)) if all > shown as i64 => Cell::from(format!("Complete ({shown}/{all} pools)")),
        Some(End::Complete(_)) => Cell::from("Complete"),
    }
}

fn completed(object: &Object) -> Cell {
    match end(object) {
        Some(End::Complete(condition)) => {
            Cell::Age(condition.str("lastTransitionTime").and_then(|it| Time::parse(it).ok()))
        }
        _ => Cell::from("<none>"),
    }
}

impl Strategy for ResourcePoolStatusRequest {
    fn reset_fields(&self, part: Part) -> Option<&'static [&'static str]> {
        status::reset_alone(part)
    }

    /// Upstream: pkg/apis/resource/v1alpha3/defaults.go, SetDefaults_ResourcePoolStatusRequestSpec (v1.36.4).
    fn default(&self, object: &mut Object) {
        if let Some(spec) = part(&mut object.fields, "spec") {
            spec.default_to("limit", LIMIT);
        }
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

    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let empty = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&empty);
        pool_request_rules::check(spec, &Path::root("spec"), errors);
    }

    /// Upstream declares this rule in a tag, and shows no value then.
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        if object.fields.get("spec") != old.fields.get("spec") {
            errors.invalid(&Path::root("spec"), (), "field is immutable");
        }
    }

    /// The status is final once it is set.
    ///
    /// Upstream: pkg/apis/resource/validation/validation_resourcepoolstatusrequest.go,
    /// ValidateResourcePoolStatusRequestStatusUpdate (v1.36.4).
    fn validate_status_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        if object.fields.get("status") == old.fields.get("status") {
            return;
        }
        let at = Path::root("status");
        let answer = object.fields.map("status");
        if old.fields.map("status").is_some() {
            forms::check_unchanged(answer, old.fields.map("status"), forms::ANSWER, &at, errors);
        } else if let Some(answer) = answer {
            conditions::check(answer.list("conditions"), &at.key("conditions"), errors);
        }
        if let Some(answer) = answer {
            pool_request_rules::check_status(answer, &at, errors);
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::Cell;

    use super::{ResourcePoolStatusRequest, columns};
    use crate::shared::testing::decoded;

    #[track_caller]
    fn check(body: &str, expected: [&str; 7], pool_count: i64) {
        let kind = "resource.k8s.io/v1alpha3 ResourcePoolStatusRequest";
        let object = decoded(&ResourcePoolStatusRequest, kind, body);
        assert_eq!(object.fields.at("spec.limit").and_then(keelson_object::Value::as_int), Some(100));
        let cell = |name: &str| columns().iter().find(|it| it.name == name).unwrap().cell(&object);
        let names = ["Total", "Available", "Allocated", "Unavailable", "Errors", "Status"];
        for (name, text) in names.iter().zip(&expected) {
            assert_eq!(cell(name), Cell::from(*text), "{name} of {body}");
        }
        assert_eq!(cell("Pools"), Cell::Int(pool_count), "{body}");
        match (cell("Completed"), expected[6]) {
            (Cell::Age(Some(_)), "age") => {}
            (found, text) => assert_eq!(found, Cell::from(text), "{body}"),
        }
    }

    #[test]
    fn the_table_tells_the_sums_over_all_pools() {
        check("{}", ["-", "-", "-", "-", "-", "Pending", "<none>"], 0);
        check(
            r#"{"status": {"poolCount": 3, "conditions":
                [{"type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}], "pools":
                [{"totalDevices": 4, "availableDevices": 1, "allocatedDevices": 3}, {"totalDevices": 2, "validationError": "x"}]}}"#,
            ["6", "1", "3", "0", "1", "Complete (2/3 pools)", "age"],
            3,
        );
        check(
            r#"{"status": {"conditions": [{"type": "Failed", "status": "True"}], "pools": [{"totalDevices": 4}]}}"#,
            ["-", "-", "-", "-", "-", "Failed", "<none>"],
            0,
        );
        check(
            r#"{"status": {"pools": [{"totalDevices": 4}]}}"#,
            ["4", "0", "0", "0", "0", "Pending", "<none>"],
            0,
        );
    }
}
