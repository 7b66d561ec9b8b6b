//! Schemas that are written down where they are used: those of configuration files, which no client ever sees.
//!
//! ```
//! # use keelson_schema::Schema;
//! let schema = Schema::by_hand("v1", &[
//!     ("Condition", "path string"),
//!     ("Settings", "kind string; apiVersion string; enabled bool; mode Mode=string; conditions []Condition"),
//! ]);
//! assert!(schema.field_at("conditions.path").is_some());
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use crate::Schema;
use crate::types::{Field, Member, Shape, Struct, StructRef, Type};

impl Schema {
    /// Structs with their fields; who uses another one comes after it, and the last is the whole document. A type is
    /// `string`, `bool`, `int32`, `int64`, `duration`, `bytes`, `any`, the name of a struct, or one of these behind `*`,
    /// `[]` or `map[string]`; `Mode=string` is text that upstream's messages call `v1.Mode`, and `types.UID=string` text
    /// that they call so.
    pub fn by_hand(package: &str, structs: &[(&str, &str)]) -> Schema {
        let mut known: HashMap<&str, Arc<Struct>> = HashMap::new();
        let mut last = None;
        for (name, fields) in structs {
            let members = fields.split(';').map(|field| {
                let (name, of) = field.trim().split_once(' ').expect("a field has a name and a type");
                let mut field = Field::new(name, type_of(of.trim(), package, &known));
                // Nothing is written back: what was not said stays unsaid.
                (field.omit_empty, field.omit_zero) = (true, true);
                Member::Field(field)
            });
            let one = Arc::new(Struct::new(package, *name, members.collect()));
            known.insert(name, one.clone());
            last = Some(one);
        }
        Schema::new(StructRef::from(last.expect("a document is a struct")))
    }
}

fn type_of(text: &str, package: &str, known: &HashMap<&str, Arc<Struct>>) -> Type {
    if let Some(target) = text.strip_prefix('*') {
        return Type { is_pointer: true, ..type_of(target, package, known) };
    }
    if let Some(item) = text.strip_prefix("[]") {
        return Type::of(Shape::List(Arc::new(type_of(item, package, known))));
    }
    if let Some(value) = text.strip_prefix("map[string]") {
        let types = (Type::of(Shape::String), type_of(value, package, known));
        return Type::of(Shape::Map(Arc::new(types)));
    }
    if let Some((name, of)) = text.split_once('=') {
        let name = if name.contains('.') { name.to_owned() } else { format!("{package}.{name}") };
        return Type { name: Some(name.into()), ..type_of(of, package, known) };
    }
    Type::of(match text {
        "string" => Shape::String,
        "bool" => Shape::Bool,
        "int32" => Shape::Int32,
        "int64" => Shape::Int64,
        "duration" => Shape::Duration,
        "bytes" => Shape::Bytes,
        "any" => Shape::Any,
        name => {
            Shape::Struct(StructRef::from(known.get(name).expect("a struct stands before its use").clone()))
        }
    })
}
