//! Hash-consing of schemas: equal sub-schemas are one allocation, however many definitions contain them.
//!
//! A node is looked up after its children were: two nodes are equal if their own fields are equal and their children
//! are the same allocations, so that a lookup costs as much as the node has fields.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Weak};

use keelson_object::Value;

use crate::schema::{Limits, Schema};
use crate::values::same;

/// The nodes that are in use. One for all definitions of a server; it keeps no schema alive.
#[derive(Debug, Default)]
pub struct Interner {
    nodes: HashMap<u64, Vec<Weak<Schema>>>,
    /// How many nodes are in `nodes`, alive or not.
    count: usize,
    /// With as many nodes the dead ones are dropped.
    next_sweep: usize,
}

impl Interner {
    /// One without nodes.
    pub fn new() -> Interner {
        Interner::default()
    }

    /// The number of nodes in the table, including unused ones since the last sweep.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The shared form of a node whose children are shared already.
    pub fn share(&mut self, schema: Schema) -> Arc<Schema> {
        let key = hash(&schema);
        if let Some(nodes) = self.nodes.get(&key)
            && let Some(found) = nodes.iter().filter_map(Weak::upgrade).find(|it| is_same(it, &schema))
        {
            return found;
        }
        if self.count >= self.next_sweep {
            self.sweep();
        }
        let node = Arc::new(schema);
        self.nodes.entry(key).or_default().push(Arc::downgrade(&node));
        self.count += 1;
        node
    }

    /// Removes unused nodes. It also runs when the number of nodes has doubled.
    pub fn sweep(&mut self) {
        self.nodes.retain(|_, nodes| {
            nodes.retain(|node| node.strong_count() > 0);
            !nodes.is_empty()
        });
        self.count = self.nodes.values().map(Vec::len).sum();
        self.next_sweep = (self.count * 2).max(1024);
    }
}

fn hash(schema: &Schema) -> u64 {
    let mut state = DefaultHasher::new();
    (schema.kind, schema.nullable, schema.int_or_string, schema.preserve_unknown).hash(&mut state);
    (schema.embedded, schema.list_type, schema.map_type).hash(&mut state);
    schema.required.hash(&mut state);
    for (name, _) in &schema.properties {
        name.hash(&mut state);
    }
    for child in schema.children() {
        Arc::as_ptr(child).hash(&mut state);
    }
    std::mem::discriminant(&schema.additional).hash(&mut state);
    if let Some(default) = &schema.default {
        hash_value(default, &mut state);
    }
    if let Some(limits) = &schema.limits {
        limits.format.hash(&mut state);
        limits.pattern.hash(&mut state);
        numbers(limits).hash(&mut state);
        counts(limits).hash(&mut state);
        for value in &limits.values {
            hash_value(value, &mut state);
        }
    }
    schema.list_map_keys().hash(&mut state);
    schema.rules().hash(&mut state);
    state.finish()
}

/// Hashes the scalars of a tree in any order that equal trees share; keys of maps are ordered when this is called.
fn hash_value(value: &Value, state: &mut DefaultHasher) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        value.json_type().hash(state);
        match value {
            Value::Null => {}
            Value::Bool(truth) => truth.hash(state),
            Value::Int(number) => number.hash(state),
            Value::Float(number) => number.to_bits().hash(state),
            Value::String(text) => text.hash(state),
            Value::List(items) => {
                items.len().hash(state);
                open.extend(items);
            }
            // Values of `enum` keep their order; maps that differ in it alone may miss each other, which is harmless.
            Value::Map(map) => {
                map.len().hash(state);
                for (key, value) in map.iter() {
                    key.hash(state);
                    open.push(value);
                }
            }
        }
    }
}

fn numbers(limits: &Limits) -> [Option<u64>; 3] {
    [limits.maximum, limits.minimum, limits.multiple_of].map(|it| it.map(f64::to_bits))
}

fn counts(limits: &Limits) -> ([Option<i64>; 6], [bool; 3], [usize; 3]) {
    (
        [
            limits.max_length,
            limits.min_length,
            limits.max_items,
            limits.min_items,
            limits.max_properties,
            limits.min_properties,
        ],
        [limits.exclusive_maximum, limits.exclusive_minimum, limits.unique_items],
        [limits.all_of.len(), limits.any_of.len(), limits.one_of.len()],
    )
}

fn is_same(one: &Schema, other: &Schema) -> bool {
    let flags = |it: &Schema| {
        let bits = [it.nullable, it.int_or_string, it.preserve_unknown, it.embedded];
        (it.kind, bits, it.list_type, it.map_type, it.items.is_some(), it.properties.len())
    };
    flags(one) == flags(other)
        && std::mem::discriminant(&one.additional) == std::mem::discriminant(&other.additional)
        && one.required == other.required
        && one.properties.iter().zip(&other.properties).all(|((a, _), (b, _))| a == b)
        && are_same_children(one, other)
        && is_same_value(one.default.as_deref(), other.default.as_deref())
        && are_same_limits(one.limits.as_deref(), other.limits.as_deref())
        && one.list_map_keys() == other.list_map_keys()
        && one.rules() == other.rules()
}

fn are_same_children(one: &Schema, other: &Schema) -> bool {
    let (mut ours, mut theirs) = (one.children(), other.children());
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => {}
            _ => return false,
        }
    }
}

fn is_same_value(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => same(one, other),
        _ => false,
    }
}

/// Apart from the schemas in them, which [`are_same_children`] compares.
fn are_same_limits(one: Option<&Limits>, other: Option<&Limits>) -> bool {
    let (one, other) = match (one, other) {
        (None, None) => return true,
        (Some(one), Some(other)) => (one, other),
        _ => return false,
    };
    one.format == other.format
        && one.pattern == other.pattern
        && one.not.is_some() == other.not.is_some()
        && numbers(one) == numbers(other)
        && counts(one) == counts(other)
        && one.values.len() == other.values.len()
        && one.values.iter().zip(&other.values).all(|(a, b)| same(a, b))
}
