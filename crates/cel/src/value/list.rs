//! Lists: of the tree, of constants, of values, and sums of lists.

use std::sync::Arc;

use keelson_object::Value;
use keelson_structural::{ListType, Schema};

use super::{Val, retype, typed};
use crate::fail::{Failure, Outcome};

/// A list.
#[derive(Clone, Debug)]
pub enum List<'a> {
    /// An array of the tree; with a schema its items are typed. The schema is that of the array.
    Tree(&'a Vec<Value>, Option<&'a Schema>),
    /// Constants of the program.
    Slice(&'a [Val<'a>]),
    /// Values.
    Owned(Arc<Vec<Val<'a>>>),
    /// Values with the meaning of a typed array: a set or map list that grew by `+`.
    Typed(Arc<Vec<Val<'a>>>, &'a Schema),
    /// A sum. Adding costs one unit whatever the sizes are, so that it must not copy.
    Concat(Arc<Concat<'a>>),
}

/// The two parts of a sum and how long they are together.
#[derive(Debug)]
pub struct Concat<'a> {
    first: List<'a>,
    second: List<'a>,
    len: usize,
    depth: u32,
}

/// Lists of up to so many items are copied when they are added: cheaper than a node.
const COPY_LIMIT: usize = 16;
/// Sums of more items are refused like too much cost. An object of a request has fewer.
const SUM_LIMIT: usize = 1 << 21;
/// Sums deeper than this are copied, so that neither reading nor dropping one recurses without bound.
const DEPTH_LIMIT: u32 = 64;

impl<'a> List<'a> {
    /// How many items there are.
    pub fn len(&self) -> usize {
        match self {
            List::Tree(items, _) => items.len(),
            List::Slice(items) => items.len(),
            List::Owned(items) | List::Typed(items, _) => items.len(),
            List::Concat(sum) => sum.len,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether cel-go's test for zero values knows this kind of list: typed arrays do not have it.
    pub(super) fn has_zero_test(&self) -> bool {
        self.schema().is_none()
    }

    /// The schema of the array, in the typed family.
    pub fn schema(&self) -> Option<&'a Schema> {
        match self {
            List::Tree(_, schema) => *schema,
            List::Typed(_, schema) => Some(schema),
            List::Slice(_) | List::Owned(_) | List::Concat(_) => None,
        }
    }

    /// The item at `index`; `None` outside.
    pub fn get(&self, index: usize) -> Option<Outcome<'a>> {
        match self {
            List::Tree(items, None) => items.get(index).map(|item| Ok(Val::json(item))),
            List::Tree(items, Some(schema)) => items.get(index).map(|item| typed::item(item, schema)),
            List::Slice(items) => items.get(index).cloned().map(Ok),
            List::Owned(items) | List::Typed(items, _) => items.get(index).cloned().map(Ok),
            List::Concat(sum) => match index.checked_sub(sum.first.len()) {
                None => sum.first.get(index),
                Some(rest) => sum.second.get(rest),
            },
        }
    }

    /// All items in order.
    pub fn iter(&self) -> impl Iterator<Item = Outcome<'a>> + '_ {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// All items, or the first failure.
    pub fn to_vec(&self) -> Result<Vec<Val<'a>>, Failure> {
        self.iter().collect()
    }

    /// `self + other`.
    pub fn concat(self, other: List<'a>) -> Outcome<'a> {
        match self.schema().map(|schema| (schema, schema.list_type)) {
            Some((schema, Some(ListType::Map))) => return typed::merge_map_lists(&self, &other, schema),
            Some((schema, Some(ListType::Set))) => return retype::union(&self, &other, schema),
            Some((schema, Some(ListType::Atomic) | None)) => return retype::sum(&self, &other, schema),
            None => {}
        }
        if self.is_empty() {
            return Ok(Val::List(other));
        }
        if other.is_empty() {
            return Ok(Val::List(self));
        }
        // A sum costs one unit, so that a few of them could double a list without end.
        let len = self.len() + other.len();
        if len > SUM_LIMIT {
            return Err(Failure::cost_limit());
        }
        let depth = 1 + self.depth().max(other.depth());
        if len <= COPY_LIMIT || depth > DEPTH_LIMIT {
            let items = self.iter().chain(other.iter()).collect::<Result<Vec<_>, _>>()?;
            // It stays a sum, because that shows in texts and in how it is compared.
            let (first, second) = (List::Owned(Arc::new(items)), List::Slice(&[]));
            return Ok(Val::List(List::Concat(Arc::new(Concat { first, second, len, depth: 0 }))));
        }
        Ok(Val::List(List::Concat(Arc::new(Concat { first: self, second: other, len, depth }))))
    }

    fn depth(&self) -> u32 {
        if let List::Concat(sum) = self { sum.depth } else { 0 }
    }

    /// Adds one item at the end of an accumulator, in place if it is not shared.
    pub(crate) fn push(self, item: Val<'a>) -> Outcome<'a> {
        match self {
            List::Owned(mut items) => {
                match Arc::get_mut(&mut items) {
                    Some(own) => own.push(item),
                    None => {
                        let mut copy = Vec::with_capacity(items.len() + 1);
                        copy.extend(items.iter().cloned());
                        copy.push(item);
                        items = Arc::new(copy);
                    }
                }
                Ok(Val::List(List::Owned(items)))
            }
            List::Slice([]) => Ok(Val::list(vec![item])),
            other => other.concat(List::Owned(Arc::new(vec![item]))),
        }
    }
}
