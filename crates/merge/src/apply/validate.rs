//! Whether a tree is of its type, in upstream's words.
//!
//! Upstream: structured-merge-diff/typed/validate.go (v6).

use keelson_object::{Map, Value};

use super::element::Element;
use super::place::{Face, Fields, List, Place, Scalar};
use super::tree::Tree;
use super::values::{go_plain, go_source, go_type};

/// Whether the same item may be twice in a set or a list with keys.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// Checks `value`; the text of the error names every problem.
pub(super) fn validate<'v>(
    place: Place<'v>,
    object: impl Into<Tree<'v>>,
    duplicates: Duplicates,
) -> Result<(), String> {
    let mut walk = Walk { duplicates, path: Vec::new(), problems: Vec::new() };
    match (object.into(), place.face(None)) {
        (Tree::Whole(value), _) => walk.value(place, value),
        (Tree::Parts(head, rest), Face::Map(fields)) if !matches!(place, Place::Deduced | Place::Whole) => {
            walk.fields(fields, head);
            walk.fields(fields, rest);
        }
        (Tree::Parts(..), _) => {}
    }
    match &walk.problems[..] {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

struct Walk<'v> {
    duplicates: Duplicates,
    path: Vec<Step<'v>>,
    problems: Vec<String>,
}

/// The path is only put into words for an error.
enum Step<'v> {
    Field(&'v str),
    At(usize),
    Item(List<'v>, &'v Value),
}

impl<'v> Walk<'v> {
    fn value(&mut self, place: Place<'v>, value: &'v Value) {
        match (place.face(Some(value)), value) {
            // Whatever is there is right.
            _ if matches!(place, Place::Deduced | Place::Whole) => {}
            (_, Value::Null) => {}
            (Face::Scalar(scalar), value) => {
                if let Some(problem) = wrong_scalar(scalar, value) {
                    self.problem(&problem);
                }
            }
            (Face::List(list), Value::List(items)) => self.items(list, items),
            (Face::List(_), other) => {
                self.problem(&format!("expected list, got &{{{}}}", go_plain(other)));
            }
            (Face::Map(fields), Value::Map(map)) => self.fields(fields, map),
            (Face::Map(_), other) => self.problem(&format!("expected map, got &{{{}}}", go_plain(other))),
            (Face::Nothing, _) => self.problem("schema error: invalid atom: inlined"),
        }
    }

    fn items(&mut self, list: List<'v>, items: &'v [Value]) {
        let mut seen: Vec<Element> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if list.is_atomic() {
                self.path.push(Step::At(at));
            } else {
                if let Err(error) = list.check(item) {
                    return self.problem(&format!("element {at}: {error}"));
                }
                self.see(list, item, &mut seen);
                self.path.push(Step::Item(list, item));
            }
            self.value(list.item(), item);
            self.path.pop();
        }
    }

    fn see(&mut self, list: List<'v>, item: &'v Value, seen: &mut Vec<Element>) {
        if self.duplicates == Duplicates::Allowed {
            return;
        }
        let Ok(element) = list.element(item) else { return };
        match seen.binary_search(&element) {
            Ok(_) => self.problem(&format!("duplicate entries for key {element}")),
            Err(position) => seen.insert(position, element),
        }
    }

    fn fields(&mut self, fields: Fields<'v>, map: &'v Map) {
        for (key, value) in map.iter() {
            self.path.push(Step::Field(key));
            let place = fields.field(key);
            let is_unknown = matches!(place, Place::Nowhere);
            if is_unknown {
                self.problem("field not declared in schema");
            } else {
                self.value(place, value);
            }
            self.path.pop();
            if is_unknown {
                return;
            }
        }
    }

    fn problem(&mut self, text: &str) {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Field(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                Step::At(at) => path.push_str(&format!("[{at}]")),
                Step::Item(list, item) => {
                    path.push_str(&list.element(item).map(|it| it.to_string()).unwrap_or_default());
                }
            }
        }
        let colon = if path.is_empty() { "" } else { ": " };
        self.problems.push(format!("{path}{colon}{text}"));
    }
}

/// Upstream: structured-merge-diff/typed/validate.go, validateScalar (v6).
fn wrong_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Int(_) | Value::Float(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => Some(format!("expected numeric (int or float), got {}", go_type(other))),
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_source(other)))
        }
        (Scalar::Boolean, other) => Some(format!("expected boolean, got &{{{}}}", go_plain(other))),
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got &{{{}}}", go_plain(other))),
    }
}
