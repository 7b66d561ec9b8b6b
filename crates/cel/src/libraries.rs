//! Libraries: the functions of Kubernetes' CEL environments, with their overloads in declaration order.
//!
//! Each library is a text file. A line declares one overload: the name of the function, the id of the overload, the
//! types of its arguments (with the receiver before the dot) and the type of its result:
//!
//! ```text
//! size string_size string.() -> int
//! ```
//!
//! The order of lines and of libraries is part of the contract: the checker tries overloads in this order.

mod signature;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use crate::types::Type;

/// A function with everything that may be called under its name.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name, such as `_+_` or `sets.contains`.
    pub name: &'static str,
    /// In declaration order.
    pub overloads: Vec<Arc<Overload>>,
}

/// One signature of a function.
#[derive(Debug)]
pub struct Overload {
    /// cel-go's or Kubernetes' id, such as `add_int64`.
    pub id: &'static str,
    /// Is the first argument the receiver?
    pub is_member: bool,
    /// With the receiver.
    pub arguments: Vec<Type>,
    /// What a call returns.
    pub result: Type,
    /// The type parameters that occur in it.
    pub parameters: Vec<&'static str>,
}

/// A set of functions that is declared as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the libraries")]
pub enum Library {
    Standard,
    Urls,
    Regex,
    KubernetesLists,
    Authz,
    Optionals,
    Quantity,
    StringsV0,
    StringsV2,
    Sets,
    Ip,
    Cidr,
    Format,
    AuthzSelectors,
    TwoVariables,
    Semver,
    ListsV3,
    /// `jsonpatch.escapeKey`: only for mutating admission policies.
    JsonPatch,
    /// `cel.bind`: only for device selectors. It has no functions.
    Bindings,
    /// `includes`: only for device selectors.
    DeviceIncludes,
}

impl Library {
    /// Every library with its declarations.
    const ALL: &[(Self, &str)] = &[
        (Self::Standard, include_str!("libraries/standard.txt")),
        (Self::Urls, include_str!("libraries/urls.txt")),
        (Self::Regex, include_str!("libraries/regex.txt")),
        (Self::KubernetesLists, include_str!("libraries/kubernetes_lists.txt")),
        (Self::Authz, include_str!("libraries/authz.txt")),
        (Self::Optionals, include_str!("libraries/optionals.txt")),
        (Self::Quantity, include_str!("libraries/quantity.txt")),
        (Self::StringsV0, include_str!("libraries/strings_v0.txt")),
        (Self::StringsV2, include_str!("libraries/strings_v2.txt")),
        (Self::Sets, include_str!("libraries/sets.txt")),
        (Self::Ip, include_str!("libraries/ip.txt")),
        (Self::Cidr, include_str!("libraries/cidr.txt")),
        (Self::Format, include_str!("libraries/format.txt")),
        (Self::AuthzSelectors, include_str!("libraries/authz_selectors.txt")),
        (Self::TwoVariables, include_str!("libraries/two_variables.txt")),
        (Self::Semver, include_str!("libraries/semver.txt")),
        (Self::ListsV3, include_str!("libraries/lists_v3.txt")),
        (Self::JsonPatch, include_str!("libraries/json_patch.txt")),
        (Self::Bindings, ""),
        (Self::DeviceIncludes, include_str!("libraries/device_includes.txt")),
    ];

    /// Abstract types whose names are values in expressions, such as `net.IP`.
    pub(crate) fn type_names(self) -> &'static [&'static str] {
        match self {
            Self::Ip => &["net.IP"],
            Self::Cidr => &["net.CIDR"],
            _ => &[],
        }
    }
}

/// Reads a type such as `map(string, list(int))`.
pub(crate) fn parse_type(text: &'static str) -> Option<Type> {
    signature::whole(text)
}

/// All functions of some libraries.
#[derive(Clone, Debug, Default)]
pub struct Functions(HashMap<&'static str, Function>);

impl Functions {
    /// The functions of these libraries; overloads are in the order of the libraries.
    pub fn of(libraries: &[Library]) -> Self {
        let mut functions = Self::default();
        for library in libraries {
            functions.add(*library);
        }
        functions
    }

    /// Adds a library behind the others.
    pub fn add(&mut self, library: Library) {
        for (name, overload) in DECLARATIONS.get(&library).into_iter().flatten() {
            let function = self.0.entry(name).or_insert_with(|| Function { name, overloads: Vec::new() });
            function.overloads.push(overload.clone());
        }
    }

    /// The function of this name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.0.get(name)
    }

    /// All functions, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Function> {
        self.0.values()
    }
}

type Declarations = HashMap<Library, Vec<(&'static str, Arc<Overload>)>>;

/// The overload of this id in any library.
pub(crate) fn overload(id: &str) -> Option<&'static Overload> {
    static BY_ID: LazyLock<HashMap<&'static str, &'static Overload>> = LazyLock::new(|| {
        DECLARATIONS.values().flatten().map(|(_, overload)| (overload.id, &**overload)).collect()
    });
    BY_ID.get(id).copied()
}

/// The tables, read once.
static DECLARATIONS: LazyLock<Declarations> = LazyLock::new(|| {
    Library::ALL
        .iter()
        .map(|(library, text)| (*library, text.lines().filter_map(signature::overload).collect()))
        .collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_declaration() {
        for (library, overloads) in DECLARATIONS.iter() {
            let text = Library::ALL.iter().find(|(known, _)| known == library).unwrap().1;
            assert_eq!(overloads.len(), text.lines().count(), "{library:?}");
        }
    }

    #[test]
    fn signatures_are_read_with_their_parameters() {
        let functions = Functions::of(&[Library::Standard, Library::Optionals]);
        let index = functions.get("_[_]").unwrap();
        let shown: Vec<_> = index
            .overloads
            .iter()
            .map(|o| format!("{} {} {:?}", o.id, Type::list(o.arguments[0].clone()), o.parameters))
            .collect();
        assert_eq!(
            shown,
            [
                "index_list list(list(A)) [\"A\"]",
                "index_map list(map(A, B)) [\"A\", \"B\"]",
                "optional_list_index_int list(optional_type(list(V))) [\"V\"]",
                "optional_map_index_value list(optional_type(map(K, V))) [\"K\", \"V\"]",
            ]
        );
    }

    #[test]
    fn libraries_add_overloads_in_their_order() {
        let functions = Functions::of(&[Library::KubernetesLists, Library::StringsV2]);
        let ids: Vec<_> = functions.get("indexOf").unwrap().overloads.iter().map(|o| o.id).collect();
        assert_eq!(ids, ["list_a_index_of_int", "string_index_of_string", "string_index_of_string_int"]);
    }
}
