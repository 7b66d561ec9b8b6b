//! Generated expressions: well-typed calls of every declared overload and macro, with a few arguments of wrong types.

use std::collections::HashMap;
use std::sync::Arc;

use keelson_cel::Env;
use keelson_cel::libraries::Overload;
use keelson_cel::types::{Param, Type};

use crate::literals;
use crate::random::Random;

type Bindings = HashMap<&'static str, Type>;

/// Makes expressions for one environment.
pub(crate) struct Generator<'e> {
    env: &'e Env,
    /// Variables and their fields.
    names: Vec<(String, Type)>,
    /// Variables of macros around the expression that is made.
    locals: Vec<(String, Type)>,
    overloads: Vec<(&'static str, Arc<Overload>)>,
    /// Which overloads can return a type.
    by_result: HashMap<Type, Vec<usize>>,
}

const INFIX: &[(&str, &str)] = &[
    ("_+_", "+"),
    ("_-_", "-"),
    ("_*_", "*"),
    ("_/_", "/"),
    ("_%_", "%"),
    ("_==_", "=="),
    ("_!=_", "!="),
    ("_<_", "<"),
    ("_<=_", "<="),
    ("_>_", ">"),
    ("_>=_", ">="),
    ("_&&_", "&&"),
    ("_||_", "||"),
    ("@in", "in"),
];
const FIELDS: &[&str] =
    &["k", "v", "deep", "a", "b", "spec", "replicas", "image", "metadata", "name", "kind"];

impl<'e> Generator<'e> {
    /// `paths` are expressions that name data.
    pub(crate) fn new(env: &'e Env, paths: &[String]) -> Self {
        let typed = |path: &String| Some((path.clone(), env.compile(path).ok()?.output_type().clone()));
        let mut overloads: Vec<_> = env
            .functions()
            .iter()
            .flat_map(|function| function.overloads.iter().map(|overload| (function.name, overload.clone())))
            .filter(|(name, _)| *name == "@in" || !name.contains('@') && *name != "_?._")
            .collect();
        overloads.sort_by_key(|(name, overload)| (*name, overload.id));
        let names = paths.iter().filter_map(typed).collect();
        Self { env, names, locals: Vec::new(), overloads, by_result: HashMap::new() }
    }

    /// An expression of a random type.
    pub(crate) fn any(&mut self, random: &mut Random) -> String {
        let depth = 2 + random.below(3);
        let of = if random.one_in(2) { Type::Bool } else { random_type(random, 1) };
        self.expression(&of, depth, random)
    }

    fn expression(&mut self, of: &Type, depth: usize, random: &mut Random) -> String {
        if random.one_in(40) {
            let wrong = random_type(random, 1);
            return format!("dyn({})", self.expression(&wrong, depth.saturating_sub(1), random));
        }
        if depth == 0 || random.one_in(6) {
            return self.leaf(of, random);
        }
        if matches!(of, Type::Dyn | Type::Any) {
            let other = random_type(random, 1);
            return self.expression(&other, depth - 1, random);
        }
        if random.one_in(4)
            && let Some(made) = self.macro_call(of, depth - 1, random)
        {
            return made;
        }
        self.call(of, depth - 1, random).unwrap_or_else(|| self.leaf(of, random))
    }

    /// A literal or a variable.
    fn leaf(&self, of: &Type, random: &mut Random) -> String {
        let known: Vec<&String> = self
            .names
            .iter()
            .chain(&self.locals)
            .filter(|(_, known)| known == of || *of == Type::Dyn)
            .map(|(name, _)| name)
            .collect();
        if !known.is_empty() && !random.one_in(3) {
            return (*random.pick(&known)).clone();
        }
        literal(of, random, 1)
    }

    fn call(&mut self, of: &Type, depth: usize, random: &mut Random) -> Option<String> {
        if *of == Type::String && random.one_in(12) {
            return Some(self.format(depth, random));
        }
        if !self.by_result.contains_key(of) {
            let fits = |index: &usize| matches(&self.overloads[*index].1.result, of, &mut Bindings::new());
            let found = (0..self.overloads.len()).filter(fits).collect();
            self.by_result.insert(of.clone(), found);
        }
        let candidates = self.by_result.get(of).filter(|found| !found.is_empty())?;
        let (name, overload) = self.overloads[*random.pick(candidates)].clone();
        let mut bindings = Bindings::new();
        matches(&overload.result, of, &mut bindings);
        for parameter in &overload.parameters {
            bindings.entry(parameter).or_insert_with(|| random_type(random, 0));
        }
        let mut arguments = Vec::new();
        for (position, argument) in overload.arguments.iter().enumerate() {
            let of = substitute(argument, &bindings);
            arguments.push(if name == "lists.range" {
                // Upstream builds the list before it looks at the cost.
                random.below(20).to_string()
            } else if of == Type::String && random.below(3) > 0 {
                literals::quoted(literals::text(name, position, random))
            } else {
                self.expression(&of, depth, random)
            });
        }
        Some(written(name, overload.is_member, &arguments))
    }

    fn format(&mut self, depth: usize, random: &mut Random) -> String {
        let text = format!("{} {}", literals::text("format", 0, random), literals::text("format", 0, random));
        let count = text.matches('%').count().min(3) + usize::from(random.one_in(10));
        let arguments: Vec<String> = (0..count)
            .map(|_| {
                let of = random_type(random, 1);
                self.expression(&of, depth.min(1), random)
            })
            .collect();
        format!("{}.format([{}])", literals::quoted(&text), arguments.join(", "))
    }

    /// A macro whose result has this type.
    fn macro_call(&mut self, of: &Type, depth: usize, random: &mut Random) -> Option<String> {
        let element = random_type(random, 0);
        match of {
            Type::Bool => {
                if random.one_in(6) {
                    return Some(self.has(random));
                }
                let name = *random.pick(&["all", "exists", "exists_one", "existsOne"]);
                Some(self.quantifier(name, &element, depth, random))
            }
            Type::List(result) => {
                let result = (**result).clone();
                let range = self.expression(&Type::list(element.clone()), depth, random);
                Some(match random.below(5) {
                    0 => {
                        let range = self.expression(of, depth, random);
                        let body = self.body(&[("f", &result)], &Type::Bool, depth, random);
                        format!("{range}.filter(f, {body})")
                    }
                    1 => {
                        let range = self.expression(of, depth, random);
                        let key = random_key(random);
                        let body = self.body(&[("s", &result)], &key, depth, random);
                        format!("{range}.sortBy(s, {body})")
                    }
                    2 => {
                        let body = self.body(&[("ti", &Type::Int), ("tv", &element)], &result, depth, random);
                        format!("{range}.transformList(ti, tv, {body})")
                    }
                    3 => {
                        let test = self.body(&[("e", &element)], &Type::Bool, depth.min(1), random);
                        let body = self.body(&[("e", &element)], &result, depth, random);
                        format!("{range}.map(e, {test}, {body})")
                    }
                    _ => {
                        let body = self.body(&[("e", &element)], &result, depth, random);
                        format!("{range}.map(e, {body})")
                    }
                })
            }
            Type::Map(entry) if entry[0] == Type::String => {
                let value = entry[1].clone();
                let map = Type::map(Type::String, element.clone());
                let range = self.expression(&map, depth, random);
                let body = self.body(&[("mk", &Type::String), ("mv", &element)], &value, depth, random);
                Some(match random.below(3) {
                    0 => format!("{range}.transformMapEntry(mk, mv, {{mk: {body}}})"),
                    1 => format!("{range}.transformMap(mk, mv, mk != 'a', {body})"),
                    _ => format!("{range}.transformMap(mk, mv, {body})"),
                })
            }
            _ => self.optional_or_bind(of, &element, depth, random),
        }
    }

    fn optional_or_bind(
        &mut self,
        of: &Type,
        element: &Type,
        depth: usize,
        random: &mut Random,
    ) -> Option<String> {
        if let Some(inner) = of.as_optional() {
            let inner = inner.clone();
            let target = self.expression(&Type::optional(element.clone()), depth, random);
            return Some(if random.one_in(2) {
                let body = self.body(&[("om", element)], &inner, depth, random);
                format!("{target}.optMap(om, {body})")
            } else {
                let body = self.body(&[("om", element)], of, depth, random);
                format!("{target}.optFlatMap(om, {body})")
            });
        }
        if random.one_in(3) {
            let optional = self.expression(&Type::optional(of.clone()), depth, random);
            let otherwise = self.expression(of, depth, random);
            return Some(format!("{optional}.orValue({otherwise})"));
        }
        let init = self.expression(element, depth, random);
        let body = self.body(&[("bd", element)], of, depth, random);
        Some(format!("cel.bind(bd, {init}, {body})"))
    }

    fn quantifier(&mut self, name: &str, element: &Type, depth: usize, random: &mut Random) -> String {
        let (range, first) = if random.one_in(3) {
            (Type::map(Type::String, element.clone()), Type::String)
        } else {
            (Type::list(element.clone()), Type::Int)
        };
        let text = self.expression(&range, depth, random);
        if random.one_in(2) {
            let body = self.body(&[("qk", &first), ("qv", element)], &Type::Bool, depth, random);
            return format!("{text}.{name}(qk, qv, {body})");
        }
        let only = if first == Type::String { first } else { element.clone() };
        let body = self.body(&[("qe", &only)], &Type::Bool, depth, random);
        format!("{text}.{name}(qe, {body})")
    }

    /// An expression in which these variables are known, too, and fields of those that are objects.
    fn body(&mut self, with: &[(&str, &Type)], of: &Type, depth: usize, random: &mut Random) -> String {
        let before = self.locals.len();
        for (name, known) in with {
            self.locals.push(((*name).to_owned(), (*known).clone()));
            if let Type::Struct(object) = known {
                for field in FIELDS {
                    if let Some(of) = self.env.types().field(object, field) {
                        self.locals.push((format!("{name}.{field}"), of));
                    }
                }
            }
        }
        let made = self.expression(of, depth, random);
        self.locals.truncate(before);
        made
    }

    /// `has(…)` and selections that may find nothing.
    fn has(&self, random: &mut Random) -> String {
        let paths: Vec<&String> =
            self.names.iter().map(|(name, _)| name).filter(|name| name.contains('.')).collect();
        let Some((target, field)) = random.pick(&paths).rsplit_once('.') else { return String::from("true") };
        let field = if random.one_in(4) { *random.pick(FIELDS) } else { field };
        match random.below(4) {
            0 => format!("{target}.?{field}.hasValue()"),
            1 => format!("({target}.?{field}.?k == optional.none())"),
            2 => format!("{target}[?'{field}'].hasValue()"),
            _ => format!("has({target}.{field})"),
        }
    }
}

fn written(name: &str, is_member: bool, arguments: &[String]) -> String {
    let infix = INFIX.iter().find(|(known, _)| *known == name).map(|(_, operator)| *operator);
    match (infix, name, arguments) {
        (Some(operator), _, [a, b]) => format!("({a} {operator} {b})"),
        (_, "_?_:_", [c, a, b]) => format!("({c} ? {a} : {b})"),
        (_, "_[_]", [a, b]) => format!("{a}[{b}]"),
        (_, "_[?_]", [a, b]) => format!("{a}[?{b}]"),
        (_, "!_", [a]) => format!("(!({a}))"),
        (_, "-_", [a]) => format!("(-({a}))"),
        (_, _, [receiver, rest @ ..]) if is_member => format!("{receiver}.{name}({})", rest.join(", ")),
        _ => format!("{name}({})", arguments.join(", ")),
    }
}

/// A literal, or the shortest expression, of this type.
fn literal(of: &Type, random: &mut Random, depth: usize) -> String {
    match of {
        Type::Bool => (*random.pick(&["true", "false"])).to_owned(),
        Type::Int => literals::int(random),
        Type::Uint => literals::uint(random),
        Type::Double => literals::double(random),
        Type::String => literals::quoted(literals::text("", 0, random)),
        Type::Bytes => (*random.pick(&["b'ab'", "b''", "b'\\xff'", "b'é'", "bytes('x')"])).to_owned(),
        Type::Null => String::from("null"),
        Type::Duration => format!("duration({})", literals::quoted(literals::text("duration", 0, random))),
        Type::Timestamp => format!("timestamp({})", literals::quoted(literals::text("timestamp", 0, random))),
        Type::List(element) => {
            let items: Vec<String> =
                (0..random.below(4)).map(|_| literal(element, random, depth.saturating_sub(1))).collect();
            format!("[{}]", items.join(", "))
        }
        Type::Map(entry) => {
            let items: Vec<String> = (0..random.below(3))
                .map(|_| {
                    format!(
                        "{}: {}",
                        literal(&entry[0], random, 0),
                        literal(&entry[1], random, depth.saturating_sub(1))
                    )
                })
                .collect();
            format!("{{{}}}", items.join(", "))
        }
        Type::Type(_) => {
            (*random.pick(&["int", "string", "type(1u)", "list", "net.IP", "null_type"])).to_owned()
        }
        Type::Opaque(_) | Type::Struct(_) => library_value(of, random, depth),
        _ => {
            let other = random_type(random, 0);
            literal(&other, random, depth)
        }
    }
}

fn library_value(of: &Type, random: &mut Random, depth: usize) -> String {
    if let Some(inner) = of.as_optional() {
        return match random.below(3) {
            0 => String::from("optional.none()"),
            1 => format!("optional.ofNonZeroValue({})", literal(inner, random, depth.saturating_sub(1))),
            _ => format!("optional.of({})", literal(inner, random, depth.saturating_sub(1))),
        };
    }
    let made = |function: &str, random: &mut Random| {
        format!("{function}({})", literals::quoted(literals::text(function, 0, random)))
    };
    match of.name() {
        "net.IP" => made("ip", random),
        "net.CIDR" => made("cidr", random),
        "kubernetes.Quantity" => made("quantity", random),
        "kubernetes.URL" => made("url", random),
        "kubernetes.Semver" => made("semver", random),
        "kubernetes.NamedFormat" => {
            let name =
                random.pick(&["dns1123Label", "uuid", "date", "byte", "uri", "qualifiedName", "datetime"]);
            format!("format.{name}()")
        }
        "kubernetes.authorization.PathCheck" => String::from("authorizer.path('/healthz')"),
        "kubernetes.authorization.GroupCheck" => String::from("authorizer.group('apps')"),
        "kubernetes.authorization.ResourceCheck" => String::from("authorizer.requestResource"),
        "kubernetes.authorization.Decision" => String::from("authorizer.path('/x').check('get')"),
        "kubernetes.authorization.Authorizer" => String::from("authorizer"),
        _ => String::from("self"),
    }
}

/// Types that can be compared with `<`.
fn random_key(random: &mut Random) -> Type {
    random.pick(&[Type::Int, Type::String, Type::Double, Type::Bool, Type::Timestamp, Type::Duration]).clone()
}

fn random_type(random: &mut Random, depth: usize) -> Type {
    const OBJECTS: &[&str] = &[
        "kubernetes.Quantity",
        "kubernetes.URL",
        "kubernetes.Semver",
        "kubernetes.NamedFormat",
        "kubernetes.authorization.Decision",
        "kubernetes.authorization.ResourceCheck",
    ];
    match random.below(if depth > 0 { 18 } else { 13 }) {
        0..=2 => Type::String,
        3..=4 => Type::Int,
        5 => Type::Uint,
        6 => Type::Double,
        7 => Type::Bool,
        8 => Type::Bytes,
        9 => Type::Duration,
        10 => Type::Timestamp,
        11 => Type::opaque(if random.one_in(2) { "net.IP" } else { "net.CIDR" }),
        12 => Type::object(OBJECTS[random.below(OBJECTS.len())]),
        13..=14 => Type::list(random_type(random, depth - 1)),
        15 => Type::map(Type::String, random_type(random, depth - 1)),
        16 => Type::optional(random_type(random, depth - 1)),
        _ => Type::list(Type::list(random_type(random, 0))),
    }
}

/// Whether a declared type can be `of`; finds the parameters.
fn matches(declared: &Type, of: &Type, bindings: &mut Bindings) -> bool {
    match declared {
        Type::Param(Param::Named(name)) => bindings.entry(name).or_insert_with(|| of.clone()) == of,
        Type::Type(_) => matches!(of, Type::Type(_)),
        _ => {
            let (inner, outer) = (declared.parameters(), of.parameters());
            std::mem::discriminant(declared) == std::mem::discriminant(of)
                && declared.name() == of.name()
                && inner.len() == outer.len()
                && inner.iter().zip(outer).all(|(declared, of)| matches(declared, of, bindings))
        }
    }
}

fn substitute(declared: &Type, bindings: &Bindings) -> Type {
    match declared {
        Type::Param(Param::Named(name)) => bindings.get(name).cloned().unwrap_or(Type::Dyn),
        Type::List(element) => Type::list(substitute(element, bindings)),
        Type::Map(entry) => Type::map(substitute(&entry[0], bindings), substitute(&entry[1], bindings)),
        _ => match declared.as_optional() {
            Some(inner) => Type::optional(substitute(inner, bindings)),
            None => declared.clone(),
        },
    }
}
