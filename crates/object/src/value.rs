//! Value tree: the form of every object between decoding and freezing.
//!
//! A [`Map`] is a vector of pairs, not a hash table: API objects have few keys per level, order matters on the
//! wire, and a vector costs a third of the memory (docs/object-model.md has the figures).

use smol_str::SmolStr;

/// One node of the tree.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// JSON `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    String(SmolStr),
    /// An array.
    List(Vec<Value>),
    /// An object of the encoding, a map or a struct of the API.
    Map(Map),
}

impl Value {
    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    /// The number, if this is a whole number.
    pub fn as_int(&self) -> Option<i64> {
        if let Value::Int(number) = self { Some(*number) } else { None }
    }

    /// The boolean, if this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(truth) = self { Some(*truth) } else { None }
    }

    /// The map, if this is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    /// The map to edit, if this is one.
    pub fn as_map_mut(&mut self) -> Option<&mut Map> {
        if let Value::Map(map) = self { Some(map) } else { None }
    }

    /// The items, if this is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    /// The list to edit, if this is one.
    pub fn as_list_mut(&mut self) -> Option<&mut Vec<Value>> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether Go would call this the zero value of its type: `null`, `false`, `0`, empty.
    pub fn is_empty(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(truth) => !truth,
            Value::Int(number) => *number == 0,
            Value::Float(number) => *number == 0.0,
            Value::String(text) => text.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Map(map) => map.is_empty(),
        }
    }

    /// The JSON type: `string`, `number`, `bool`, `array`, `object`, `null`.
    pub fn json_type(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "object",
        }
    }

    /// Sorts the keys of all maps in this tree by name, as they are after Go has read a tree and written it
    /// again.
    pub fn sort_all_keys(&mut self) {
        let mut open = vec![self];
        while let Some(value) = open.pop() {
            match value {
                Value::Map(map) => {
                    map.sort_keys();
                    open.extend(map.iter_mut().map(|(_, value)| value));
                }
                Value::List(items) => open.extend(items),
                _ => {}
            }
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a == b,
            (Value::String(a), Value::String(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => a == b,
            _ => false,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.into())
    }
}

impl From<SmolStr> for Value {
    fn from(text: SmolStr) -> Value {
        Value::String(text)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Value {
        Value::Map(map)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::List(items)
    }
}

/// Keys and values in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub struct Map(Vec<(SmolStr, Value)>);

impl Map {
    /// An empty map.
    pub const fn new() -> Map {
        Map(Vec::new())
    }

    /// An empty map with room for `capacity` keys.
    pub fn with_capacity(capacity: usize) -> Map {
        Map(Vec::with_capacity(capacity))
    }

    /// A map of pairs whose keys the caller knows to be distinct.
    pub fn from_distinct(pairs: Vec<(SmolStr, Value)>) -> Map {
        Map(pairs)
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The value of `key`, to edit.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Whether `key` exists.
    pub fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets `key`, in place if it exists, otherwise at the end.
    pub fn set(&mut self, key: impl Into<SmolStr>, value: impl Into<Value>) {
        let (key, value) = (key.into(), value.into());
        match self.get_mut(&key) {
            Some(slot) => *slot = value,
            None => self.0.push((key, value)),
        }
    }

    /// Appends a key that the caller knows to be new: building a map of n keys with this is O(n).
    pub fn push_new(&mut self, key: impl Into<SmolStr>, value: impl Into<Value>) {
        self.0.push((key.into(), value.into()));
    }

    /// Removes `key`.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let position = self.0.iter().position(|(name, _)| name == key)?;
        Some(self.0.remove(position).1)
    }

    /// Sets `key` if it is absent or null.
    pub fn default_to(&mut self, key: &str, value: impl Into<Value>) {
        match self.get_mut(key) {
            Some(slot) if slot.is_null() => *slot = value.into(),
            Some(_) => {}
            None => self.0.push((key.into(), value.into())),
        }
    }

    /// Sets `key` to its value in `other`, or removes it if `other` does not have it.
    pub fn keep(&mut self, key: &str, other: &Map) {
        match other.get(key) {
            Some(value) => self.set(key, value.clone()),
            None => {
                self.remove(key);
            }
        }
    }

    /// The map at `key`.
    pub fn map(&self, key: &str) -> Option<&Map> {
        self.get(key)?.as_map()
    }

    /// The map at `key`, created if it is absent or something else.
    pub fn map_mut(&mut self, key: &str) -> &mut Map {
        let position = match self.0.iter().position(|(name, _)| name == key) {
            Some(position) => position,
            None => {
                self.0.push((key.into(), Value::Null));
                self.0.len() - 1
            }
        };
        let slot = &mut self.0[position].1;
        if !matches!(slot, Value::Map(_)) {
            *slot = Value::Map(Map::new());
        }
        slot.as_map_mut().expect("the slot was made a map above")
    }

    /// The items of the list at `key`; empty if there is no list.
    pub fn list(&self, key: &str) -> &[Value] {
        self.get(key).and_then(Value::as_list).unwrap_or_default()
    }

    /// The strings in the list at `key`.
    pub fn strings(&self, key: &str) -> impl Iterator<Item = &str> {
        self.list(key).iter().filter_map(Value::as_str)
    }

    /// The maps among the items of the list at `key`.
    pub fn maps(&self, key: &str) -> impl Iterator<Item = &Map> {
        self.list(key).iter().filter_map(Value::as_map)
    }

    /// The text at `key`.
    pub fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// The whole number at `key`.
    pub fn int(&self, key: &str) -> Option<i64> {
        self.get(key)?.as_int()
    }

    /// The boolean at `key`.
    pub fn bool(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    /// The value at a dotted path of keys: `spec.nodeName`.
    pub fn at(&self, path: &str) -> Option<&Value> {
        match path.split_once('.') {
            Some((key, rest)) => self.map(key)?.at(rest),
            None => self.get(path),
        }
    }

    /// The pairs, for sorting. Keys stay distinct.
    pub fn pairs_mut(&mut self) -> &mut Vec<(SmolStr, Value)> {
        &mut self.0
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&SmolStr, &Value)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The pair at `position`: for walks with their own stack.
    pub fn nth(&self, position: usize) -> Option<(&SmolStr, &Value)> {
        self.0.get(position).map(|(key, value)| (key, value))
    }

    /// Keys and values in order, values to edit.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&SmolStr, &mut Value)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// Keeps the pairs for which `wanted` holds.
    pub fn retain(&mut self, mut wanted: impl FnMut(&str, &mut Value) -> bool) {
        self.0.retain_mut(|(key, value)| wanted(key, value));
    }

    /// Sorts the keys by `rank`; equal ranks by name.
    pub fn sort_by_rank(&mut self, mut rank: impl FnMut(&str) -> u32) {
        self.0.sort_by(|(a, _), (b, _)| rank(a).cmp(&rank(b)).then_with(|| a.cmp(b)));
    }

    /// Sorts the keys by name, as Go writes maps.
    pub fn sort_keys(&mut self) {
        self.0.sort_by(|(a, _), (b, _)| a.cmp(b));
    }

    /// Sorts the keys by name, also those of all maps in the values.
    pub fn sort_all_keys(&mut self) {
        self.sort_keys();
        self.0.iter_mut().for_each(|(_, value)| value.sort_all_keys());
    }
}

impl PartialEq for Map {
    /// The order does not matter.
    fn eq(&self, other: &Map) -> bool {
        self.len() == other.len()
            && self.0.iter().zip(&other.0).all(|((key, value), (name, there))| {
                if key == name { value == there } else { other.get(key) == Some(value) }
            })
    }
}

impl FromIterator<(SmolStr, Value)> for Map {
    /// The keys must be distinct.
    fn from_iter<I: IntoIterator<Item = (SmolStr, Value)>>(pairs: I) -> Map {
        Map(pairs.into_iter().collect())
    }
}

impl IntoIterator for Map {
    type Item = (SmolStr, Value);
    type IntoIter = std::vec::IntoIter<(SmolStr, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Map, Value};

    fn map(pairs: &[(&str, i64)]) -> Map {
        pairs.iter().map(|(key, number)| ((*key).into(), Value::Int(*number))).collect()
    }

    #[test]
    fn equality_ignores_order() {
        assert_eq!(map(&[("a", 1), ("b", 2)]), map(&[("b", 2), ("a", 1)]));
        assert_ne!(map(&[("a", 1), ("b", 2)]), map(&[("b", 1), ("a", 2)]));
        assert_ne!(map(&[("a", 1)]), map(&[("a", 1), ("b", 2)]));
    }

    #[test]
    fn a_dotted_path_walks_maps() {
        let mut root = Map::new();
        root.map_mut("spec").set("nodeName", "n1");
        assert_eq!(root.at("spec.nodeName").and_then(Value::as_str), Some("n1"));
        assert_eq!(root.at("spec.nodeName.deeper"), None);
        assert_eq!(root.at("status.phase"), None);
    }

    #[test]
    fn defaults_fill_only_what_is_absent_or_null() {
        let mut spec = map(&[("replicas", 3)]);
        spec.set("paused", Value::Null);
        spec.default_to("replicas", 1);
        spec.default_to("paused", false);
        spec.default_to("revisionHistoryLimit", 10);
        assert_eq!(spec.int("replicas"), Some(3));
        assert_eq!(spec.bool("paused"), Some(false));
        assert_eq!(spec.int("revisionHistoryLimit"), Some(10));
    }

    #[test]
    fn keep_copies_or_removes() {
        let mut new = map(&[("status", 1)]);
        new.keep("status", &Map::new());
        assert!(!new.contains("status"));
        new.keep("status", &map(&[("status", 7)]));
        assert_eq!(new.int("status"), Some(7));
    }

    #[test]
    fn a_node_stays_small() {
        assert_eq!(std::mem::size_of::<Value>(), 32);
    }
}
