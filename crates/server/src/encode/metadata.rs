//! Metadata of objects, which is a slice of their bytes.

use bytes::{BufMut as _, BytesMut};
use keelson_object::Frozen;

use crate::negotiate::MetaVersion;

/// `as=PartialObjectMetadata`.
pub(crate) fn write_metadata(out: &mut BytesMut, version: MetaVersion, object: &Frozen) {
    out.extend_from_slice(b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"");
    out.extend_from_slice(version.api_version().as_bytes());
    out.extend_from_slice(b"\",\"metadata\":");
    out.extend_from_slice(object.metadata_json());
    out.put_u8(b'}');
}
