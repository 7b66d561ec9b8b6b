//! What types are made of: structs with fields in wire order, lists, maps, scalars.

use std::fmt;
use std::sync::{Arc, OnceLock};

use keelson_object::Value;
use smol_str::SmolStr;

use crate::builtin;

/// A type at one place: what is there, and whether it may be absent.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub shape: Shape,
    /// Whether absent is something else than zero: a pointer in upstream's source.
    pub is_pointer: bool,
    /// Whether protobuf wraps the list into a message whose only field, number 1, is `items`.
    pub is_message: bool,
    /// The name of a type that is not a struct, as upstream's messages print it: `v1.Protocol`.
    pub name: Option<SmolStr>,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Shape {
    /// Text.
    String,
    /// `true` or `false`.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// Any number.
    Float64,
    /// Bytes, written in base64.
    Bytes,
    /// `resource.Quantity`.
    Quantity,
    /// A time in seconds.
    Time,
    /// A time in microseconds.
    MicroTime,
    /// A length of time.
    Duration,
    /// A whole number of 32 bits, or text.
    IntOrString,
    /// An object of any kind, kept as it came.
    RawExtension,
    /// A set of fields, kept as it came.
    FieldsV1,
    /// Any JSON, kept as it came; a message in protobuf.
    Json,
    /// Any JSON; not in protobuf.
    Any,
    /// `JSONSchemaProps`, or something simpler.
    Union(Union, StructRef),
    /// A list.
    List(Arc<Type>),
    /// A map: the types of its keys (text) and of its values.
    Map(Arc<(Type, Type)>),
    /// A struct.
    Struct(StructRef),
}

/// What may stand in the place of a JSON schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Union {
    /// A list of schemas.
    Array,
    /// `true` or `false`.
    Bool,
    /// A list of texts.
    Strings,
}

impl Type {
    /// A type without a name and without a pointer.
    pub fn of(shape: Shape) -> Type {
        Type { shape, is_pointer: false, is_message: false, name: None }
    }

    /// What upstream's messages call it: `int32`, `v1.Protocol`, `[]v1.Container`, `map[string]string`.
    pub fn go_name(&self) -> String {
        if let Some(name) = &self.name {
            return name.to_string();
        }
        let fixed = match &self.shape {
            Shape::String => "string",
            Shape::Bool => "bool",
            Shape::Int32 => "int32",
            Shape::Int64 => "int64",
            Shape::Float64 => "float64",
            Shape::Bytes => "[]uint8",
            Shape::Quantity => "resource.Quantity",
            Shape::Time => "v1.Time",
            Shape::MicroTime => "v1.MicroTime",
            Shape::Duration => "v1.Duration",
            Shape::IntOrString => "intstr.IntOrString",
            Shape::RawExtension => "runtime.RawExtension",
            Shape::FieldsV1 => "v1.FieldsV1",
            Shape::Json => "v1.JSON",
            Shape::Any => "interface {}",
            Shape::Union(Union::Array, _) => "v1.JSONSchemaPropsOrArray",
            Shape::Union(Union::Bool, _) => "v1.JSONSchemaPropsOrBool",
            Shape::Union(Union::Strings, _) => "v1.JSONSchemaPropsOrStringArray",
            Shape::List(item) => return format!("[]{}", item.element_name()),
            Shape::Map(types) => return format!("map[{}]{}", types.0.go_name(), types.1.element_name()),
            Shape::Struct(target) => return target.get().go_name(),
        };
        fixed.to_owned()
    }

    fn element_name(&self) -> String {
        let star = if self.is_pointer { "*" } else { "" };
        format!("{star}{}", self.go_name())
    }

    /// The struct, if this is one.
    pub fn as_struct(&self) -> Option<&Struct> {
        if let Shape::Struct(target) = &self.shape { Some(target.get()) } else { None }
    }
}

/// A struct: its fields in the order in which they are written.
#[derive(Debug)]
pub struct Struct {
    /// `PodSpec`.
    pub name: SmolStr,
    /// The last part of the package that upstream's messages name it with: `v1`.
    pub package: SmolStr,
    /// Whether it is merged as a whole.
    pub is_atomic: bool,
    /// Fields and embedded structs as they are declared: protobuf sees these.
    members: Vec<Member>,
    json: OnceLock<Json>,
    numbered: OnceLock<Vec<Numbered>>,
}

/// What a struct declares: a field, or a struct whose fields JSON takes for its own.
#[derive(Clone, Debug)]
pub enum Member {
    /// A field.
    Field(Field),
    /// An embedded struct and its protobuf number, if it is in protobuf at all.
    Embedded(StructRef, Option<u32>),
}

/// A member as protobuf sees it.
#[derive(Clone, Debug)]
pub struct Numbered {
    /// Its number.
    pub number: u32,
    /// Where the field is in [`Struct::fields`]; of an embedded struct, where its first field is.
    pub position: usize,
    /// The embedded struct, if it is one: a message to protobuf, whose fields follow each other in JSON.
    pub embedded: Option<StructRef>,
    /// The zero that protobuf has and JSON leaves out.
    pub left_out: Option<Zero>,
}

/// What a scalar is in protobuf when nothing was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zero {
    /// Empty text.
    Text,
    /// The number 0, or `false`.
    Number,
}

/// The fields as JSON sees them.
#[derive(Debug)]
struct Json {
    fields: Vec<Field>,
    /// The digests of the names of `fields`, close together: most of a search looks at nothing else.
    digests: Vec<u64>,
    /// Positions of the fields that are written even if nothing was set.
    always: Vec<u16>,
}

impl Struct {
    /// `package` is `v1`, `name` is `PodSpec`.
    pub fn new(package: impl Into<SmolStr>, name: impl Into<SmolStr>, members: Vec<Member>) -> Struct {
        Struct {
            name: name.into(),
            package: package.into(),
            is_atomic: false,
            members,
            json: OnceLock::new(),
            numbered: OnceLock::new(),
        }
    }

    /// The same, merged as a whole.
    pub fn atomic(self) -> Struct {
        Struct { is_atomic: true, ..self }
    }

    /// Fields and embedded structs as they are declared.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// All fields in the order of the wire, those of embedded structs among them.
    pub fn fields(&self) -> &[Field] {
        &self.json().fields
    }

    /// The field `name`.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.position(name).map(|at| &self.fields()[at])
    }

    /// Where the field `name` is in [`Struct::fields`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.position_from(0, name)
    }

    /// The same, looked for from `next` on: Go's clients send fields in order, so that the first look is mostly a hit.
    pub fn position_from(&self, next: usize, name: &str) -> Option<usize> {
        let Json { fields, digests, .. } = self.json();
        let wanted = digest(name);
        let find = |start: usize, end: usize| {
            let mut rest = digests.get(start..end)?.iter();
            let mut at = start;
            loop {
                at += rest.position(|it| *it == wanted)?;
                if fields[at].name == name {
                    return Some(at);
                }
                at += 1;
            }
        };
        let next = next.min(fields.len());
        find(next, fields.len()).or_else(|| find(0, next))
    }

    /// The members that are in protobuf, in the order of their numbers.
    pub fn numbered(&self) -> &[Numbered] {
        self.numbered.get_or_init(|| {
            let mut numbered = Vec::with_capacity(self.members.len());
            let mut position = 0;
            for member in &self.members {
                let (number, embedded, left_out) = match member {
                    Member::Field(field) => (field.number, None, field.zero_left_out()),
                    Member::Embedded(target, number) => (*number, Some(target.clone()), None),
                };
                let width = embedded.as_ref().map_or(1, |it| it.get().fields().len());
                numbered.extend(number.map(|number| Numbered { number, position, embedded, left_out }));
                position += width;
            }
            numbered.sort_by_key(|it| it.number);
            numbered
        })
    }

    /// Positions of the fields that are written even if nothing was set.
    pub fn always(&self) -> &[u16] {
        &self.json().always
    }

    /// `v1.PodSpec`.
    pub fn go_name(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }

    fn json(&self) -> &Json {
        self.json.get_or_init(|| {
            let mut fields = Vec::new();
            self.collect(&mut Vec::new(), &mut fields);
            let count = u16::try_from(fields.len()).expect("no struct has 65,536 fields");
            let digests = fields.iter().map(|field: &Field| digest(&field.name)).collect();
            let always = (0..count).filter(|at| fields[usize::from(*at)].is_always_written()).collect();
            Json { fields, digests, always }
        })
    }

    fn collect(&self, path: &mut Vec<SmolStr>, into: &mut Vec<Field>) {
        for member in &self.members {
            match member {
                Member::Field(field) => into.push(Field { embedded: path.clone(), ..field.clone() }),
                Member::Embedded(target, _) => {
                    path.push(target.get().name.clone());
                    target.get().collect(path, into);
                    path.pop();
                }
            }
        }
    }
}

/// A number that differs for almost all names: of both ends and the length.
#[inline]
fn digest(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let length = bytes.len() as u64;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29) ^ length;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return u64::from(first) << 32 ^ u64::from(last) << 8 ^ length;
    }
    bytes.iter().fold(length, |digest, byte| digest << 8 | u64::from(*byte))
}

/// One field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name in JSON.
    pub name: SmolStr,
    /// Its type.
    pub ty: Type,
    /// Its number in protobuf, within the struct that declares it.
    pub number: Option<u32>,
    /// Whether `false`, `0`, `""`, an empty list or map, and nil are left out.
    pub omit_empty: bool,
    /// Whether a zero struct is left out.
    pub omit_zero: bool,
    /// Whether a client may leave it out.
    pub is_optional: bool,
    /// How a list is merged by apply; `None` if nothing is said, which means atomic.
    pub list_type: Option<ListType>,
    /// Whether a map or struct is merged as a whole.
    pub is_atomic: bool,
    /// Whether a map or struct is merged key by key although its type says otherwise.
    pub is_granular: bool,
    /// How strategic merge patch treats it.
    pub patch: Option<Patch>,
    /// Whether upstream describes it.
    pub is_described: bool,
    /// What it is in the union that its struct is, if that is one.
    pub union: Option<Box<UnionRole>>,
    /// The default that the published schema names.
    pub default: Option<Value>,
    /// The embedded structs that lead to it, outermost first.
    pub embedded: Vec<SmolStr>,
}

impl Field {
    /// A field that is always written.
    pub fn new(name: impl Into<SmolStr>, ty: Type) -> Field {
        Field {
            name: name.into(),
            ty,
            number: None,
            omit_empty: false,
            omit_zero: false,
            is_optional: false,
            list_type: None,
            is_atomic: false,
            is_granular: false,
            patch: None,
            is_described: true,
            union: None,
            default: None,
            embedded: Vec::new(),
        }
    }

    fn zero_left_out(&self) -> Option<Zero> {
        let zero = match self.ty.shape {
            Shape::String => Zero::Text,
            Shape::Bool | Shape::Int32 | Shape::Int64 => Zero::Number,
            _ => return None,
        };
        (self.omit_empty && !self.ty.is_pointer).then_some(zero)
    }

    /// Whether Go writes the field when nothing was set: `omitempty` does nothing for structs.
    pub fn is_always_written(&self) -> bool {
        if self.omit_zero && !self.ty.is_pointer {
            return false;
        }
        !self.omit_empty || (!self.ty.is_pointer && self.ty.shape.is_struct_in_go())
    }
}

impl Shape {
    /// Whether the type is a struct in Go, whatever it looks like on the wire.
    pub(crate) fn is_struct_in_go(&self) -> bool {
        matches!(
            self,
            Shape::Struct(_)
                | Shape::Union(..)
                | Shape::Quantity
                | Shape::Time
                | Shape::MicroTime
                | Shape::Duration
                | Shape::IntOrString
                | Shape::RawExtension
                | Shape::FieldsV1
                | Shape::Json
        )
    }
}

/// What a field is in a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnionRole {
    /// It says which member is set.
    Discriminator,
    /// It is a member; the discriminator then says this.
    Member(SmolStr),
}

/// How apply merges a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListType {
    /// As a whole.
    Atomic,
    /// As a set of scalars.
    Set,
    /// As a map; these fields together are the key.
    Map(Vec<SmolStr>),
}

/// What a field says about strategic merge patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Items are merged, not replaced.
    pub merge: bool,
    /// The patch replaces the whole.
    pub replace: bool,
    /// Keys that the patch does not name are removed.
    pub retain_keys: bool,
    /// The field that identifies an item.
    pub key: Option<SmolStr>,
}

/// A struct that may be described elsewhere, or be the one that refers to it.
#[derive(Clone)]
pub struct StructRef(Arc<Link>);

enum Link {
    Owned(Arc<Struct>),
    /// Looked up at first use: tables refer to each other and types to themselves.
    Builtin {
        table: SmolStr,
        name: SmolStr,
        found: OnceLock<Arc<Struct>>,
    },
}

impl StructRef {
    /// The struct `name` of an embedded table, `core/v1`. It must be there when it is first used.
    pub(crate) fn builtin(table: &str, name: &str) -> StructRef {
        StructRef(Arc::new(Link::Builtin { table: table.into(), name: name.into(), found: OnceLock::new() }))
    }

    /// The table that describes the struct, and its name there; `None` if it is in no table.
    pub(crate) fn origin(&self) -> Option<(&str, &str)> {
        match &*self.0 {
            Link::Owned(_) => None,
            Link::Builtin { table, name, .. } => Some((table, name)),
        }
    }

    /// The struct.
    pub fn get(&self) -> &Struct {
        match &*self.0 {
            Link::Owned(target) => target,
            Link::Builtin { table, name, found } => found.get_or_init(|| {
                builtin::find(table, name).expect("a test follows every reference of the embedded tables")
            }),
        }
    }
}

impl From<Struct> for StructRef {
    fn from(target: Struct) -> StructRef {
        StructRef(Arc::new(Link::Owned(Arc::new(target))))
    }
}

impl From<Arc<Struct>> for StructRef {
    fn from(target: Arc<Struct>) -> StructRef {
        StructRef(Arc::new(Link::Owned(target)))
    }
}

impl fmt::Debug for StructRef {
    /// The name alone: types may refer to themselves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Link::Owned(target) => f.write_str(&target.name),
            Link::Builtin { table, name, .. } => write!(f, "{table}.{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Schema;

    #[test]
    fn fields_are_found_wherever_the_search_begins() {
        let schema = Schema::builtin("", "v1", "Pod").expect("built in");
        let spec = schema.field_at("spec").and_then(|field| field.ty.as_struct()).expect("a struct");
        let count = spec.fields().len();
        for (at, field) in spec.fields().iter().enumerate() {
            for next in [0, at, at + 1, count, count + 1] {
                assert_eq!(spec.position_from(next, &field.name), Some(at), "{} from {next}", field.name);
            }
        }
        for name in ["", "a", "hostipc", "hostIPC ", "terminationGracePeriod", "no such field"] {
            assert_eq!(spec.position_from(7, name), None, "{name}");
        }
    }

    #[test]
    fn protobuf_sees_members_in_the_order_of_their_numbers() {
        let schema = Schema::builtin("", "v1", "Pod").expect("built in");
        let volume = schema.field_at("spec.volumes").expect("a field");
        let super::Shape::List(item) = &volume.ty.shape else { panic!("volumes are a list") };
        let volume = item.as_struct().expect("a struct");
        let numbered: Vec<_> = volume
            .numbered()
            .iter()
            .map(|it| (it.number, volume.fields()[it.position].name.as_str(), it.embedded.is_some()))
            .collect();
        assert_eq!(numbered, [(1, "name", false), (2, "hostPath", true)]);

        let numbers: Vec<_> = schema.root().numbered().iter().map(|it| (it.number, it.position)).collect();
        assert_eq!(numbers, [(1, 2), (2, 3), (3, 4)], "kind and apiVersion are not in protobuf");
    }
}
