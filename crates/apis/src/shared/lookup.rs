//! Lookups of many keys in a map of any size.

use std::collections::HashMap;

use keelson_object::{Map, Value};

/// Maps of up to this many keys are searched linearly, which is faster than hashing.
const SMALL: usize = 16;

/// Finds the entries of a map: `n` lookups in a map of `m` keys take no more than `n + m` steps.
pub(crate) enum Lookup<'m> {
    /// A map with few keys, or none at all.
    Small(Option<&'m Map>),
    /// A map with many keys.
    Large(HashMap<&'m str, &'m Value>),
}

impl<'m> Lookup<'m> {
    /// The entries of `map`.
    pub(crate) fn of(map: Option<&'m Map>) -> Lookup<'m> {
        match map {
            Some(map) if map.len() > SMALL => {
                Lookup::Large(map.iter().map(|(key, value)| (key.as_str(), value)).collect())
            }
            _ => Lookup::Small(map),
        }
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&'m Value> {
        match self {
            Lookup::Small(map) => (*map)?.get(key),
            Lookup::Large(entries) => entries.get(key).copied(),
        }
    }

    /// Whether `key` is there.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

#[cfg(test)]
mod tests {
    use keelson_object::{Map, Value};

    use super::Lookup;

    #[test]
    fn small_and_large_maps_are_looked_up_alike() {
        for size in [0, 1, 16, 17, 100] {
            let map: Map =
                (0..size).map(|number| (format!("k{number}").into(), Value::Int(number))).collect();
            let lookup = Lookup::of(Some(&map));
            for number in 0..size {
                assert_eq!(lookup.get(&format!("k{number}")), Some(&Value::Int(number)), "of {size}");
            }
            assert!(!lookup.contains("other"), "of {size}");
        }
        assert!(!Lookup::of(None).contains("any"));
    }
}
