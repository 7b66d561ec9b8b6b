//! CSINode: which storage drivers run on a node.

use std::collections::{HashMap, HashSet};

use keelson_object::selector::name_rules;
use keelson_object::{Cell, FieldErrors, Map, Object, Path, Value};
use keelson_registry::{Column, Context, Strategy};

use crate::shared::go_form::{Field, Form, Shape};
use crate::shared::immutable::is_same;
use crate::shared::volume_sources;

/// The longest name that a driver has for a node.
const NODE_ID_MAX: usize = 256;

pub(crate) struct CsiNode;

pub(super) fn columns() -> [Column; 3] {
    [
        Column::name(),
        Column::counted("Drivers", |object| Cell::Int(drivers(object).count() as i64)),
        Column::age(),
    ]
}

fn drivers(object: &Object) -> impl Iterator<Item = &Map> {
    object.fields.map("spec").into_iter().flat_map(|spec| spec.maps("drivers"))
}

impl Strategy for CsiNode {
    /// Upstream: pkg/apis/storage/validation/validation.go, validateCSINodeDrivers (v1.36.4).
    fn validate(&self, _: &Context, object: &Object, errors: &mut FieldErrors) {
        let at = Path::root("spec.drivers");
        let mut names = HashSet::new();
        for (position, driver) in drivers(object).enumerate() {
            let at = at.index(position);
            check_driver(driver, &at, errors);
            let name = driver.str("name").unwrap_or_default();
            if !names.insert(name) {
                errors.duplicate(&at.key("name"), name);
            }
            check_keys(driver, &at, errors);
        }
    }

    /// Of an existing driver, only the number of volumes may change.
    ///
    /// Upstream: pkg/apis/storage/validation/validation.go, ValidateCSINodeUpdate (v1.36.4).
    fn validate_update(&self, context: &Context, object: &Object, old: &Object, errors: &mut FieldErrors) {
        self.validate(context, object, errors);
        let name = |driver: &'_ Map| driver.str("name").map(str::to_owned);
        let mut by_name: HashMap<Option<String>, Vec<&Map>> = HashMap::new();
        drivers(object).for_each(|it| by_name.entry(name(it)).or_default().push(it));
        for old in drivers(old) {
            for new in by_name.get(&name(old)).into_iter().flatten() {
                let keeps = |field| is_same(new.get(field), old.get(field));
                if !keeps("nodeID") || !keeps("topologyKeys") {
                    errors.invalid(&Path::root("spec.drivers"), Shape(new, &DRIVER), "field is immutable");
                }
            }
        }
    }
}

fn check_driver(driver: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    volume_sources::check_driver_name(driver.str("name").unwrap_or_default(), &at.key("name"), errors);
    let node = driver.str("nodeID").unwrap_or_default();
    if node.is_empty() {
        errors.required(&at.key("nodeID"), "");
    } else if node.len() > NODE_ID_MAX {
        errors.invalid(&at.key("nodeID"), node, format!("must be {NODE_ID_MAX} characters or less"));
    }
    let count = driver.at("allocatable.count").and_then(Value::as_int);
    errors.non_negative(&at.key("allocatable.count"), count);
}

fn check_keys(driver: &Map, at: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = HashSet::new();
    for key in driver.list("topologyKeys").iter().filter_map(Value::as_str) {
        if key.is_empty() {
            errors.required(at, "");
        }
        if !seen.insert(key) {
            errors.duplicate(at, key);
        }
        errors.invalid_each(at, key, name_rules::qualified_name(key));
    }
}

/// Upstream: pkg/apis/storage/types.go, CSINodeDriver (v1.36.4); what may change is not looked at.
const DRIVER: [Field; 4] = [
    Field("Name", "name", Form::Text),
    Field("NodeID", "nodeID", Form::Text),
    Field("TopologyKeys", "topologyKeys", Form::AsIs),
    Field("Allocatable", "", Form::AsIs),
];
