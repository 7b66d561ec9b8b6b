//! Evaluator: walks the nodes of a program and charges what cel-go charges.
//!
//! Every node is charged after it was evaluated, also when it failed. `&&` and `||` absorb errors; what ends the
//! evaluation (too much cost, a missing decision of the authorizer) passes through everything.

use std::cmp::Ordering;
use std::sync::Arc;

use keelson_structural::ListType;

use crate::fail::{Failure, Outcome, fail};
use crate::library;
use crate::program::{
    Append, Base, Call, Charging, Comparison, Fold, Insert, Item, MapItem, Node, StructLiteral,
};
use crate::run::{Local, Run};
use crate::runtime_cost;
use crate::value::opaque::Object;
use crate::value::{Entries, List, MapVal, Opaque, Text, Val, equal, map, order};

mod attribute;

/// What list, map and struct literals cost.
const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const STRUCT_COST: u64 = 40;

impl<'a> Run<'a> {
    /// The value of a node. What is frequent is here, so that the frame of this recursive function stays small.
    pub(crate) fn evaluate(&mut self, node: &'a Node) -> Outcome<'a> {
        match node {
            Node::Constant(Val::Int(number)) => Ok(Val::Int(*number)),
            Node::Constant(Val::Bool(truth)) => Ok(Val::Bool(*truth)),
            Node::Attribute(attribute) => self.attribute(attribute),
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Compare(comparison, sized, operands) => self.compare(*comparison, *sized, operands),
            Node::NotStrictlyFalse(operand) => self.not_strictly_false(operand),
            Node::Call(call) => self.call(call),
            other => self.evaluate_other(other),
        }
    }

    #[inline(never)]
    fn evaluate_other(&mut self, node: &'a Node) -> Outcome<'a> {
        match node {
            Node::Constant(value) => Ok(constant(value)),
            Node::Failed(failure) => Err(failure.clone()),
            Node::Has(attribute) => self.has(attribute),
            Node::Equal(operands) => self.equal(operands),
            Node::NotEqual(operands) => self.not_equal(operands),
            Node::InSet(operands) => {
                let value = self.evaluate(&operands.0)?;
                map::check_hashable(&value)?;
                let key = map::Key::of(&value);
                Ok(Val::Bool(key.is_some_and(|key| operands.1.contains(&key))))
            }
            Node::Append(append) => self.append(append),
            Node::Insert(insert) => self.insert(insert),
            Node::OptionalOr(operands) => match self.evaluate(&operands[0])? {
                Val::Optional(None) => self.evaluate(&operands[1]),
                other => Ok(other),
            },
            Node::OptionalOrValue(operands) => match self.evaluate(&operands[0])? {
                Val::Optional(None) => self.evaluate(&operands[1]),
                Val::Optional(Some(value)) => value.held(),
                other => Ok(other),
            },
            Node::List(items) => self.list(items),
            Node::Map(items) => self.map(items),
            Node::Struct(literal) => self.structure(literal),
            Node::Fold(fold) => self.fold(fold),
            // The rest is in `evaluate`.
            other => self.evaluate(other),
        }
    }

    /// The value of a variable of a comprehension, if the node is nothing else. Reading it costs one unit.
    #[inline]
    fn simple_local(&self, node: &Node) -> Option<&Val<'a>> {
        let Node::Attribute(attribute) = node else { return None };
        let (Base::Local(slot), []) = (&attribute.base, &attribute.qualifiers[..]) else { return None };
        if let Local::Value(value) = &self.locals[*slot] { Some(value) } else { None }
    }

    #[inline(never)]
    fn not_strictly_false(&mut self, operand: &'a Node) -> Outcome<'a> {
        if let Some(Val::Bool(truth)) = self.simple_local(operand) {
            let truth = *truth;
            self.charge(1)?;
            self.charge(1)?;
            return Ok(Val::Bool(truth));
        }
        let truth = match self.evaluate(operand) {
            Err(failure) if !failure.is_error() => return Err(failure),
            Ok(Val::Bool(truth)) => truth,
            _ => true,
        };
        self.charge(1)?;
        Ok(Val::Bool(truth))
    }

    /// `&&` (decided by false) and `||` (decided by true).
    #[inline(never)]
    fn logical(&mut self, terms: &'a [Node; 2], decides: bool) -> Outcome<'a> {
        let mut failure = None;
        for term in terms {
            if let Some(Val::Bool(truth)) = self.simple_local(term) {
                let truth = *truth;
                self.charge(1)?;
                if truth == decides {
                    return Ok(Val::Bool(decides));
                }
                continue;
            }
            match self.evaluate(term) {
                Ok(Val::Bool(truth)) if truth == decides => return Ok(Val::Bool(decides)),
                Ok(Val::Bool(_)) => {}
                Err(error) if !error.is_error() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
                Ok(_) => failure = failure.or_else(|| Some(Failure::no_such_overload())),
            }
        }
        failure.map_or(Ok(Val::Bool(!decides)), Err)
    }

    /// Evaluates two operands; both are evaluated even if the first fails.
    #[inline]
    fn operands(&mut self, operands: &'a [Node; 2]) -> Result<[Outcome<'a>; 2], Failure> {
        let first = self.evaluate(&operands[0]);
        if let Err(failure) = &first
            && !failure.is_error()
        {
            return Err(failure.clone());
        }
        let second = self.evaluate(&operands[1]);
        if let Err(failure) = &second
            && !failure.is_error()
        {
            return Err(failure.clone());
        }
        Ok([first, second])
    }

    fn equal(&mut self, operands: &'a [Node; 2]) -> Outcome<'a> {
        let [lhs, rhs] = self.operands(operands)?;
        self.charge(runtime_cost::equality(size_of(&lhs), size_of(&rhs), lhs.as_ref().ok()))?;
        let (lhs, rhs) = (lhs?, rhs?);
        equal::equal(&lhs, &rhs).map(Val::Bool)
    }

    fn not_equal(&mut self, operands: &'a [Node; 2]) -> Outcome<'a> {
        let [lhs, rhs] = self.operands(operands)?;
        self.charge(runtime_cost::smaller(size_of(&lhs), size_of(&rhs)))?;
        let (lhs, rhs) = (lhs?, rhs?);
        // An error is not `true`, and that is all that cel-go looks at here.
        Ok(Val::Bool(!equal::equal(&lhs, &rhs).unwrap_or(false)))
    }

    #[inline(never)]
    fn compare(&mut self, comparison: Comparison, sized: Charging, operands: &'a [Node; 2]) -> Outcome<'a> {
        // The most frequent case is a field and a whole number; these cost one unit in every way of charging.
        if let (Some(Val::Int(lhs)), Node::Constant(Val::Int(rhs))) =
            (self.simple_local(&operands[0]), &operands[1])
        {
            let lhs = *lhs;
            self.charge(1)?;
            self.charge(1)?;
            return Ok(Val::Bool(comparison.holds(lhs.cmp(rhs))));
        }
        let (lhs, rhs) = match operands {
            [Node::Attribute(attribute), Node::Constant(Val::Int(rhs))] => match self.attribute(attribute) {
                Ok(Val::Int(lhs)) => {
                    self.charge(1)?;
                    return Ok(Val::Bool(comparison.holds(lhs.cmp(rhs))));
                }
                Err(failure) if !failure.is_error() => return Err(failure),
                other => (other, Ok(Val::Int(*rhs))),
            },
            _ => self.operands(operands)?.into(),
        };
        self.compare_values(comparison, sized, lhs, rhs)
    }

    #[inline(never)]
    fn compare_values(
        &mut self,
        comparison: Comparison,
        sized: Charging,
        lhs: Outcome<'a>,
        rhs: Outcome<'a>,
    ) -> Outcome<'a> {
        let cost = match sized {
            Charging::One => 1,
            Charging::BySize => runtime_cost::smaller(size_of(&lhs), size_of(&rhs)),
        };
        self.charge(cost)?;
        let (lhs, rhs) = (lhs?, rhs?);
        if !order::is_comparable(&lhs) {
            return fail!("no such overload: {}", comparison.operator());
        }
        let found = order::compare(&lhs, &rhs)?;
        Ok(Val::Bool(comparison.holds(found)))
    }

    #[inline(never)]
    fn call(&mut self, call: &'a Call) -> Outcome<'a> {
        match &*call.args {
            [argument] if !call.stops_at_error => {
                let value = match self.evaluate(argument) {
                    Err(failure) if failure.is_error() => {
                        self.charge_failed(call, &[None])?;
                        return Err(failure);
                    }
                    outcome => [outcome?],
                };
                self.apply(call, &value)
            }
            [first, second] if !call.stops_at_error => {
                let first = self.evaluate(first);
                if let Err(failure) = &first
                    && !failure.is_error()
                {
                    return first;
                }
                let second = self.evaluate(second);
                match (first, second) {
                    (_, Err(failure)) if !failure.is_error() => Err(failure),
                    (Ok(first), Ok(second)) => self.apply(call, &[first, second]),
                    (first, second) => {
                        self.charge_failed(call, &[first.as_ref().ok(), second.as_ref().ok()])?;
                        first.and(second)
                    }
                }
            }
            args => self.general_call(call, args),
        }
    }

    /// A call that stops at the first error. It is charged if that is the last argument.
    fn general_call(&mut self, call: &'a Call, args: &'a [Node]) -> Outcome<'a> {
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            match self.evaluate(arg) {
                Ok(value) => values.push(value),
                Err(failure) => {
                    if failure.is_error() && values.len() + 1 == args.len() {
                        let mut seen: Vec<Option<&Val<'a>>> = values.iter().map(Some).collect();
                        seen.push(None);
                        self.charge_failed(call, &seen)?;
                    }
                    return Err(failure);
                }
            }
        }
        self.apply(call, &values)
    }

    /// Charges a call of which some arguments failed.
    fn charge_failed(&mut self, call: &Call, args: &[Option<&Val<'a>>]) -> Result<(), Failure> {
        call.cost.check(args)?;
        let values: Vec<Val<'a>> = args.iter().map(|arg| arg.cloned().unwrap_or(Val::Null)).collect();
        self.charge(call.cost.of(&values, None))
    }

    fn apply(&mut self, call: &'a Call, values: &[Val<'a>]) -> Outcome<'a> {
        let outcome = match call.site.guard {
            Some(overload) if !library::guard::takes(overload, values) => {
                library::mismatch(&call.site, values)
            }
            _ => (call.implementation)(self, &call.site, values),
        };
        if let Err(failure) = &outcome
            && !failure.is_error()
        {
            return outcome;
        }
        if call.cost.can_panic() {
            call.cost.check(&values.iter().map(Some).collect::<Vec<_>>())?;
        }
        self.charge(call.cost.of(values, outcome.as_ref().ok()))?;
        outcome
    }

    /// Takes the accumulator out of its slot, so that it can grow in place.
    fn append(&mut self, append: &'a Append) -> Outcome<'a> {
        let accumulator = self.read_local(append.slot);
        self.charge(1)?;
        if accumulator.is_ok() {
            self.locals[append.slot] = Local::Absent;
        }
        let item = self.evaluate(&append.item);
        if let Err(failure) = &item
            && !failure.is_error()
        {
            return item;
        }
        // A list of a constant is a constant and costs nothing.
        if !matches!(append.item, Node::Constant(_)) {
            self.charge(LIST_COST)?;
        }
        self.charge(1)?;
        match accumulator? {
            Val::List(list) => list.push(item?),
            _ => Err(Failure::no_such_overload()),
        }
    }

    /// Takes the accumulator out of its slot, so that it can grow in place.
    fn insert(&mut self, insert: &'a Insert) -> Outcome<'a> {
        let accumulator = self.read_local(insert.slot);
        // Upstream charges for an accumulator that failed after the map that it gets.
        let is_charged_late = accumulator.is_err() && insert.args.len() == 1;
        if !is_charged_late {
            self.charge(1)?;
        }
        let accumulator = match accumulator {
            // With three arguments the call stops at the first error and is not charged.
            Err(failure) if insert.args.len() == 2 => return Err(failure),
            other => other,
        };
        self.locals[insert.slot] = Local::Absent;
        let mut values = Vec::with_capacity(2);
        for arg in &insert.args {
            match self.evaluate(arg) {
                Ok(value) => values.push(value),
                Err(failure) => {
                    // As for every call: an error of the last argument is charged.
                    if values.len() + 1 == insert.args.len() && failure.is_error() {
                        self.charge(1 + u64::from(is_charged_late))?;
                    }
                    return Err(accumulator.err().unwrap_or(failure));
                }
            }
        }
        self.charge(1 + u64::from(is_charged_late))?;
        library::insert(accumulator?, values)
    }

    fn list(&mut self, items: &'a [Item]) -> Outcome<'a> {
        let built = self.list_items(items);
        if built.as_ref().err().is_none_or(Failure::is_error) {
            self.charge(LIST_COST)?;
        }
        built.map(Val::list)
    }

    fn list_items(&mut self, items: &'a [Item]) -> Result<Vec<Val<'a>>, Failure> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            let value = self.evaluate(&item.value)?;
            match (item.optional, value) {
                (false, value) => values.push(value),
                (true, Val::Optional(None)) => {}
                (true, Val::Optional(Some(value))) => values.push(value.held()?),
                (true, other) => {
                    let shown = other.go_text();
                    return fail!("cannot initialize optional list element from non-optional value {shown}");
                }
            }
        }
        Ok(values)
    }

    fn map(&mut self, items: &'a [MapItem]) -> Outcome<'a> {
        let built = self.map_entries(items);
        if built.as_ref().err().is_none_or(Failure::is_error) {
            self.charge(MAP_COST)?;
        }
        built.map(|entries| Val::Map(MapVal::Owned(Arc::new(entries))))
    }

    fn map_entries(&mut self, items: &'a [MapItem]) -> Result<Entries<'a>, Failure> {
        let mut entries = Entries::new();
        for item in items {
            let key = self.evaluate(&item.key)?;
            let value = self.evaluate(&item.value)?;
            map::check_hashable(&key)?;
            match (item.optional, value) {
                (false, value) => entries.set(key, value),
                (true, Val::Optional(None)) => entries.remove(&key),
                (true, Val::Optional(Some(value))) => entries.set(key, value.held()?),
                (true, other) => {
                    let (key, shown) = (key.go_text(), other.go_text());
                    return fail!("cannot initialize optional entry '{key}' from non-optional value {shown}");
                }
            }
        }
        Ok(entries)
    }

    fn structure(&mut self, literal: &'a StructLiteral) -> Outcome<'a> {
        let built = self.struct_fields(literal);
        if built.as_ref().err().is_none_or(Failure::is_error) {
            self.charge(STRUCT_COST)?;
        }
        let object = Object { type_name: literal.name.clone(), fields: built? };
        Ok(Val::opaque(Opaque::Object(Box::new(object))))
    }

    fn struct_fields(
        &mut self,
        literal: &'a StructLiteral,
    ) -> Result<Vec<(keelson_object::SmolStr, Val<'a>)>, Failure> {
        let mut fields: Vec<(keelson_object::SmolStr, Val<'a>)> = Vec::with_capacity(literal.fields.len());
        for (name, item) in &literal.fields {
            let value = match (item.optional, self.evaluate(&item.value)?) {
                (false, value) => value,
                (true, Val::Optional(None)) => {
                    fields.retain(|(known, _)| known != name);
                    continue;
                }
                (true, Val::Optional(Some(value))) => value.held()?,
                (true, other) => {
                    let shown = other.go_text();
                    return fail!(
                        "cannot initialize optional entry '{name}' from non-optional value {shown}"
                    );
                }
            };
            fields.retain(|(known, _)| known != name);
            fields.push((name.clone(), value));
        }
        Ok(fields)
    }

    fn fold(&mut self, fold: &'a Fold) -> Outcome<'a> {
        let range = self.evaluate(&fold.range)?;
        self.locals[fold.accumulator] = Local::Unread(&fold.init);
        let finished = match (&range, fold.second) {
            (Val::List(list), second) => self.fold_list(fold, list, second),
            (Val::Map(map), second) => self.fold_map(fold, map, second),
            (other, Some(_)) => fail!("unsupported comprehension range type: {}", go_type(other)),
            (other, None) => fail!("got '{}', expected iterable type", go_type(other)),
        };
        self.locals[fold.first] = Local::Absent;
        if let Some(second) = fold.second {
            self.locals[second] = Local::Absent;
        }
        let outcome = finished.and_then(|()| self.evaluate(&fold.result));
        self.locals[fold.accumulator] = Local::Absent;
        outcome
    }

    fn fold_list(&mut self, fold: &'a Fold, list: &List<'a>, second: Option<usize>) -> Result<(), Failure> {
        for (index, item) in list.iter().enumerate() {
            let item = item.and_then(Val::readable).map_or_else(Local::Failed, Local::Value);
            match second {
                None => self.locals[fold.first] = item,
                Some(second) => {
                    self.locals[fold.first] = Local::Value(Val::Int(index as i64));
                    self.locals[second] = item;
                }
            }
            if !self.step(fold)? {
                break;
            }
        }
        Ok(())
    }

    fn fold_map(&mut self, fold: &'a Fold, map: &MapVal<'a>, second: Option<usize>) -> Result<(), Failure> {
        let Some(second) = second else {
            for key in map.keys() {
                self.locals[fold.first] = Local::Value(key);
                if !self.step(fold)? {
                    break;
                }
            }
            return Ok(());
        };
        for (key, value) in map.entries() {
            self.locals[fold.first] = Local::Value(key);
            self.locals[second] = value.map_or_else(Local::Failed, Local::Value);
            if !self.step(fold)? {
                break;
            }
        }
        Ok(())
    }

    /// One iteration; false ends the loop.
    fn step(&mut self, fold: &'a Fold) -> Result<bool, Failure> {
        match self.evaluate(&fold.condition) {
            Ok(Val::Bool(false)) => return Ok(false),
            Err(failure) if !failure.is_error() => return Err(failure),
            _ => {}
        }
        self.locals[fold.accumulator] = match self.evaluate(&fold.step) {
            Ok(value) => Local::Value(value),
            Err(failure) if !failure.is_error() => return Err(failure),
            Err(failure) => Local::Failed(failure),
        };
        if self.is_interrupted() {
            return fail!("operation interrupted");
        }
        Ok(true)
    }
}

impl Comparison {
    fn holds(self, found: Ordering) -> bool {
        match self {
            Comparison::Less => found == Ordering::Less,
            Comparison::LessOrEqual => found != Ordering::Greater,
            Comparison::Greater => found == Ordering::Greater,
            Comparison::GreaterOrEqual => found != Ordering::Less,
        }
    }

    fn operator(self) -> &'static str {
        match self {
            Comparison::Less => "_<_",
            Comparison::LessOrEqual => "_<=_",
            Comparison::Greater => "_>_",
            Comparison::GreaterOrEqual => "_>=_",
        }
    }
}

/// The size of an operand for costs; an error counts as one.
fn size_of(outcome: &Outcome<'_>) -> u64 {
    outcome.as_ref().map_or(1, runtime_cost::size)
}

/// A constant, borrowed from the program.
pub(crate) fn constant<'a>(value: &'a Val<'static>) -> Val<'a> {
    match value {
        Val::Str(Text::Shared(text)) => Val::str(text),
        Val::Type(Text::Shared(text)) => Val::Type(Text::Borrowed(text)),
        Val::List(List::Owned(items)) => Val::List(List::Slice(items)),
        Val::Map(MapVal::Owned(entries)) => Val::Map(MapVal::Const(entries)),
        other => other.clone(),
    }
}

/// How Go prints the type of a value that was read from a variable and not computed.
fn native_go_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Null => "<nil>",
        Val::List(List::Tree(_, None)) => "[]interface {}",
        Val::Map(MapVal::Tree(_, None)) => "map[string]interface {}",
        other => go_type(other),
    }
}

/// How Go prints the type of a value.
pub(crate) fn go_type(value: &Val<'_>) -> &'static str {
    match value {
        Val::Null => "types.Null",
        Val::Bool(_) => "types.Bool",
        Val::Int(_) => "types.Int",
        Val::Uint(_) => "types.Uint",
        Val::Double(_) => "types.Double",
        Val::Str(_) => "types.String",
        Val::Bytes(_) => "types.Bytes",
        Val::Duration(_) => "types.Duration",
        Val::Timestamp(_) => "types.Timestamp",
        Val::Type(_) => "*types.Type",
        Val::List(List::Concat(_)) => "*types.concatList",
        Val::List(list) if list.schema().is_some() => match list.schema().and_then(|schema| schema.list_type)
        {
            Some(ListType::Map) => "*common.unstructuredMapList",
            Some(ListType::Set) => "*common.unstructuredSetList",
            _ => "*common.unstructuredList",
        },
        Val::Map(MapVal::Tree(_, Some(_))) => "*common.unstructuredMap",
        Val::List(_) => "*types.baseList",
        Val::Map(_) => "*types.baseMap",
        Val::Optional(_) => "*types.Optional",
        Val::Opaque(value) => match &**value {
            Opaque::Quantity { is_sum: true, .. } => "*cel.Quantity",
            Opaque::Quantity { .. } => "cel.Quantity",
            Opaque::Ip(_) => "cel.IP",
            Opaque::Cidr(_) => "cel.CIDR",
            Opaque::Url(_) => "cel.URL",
            Opaque::Semver(_) => "cel.Semver",
            Opaque::Format(_) => "cel.Format",
            Opaque::Authorizer(_) => "library.authorizerVal",
            Opaque::PathCheck(..) => "library.pathCheckVal",
            Opaque::GroupCheck(..) => "library.groupCheckVal",
            Opaque::ResourceCheck(..) => "library.resourceCheckVal",
            Opaque::Decision(_) => "library.decisionVal",
            Opaque::Unreadable(_) => "*types.Err",
            Opaque::Object(_) => "*dynamic.ObjectVal",
        },
        Val::Preserved(_) => "*common.unknownPreserved",
    }
}
