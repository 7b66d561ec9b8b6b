//! ControllerRevision: a state that a controller can come back to.

use keelson_object::{Cell, FieldErrors, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::immutable;

pub(crate) struct ControllerRevision;

impl Strategy for ControllerRevision {
    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateControllerRevisionCreate (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        errors.non_negative(&Path::root("revision"), object.fields.int("revision"));
        let at = Path::root("data");
        match object.fields.get("data") {
            None | Some(Value::Null) => errors.required(&at, "data is mandatory"),
            Some(Value::Map(_)) => {}
            Some(_) => errors.required(&at, "data must be a valid JSON object"),
        }
    }

    /// Upstream: pkg/apis/apps/validation/validation.go, ValidateControllerRevisionUpdate (v1.36.4).
    fn validate_update(&self, _: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        errors.non_negative(&Path::root("revision"), object.fields.int("revision"));
        immutable::check(&object.fields, &old.fields, "data", &Path::empty(), errors);
    }
}

pub(crate) fn columns() -> [Column; 4] {
    [
        Column::name(),
        Column::computed("Controller", controller),
        Column::computed("Revision", |object| Cell::Int(object.fields.int("revision").unwrap_or_default())),
        Column::age(),
    ]
}

/// `daemonset.apps/web`
///
/// Upstream: pkg/printers/internalversion/printers.go, printControllerRevision (v1.36.4).
fn controller(object: &Object) -> Cell {
    let Some(owner) = object.meta.owner_references.iter().find(|it| it.controller == Some(true)) else {
        return Cell::from("<none>");
    };
    let kind = match owner.api_version.split_once('/') {
        Some((group, _)) => format!("{}.{group}", owner.kind),
        None => owner.kind.to_string(),
    };
    Cell::from(format!("{}/{}", kind.to_lowercase(), owner.name))
}

#[cfg(test)]
mod tests {
    use keelson_object::{Object, OwnerReference};

    use super::controller;

    #[track_caller]
    fn check(api_version: &str, expected: &str) {
        let owner = OwnerReference {
            api_version: api_version.into(),
            kind: "DaemonSet".into(),
            name: "web".into(),
            controller: Some(true),
            ..OwnerReference::default()
        };
        let other = OwnerReference { controller: None, name: "other".into(), ..owner.clone() };
        let mut object = Object::default();
        assert_eq!(controller(&object), "<none>".into());
        object.meta.owner_references = vec![other, owner];
        assert_eq!(controller(&object), expected.into());
    }

    #[test]
    fn the_controller_is_shown_with_its_kind() {
        check("apps/v1", "daemonset.apps/web");
        check("v1", "daemonset/web");
    }
}
