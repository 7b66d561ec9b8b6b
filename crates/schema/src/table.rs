//! Reads a table. The format is described in `docs/schema-tables.md`.

use std::collections::HashMap;
use std::sync::Arc;

use keelson_object::Value;
use smol_str::SmolStr;

use crate::builtin::{Kind, Lifecycle, Method, Scope};
use crate::types::{Field, ListType, Member, Patch, Shape, Struct, StructRef, Type, Union, UnionRole};

/// What one table says.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) structs: HashMap<SmolStr, Arc<Struct>>,
    /// The values of enumerations, by type.
    pub(crate) enums: HashMap<SmolStr, Vec<SmolStr>>,
}

/// Reads the table at `path`, `apps/v1`. `None` if a line makes no sense.
pub(crate) fn read(path: &'static str, text: &'static str) -> Option<Table> {
    let mut reader = Reader { path, table: Table::default(), open: None, links: HashMap::new() };
    for line in text.lines() {
        reader.line(line)?;
    }
    reader.close();
    Some(reader.table)
}

struct Reader {
    path: &'static str,
    table: Table,
    /// The struct whose fields are being read.
    open: Option<(Struct, Vec<Member>)>,
    /// One reference per target is enough.
    links: HashMap<&'static str, StructRef>,
}

impl Reader {
    fn line(&mut self, line: &'static str) -> Option<()> {
        if let Some(inner) = line.strip_prefix("  ") {
            return match inner.strip_prefix("method ") {
                Some(method) if self.open.is_none() => self.method(method),
                _ => self.member(inner),
            };
        }
        self.close();
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            None | Some("table" | "group" | "version") => {}
            Some("kind") => self.table.kinds.push(kind(words)?),
            Some("enum") => {
                let name = words.next()?;
                let values = line.split('"').skip(1).step_by(2).map(SmolStr::new_static).collect();
                self.table.enums.insert(SmolStr::new_static(name), values);
            }
            Some("type") => {
                let one = Struct::new(package(self.path), SmolStr::new_static(words.next()?), Vec::new());
                let one = if words.next() == Some("struct=atomic") { one.atomic() } else { one };
                self.open = Some((one, Vec::new()));
            }
            Some(_) => return None,
        }
        Some(())
    }

    fn close(&mut self) {
        if let Some((one, members)) = self.open.take() {
            let whole = Struct::new(one.package.clone(), one.name.clone(), members);
            let whole = if one.is_atomic { whole.atomic() } else { whole };
            self.table.structs.insert(one.name.clone(), Arc::new(whole));
        }
    }

    /// `GetScale get scale result=autoscaling/v1.Scale`.
    fn method(&mut self, line: &'static str) -> Option<()> {
        let mut words = line.split_ascii_whitespace().map(SmolStr::new_static);
        let mut method = Method {
            name: words.next()?,
            verb: words.next()?,
            subresource: words.next()?,
            input: None,
            result: None,
        };
        for word in words {
            match word.split_once('=')? {
                ("input", ty) => method.input = Some(ty.into()),
                ("result", ty) => method.result = Some(ty.into()),
                _ => return None,
            }
        }
        self.table.kinds.last_mut()?.methods.push(method);
        Some(())
    }

    /// `replicas *int32 1 omitempty`.
    fn member(&mut self, line: &'static str) -> Option<()> {
        let (line, default) = match line.split_once(" default=") {
            Some((line, default)) => (line, Some(default)),
            None => (line, None),
        };
        let mut words = line.split(' ');
        let (name, ty) = (words.next()?, words.next()?);
        let number = match words.next()? {
            "-" => None,
            number => Some(number.parse().ok()?),
        };
        let member = if name == "inline" {
            Member::Embedded(self.link(ty), number)
        } else {
            let (ty, rest) = self.ty(ty)?;
            let mut field = Field { number, ..Field::new(SmolStr::new_static(name), ty) };
            for flag in words {
                set_flag(&mut field, flag)?;
            }
            field.default = default.map(default_value);
            rest.is_empty().then_some(Member::Field(field))?
        };
        self.open.as_mut()?.1.push(member);
        Some(())
    }

    /// The type that `text` begins with, and what follows it.
    fn ty(&mut self, text: &'static str) -> Option<(Type, &'static str)> {
        if let Some(inner) = text.strip_prefix('*') {
            let (ty, rest) = self.ty(inner)?;
            return Some((Type { is_pointer: true, ..ty }, rest));
        }
        if let Some(inner) = text.strip_prefix("[]") {
            let (item, rest) = self.ty(inner)?;
            return Some((Type::of(Shape::List(Arc::new(item))), rest));
        }
        if let Some(inner) = text.strip_prefix("map[") {
            let (key, rest) = self.ty(inner)?;
            let (value, rest) = self.ty(rest.strip_prefix(']')?)?;
            return Some((Type::of(Shape::Map(Arc::new((key, value)))), rest));
        }
        if let Some(inner) = text.strip_prefix(['(', '<']) {
            let (ty, rest) = self.ty(inner)?;
            let (name, rest) = word(rest.strip_prefix([')', '>'])?.strip_prefix(':')?);
            let is_message = text.starts_with('<');
            return Some((Type { name: Some(self.go_name(name)), is_message, ..ty }, rest));
        }
        let (name, rest) = word(text);
        let ty = Type::of(self.shape(name));
        match rest.strip_prefix(':') {
            Some(rest) => {
                let (name, rest) = word(rest);
                Some((Type { name: Some(self.go_name(name)), ..ty }, rest))
            }
            None => Some((ty, rest)),
        }
    }

    fn shape(&mut self, name: &'static str) -> Shape {
        match name {
            "string" => Shape::String,
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "float64" => Shape::Float64,
            "bytes" => Shape::Bytes,
            "any" => Shape::Any,
            "Quantity" => Shape::Quantity,
            "Time" => Shape::Time,
            "MicroTime" => Shape::MicroTime,
            "Duration" => Shape::Duration,
            "IntOrString" => Shape::IntOrString,
            "RawExtension" => Shape::RawExtension,
            "FieldsV1" => Shape::FieldsV1,
            "JSON" => Shape::Json,
            "SchemaOrArray" => Shape::Union(Union::Array, self.link(JSON_SCHEMA)),
            "SchemaOrBool" => Shape::Union(Union::Bool, self.link(JSON_SCHEMA)),
            "SchemaOrStrings" => Shape::Union(Union::Strings, self.link(JSON_SCHEMA)),
            _ => Shape::Struct(self.link(name)),
        }
    }

    fn link(&mut self, name: &'static str) -> StructRef {
        let path = self.path;
        let make = || match name.rsplit_once('.') {
            Some((table, name)) => StructRef::builtin(table, name),
            None => StructRef::builtin(path, name),
        };
        self.links.entry(name).or_insert_with(make).clone()
    }

    /// `v1.Protocol` of `Protocol` or `core/v1.Protocol`.
    fn go_name(&self, name: &str) -> SmolStr {
        match name.rsplit_once('.') {
            Some((table, name)) => smol_str::format_smolstr!("{}.{name}", package(table)),
            None => smol_str::format_smolstr!("{}.{name}", package(self.path)),
        }
    }
}

const JSON_SCHEMA: &str = "apiextensions/v1.JSONSchemaProps";

fn package(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The name that `text` begins with.
fn word(text: &'static str) -> (&'static str, &'static str) {
    text.split_at(text.find([']', ')', '>', ':']).unwrap_or(text.len()))
}

fn kind<'t>(mut words: impl Iterator<Item = &'t str>) -> Option<Kind> {
    let mut kind = Kind { name: words.next()?.into(), ..Kind::default() };
    for word in words {
        match word.split_once('=') {
            None if word == "namespaced" => kind.scope = Some(Scope::Namespaced),
            None if word == "cluster" => kind.scope = Some(Scope::Cluster),
            None if word == "noVerbs" => kind.only_verbs = Some(Vec::new()),
            Some(("list", list)) => kind.list = Some(list.into()),
            Some(("only", verbs)) => kind.only_verbs = Some(names(verbs)),
            Some(("skip", verbs)) => kind.skip_verbs = names(verbs),
            Some((fact, value)) => lifecycle(&mut kind.lifecycle, fact, value)?,
            None => return None,
        }
    }
    Some(kind)
}

fn lifecycle(facts: &mut Lifecycle, fact: &str, value: &str) -> Option<()> {
    match fact {
        "introduced" => facts.introduced = Some(value.into()),
        "deprecated" => facts.deprecated = Some(value.into()),
        "removed" => facts.removed = Some(value.into()),
        "replacement" => facts.replacement = Some(value.into()),
        _ => return None,
    }
    Some(())
}

fn set_flag(field: &mut Field, flag: &str) -> Option<()> {
    match flag.split_once('=') {
        None if flag == "omitempty" => {
            field.omit_empty = true;
            field.is_optional = true;
        }
        None if flag == "omitzero" => field.omit_zero = true,
        None if flag == "optional" => field.is_optional = true,
        None if flag == "required" => field.is_optional = false,
        None if flag == "undescribed" => field.is_described = false,
        None if flag == "discriminator" => field.union = Some(Box::new(UnionRole::Discriminator)),
        Some(("member", value)) => field.union = Some(Box::new(UnionRole::Member(value.into()))),
        Some(("map" | "struct", how)) => {
            field.is_atomic = how == "atomic";
            field.is_granular = how == "granular";
        }
        Some(("list", how)) => {
            field.list_type = Some(match with_keys(how) {
                ("atomic", _) => ListType::Atomic,
                ("set", _) => ListType::Set,
                ("map", Some(keys)) => ListType::Map(names(keys)),
                _ => return None,
            });
        }
        Some(("patch", how)) => {
            let (strategies, key) = with_keys(how);
            let has = |name: &str| strategies.split(',').any(|it| it == name);
            field.patch = Some(Patch {
                merge: has("merge"),
                replace: has("replace"),
                retain_keys: has("retainKeys"),
                key: key.map(SmolStr::new),
            });
        }
        _ => return None,
    }
    Some(())
}

/// `map` and `name,protocol` of `map(name,protocol)`.
fn with_keys(text: &str) -> (&str, Option<&str>) {
    match text.strip_suffix(')').and_then(|it| it.split_once('(')) {
        Some((word, keys)) => (word, Some(keys)),
        None => (text, None),
    }
}

fn names(text: &str) -> Vec<SmolStr> {
    text.split(',').map(SmolStr::new).collect()
}

/// Text, truth values and whole numbers: others do not occur.
fn default_value(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match text.parse() {
            Ok(number) => Value::Int(number),
            Err(_) => Value::from(text.trim_matches('"')),
        },
    }
}

#[cfg(test)]
mod tests;
