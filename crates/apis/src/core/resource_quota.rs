//! ResourceQuota: how much a namespace may have altogether.

mod rules;

use std::fmt::Write as _;

use keelson_object::{Cell, FieldErrors, Map, Object};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::edit::part;
use crate::shared::resource_list;

pub(crate) struct ResourceQuota;

/// Upstream: pkg/printers/internalversion/printers.go, printResourceQuota (v1.36.4).
pub(crate) fn columns() -> [Column; 4] {
    [
        Column::name(),
        Column::computed("Request", |object| used(object, |name| !name.starts_with("limits."))),
        Column::computed("Limit", |object| used(object, |name| name.starts_with("limits."))),
        Column::age(),
    ]
}

/// `cpu: 1/2, memory: 0/1Gi`
fn used(object: &Object, wanted: fn(&str) -> bool) -> Cell {
    let empty = Map::new();
    let status = object.fields.map("status").unwrap_or(&empty);
    let (hard, used) = (status.map("hard"), status.map("used"));
    let mut names: Vec<&str> =
        hard.into_iter().flat_map(Map::iter).map(|(name, _)| name.as_str()).filter(|it| wanted(it)).collect();
    names.sort_unstable();
    let mut text = String::new();
    for name in names {
        let separator = if text.is_empty() { "" } else { ", " };
        let (used, hard) = (resource_list::shown(used, name), resource_list::shown(hard, name));
        let _ = write!(text, "{separator}{name}: {used}/{hard}");
    }
    Cell::from(text)
}

impl Strategy for ResourceQuota {
    fn default(&self, object: &mut Object) {
        for (holder, list) in [("spec", "hard"), ("status", "hard"), ("status", "used")] {
            resource_list::round_up(part(&mut object.fields, holder).and_then(|it| part(it, list)));
        }
    }

    fn prepare_create(&self, context: &Context, object: &mut Object) {
        object.fields.remove("status");
        warn(context, object);
    }

    fn prepare_update(&self, _: &Context, object: &mut Object, old: &Object) {
        object.fields.keep("status", &old.fields);
    }

    /// Upstream: pkg/apis/core/validation/validation.go, ValidateResourceQuota (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        rules::check(object.fields.map("spec").unwrap_or(&Map::new()), errors);
    }

    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        let empty = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&empty);
        rules::check(spec, errors);
        rules::check_kept(spec, old.fields.map("spec").unwrap_or(&empty), errors);
    }

    fn validate_status_update(&self, _: &Context, object: &Object, _: &Object, errors: &mut FieldErrors) {
        rules::check_status(object.fields.map("status").unwrap_or(&Map::new()), errors);
    }
}

/// Warns about a new quota whose requests exceed its limits, which is probably a mistake.
///
/// Upstream: pkg/registry/core/resourcequota/strategy.go, WarningsOnCreate (v1.36.4).
fn warn(context: &Context, object: &Object) {
    let amounts = resource_list::read(object.fields.map("spec").and_then(|it| it.map("hard")));
    for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let (mut asked, had) = (format!("requests.{resource}"), format!("limits.{resource}"));
        if !amounts.contains_key(asked.as_str()) && matches!(resource, "cpu" | "memory") {
            asked = resource.to_owned();
        }
        if let (Some(request), Some(limit)) = (amounts.get(asked.as_str()), amounts.get(had.as_str()))
            && request > limit
        {
            context.warn(format!("ResourceQuota {asked} ({request}) should be less than {had} ({limit})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use keelson_registry::Strategy as _;

    use super::{ResourceQuota, columns};
    use crate::shared::testing::{cells, context, decoded};

    #[test]
    fn a_row_tells_what_is_used_of_what() {
        let text = r#"{"status": {"hard": {"requests.memory": "1Gi", "limits.cpu": "2", "pods": "4", "limits": "1"},
            "used": {"pods": "1", "limits.cpu": "500m"}}}"#;
        let row = cells(&columns(), &decoded(&ResourceQuota, "v1 ResourceQuota", text));
        assert_eq!(row[1..3], ["limits: 0/1, pods: 1/4, requests.memory: 0/1Gi", "limits.cpu: 500m/2"]);
        assert_eq!(cells(&columns(), &decoded(&ResourceQuota, "v1 ResourceQuota", "{}"))[1..3], ["", ""]);
    }

    #[test]
    fn requests_above_limits_are_warned_of() {
        let check = |hard: &str, expected: &[&str]| {
            let text = format!("{{\"spec\": {{\"hard\": {hard}}}}}");
            let mut object = decoded(&ResourceQuota, "v1 ResourceQuota", &text);
            let context = context();
            ResourceQuota.prepare_create(&context, &mut object);
            assert_eq!(context.take_warnings(), expected, "{hard}");
        };
        check(r#"{"cpu": "2", "limits.cpu": "2"}"#, &[]);
        check(
            r#"{"cpu": "2", "limits.cpu": "1"}"#,
            &["ResourceQuota cpu (2) should be less than limits.cpu (1)"],
        );
        check(
            r#"{"requests.storage": "2", "limits.storage": "1", "storage": "5"}"#,
            &["ResourceQuota requests.storage (2) should be less than limits.storage (1)"],
        );
    }
}
