//! Planner: turns a checked expression into a program.
//!
//! As upstream, lists, maps and conversions of constants are computed here, `in` with a list of constants becomes a
//! set, and constant regular expressions are compiled. That changes costs, and errors of constants are found here.
//!
//! Upstream: CG/interpreter/planner.go, decorators.go (cel-go v0.26.0).

use std::collections::HashSet;
use std::sync::Arc;

use keelson_object::SmolStr;

use crate::ast::{ACCUMULATOR, Checked, Comprehension, Expr, ExprId, Literal, Reference, operators};
use crate::eval::go_type;
use crate::fail::Failure;
use crate::goregex::Regex;
use crate::library;
use crate::program::{
    Append, Attribute, Base, Call, Charging, Comparison, Fold, Insert, Item, KeySource, MapItem, Node,
    Program, Qualifier, Site, StructLiteral,
};
use crate::runtime_cost::CallCost;
use crate::types::Type;
use crate::value::map::{Key, check_hashable};
use crate::value::{Entries, List, MapVal, Text, Val, order};

/// Why no program can be made of an expression: the text that follows `program instantiation failed: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

impl Program {
    /// Makes a program of a checked expression.
    pub fn new(checked: &Checked) -> Result<Program, PlanError> {
        let mut planner = Planner { checked, scopes: Vec::new(), locals: 0, variables: Vec::new() };
        let root = planner.plan(checked.root)?;
        Ok(Program { root, locals: planner.locals, variables: planner.variables })
    }
}

struct Planner<'c> {
    checked: &'c Checked,
    /// Names of variables of comprehensions and their slots; the last wins.
    scopes: Vec<(SmolStr, usize)>,
    locals: usize,
    variables: Vec<SmolStr>,
}

type Planned = Result<Node, PlanError>;

impl Planner<'_> {
    fn plan(&mut self, id: ExprId) -> Planned {
        let checked = self.checked;
        match checked.expr(id) {
            Expr::Literal(literal) => Ok(Node::Constant(literal_value(literal))),
            Expr::Ident(name) => self.ident(id, name),
            Expr::Select { operand, field, test_only } => match checked.reference(id) {
                Some(_) => self.ident(id, field),
                None => self.select(*operand, field, *test_only),
            },
            Expr::Call { function, target, args } => {
                let args: Vec<ExprId> = target.iter().chain(args.iter()).copied().collect();
                self.call(id, function, &args)
            }
            Expr::List { elements, optional } => self.list(elements, optional),
            Expr::Map(entries) => {
                let mut items = Vec::with_capacity(entries.len());
                for entry in entries {
                    let (key, value) = (self.plan(entry.key)?, self.plan(entry.value)?);
                    items.push(MapItem { key, value, optional: entry.optional });
                }
                Ok(fold_map(items))
            }
            Expr::Struct { name, fields } => {
                let mut planned = Vec::with_capacity(fields.len());
                for field in fields {
                    let item = Item { value: self.plan(field.value)?, optional: field.optional };
                    planned.push((field.name.clone(), item));
                }
                Ok(Node::Struct(Box::new(StructLiteral { name: name.clone(), fields: planned })))
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn ident(&mut self, id: ExprId, name: &SmolStr) -> Planned {
        let name = match self.checked.reference(id) {
            Some(Reference::TypeName(named)) => {
                return Ok(Node::Constant(Val::Type(Text::Shared(Arc::from(runtime_type_name(named))))));
            }
            // cel-go takes a variable that holds a type for the name of a type.
            Some(Reference::Variable(name)) if matches!(self.checked.type_of(id), Type::Type(_)) => {
                return Err(PlanError(format!("reference to undefined type: {name}")));
            }
            Some(Reference::Variable(name)) => name,
            _ => name,
        };
        let local = self.scopes.iter().rev().find(|(known, _)| known == name).map(|(_, slot)| *slot);
        let base = match local {
            Some(slot) => Base::Local(slot),
            None => Base::Variable(self.variable(name)),
        };
        Ok(Node::Attribute(Box::new(Attribute { base, qualifiers: Vec::new() })))
    }

    fn variable(&mut self, name: &SmolStr) -> usize {
        let known = self.variables.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.variables.push(name.clone());
            self.variables.len() - 1
        })
    }

    fn select(&mut self, operand: ExprId, field: &SmolStr, test_only: bool) -> Planned {
        let mut attribute = into_attribute(self.plan(operand)?);
        let key = KeySource::Constant(Val::text(field));
        attribute.add(&Arc::new(Qualifier { key, optional: false, test_only }));
        Ok(if test_only { Node::Has(Box::new(attribute)) } else { Node::Attribute(Box::new(attribute)) })
    }

    fn call(&mut self, id: ExprId, function: &SmolStr, args: &[ExprId]) -> Planned {
        let overload = match self.checked.overloads(id) {
            [overload] => *overload,
            _ => "",
        };
        if let Some(node) = self.grow_accumulator(function, args)? {
            return Ok(node);
        }
        let mut nodes = args.iter().map(|arg| self.plan(*arg)).collect::<Result<Vec<_>, _>>()?;
        let comparison = match (function.as_str(), nodes.len()) {
            (operators::CONDITIONAL, 3) => return Ok(conditional(nodes)),
            (operators::INDEX, 2) => return index(nodes, false),
            (operators::OPT_SELECT | operators::OPT_INDEX, 2) => return index(nodes, true),
            (operators::NOT_STRICTLY_FALSE, 1) => {
                let operand = nodes.pop().expect("one argument was matched");
                return Ok(Node::NotStrictlyFalse(Box::new(operand)));
            }
            (operators::LOGICAL_AND, 2) => return Ok(Node::And(pair(nodes))),
            (operators::LOGICAL_OR, 2) => return Ok(Node::Or(pair(nodes))),
            (operators::EQUALS, 2) => return Ok(Node::Equal(pair(nodes))),
            (operators::NOT_EQUALS, 2) => return Ok(Node::NotEqual(pair(nodes))),
            ("or", 2) => return Ok(Node::OptionalOr(pair(nodes))),
            ("orValue", 2) => return Ok(Node::OptionalOrValue(pair(nodes))),
            (operators::LESS, 2) => Some(Comparison::Less),
            (operators::LESS_EQUALS, 2) => Some(Comparison::LessOrEqual),
            (operators::GREATER, 2) => Some(Comparison::Greater),
            (operators::GREATER_EQUALS, 2) => Some(Comparison::GreaterOrEqual),
            _ => None,
        };
        let cost = CallCost::find(function, overload);
        if let Some(comparison) = comparison {
            let charging = if cost == CallCost::Smaller { Charging::BySize } else { Charging::One };
            return Ok(Node::Compare(comparison, charging, pair(nodes)));
        }
        if overload == "in_list"
            && let [_, Node::Constant(Val::List(list))] = &nodes[..]
        {
            if list.is_empty() {
                return Ok(Node::Constant(Val::Bool(false)));
            }
            if let Some(set) = constant_set(list) {
                let element = nodes.swap_remove(0);
                return Ok(Node::InSet(Box::new((element, set))));
            }
        }
        if let [Node::Constant(value)] = &nodes[..]
            && let Some(folded) = library::fold_conversion(function, value)
        {
            return folded.map(Node::Constant).map_err(|error| PlanError(error.to_string()));
        }
        self.plain_call(function, overload, nodes)
    }

    fn plain_call(&mut self, function: &SmolStr, overload: &'static str, args: Vec<Node>) -> Planned {
        let Some(implementation) = library::find(function, args.len()) else {
            return Err(PlanError(format!("no such overload: {function}")));
        };
        let regex = match (function.as_str(), args.get(1)) {
            ("matches" | "find" | "findAll", Some(Node::Constant(Val::Str(pattern)))) => {
                Some(Regex::new(pattern).map_err(|error| PlanError(error.to_string()))?)
            }
            _ => None,
        };
        // Calls with a compiled pattern and `format` go through cel-go's general form, too, and so do functions that
        // find their overload at run time. Operators and `size` have one implementation for all overloads.
        let has_one_implementation = function.starts_with('_')
            || matches!(function.as_str(), "size" | "@in" | "@sortByAssociatedKeys");
        let is_dispatched = overload.is_empty() && !has_one_implementation;
        let stops_at_error =
            args.len() >= 3 || regex.is_some() || overload == "string_format" || is_dispatched;
        Ok(Node::Call(Box::new(Call {
            cost: CallCost::find(function, overload),
            site: Site {
                guard: library::guard::find(function, overload),
                function: function.clone(),
                overload,
                regex,
            },
            implementation,
            args: args.into(),
            stops_at_error,
        })))
    }

    /// `accumulator + [item]` and `cel.@mapInsert(accumulator, …)` change the accumulator in place.
    fn grow_accumulator(&mut self, function: &str, args: &[ExprId]) -> Result<Option<Node>, PlanError> {
        let Some((first, rest)) = args.split_first() else { return Ok(None) };
        let slot = match self.checked.expr(*first) {
            Expr::Ident(name) if name == ACCUMULATOR => {
                match self.scopes.iter().rev().find(|(known, _)| known == ACCUMULATOR) {
                    Some((_, slot)) => *slot,
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        match (function, rest) {
            (operators::ADD, [list]) => {
                let Expr::List { elements, optional } = self.checked.expr(*list) else { return Ok(None) };
                let ([element], []) = (&**elements, &**optional) else { return Ok(None) };
                let item = self.plan(*element)?;
                Ok(Some(Node::Append(Box::new(Append { slot, item }))))
            }
            ("cel.@mapInsert", [_] | [_, _]) => {
                let args = rest.iter().map(|arg| self.plan(*arg)).collect::<Result<_, _>>()?;
                Ok(Some(Node::Insert(Box::new(Insert { slot, args }))))
            }
            _ => Ok(None),
        }
    }

    fn list(&mut self, elements: &[ExprId], optional: &[u32]) -> Planned {
        let mut items = Vec::with_capacity(elements.len());
        for (position, element) in elements.iter().enumerate() {
            let optional = optional.contains(&(position as u32));
            items.push(Item { value: self.plan(*element)?, optional });
        }
        let is_constant = |item: &Item| matches!(item.value, Node::Constant(_) | Node::Failed(_));
        if !items.iter().all(is_constant) {
            return Ok(Node::List(items.into()));
        }
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match item.value {
                Node::Constant(value) if item.optional => {
                    let text = "cannot initialize optional list element from non-optional value";
                    return Ok(Node::Failed(Failure::new(format!("{text} {}", value.go_text()))));
                }
                Node::Constant(value) => values.push(value),
                failed => return Ok(failed),
            }
        }
        Ok(Node::Constant(Val::list(values)))
    }

    fn comprehension(&mut self, comprehension: &Comprehension) -> Planned {
        let init = self.plan(comprehension.accu_init)?;
        let range = self.plan(comprehension.range)?;
        let accumulator = self.local();
        let first = self.local();
        let second = comprehension.iter_var2.as_ref().map(|_| self.local());
        let depth = self.scopes.len();
        self.scopes.push((comprehension.iter_var.clone(), first));
        if let (Some(name), Some(slot)) = (&comprehension.iter_var2, second) {
            self.scopes.push((name.clone(), slot));
        }
        // cel-go looks for the accumulator first.
        self.scopes.push((comprehension.accu_var.clone(), accumulator));
        let condition = self.plan(comprehension.condition)?;
        let step = self.plan(comprehension.step)?;
        self.scopes.truncate(depth);
        self.scopes.push((comprehension.accu_var.clone(), accumulator));
        let result = self.plan(comprehension.result)?;
        self.scopes.truncate(depth);
        Ok(Node::Fold(Box::new(Fold { range, init, condition, step, result, accumulator, first, second })))
    }

    /// A slot of its own for every variable: an accumulator may be computed while inner loops run.
    fn local(&mut self) -> usize {
        self.locals += 1;
        self.locals - 1
    }
}

impl Attribute {
    /// Appends a key, in both branches of a conditional.
    fn add(&mut self, qualifier: &Arc<Qualifier>) {
        match &mut self.base {
            Base::Conditional(parts) => {
                parts.1.add(qualifier);
                parts.2.add(qualifier);
            }
            Base::Variable(_) | Base::Local(_) | Base::Value(_) => {
                self.qualifiers.push(Arc::clone(qualifier))
            }
        }
    }
}

fn into_attribute(node: Node) -> Attribute {
    match node {
        Node::Attribute(attribute) | Node::Has(attribute) => *attribute,
        other => Attribute { base: Base::Value(other), qualifiers: Vec::new() },
    }
}

fn pair(nodes: Vec<Node>) -> Box<[Node; 2]> {
    let nodes: [Node; 2] = nodes.try_into().expect("the number of arguments was matched");
    Box::new(nodes)
}

fn conditional(nodes: Vec<Node>) -> Node {
    let [condition, truthy, falsy]: [Node; 3] =
        nodes.try_into().expect("the number of arguments was matched");
    let parts = Box::new((condition, into_attribute(truthy), into_attribute(falsy)));
    Node::Attribute(Box::new(Attribute { base: Base::Conditional(parts), qualifiers: Vec::new() }))
}

fn index(nodes: Vec<Node>, optional: bool) -> Planned {
    let [operand, key] = *pair(nodes);
    let mut attribute = into_attribute(operand);
    let key = match key {
        Node::Constant(Val::Str(_) | Val::Int(_) | Val::Uint(_) | Val::Bool(_) | Val::Double(_)) => match key
        {
            Node::Constant(value) => KeySource::Constant(value),
            other => KeySource::Value(other),
        },
        Node::Constant(value) => {
            return Err(PlanError(format!("invalid qualifier type: {}", go_type(&value))));
        }
        Node::Attribute(key) | Node::Has(key) => KeySource::Attribute(*key),
        other => KeySource::Value(other),
    };
    attribute.add(&Arc::new(Qualifier { key, optional, test_only: false }));
    Ok(Node::Attribute(Box::new(attribute)))
}

fn literal_value(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(truth) => Val::Bool(*truth),
        Literal::Int(number) => Val::Int(*number),
        Literal::Uint(number) => Val::Uint(*number),
        Literal::Double(number) => Val::Double(*number),
        Literal::String(text) => Val::Str(Text::Shared(Arc::clone(text))),
        Literal::Bytes(bytes) => Val::Bytes(Arc::clone(bytes)),
    }
}

/// A map literal whose keys and values are constants is a constant.
fn fold_map(items: Vec<MapItem>) -> Node {
    let is_constant = |item: &MapItem| {
        let is_key = matches!(&item.key, Node::Constant(key) if check_hashable(key).is_ok());
        is_key && matches!(item.value, Node::Constant(_))
    };
    if !items.iter().all(is_constant) {
        return Node::Map(items.into());
    }
    let mut entries = Entries::new();
    for item in items {
        let (Node::Constant(key), Node::Constant(value)) = (item.key, item.value) else { continue };
        if item.optional {
            let (key, value) = (key.go_text(), value.go_text());
            let text = format!("cannot initialize optional entry '{key}' from non-optional value {value}");
            return Node::Failed(Failure::new(text));
        }
        entries.set(key, value);
    }
    Node::Constant(Val::Map(MapVal::Owned(Arc::new(entries))))
}

/// The elements of a list of primitive constants, with the numbers of other types that are equal to them.
fn constant_set(list: &List<'static>) -> Option<HashSet<Key<'static>>> {
    let mut set = HashSet::new();
    for item in list.iter() {
        let item = item.ok()?;
        match &item {
            Val::Null | Val::Duration(_) | Val::Timestamp(_) => return None,
            Val::Double(number) => {
                set.extend(order::whole_i64(*number).map(Key::Int));
                set.extend(order::whole_u64(*number).map(Key::Uint));
                if number.is_nan() {
                    continue;
                }
            }
            Val::Int(number) => {
                set.extend(Key::of(&Val::Double(*number as f64)));
                set.extend(u64::try_from(*number).ok().map(Key::Uint));
            }
            Val::Uint(number) => {
                set.extend(Key::of(&Val::Double(*number as f64)));
                set.extend(i64::try_from(*number).ok().map(Key::Int));
            }
            _ => {}
        }
        set.insert(Key::of(&item)?);
    }
    Some(set)
}

/// The name of a type as a value.
fn runtime_type_name(named: &Type) -> &str {
    match named {
        Type::Type(Some(inner)) => runtime_type_name(inner),
        Type::Null => "null_type",
        Type::Duration => "google.protobuf.Duration",
        Type::Timestamp => "google.protobuf.Timestamp",
        other => other.name(),
    }
}
