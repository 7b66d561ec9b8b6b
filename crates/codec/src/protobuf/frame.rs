//! Watch frames: four bytes of length in big endian, and an event.
//!
//! The event is a bare `WatchEvent`, without an envelope; the object in it has one:
//!
//! ```text
//! 00 00 00 2a                      what follows has 42 bytes
//! 0a 05 'A' 'D' 'D' 'E' 'D'        type
//! 12 21  0a 1f  'k' '8' 's' 00 …   object, whose only field is the enveloped message
//! ```

use bytes::BufMut;

use super::envelope::{Head, put_varint};
use super::wire::varint_size;

/// The number of length bytes before each frame.
pub const FRAME_HEAD: usize = 4;

/// Writes the frame of an event (`ADDED`, `BOOKMARK`, …) about the object that `message` is.
pub fn write_frame(event: &str, head: &Head, message: &[u8], out: &mut impl BufMut) {
    let object = head.size(message.len());
    let extension = field_size(object);
    let length = field_size(event.len()) + field_size(extension);
    out.put_u32(u32::try_from(length).expect("an object has far less than four gigabytes"));
    out.put_u8(0x0a);
    put_varint(event.len(), out);
    out.put_slice(event.as_bytes());
    out.put_u8(0x12);
    put_varint(extension, out);
    out.put_u8(0x0a);
    put_varint(object, out);
    head.write(message, out);
}

/// The first frame of a stream and the rest; `None` if it is not complete yet.
pub fn split_frame(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stream.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

/// The size of a field with a number below 16 and `content` bytes.
fn field_size(content: usize) -> usize {
    1 + varint_size(content) + content
}
