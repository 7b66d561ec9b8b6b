//! String maps, sorted by key: labels and annotations.

use smol_str::SmolStr;

use crate::object::ShapeError;
use crate::value::{Map, Value};

/// Sorted pairs; lookup is a binary search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringMap(Vec<(SmolStr, SmolStr)>);

impl StringMap {
    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.position(key).ok().map(|at| self.0[at].1.as_str())
    }

    /// Sets `key`.
    pub fn set(&mut self, key: impl Into<SmolStr>, value: impl Into<SmolStr>) {
        let (key, value) = (key.into(), value.into());
        match self.position(&key) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// Removes `key`.
    pub fn remove(&mut self, key: &str) -> Option<SmolStr> {
        self.position(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The pairs in the order of their keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Reads a map whose values must all be text; `field` is its path, for errors.
    pub fn from_value(value: Value, field: &str) -> Result<StringMap, ShapeError> {
        let Value::Map(map) = value else { return Err(ShapeError::at(field.to_owned(), &value)) };
        let mut pairs = Vec::with_capacity(map.len());
        for (key, value) in map {
            match value {
                Value::String(text) => pairs.push((key, text)),
                Value::Null => pairs.push((key, SmolStr::default())),
                other => return Err(ShapeError::at(format!("{field}.{key}"), &other)),
            }
        }
        Ok(pairs.into_iter().collect())
    }

    /// Writes the pairs as a tree.
    pub fn to_value(&self) -> Value {
        let map: Map =
            self.0.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect();
        Value::Map(map)
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(name, _)| name.as_str().cmp(key))
    }
}

impl FromIterator<(SmolStr, SmolStr)> for StringMap {
    /// Of pairs with the same key the last one is kept.
    fn from_iter<I: IntoIterator<Item = (SmolStr, SmolStr)>>(pairs: I) -> StringMap {
        let mut pairs: Vec<_> = pairs.into_iter().collect();
        pairs.reverse();
        pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
        pairs.dedup_by(|(later, _), (earlier, _)| later == earlier);
        StringMap(pairs)
    }
}
