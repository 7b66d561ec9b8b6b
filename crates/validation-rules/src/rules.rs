//! Compiled rules of a schema: a tree of the nodes that have rules at or below them.
//!
//! The tree has the shape of the schema. Expressions are compiled when the first value reaches their node, and nodes with
//! the same schemas are one node, so that the pod template that a definition contains several times is compiled once.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, NewValidator (v1.36.4).

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use keelson_cel::escape::escape;
use keelson_cel::schema::{is_visible, with_type_and_object_meta};
use keelson_structural::{Kind, Schema};
use smol_str::SmolStr;

use crate::compile::{Compiled, Source, compile};

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A whole custom resource.
    Resource,
    /// A value in one, such as a default.
    Value,
}

/// The rules of a schema. They may be shared by threads.
#[derive(Debug)]
pub struct Rules {
    pub(crate) root: Arc<Node>,
}

impl Rules {
    /// The rules of a schema; `None` if it has none. Compiles nothing yet.
    pub fn new(schema: &Arc<Schema>, scope: Scope) -> Option<Rules> {
        if !has_rules(schema) {
            return None;
        }
        let types = resource_types(schema, scope);
        let key = Key { rules: schema.clone(), schema: schema.clone(), types, scope };
        Builder::default().node(key).map(|root| Rules { root })
    }
}

/// Whether the schema has rules. As upstream, those in `allOf` alone do not count.
fn has_rules(schema: &Schema) -> bool {
    let below = schema.properties.iter().map(|(_, schema)| schema);
    !schema.rules().is_empty()
        || schema.items.iter().chain(schema.additional_schema()).chain(below).any(|it| has_rules(it))
}

/// The schema of what expressions see of a value.
pub(crate) fn resource_types(schema: &Arc<Schema>, scope: Scope) -> Arc<Schema> {
    match (scope == Scope::Resource || schema.embedded) && !schema.int_or_string {
        true => with_type_and_object_meta(schema),
        false => schema.clone(),
    }
}

/// The schema of what expressions see of a property, if expressions about the object see the property.
pub(crate) fn declared_property(name: &str, types: &Schema) -> Option<Arc<Schema>> {
    let is_object = types.kind == Kind::Object && !types.int_or_string && types.additional_schema().is_none();
    let property = types.property(name).filter(|it| is_object && is_visible(it))?;
    escape(name).map(|_| resource_types(property, Scope::Value))
}

/// A node of the schema that has rules, or has nodes with rules below it.
#[derive(Debug)]
pub(crate) struct Node {
    /// The schema that has the rules: the node's own, or one of its `allOf`.
    pub(crate) rules: Arc<Schema>,
    /// The schema of the values.
    pub(crate) schema: Arc<Schema>,
    /// The schema of what expressions see.
    types: Arc<Schema>,
    pub(crate) scope: Scope,
    compiled: OnceLock<Option<CompiledNode>>,
    pub(crate) items: Option<Arc<Node>>,
    pub(crate) additional: Option<Arc<Node>>,
    /// By name, ordered.
    pub(crate) properties: Box<[(SmolStr, Arc<Node>)]>,
    pub(crate) all_of: Box<[Arc<Node>]>,
}

/// The expressions of a node, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledNode {
    pub(crate) compiled: Compiled,
    /// How values are read: with `metadata` at the roots of resources.
    pub(crate) values: Arc<Schema>,
    /// Whether a rule of the node reads `oldSelf`.
    pub(crate) uses_old_self: bool,
}

impl Node {
    /// The expressions; `None` if they cannot see values of this schema.
    pub(crate) fn compiled(&self) -> Option<&CompiledNode> {
        let make = || {
            let compiled = compile(self.rules.rules(), &self.types, &self.schema, Source::Stored)?;
            let uses_old_self = compiled.rules.iter().any(|rule| rule.uses_old_self);
            let values = match self.scope {
                Scope::Resource => with_type_and_object_meta(&self.schema),
                Scope::Value => self.schema.clone(),
            };
            Some(CompiledNode { compiled, values, uses_old_self })
        };
        self.compiled.get_or_init(make).as_ref()
    }
}

/// What a node is made of.
#[derive(Clone)]
struct Key {
    rules: Arc<Schema>,
    schema: Arc<Schema>,
    types: Arc<Schema>,
    scope: Scope,
}

type Address = (*const Schema, *const Schema, *const Schema, Scope);

/// Builds nodes. The keys are kept, so that no address is used twice.
#[derive(Default)]
struct Builder {
    known: HashMap<Address, (Key, Option<Arc<Node>>)>,
}

impl Builder {
    fn node(&mut self, key: Key) -> Option<Arc<Node>> {
        let address = (Arc::as_ptr(&key.rules), Arc::as_ptr(&key.schema), Arc::as_ptr(&key.types), key.scope);
        if let Some((_, node)) = self.known.get(&address) {
            return node.clone();
        }
        let node = self.build(&key).map(Arc::new);
        self.known.insert(address, (key, node.clone()));
        node
    }

    fn build(&mut self, key: &Key) -> Option<Node> {
        let Key { rules, schema, types, scope } = key;
        let items = rules.items.as_ref().zip(schema.items.as_ref()).and_then(|pair| self.element(pair));
        let additional = rules.additional_schema().zip(schema.additional_schema());
        let additional = additional.and_then(|pair| self.element(pair));
        let properties = rules.properties.iter().filter_map(|(name, rules)| {
            let schema = schema.property(name)?;
            // Names that cannot be written in expressions have rules of their own all the same.
            let types = match escape(name) {
                Some(_) => declared_property(name, types)?,
                None if is_visible(schema) => resource_types(schema, Scope::Value),
                None => return None,
            };
            Some((name.clone(), self.child((rules, schema), types)?))
        });
        let properties: Box<[_]> = properties.collect();
        let all_of = rules.limits.iter().flat_map(|limits| &limits.all_of);
        let all_of = all_of.filter_map(|it| self.node(Key { rules: it.clone(), ..key.clone() }));
        let all_of: Box<[_]> = all_of.collect();
        let is_empty = rules.rules().is_empty() && properties.is_empty() && all_of.is_empty();
        if is_empty && items.is_none() && additional.is_none() {
            return None;
        }
        let (scope, compiled) = (*scope, OnceLock::new());
        let Key { rules, schema, types, .. } = key.clone();
        Some(Node { rules, schema, types, scope, compiled, items, additional, properties, all_of })
    }

    fn element(&mut self, (rules, schema): (&Arc<Schema>, &Arc<Schema>)) -> Option<Arc<Node>> {
        self.child((rules, schema), resource_types(schema, Scope::Value))
    }

    fn child(
        &mut self,
        (rules, schema): (&Arc<Schema>, &Arc<Schema>),
        types: Arc<Schema>,
    ) -> Option<Arc<Node>> {
        let scope = if schema.embedded { Scope::Resource } else { Scope::Value };
        self.node(Key { rules: rules.clone(), schema: schema.clone(), types, scope })
    }
}
