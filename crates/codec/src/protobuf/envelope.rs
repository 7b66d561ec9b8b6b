//! Envelope: four bytes that mark protobuf, then a `runtime.Unknown` with the kind and the message.
//!
//! ```text
//! 'k' '8' 's' 00
//! 0a len  0a len apiVersion  12 len kind     typeMeta
//! 12 len  …                                  the message
//! 1a 00  22 00                               contentEncoding and contentType, both empty
//! ```

use bytes::{BufMut, Bytes};
use keelson_object::{ApiVersion, Map, Value};
use keelson_schema::{Schema, Struct};
use smol_str::SmolStr;

use super::back::Back;
use super::error::{Error, Fallible};
use super::read::{self, text};
use super::wire::{Fields, varint_size};
use super::write::Writer;

/// The first bytes of every envelope.
pub const PREFIX: [u8; 4] = *b"k8s\0";

/// The bytes after the message.
const END: [u8; 4] = [0x1a, 0, 0x22, 0];

/// A parsed envelope, whose message is not parsed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<'d> {
    /// `group/version` of the message.
    pub api_version: SmolStr,
    /// The kind of the message.
    pub kind: SmolStr,
    /// The message.
    pub message: &'d [u8],
}

impl<'d> Envelope<'d> {
    /// Parses an envelope.
    pub fn read(data: &'d [u8]) -> Result<Envelope<'d>, Error> {
        Envelope::open(data).map_err(|error| *error)
    }

    fn open(data: &'d [u8]) -> Fallible<Envelope<'d>> {
        if data.is_empty() {
            return Err(Box::new(Error::EmptyData));
        }
        let body = data.strip_prefix(&PREFIX).ok_or_else(|| Box::new(Error::NoPrefix))?;
        if body.is_empty() {
            return Err(Box::new(Error::EmptyBody));
        }
        let mut envelope =
            Envelope { api_version: SmolStr::default(), kind: SmolStr::default(), message: &[] };
        let mut fields = Fields::of("Unknown", body);
        while let Some((number, payload)) = fields.next_field()? {
            match number {
                1 => envelope.read_type(payload.bytes("typeMeta")?)?,
                2 => envelope.message = payload.bytes("raw")?,
                // Upstream reads both and ignores them.
                3 => drop(payload.bytes("contentEncoding")?),
                4 => drop(payload.bytes("contentType")?),
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, data: &'d [u8]) -> Fallible<()> {
        let mut fields = Fields::of("TypeMeta", data);
        while let Some((number, payload)) = fields.next_field()? {
            match number {
                1 => self.api_version = text(payload.bytes("APIVersion")?),
                2 => self.kind = text(payload.bytes("kind")?),
                _ => {}
            }
        }
        Ok(())
    }

    /// Fills in the version and kind if the envelope does not have them: those that the request's path
    /// implies.
    #[must_use]
    pub fn or(mut self, api_version: &str, kind: &str) -> Envelope<'d> {
        if self.kind.is_empty() {
            self.kind = kind.into();
        }
        if self.version().is_none() {
            self.api_version = api_version.into();
        }
        self
    }

    /// The tree of the message, `kind` and `apiVersion` included.
    pub fn decode(&self) -> Result<Value, Error> {
        let schema = self.schema()?;
        let value = read::read(self.message, message_struct(&schema)?)?;
        Ok(self.name(value, schema.root()))
    }

    /// The schema of the built-in kind that the envelope names.
    pub(super) fn schema(&self) -> Result<Schema, Error> {
        let (api_version, kind) = (self.api_version.clone(), self.kind.clone());
        if kind.is_empty() {
            return Err(Error::MissingKind { api_version });
        }
        match self.version() {
            None => Err(Error::MissingVersion { api_version, kind }),
            Some(ApiVersion { group, version }) => {
                Schema::builtin(&group, &version, &kind).ok_or(Error::UnknownKind { api_version, kind })
            }
        }
    }

    /// Puts `kind` and `apiVersion` in front of the fields of a struct that has them.
    pub(super) fn name(&self, value: Value, of: &Struct) -> Value {
        let Value::Map(fields) = value else { return value };
        if !has_kind(of) {
            return Value::Map(fields);
        }
        let mut named = Map::with_capacity(fields.len() + 2);
        named.push_new("kind", self.kind.clone());
        named.push_new("apiVersion", self.api_version.clone());
        for (key, value) in fields {
            named.push_new(key, value);
        }
        Value::Map(named)
    }

    fn version(&self) -> Option<ApiVersion> {
        ApiVersion::parse(&self.api_version).filter(|it| !it.version.is_empty())
    }
}

/// The struct of a kind, if the kind has a protobuf form: tables do not.
pub(super) fn message_struct(schema: &Schema) -> Result<&Struct, Error> {
    let root = schema.root();
    if root.numbered().is_empty() && root.fields().len() > 2 {
        return Err(Error::NotMarshalable { go_name: root.go_name() });
    }
    Ok(root)
}

/// Whether objects of this struct have a kind. Watch events do not, and their envelope does not either.
fn has_kind(of: &Struct) -> bool {
    of.fields().first().is_some_and(|it| it.name == "kind")
}

/// The envelope of one kind: made once, used for every message of the kind.
#[derive(Clone, Debug)]
pub struct Head {
    /// The prefix and `typeMeta`.
    bytes: Bytes,
}

impl Head {
    /// The head of a kind.
    pub fn new(api_version: &str, kind: &str) -> Head {
        let mut out = Back::default();
        put_head(&mut out, api_version, kind);
        Head { bytes: out.finish() }
    }

    /// The size of the envelope with a message of `message` bytes.
    pub fn size(&self, message: usize) -> usize {
        self.bytes.len() + 1 + varint_size(message) + message + END.len()
    }

    /// Writes a message in its envelope.
    pub fn write(&self, message: &[u8], out: &mut impl BufMut) {
        self.begin(message.len(), out);
        out.put_slice(message);
        Head::end(out);
    }

    /// A message in its envelope.
    pub fn wrap(&self, message: &[u8]) -> Bytes {
        let mut out = Vec::with_capacity(self.size(message.len()));
        self.write(message, &mut out);
        out.into()
    }

    /// Writes the part before a message of `message` bytes.
    pub(super) fn begin(&self, message: usize, out: &mut impl BufMut) {
        out.put_slice(&self.bytes);
        out.put_u8(0x12);
        put_varint(message, out);
    }

    /// Writes the part after a message.
    pub(super) fn end(out: &mut impl BufMut) {
        out.put_slice(&END);
    }
}

/// Writes a varint.
pub(super) fn put_varint(mut number: usize, out: &mut impl BufMut) {
    while number >= 0x80 {
        out.put_u8(number as u8 | 0x80);
        number >>= 7;
    }
    out.put_u8(number as u8);
}

/// Writes message and envelope from the back, in one buffer.
pub(super) fn enclose<'v>(
    api_version: &str,
    kind: &str,
    message: impl FnOnce(&mut Writer<'_, 'v>, &Struct) -> Fallible<()>,
) -> Result<Bytes, Error> {
    let envelope = Envelope { api_version: api_version.into(), kind: kind.into(), message: &[] };
    let schema = envelope.schema()?;
    let of = message_struct(&schema)?;
    let mut out = Back::default();
    out.put(&END);
    let mark = out.len();
    message(&mut Writer::new(&mut out), of).map_err(|error| *error)?;
    out.close(mark, 2);
    let (api_version, kind) = if has_kind(of) { (api_version, kind) } else { ("", "") };
    put_head(&mut out, api_version, kind);
    Ok(out.finish())
}

fn put_head(out: &mut Back, api_version: &str, kind: &str) {
    let mark = out.len();
    out.bytes(2, kind.as_bytes());
    out.bytes(1, api_version.as_bytes());
    out.close(mark, 1);
    out.put(&PREFIX);
}
