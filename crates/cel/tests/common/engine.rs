//! The engine in an environment that is written as JSON: the one of the golden data, or one of a differential run.
#![allow(clippy::unwrap_used, reason = "a case that cannot be read fails")]
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::sync::Arc;

use keelson_cel::authz::{Check, Decision, Decisions, ResourceTarget, Subject, Target};
use keelson_cel::declared::{Declared, DeclaredTypes};
use keelson_cel::estimate::{Range, Sizes, estimate};
use keelson_cel::fail::{Cause, Outcome};
use keelson_cel::library::net::{parse_cidr, parse_ip};
use keelson_cel::program::Program;
use keelson_cel::run::{Evaluated, Options, PER_CALL_LIMIT, Variables};
use keelson_cel::types::Type;
use keelson_cel::value::{Opaque, Timestamp, Val};
use keelson_cel::{Env, Library};
use keelson_object::Value as Tree;
use keelson_object::scalar::Duration;
use keelson_structural::Schema;
use serde_json::{Value, json};

use super::schema::schema;
use super::values::{self, show};

/// The environment of the golden data: variables of many types, and `self` with a schema.
pub(crate) const ENVIRONMENT: &str = include_str!("../../testdata/environment.json");

/// The engine in one environment.
pub(crate) struct Engine {
    pub(crate) env: Env,
    types: Option<Arc<DeclaredTypes>>,
    schema: Arc<Schema>,
    variables: BTreeMap<String, String>,
    is_old_optional: bool,
}

impl Engine {
    /// In the environment of the golden data.
    pub(crate) fn golden() -> Self {
        Self::of(&serde_json::from_str(ENVIRONMENT).unwrap())
    }

    /// In an environment as the oracle's questions describe it: `vars`, `schema`, `oldSelf`.
    pub(crate) fn of(environment: &Value) -> Self {
        let mut env = Env::stored().with_library(Library::Bindings);
        let schema = schema(&environment["schema"]);
        let old_self = environment["oldSelf"].as_str().unwrap_or_default();
        let types = Declared::of_schema(&schema, "selfType")
            .map(|root| Arc::new(DeclaredTypes::new("selfType", root)));
        if let Some(types) = &types {
            let of = types.root.of.clone();
            env = env.with_types(types.clone()).with_variable("self", of.clone());
            match old_self {
                "value" => env = env.with_variable("oldSelf", of),
                "optional" => env = env.with_variable("oldSelf", Type::optional(of)),
                _ => {}
            }
        }
        let mut variables = BTreeMap::new();
        for (name, of) in environment["vars"].as_object().into_iter().flatten() {
            let of = of.as_str().unwrap();
            env = env.with_variable(name, parse_type(of));
            variables.insert(name.clone(), of.to_owned());
        }
        Self { env, types, schema, variables, is_old_optional: old_self == "optional" }
    }

    /// What the checker and the estimator say, in the form of the oracle's answers.
    pub(crate) fn check(&self, expression: &str) -> Value {
        match self.env.compile(expression) {
            Err(issues) => json!({"issues": issues.to_string()}),
            Ok(checked) => self.checked(&checked),
        }
    }

    /// What the checker, the estimator and the planner say.
    pub(crate) fn plan(&self, expression: &str) -> Value {
        let checked = match self.env.compile(expression) {
            Err(issues) => return json!({"issues": issues.to_string()}),
            Ok(checked) => checked,
        };
        let mut answer = self.checked(&checked);
        if let Err(error) = Program::new(&checked) {
            answer["program"] = json!(error.to_string());
        }
        answer
    }

    fn checked(&self, checked: &keelson_cel::ast::Checked) -> Value {
        let sizes: &dyn Sizes = match &self.types {
            Some(types) => types.as_ref(),
            None => &(),
        };
        let Range { min, max } = estimate(checked, sizes);
        json!({"type": checked.output_type().to_string(), "min": min, "max": max})
    }

    /// The whole answer, in the form of the oracle's.
    pub(crate) fn answer(&self, input: &Input<'_>, expression: &str) -> Value {
        let checked = match self.env.compile(expression) {
            Ok(checked) => checked,
            Err(issues) => return json!({"issues": issues.to_string()}),
        };
        let mut answer = self.checked(&checked);
        let program = match Program::new(&checked) {
            Ok(program) => program,
            Err(error) => {
                answer["program"] = json!(error.to_string());
                return answer;
            }
        };
        let mut decisions = Decisions::new();
        while let Err(check) = evaluate(&program, input, &decisions, &mut answer) {
            let decision = decide(&check);
            decisions.add(check, decision);
        }
        answer
    }

    /// Variables with these values.
    pub(crate) fn input(&self, values: &Value) -> Input<'_> {
        // Upstream, a variable that is read twice is the same value, also as the key of a map.
        let checks = self.variables.iter().filter_map(|(name, of)| match of.as_str() {
            "authorizer" => Some((name.clone(), Val::opaque(Opaque::Authorizer(Subject::User)))),
            "resourcecheck" => Some((name.clone(), request_resource())),
            "quantity" => {
                let quantity = Opaque::quantity(values[name].as_str()?).ok()?;
                Some((name.clone(), Val::opaque(quantity)))
            }
            _ => None,
        });
        Input { engine: self, checks: checks.collect(), tree: values::tree(values) }
    }
}

/// Evaluates and adds value, error and cost to the answer; fails if a decision is needed first.
fn evaluate(
    program: &Program,
    input: &Input<'_>,
    decisions: &Decisions,
    answer: &mut Value,
) -> Result<(), Check> {
    let options =
        Options { cost_limit: Some(PER_CALL_LIMIT), decisions: Some(decisions), ..Options::default() };
    let Evaluated { outcome, cost } = program.evaluate(input, options);
    match &outcome {
        Ok(value) => answer["value"] = show(value),
        Err(failure) => match failure.cause() {
            Cause::NeedsDecision(check) => return Err((**check).clone()),
            _ => answer["error"] = json!(failure.to_string()),
        },
    }
    answer["cost"] = json!(cost);
    Ok(())
}

/// The answers of the oracle's authorizer.
fn decide(check: &Check) -> Decision {
    let (resource, path) = match &check.target {
        Target::Path(path) => ("", path.as_str()),
        Target::Resource(target) => (target.resource.as_str(), ""),
    };
    if check.verb == "error" {
        return Decision { error: Some("the authorizer failed".into()), ..Decision::default() };
    }
    if check.verb == "get" || resource == "pods" || path == "/healthz" {
        let reason = format!("allowed to {}", check.verb).into();
        return Decision { allowed: true, reason, error: None };
    }
    let user = match &check.subject {
        Subject::User => "alice".to_owned(),
        Subject::ServiceAccount { namespace, name } => format!("system:serviceaccount:{namespace}:{name}"),
    };
    Decision { allowed: false, reason: format!("denied for {user}").into(), error: None }
}

/// The values of the variables.
pub(crate) struct Input<'e> {
    engine: &'e Engine,
    /// Values that are made once.
    checks: BTreeMap<String, Val<'static>>,
    tree: Tree,
}

impl Variables for Input<'_> {
    fn get<'s>(&'s self, name: &str) -> Option<Outcome<'s>> {
        let value = self.tree.as_map()?.get(name)?;
        if let Some(check) = self.checks.get(name) {
            return Some(Ok(check.clone()));
        }
        let is_typed = self.engine.types.is_some() && (name == "self" || name == "oldSelf");
        if !is_typed {
            let of = self.engine.variables.get(name).map_or("dyn", String::as_str);
            return Some(Ok(declared(value, of)));
        }
        if name == "oldSelf" && self.engine.is_old_optional {
            if value.is_null() {
                return Some(Ok(Val::none()));
            }
            return Some(Val::typed(value, &self.engine.schema).map(Val::some));
        }
        Some(Val::typed(value, &self.engine.schema))
    }
}

/// A value of JSON as a variable of this type.
fn declared<'a>(value: &'a Tree, of: &str) -> Val<'a> {
    if let Some(inner) = of.strip_prefix("optional(").and_then(|inner| inner.strip_suffix(')')) {
        return if value.is_null() { Val::none() } else { Val::some(declared(value, inner)) };
    }
    let typed = match (value, of) {
        (Tree::String(text), _) => declared_text(text, of),
        (Tree::Int(number), "uint") => Some(Val::Uint(u64::try_from(*number).unwrap_or_default())),
        (Tree::Float(_), "uint") => Some(Val::Uint(0)),
        (Tree::Int(number), "double") => Some(Val::Double(*number as f64)),
        _ => None,
    };
    typed.unwrap_or_else(|| Val::json(value))
}

fn declared_text<'a>(text: &str, of: &str) -> Option<Val<'a>> {
    match of {
        "timestamp" => Timestamp::parse(text).map(Val::Timestamp),
        "duration" => Duration::parse(text).ok().map(|duration| Val::Duration(duration.nanos())),
        "bytes" => values::decode_base64(text).map(|bytes| Val::Bytes(Arc::from(bytes))),
        "quantity" => Opaque::quantity(text).ok().map(Val::opaque),
        "ip" => parse_ip(text).ok().map(|address| Val::opaque(Opaque::Ip(address))),
        "cidr" => parse_cidr(text).ok().map(|prefix| Val::opaque(Opaque::Cidr(prefix))),
        _ => None,
    }
}

/// `authorizer.requestResource` of the oracle.
fn request_resource<'a>() -> Val<'a> {
    let target = ResourceTarget {
        group: "apps".into(),
        resource: "deployments".into(),
        subresource: "scale".into(),
        namespace: "ns".into(),
        name: "web".into(),
        ..ResourceTarget::default()
    };
    Val::opaque(Opaque::ResourceCheck(Subject::User, Box::new(target)))
}

/// Reads `map(string, list(int))`.
fn parse_type(text: &str) -> Type {
    let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some(element) = inner("list") {
        return Type::list(parse_type(element));
    }
    if let Some(element) = inner("optional") {
        return Type::optional(parse_type(element));
    }
    if let Some(entry) = inner("map") {
        let (key, value) = entry.split_once(", ").unwrap();
        return Type::map(parse_type(key), parse_type(value));
    }
    match text {
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "bool" => Type::Bool,
        "dyn" => Type::Dyn,
        "any" => Type::Any,
        "null" => Type::Null,
        "duration" => Type::Duration,
        "timestamp" => Type::Timestamp,
        "authorizer" => Type::object("kubernetes.authorization.Authorizer"),
        "resourcecheck" => Type::object("kubernetes.authorization.ResourceCheck"),
        "quantity" => Type::object("kubernetes.Quantity"),
        "ip" => Type::opaque("net.IP"),
        "cidr" => Type::opaque("net.CIDR"),
        _ => panic!("unknown type {text}"),
    }
}
