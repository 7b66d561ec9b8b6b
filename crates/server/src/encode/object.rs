//! Encoding of one object: head and frozen bytes.

use bytes::{BufMut as _, Bytes, BytesMut};
use keelson_object::Frozen;

/// Writes an object with kind and apiVersion, as in GET, watch events and lists of custom resources. `head`
/// is `"kind":"…","apiVersion":"…",`.
pub(crate) fn write_object(out: &mut BytesMut, head: &[u8], object: &Frozen) {
    out.reserve(1 + head.len() + object.json().len());
    out.put_u8(b'{');
    out.extend_from_slice(head);
    out.extend_from_slice(object.json());
}

/// Writes an item of a built-in list, which has no kind and apiVersion.
pub(crate) fn write_item(out: &mut BytesMut, object: &Frozen) {
    out.reserve(1 + object.json().len());
    out.put_u8(b'{');
    out.extend_from_slice(object.json());
}

/// An object as one text.
pub(crate) fn whole(head: &[u8], object: &Frozen) -> Bytes {
    let mut out = BytesMut::with_capacity(2 + head.len() + object.json().len());
    write_object(&mut out, head, object);
    out.freeze()
}
