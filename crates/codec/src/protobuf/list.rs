//! Lists of messages that are already encoded: items are copied, not decoded or encoded again.
//!
//! The length of the list comes first, so the sizes of all items must be known when it begins; the items
//! themselves are requested one by one.

use bytes::{BufMut, Bytes};
use keelson_object::Value;
use keelson_schema::{Shape, Struct};

use super::back::Back;
use super::envelope::{Head, put_varint};
use super::error::Error;
use super::wire::varint_size;
use super::write::write;

/// A list that is being sent: [`List::begin`], each item with [`List::item`], [`List::end`].
#[derive(Clone, Debug)]
pub struct List {
    begin: Bytes,
    /// The tag of an item.
    tag: Bytes,
    end: Bytes,
    size: usize,
}

impl List {
    /// A list of the kind that `head` names and `of` describes, whose items have these sizes. `metadata` is the
    /// tree of the list's metadata.
    pub fn new(
        head: &Head,
        of: &Struct,
        metadata: &Value,
        sizes: impl Iterator<Item = usize>,
    ) -> Result<List, Error> {
        let (Some((metadata_at, meta_struct)), Some((items_at, _))) =
            (member(of, "metadata"), member(of, "items"))
        else {
            return Err(Error::NotMarshalable { go_name: of.go_name() });
        };
        let tag = tag(items_at);
        let message = write(metadata, meta_struct)?;
        let mut metadata = Back::default();
        metadata.bytes(metadata_at, &message);
        let metadata = metadata.finish();
        let content = sizes.map(|size| tag.len() + varint_size(size) + size).sum::<usize>() + metadata.len();
        let (mut begin, mut end) = (Vec::new(), Vec::new());
        head.begin(content, &mut begin);
        // In one old version the items come first.
        if metadata_at < items_at { &mut begin } else { &mut end }.extend_from_slice(&metadata);
        Head::end(&mut end);
        Ok(List { begin: begin.into(), tag, end: end.into(), size: head.size(content) })
    }

    /// The size of the whole list.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes before the items.
    pub fn begin(&self) -> &Bytes {
        &self.begin
    }

    /// Writes one item.
    pub fn item(&self, message: &[u8], out: &mut impl BufMut) {
        out.put_slice(&self.tag);
        put_varint(message.len(), out);
        out.put_slice(message);
    }

    /// The bytes after the items.
    pub fn end(&self) -> &Bytes {
        &self.end
    }
}

/// The number of a field, and the struct of the field or of its items.
fn member<'s>(of: &'s Struct, name: &str) -> Option<(u32, &'s Struct)> {
    let field = of.field(name)?;
    let target = match &field.ty.shape {
        Shape::List(item) => item.as_struct(),
        _ => field.ty.as_struct(),
    };
    Some((field.number?, target?))
}

fn tag(number: u32) -> Bytes {
    let mut out = Back::default();
    out.tag(number, 2);
    out.finish()
}
