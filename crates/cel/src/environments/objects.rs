//! Object types that Kubernetes declares for its own variables: the request, the namespace, users, devices, patches.

use std::collections::HashMap;
use std::sync::LazyLock;

use smol_str::SmolStr;

use crate::libraries;
use crate::types::{Type, TypeProvider};

const DECLARATIONS: &str = include_str!("types.txt");

/// The name of the type of `variables`.
pub(super) const VARIABLES: &str = "kubernetes.variables";

type Fields = HashMap<&'static str, Vec<(&'static str, Type)>>;

/// A line is the name of an object type, of a field, and the type of the field.
static FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    let mut fields = Fields::new();
    for line in DECLARATIONS.lines() {
        let mut words = line.splitn(3, ' ');
        if let (Some(object), Some(field), Some(of)) = (words.next(), words.next(), words.next())
            && let Some(of) = libraries::parse_type(of)
        {
            fields.entry(object).or_default().push((field, of));
        }
    }
    fields
});

/// The object types of one environment.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// The types of the variables that a policy composes, by name.
    pub(super) variables: Vec<(SmolStr, Type)>,
    /// Whether `Object{…}` and `JSONPatch{…}` may be written.
    pub(super) has_patch_types: bool,
    /// A field that is not declared, because its feature is off.
    pub(super) hidden: Option<&'static str>,
    /// The type of the attributes of devices, if it is not `any`.
    pub(super) attributes: Option<Type>,
}

/// `Object`, and the types of its fields such as `Object.spec`.
fn is_patch_object(name: &str) -> bool {
    name == "Object" || name.starts_with("Object.")
}

impl TypeProvider for Objects {
    fn has_type(&self, name: &str) -> bool {
        FIELDS.contains_key(name)
            || name == VARIABLES && !self.variables.is_empty()
            || self.has_patch_types && (name == "JSONPatch" || is_patch_object(name))
    }

    fn field(&self, type_name: &str, field: &str) -> Option<Type> {
        if type_name == VARIABLES {
            return self.variables.iter().find(|(name, _)| name == field).map(|(_, of)| of.clone());
        }
        if self.has_patch_types {
            match (type_name, field) {
                ("JSONPatch", "op" | "path" | "from") => return Some(Type::String),
                ("JSONPatch", "value") => return Some(Type::Dyn),
                _ if is_patch_object(type_name) => return Some(Type::Dyn),
                _ => {}
            }
        }
        if self.hidden == Some(field) {
            return None;
        }
        if field == "attributes"
            && let Some(of) = &self.attributes
        {
            return Some(of.clone());
        }
        FIELDS.get(type_name)?.iter().find(|(name, _)| *name == field).map(|(_, of)| of.clone())
    }

    fn names_scalars(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{DECLARATIONS, FIELDS};

    #[test]
    fn every_line_declares_a_field() {
        assert_eq!(FIELDS.values().map(Vec::len).sum::<usize>(), DECLARATIONS.lines().count());
    }
}
