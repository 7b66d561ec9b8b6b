//! Environments of the features that are written in CEL: which variables each of them has.
//!
//! Every constructor extends a base: [`Env::stored`] for expressions that are stored (upstream's `StoredExpressions`),
//! [`Env::for_version`] for those that are written now (`NewExpressions`). Make an environment once and keep it.
//!
//! | feature                                | constructor                 | variables |
//! |----------------------------------------|-----------------------------|-----------|
//! | rules of custom resources              | [`rules`]                   | `self`, `oldSelf` |
//! | admission policies                     | [`Admission::env`]          | `object`, `oldObject`, `request`, `namespaceObject`, `params`, `authorizer`, `variables` |
//! | match conditions of webhooks           | [`match_conditions`]        | `object`, `oldObject`, `request`, `namespaceObject`, `authorizer` |
//! | mapping of claims, rules about claims  | [`claims`]                  | `claims` |
//! | rules about users                      | [`user`]                    | `user` |
//! | match conditions of authorizers        | [`subject_access_review`]   | `request` |
//! | device selectors                       | [`devices`]                 | `device` |
//!
//! ```
//! use keelson_cel::environments::{self, Admission};
//! use keelson_cel::program::Program;
//! use keelson_cel::run::{Options, PER_CALL_LIMIT};
//! use keelson_cel::value::Val;
//! use keelson_cel::Env;
//! use keelson_object::{Map, Value};
//!
//! let env = Admission { has_params: true, ..Admission::default() }.env(Env::stored());
//! let checked = env.compile("object.replicas <= params.max").expect("it compiles");
//! let program = Program::new(&checked).expect("it can be planned");
//!
//! let number = |name: &str, value: i64| {
//!     let mut map = Map::new();
//!     map.set(name, value);
//!     Value::Map(map)
//! };
//! let (object, params) = (number("replicas", 3), number("max", 5));
//! let variables = [("object", Val::json(&object)), ("params", Val::json(&params))];
//! let options = Options { cost_limit: Some(PER_CALL_LIMIT), ..Options::default() };
//! let evaluated = program.evaluate(&variables, options);
//! assert_eq!(evaluated.outcome.expect("a value").as_bool(), Some(true));
//! assert_eq!(evaluated.cost, 5);
//! ```

mod devices;
mod objects;

use std::sync::Arc;

use keelson_structural::Schema;
use smol_str::SmolStr;

use crate::ast::Checked;
use crate::declared::{Declared, DeclaredTypes};
use crate::env::Env;
use crate::estimate::{Range, estimate};
use crate::libraries::Library;
use crate::source::Issues;
use crate::types::Type;

pub(crate) use devices::LIST_VALUES;
pub use devices::{DeviceFeatures, DeviceSizes, devices};
use objects::{Objects, VARIABLES};

/// The name of the type of `self`. Upstream adds a number that is another one on each compilation.
const SELF_TYPE: &str = "selfType";

/// The environment of the rules at one node of a structural schema.
#[derive(Clone, Debug)]
pub struct Rules {
    env: Env,
    types: Arc<DeclaredTypes>,
}

/// How a rule sees `oldSelf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OldSelf {
    /// The rule runs only if there is an old value.
    #[default]
    Value,
    /// `optionalOldSelf: true`: an optional.
    Optional,
}

/// The environment of the rules at a node; `None` if expressions cannot see values of this schema. The schema of the
/// root of a resource comes from [`with_type_and_object_meta`](crate::schema::with_type_and_object_meta).
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/schema/cel/compilation.go, prepareEnvSet (v1.36.4).
pub fn rules(base: Env, schema: &Schema, old_self: OldSelf) -> Option<Rules> {
    let types = Arc::new(DeclaredTypes::new(SELF_TYPE, Declared::of_schema(schema, SELF_TYPE)?));
    let of = types.root.of.clone();
    let old = match old_self {
        OldSelf::Value => of.clone(),
        OldSelf::Optional => Type::optional(of.clone()),
    };
    let env = base.with_types(types.clone()).with_variable("self", of).with_variable("oldSelf", old);
    Some(Rules { env, types })
}

impl Rules {
    /// The environment itself.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// Parses and checks a rule.
    pub fn compile(&self, rule: &str) -> Result<Checked, Issues> {
        self.env.compile(rule)
    }

    /// The type of `self`, with the sizes that follow from the limits of the schema.
    pub fn declared(&self) -> &Declared {
        &self.types.root
    }

    /// The least and the most that a rule can cost, by the limits of the schema.
    pub fn estimate(&self, rule: &Checked) -> Range {
        estimate(rule, self.types.as_ref())
    }
}

/// What the expressions of an admission policy may use: upstream's `OptionalVariableDeclarations`.
#[derive(Clone, Debug, Default)]
pub struct Admission {
    /// Whether the policy has parameters: `params`.
    pub has_params: bool,
    /// Whether there is an authorizer: `authorizer`, `authorizer.requestResource`.
    pub has_authorizer: bool,
    /// Whether the expression makes a patch: `Object{…}`, `JSONPatch{…}`, `jsonpatch.escapeKey`.
    pub has_patch_types: bool,
    /// The variables that the policy composed before this expression, with the types of their expressions.
    pub variables: Vec<(SmolStr, Type)>,
}

impl Admission {
    /// The environment.
    ///
    /// Upstream: apiserver/pkg/admission/plugin/cel/compile.go, createEnvForOpts (v1.36.4).
    pub fn env(self, base: Env) -> Env {
        let mut env = base
            .with_variable("object", Type::Dyn)
            .with_variable("oldObject", Type::Dyn)
            .with_variable("namespaceObject", Type::object("kubernetes.Namespace"))
            .with_variable("request", Type::object("kubernetes.AdmissionRequest"));
        if self.has_params {
            env = env.with_variable("params", Type::Dyn);
        }
        if self.has_authorizer {
            let check = Type::object("kubernetes.authorization.ResourceCheck");
            env = env
                .with_variable("authorizer", Type::object("kubernetes.authorization.Authorizer"))
                .with_variable("authorizer.requestResource", check);
        }
        if !self.variables.is_empty() {
            env = env.with_variable("variables", Type::object(VARIABLES));
        }
        if self.has_patch_types {
            env = env.with_library(Library::JsonPatch);
        }
        let objects = Objects {
            variables: self.variables,
            has_patch_types: self.has_patch_types,
            ..Objects::default()
        };
        env.with_types(Arc::new(objects))
    }
}

/// Match conditions of admission webhooks.
pub fn match_conditions(base: Env) -> Env {
    Admission { has_authorizer: true, ..Admission::default() }.env(base)
}

/// Expressions about the claims of a token.
///
/// Upstream: apiserver/pkg/authentication/cel/compile.go, mustBuildEnvs (v1.36.4).
pub fn claims(base: Env) -> Env {
    with_objects(base).with_variable("claims", Type::map(Type::String, Type::Any))
}

/// Rules about the user that was made of a token.
///
/// Upstream: apiserver/pkg/authentication/cel/compile.go, mustBuildEnvs (v1.36.4).
pub fn user(base: Env) -> Env {
    with_objects(base).with_variable("user", Type::object("kubernetes.UserInfo"))
}

/// Match conditions of authorization webhooks.
///
/// Upstream: apiserver/pkg/authorization/cel/compile.go, mustBuildEnv (v1.36.4).
pub fn subject_access_review(base: Env) -> Env {
    with_objects(base).with_variable("request", Type::object("kubernetes.SubjectAccessReviewSpec"))
}

fn with_objects(base: Env) -> Env {
    base.with_types(Arc::new(Objects::default()))
}
