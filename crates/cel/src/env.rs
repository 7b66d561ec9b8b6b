//! Environments: which variables, functions, macros and types an expression may use.
//!
//! Kubernetes adds libraries with its minor versions. New expressions may only use what the oldest version that a
//! cluster can roll back to understands; stored expressions may use everything.

use std::sync::{Arc, LazyLock};

use smol_str::SmolStr;

use crate::ast::{Ast, Checked};
use crate::check;
use crate::libraries::{Functions, Library};
use crate::parser::{self, Macros};
use crate::source::Issues;
use crate::types::{Param, Type, TypeProvider};
use crate::validate;

/// A library of the base environment: from which minor version of Kubernetes 1 on, and before which.
struct Versioned {
    introduced: u32,
    removed: u32,
    library: Library,
}

const fn since(introduced: u32, library: Library) -> Versioned {
    Versioned { introduced, removed: u32::MAX, library }
}

/// In the order in which upstream declares them, because overloads are tried in this order.
/// Upstream: apiserver/pkg/cel/environment/base.go (v1.36.4).
const BASE: &[Versioned] = &[
    since(0, Library::Standard),
    since(0, Library::Urls),
    since(0, Library::Regex),
    since(0, Library::KubernetesLists),
    since(27, Library::Authz),
    since(28, Library::Optionals),
    since(28, Library::Quantity),
    Versioned { introduced: 0, removed: 29, library: Library::StringsV0 },
    since(29, Library::StringsV2),
    since(29, Library::Sets),
    since(30, Library::Ip),
    since(30, Library::Cidr),
    since(31, Library::Format),
    since(31, Library::AuthzSelectors),
    since(32, Library::TwoVariables),
    since(33, Library::Semver),
    since(34, Library::ListsV3),
];

/// The minor version in which the validators of literals came.
const VALIDATORS: u32 = 29;

/// What all expressions of a kind may use; variables and object types come on top.
#[derive(Debug)]
struct Base {
    functions: Functions,
    macros: Macros,
    type_names: Vec<&'static str>,
    validates_literals: bool,
}

impl Base {
    fn of_version(minor: u32) -> Self {
        let libraries: Vec<Library> = BASE
            .iter()
            .filter(|entry| entry.introduced <= minor && minor < entry.removed)
            .map(|entry| entry.library)
            .collect();
        let mut base = Self {
            functions: Functions::default(),
            macros: Macros { standard: true, ..Macros::default() },
            type_names: Vec::new(),
            validates_literals: minor >= VALIDATORS,
        };
        libraries.into_iter().for_each(|library| base.add(library));
        base
    }

    fn add(&mut self, library: Library) {
        self.functions.add(library);
        self.type_names.extend(library.type_names());
        match library {
            Library::Optionals => self.macros.optional = true,
            Library::TwoVariables => self.macros.two_variables = true,
            Library::ListsV3 => self.macros.sort_by = true,
            Library::Bindings => self.macros.bind = true,
            _ => {}
        }
    }
}

static STORED: LazyLock<Arc<Base>> = LazyLock::new(|| Arc::new(Base::of_version(u32::MAX - 1)));

/// What an expression may use.
#[derive(Clone)]
pub struct Env {
    base: Arc<Base>,
    variables: Vec<(SmolStr, Type)>,
    provider: Arc<dyn TypeProvider + Send + Sync>,
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").field("variables", &self.variables).finish_non_exhaustive()
    }
}

impl Env {
    /// For expressions that are stored already, and for configuration files: everything.
    pub fn stored() -> Self {
        Self::new(STORED.clone())
    }

    /// For expressions that are written now, while a rollback to Kubernetes 1.`minor` must be possible.
    pub fn for_version(minor: u32) -> Self {
        let newest = BASE.iter().map(|entry| entry.introduced).max().unwrap_or_default();
        if minor >= newest { Self::stored() } else { Self::new(Arc::new(Base::of_version(minor))) }
    }

    fn new(base: Arc<Base>) -> Self {
        Self { base, variables: Vec::new(), provider: Arc::new(()) }
    }

    /// With one more variable.
    #[must_use]
    pub fn with_variable(mut self, name: &str, of: Type) -> Self {
        self.variables.push((SmolStr::new(name), of));
        self
    }

    /// With these object types instead of the previous ones.
    #[must_use]
    pub fn with_types(mut self, provider: Arc<dyn TypeProvider + Send + Sync>) -> Self {
        self.provider = provider;
        self
    }

    /// With a library that is not in the base: [`Library::Bindings`], [`Library::JsonPatch`],
    /// [`Library::DeviceIncludes`]. Make such an environment once and keep it.
    #[must_use]
    pub fn with_library(mut self, library: Library) -> Self {
        let mut base = Base {
            functions: self.base.functions.clone(),
            macros: self.base.macros,
            type_names: self.base.type_names.clone(),
            validates_literals: self.base.validates_literals,
        };
        base.add(library);
        self.base = Arc::new(base);
        self
    }

    /// Parses an expression and expands its macros.
    pub fn parse(&self, text: &str) -> Result<Ast, Issues> {
        parser::parse(text, self.base.macros)
    }

    /// Parses and checks an expression.
    pub fn compile(&self, text: &str) -> Result<Checked, Issues> {
        let ast = self.parse(text)?;
        let checked = check::check(self, ast, text)?;
        if self.base.validates_literals {
            validate::validate(&checked, text)?;
        }
        Ok(checked)
    }

    /// The functions that may be called.
    pub fn functions(&self) -> &Functions {
        &self.base.functions
    }

    /// The object types.
    pub fn types(&self) -> &(dyn TypeProvider + Send + Sync) {
        self.provider.as_ref()
    }

    /// The variables in the order in which they were added.
    pub fn variables(&self) -> &[(SmolStr, Type)] {
        &self.variables
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&(SmolStr, Type)> {
        self.variables.iter().rev().find(|(declared, _)| declared == name)
    }

    /// The type that this name stands for.
    pub(crate) fn named_type(&self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "google.protobuf.Duration" => Type::Duration,
            "int" => Type::Int,
            "list" => Type::list(Type::Param(Param::Named("A"))),
            "map" => Type::map(Type::Param(Param::Named("A")), Type::Param(Param::Named("B"))),
            "null_type" => Type::Null,
            "string" => Type::String,
            "google.protobuf.Timestamp" => Type::Timestamp,
            "type" => Type::Type(None),
            "uint" => Type::Uint,
            "optional_type" if self.base.macros.optional => Type::opaque("optional_type"),
            _ => match self.base.type_names.iter().find(|known| **known == name) {
                Some(opaque) => Type::opaque(opaque),
                None if self.provider.has_type(name) => Type::object(name),
                None => return None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(env: &Env, expression: &str, expected: &str) {
        let found = match env.compile(expression) {
            Ok(checked) => checked.output_type().to_string(),
            Err(issues) => issues.iter().map(|issue| issue.message.clone()).collect::<Vec<_>>().join("; "),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn libraries_come_with_versions() {
        let undeclared = |names: [&str; 2]| {
            names.map(|name| format!("undeclared reference to '{name}' (in container '')")).join("; ")
        };
        check(&Env::for_version(33), "lists.range(3)", &undeclared(["lists", "range"]));
        check(&Env::for_version(34), "lists.range(3)", "list(int)");
        check(&Env::stored(), "lists.range(3)", "list(int)");
        check(
            &Env::for_version(32),
            "isSemver('1.0.0')",
            "undeclared reference to 'isSemver' (in container '')",
        );
        check(
            &Env::for_version(28),
            "'%s'.format(['a'])",
            "undeclared reference to 'format' (in container '')",
        );
    }

    #[test]
    fn some_libraries_are_for_single_users() {
        let issues = Env::stored().with_variable("a", Type::Int).compile("cel.bind(a, 1, a)").unwrap_err();
        assert!(issues.to_string().contains("undeclared reference to 'bind'"), "{issues}");
        check(&Env::stored().with_library(Library::Bindings), "cel.bind(a, 1, a)", "int");
        check(&Env::stored().with_library(Library::JsonPatch), "jsonpatch.escapeKey('a/b')", "string");
        check(&Env::stored().with_library(Library::DeviceIncludes), "dyn([1]).includes(1)", "bool");
    }

    #[test]
    fn the_longest_declared_name_wins() {
        let env = Env::stored()
            .with_variable("a", Type::map(Type::String, Type::Int))
            .with_variable("a.b", Type::Bool);
        check(&env, "a.b", "bool");
        check(&env, "a.c", "int");
        check(&env, ".a.b", "bool");
    }
}
