//! Pruning: fields that the schema does not specify are dropped, and reported where the request is strict.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go (v1.36.4).

use keelson_object::{Map, Value};

use crate::schema::Schema;

/// As many paths of unknown fields are reported, and as many bytes of them: a long key with many fields below it would
/// fill the memory. What is beyond is dropped without a report.
const MAX_PATHS: usize = 10_000;
const MAX_PATH_BYTES: usize = 8 * 1024 * 1024;

/// Whether the paths of dropped fields are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Paths are not collected.
    Nothing,
    /// Strict field validation reads them.
    Paths,
}

/// Prunes a whole object: `apiVersion`, `kind` and `metadata` stay as they are. Gives the paths of the dropped fields in
/// the order of their text: `spec.ports[0].x`.
pub fn prune(object: &mut Value, schema: Option<&Schema>, report: Report) -> Vec<String> {
    run(object, schema, true, report)
}

/// Prunes a value that is no object of its own: a default, or what stands inside of an object.
pub fn prune_value(value: &mut Value, schema: Option<&Schema>, report: Report) -> Vec<String> {
    run(value, schema, false, report)
}

fn run(value: &mut Value, schema: Option<&Schema>, is_root: bool, report: Report) -> Vec<String> {
    let mut pruning = Pruning { report, path: String::new(), unknown: Vec::new(), bytes: 0 };
    let nothing = Schema::default();
    let schema = if is_root { Some(schema.unwrap_or(&nothing)) } else { schema };
    pruning.value(value, schema, is_root);
    pruning.unknown.sort_unstable();
    pruning.unknown
}

struct Pruning {
    report: Report,
    /// Where the walk is; only kept up to date for reports.
    path: String,
    unknown: Vec<String>,
    bytes: usize,
}

fn is_meta(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

impl Pruning {
    /// `is_resource` makes an object a resource that the schema does not call one: the root.
    fn value(&mut self, value: &mut Value, schema: Option<&Schema>, is_resource: bool) {
        match (value, schema) {
            (value, Some(schema)) if schema.preserve_unknown => self.preserved(value, schema, is_resource),
            (Value::Map(map), Some(schema)) => self.map(map, schema, is_resource),
            (Value::Map(map), None) => {
                for (key, _) in map.iter() {
                    self.record(key);
                }
                *map = Map::new();
            }
            (Value::List(items), Some(schema)) => {
                let length = self.path.len();
                for (index, item) in items.iter_mut().enumerate() {
                    self.enter_index(index);
                    self.value(item, schema.items.as_deref(), false);
                    self.path.truncate(length);
                }
            }
            (value @ Value::List(_), None) => self.lists(value),
            _ => {}
        }
    }

    fn map(&mut self, map: &mut Map, schema: &Schema, is_resource: bool) {
        let is_resource = is_resource || schema.embedded;
        let length = self.path.len();
        map.retain(|key, value| {
            if is_resource && is_meta(key) {
                return true;
            }
            let below = schema.property(key);
            if below.is_none() && !schema.says_additional() {
                if !is_meta(key) || length > 0 {
                    self.record(key);
                }
                return false;
            }
            self.enter(key);
            self.value(value, below.or(schema.additional_schema()).map(AsRef::as_ref), false);
            self.path.truncate(length);
            true
        });
    }

    /// Unknown fields stay at this level; what the schema specifies is pruned again.
    fn preserved(&mut self, value: &mut Value, schema: &Schema, is_resource: bool) {
        let length = self.path.len();
        match value {
            Value::Map(map) => {
                let is_resource = is_resource || schema.embedded;
                for (key, value) in map.iter_mut() {
                    let below = schema.property(key);
                    if (is_resource && is_meta(key)) || (below.is_none() && !schema.says_additional()) {
                        continue;
                    }
                    self.enter(key);
                    self.value(value, below.or(schema.additional_schema()).map(AsRef::as_ref), false);
                    self.path.truncate(length);
                }
            }
            Value::List(items) => {
                let Some(schema) = schema.items.as_deref() else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.enter_index(index);
                    self.preserved(item, schema, false);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Lists of which the schema says nothing: the maps in them lose everything. Lists may nest as deeply as the
    /// decoder allows, so this does not recurse.
    fn lists(&mut self, value: &mut Value) {
        let start = self.path.clone();
        let mut open = vec![(value, start.clone())];
        while let Some((value, path)) = open.pop() {
            match value {
                Value::Map(map) => {
                    self.path = path;
                    for (key, _) in map.iter() {
                        self.record(key);
                    }
                    *map = Map::new();
                }
                Value::List(items) => {
                    let is_reported = self.report == Report::Paths && path.len() < MAX_PATH_BYTES / 1024;
                    let below = |index| if is_reported { format!("{path}[{index}]") } else { String::new() };
                    open.extend(items.iter_mut().enumerate().map(|(index, item)| (item, below(index))));
                }
                _ => {}
            }
        }
        self.path = start;
    }

    fn enter(&mut self, key: &str) {
        if self.report == Report::Paths {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(key);
        }
    }

    fn enter_index(&mut self, index: usize) {
        if self.report == Report::Paths {
            self.path.push_str(&format!("[{index}]"));
        }
    }

    fn record(&mut self, key: &str) {
        if self.report == Report::Nothing || self.unknown.len() >= MAX_PATHS || self.bytes > MAX_PATH_BYTES {
            return;
        }
        let length = self.path.len();
        self.enter(key);
        self.bytes += self.path.len();
        self.unknown.push(self.path.clone());
        self.path.truncate(length);
    }
}
