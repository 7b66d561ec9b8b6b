//! Protobuf for every built-in kind, driven by the schema: no struct and no code per kind.
//!
//! A *message* is an object without its kind: lists contain messages, and messages are cached, because they
//! are the same in every response. An *envelope* is around a message wherever the receiver must know its
//! kind: in requests, in responses, in watch events.
//!
//! ```text
//! body of a request    Envelope::read(body)?.or("v1", "Pod").decode()?       the tree, as JSON would have given it
//! object               write_frozen(&frozen, schema.root())? → message       once per object
//!   GET                head.wrap(&message)
//!   LIST               List::new(&head, …)?: begin, item(&message) …, end
//!   WATCH              write_frame("ADDED", &head, &message, &mut out)
//!   metadata only      metadata_only(&message), which is a message of PartialObjectMetadata
//! anything else        encode(&value, "v1", "Status")?
//! ```
//!
//! The bytes are those of upstream's generated code; what it loses, such as the kinds of items, is lost here,
//! too.

mod back;
mod envelope;
mod error;
mod frame;
mod list;
mod read;
mod wire;
mod write;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use keelson_object::{Object, Value};

pub use envelope::{Envelope, Head, PREFIX};
pub use error::Error;
pub use frame::{FRAME_HEAD, split_frame, write_frame};
pub use list::List;
pub use read::read;
pub use write::{write, write_frozen, write_object, write_stored};

use wire::{Fields, Payload};

/// The tree of an enveloped message; its `kind` and `apiVersion` are those of the envelope.
pub fn decode(data: &[u8]) -> Result<Value, Error> {
    Envelope::read(data)?.decode()
}

/// The enveloped message of a tree.
pub fn encode(value: &Value, api_version: &str, kind: &str) -> Result<Bytes, Error> {
    envelope::enclose(api_version, kind, |writer, of| writer.root(value, of))
}

/// The enveloped message of an object.
pub fn encode_object(object: &Object) -> Result<Bytes, Error> {
    let metadata = Value::Map(object.meta.to_map());
    envelope::enclose(&object.api_version, &object.kind, |writer, of| writer.object(object, &metadata, of))
}

/// The metadata of an object's message: field 1 of every kind, and the only field of a
/// `PartialObjectMetadata`. `None` if the message does not begin with metadata.
pub fn metadata_only(message: &[u8]) -> Option<&[u8]> {
    let mut fields = Fields::of("PartialObjectMetadata", message);
    let (1, Payload::Bytes(_)) = fields.next_field().ok()?? else { return None };
    Some(&message[..message.len() - fields.rest().len()])
}
