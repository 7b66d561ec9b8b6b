//! CBOR, as upstream configures it: self-described, deterministic, and limited to what JSON can express.
//!
//! ```text
//! JSON   {"kind":"Secret","data":{"k":"AAE="},"n":1.5}
//!
//! CBOR   d9 d9f7                          self-described
//!        a3                               a map of three pairs; shorter keys first
//!           41 6e          f9 3e00        n: the shortest float that is exact
//!           44 6b696e64    46 536563…     kind: names and texts are byte strings
//!           44 64617461    a1 41 6b       data: {k:
//!                             d6 42 0001     bytes are as they are; tag 22 says how JSON shows them
//! ```
//!
//! Reading has two passes. The first one finds malformed input, without allocating, so that the second one
//! can trust every length. Maps with a duplicate key are refused, not reported. A tree that was read by
//! schema has no unknown fields; the position of the first one is returned for strict clients.
//!
//! Upstream: apimachinery/pkg/runtime/serializer/cbor (v1.36.4).

mod error;
mod float;
mod head;
mod later;
mod read;
mod scalar;
mod time;
mod wellformed;
mod write;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use error::{Error, Kind, Mismatch};
pub use read::{Document, TypeMeta, identify, read, read_object};
pub use write::{SELF_DESCRIBED, begin_list, begin_map, write, write_as, write_text};
