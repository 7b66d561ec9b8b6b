//! Types of CEL: what the checker gives to every expression.

use std::fmt;
use std::sync::Arc;

use smol_str::SmolStr;

/// A type. It displays as cel-go's messages show it: `list(int)`, `optional_type(string)`, `net.IP`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Anything; the evaluator finds out.
    Dyn,
    /// `google.protobuf.Any`: as `dyn` with a name of its own.
    Any,
    /// The type of an expression that has an error.
    Error,
    /// `null_type`
    Null,
    /// `bool`
    Bool,
    /// `int`: 64 bits, signed.
    Int,
    /// `uint`: 64 bits.
    Uint,
    /// `double`
    Double,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// `list(T)`
    List(Arc<Type>),
    /// `map(K, V)`
    Map(Arc<[Type; 2]>),
    /// The type of a type; without parameter it is `type` itself.
    Type(Option<Arc<Type>>),
    /// A type without fields, with a name and parameters: `optional_type(T)`, `net.IP`, `kubernetes.Quantity`.
    Opaque(Arc<Opaque>),
    /// An object type with declared fields; a [`TypeProvider`] knows them.
    Struct(Arc<str>),
    /// A parameter in a declaration (`T`), or an unknown of the checker (`_var1`).
    Param(Param),
}

/// An abstract type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Opaque {
    /// The name, such as `net.IP`.
    pub name: SmolStr,
    /// The parameters, such as the `T` of `optional_type(T)`.
    pub parameters: Box<[Type]>,
}

/// A type parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// Of a declaration.
    Named(&'static str),
    /// Made by the checker for one call or one empty literal.
    Fresh(u32),
}

/// The name of the type of optional values.
pub const OPTIONAL: &str = "optional_type";

/// Knows the fields of the declared object types. Field names are as written in the expression, thus escaped.
pub trait TypeProvider {
    /// Is there an object type of this name?
    fn has_type(&self, name: &str) -> bool;

    /// The type of a field of an object type.
    fn field(&self, type_name: &str, field: &str) -> Option<Type>;

    /// Does the checker accept `duration` and `timestamp` as names of types? Upstream does where there are
    /// declared types, although the evaluation of such a name fails.
    fn names_scalars(&self) -> bool {
        false
    }
}

/// Knows no object types.
impl TypeProvider for () {
    fn has_type(&self, _name: &str) -> bool {
        false
    }

    fn field(&self, _type_name: &str, _field: &str) -> Option<Type> {
        None
    }
}

impl Type {
    /// `list(element)`
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// `map(key, value)`
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new([key, value]))
    }

    /// `type(of)`
    pub fn type_of(of: Self) -> Self {
        Self::Type(Some(Arc::new(of)))
    }

    /// `optional_type(of)`
    pub fn optional(of: Self) -> Self {
        Self::Opaque(Arc::new(Opaque { name: SmolStr::new_static(OPTIONAL), parameters: Box::new([of]) }))
    }

    /// An abstract type without parameters.
    pub fn opaque(name: &'static str) -> Self {
        Self::Opaque(Arc::new(Opaque { name: SmolStr::new_static(name), parameters: Box::default() }))
    }

    /// An object type whose fields a [`TypeProvider`] knows.
    pub fn object(name: &str) -> Self {
        Self::Struct(Arc::from(name))
    }

    /// The type in an optional.
    pub fn as_optional(&self) -> Option<&Self> {
        match self {
            Self::Opaque(opaque) if opaque.name == OPTIONAL => opaque.parameters.first(),
            _ => None,
        }
    }

    /// The name without parameters, as `string(type(x))` returns it.
    pub fn name(&self) -> &str {
        match self {
            Self::Dyn => "dyn",
            Self::Any => "google.protobuf.Any",
            Self::Error => "error",
            Self::Null => "null_type",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Duration => "google.protobuf.Duration",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Type(_) => "type",
            Self::Opaque(opaque) => &opaque.name,
            Self::Struct(name) => name,
            Self::Param(Param::Named(name)) => name,
            Self::Param(Param::Fresh(_)) => "_var",
        }
    }

    /// `dyn`, `any` or an unknown.
    pub fn is_dynamic(&self) -> bool {
        matches!(self, Self::Dyn | Self::Any | Self::Param(_))
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Self] {
        match self {
            Self::List(element) | Self::Type(Some(element)) => std::slice::from_ref(element),
            Self::Map(entry) => entry.as_slice(),
            Self::Opaque(opaque) => &opaque.parameters,
            _ => &[],
        }
    }
}

/// The form in messages of the checker.
/// Upstream: cel-go checker/format.go, FormatCELType (v0.26.0).
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Error => f.write_str("!error!"),
            Self::Null => f.write_str("null"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(entry) => write!(f, "map({}, {})", entry[0], entry[1]),
            Self::Type(Some(of)) => write!(f, "type({of})"),
            Self::Opaque(opaque) if !opaque.parameters.is_empty() => {
                write!(f, "{}(", opaque.name)?;
                for (index, parameter) in opaque.parameters.iter().enumerate() {
                    write!(f, "{}{parameter}", if index > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Param(Param::Fresh(number)) => write!(f, "_var{number}"),
            _ => f.write_str(self.name()),
        }
    }
}
