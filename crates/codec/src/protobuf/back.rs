//! Buffer that is filled from its end.
//!
//! The length of a message is written before it, in a varying number of bytes. Writing the message first and
//! its length afterwards needs no second pass and moves nothing:
//!
//! ```text
//!                             'w' 'e' 'b'      put("web")
//!                       0a 03 'w' 'e' 'b'      close(mark, 1)
//! ^ start of the free room   ^ start of what is written
//! ```

use bytes::Bytes;

/// The written bytes are in `data[start..]`.
#[derive(Debug, Default)]
pub(super) struct Back {
    data: Vec<u8>,
    start: usize,
}

impl Back {
    /// The number of bytes written.
    pub(super) fn len(&self) -> usize {
        self.data.len() - self.start
    }

    /// Writes `bytes` before everything else.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        let end = self.start;
        self.start -= bytes.len();
        self.data[self.start..end].copy_from_slice(bytes);
    }

    /// Writes a number as a varint.
    pub(super) fn varint(&mut self, mut number: u64) {
        let mut bytes = [0; 10];
        let mut length = 0;
        while number >= 0x80 {
            bytes[length] = number as u8 | 0x80;
            number >>= 7;
            length += 1;
        }
        bytes[length] = number as u8;
        self.put(&bytes[..=length]);
    }

    /// Writes a tag.
    pub(super) fn tag(&mut self, number: u32, wire_type: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire_type));
    }

    /// Makes a field of the bytes that were written since there were `mark` bytes.
    pub(super) fn close(&mut self, mark: usize, number: u32) {
        self.varint((self.len() - mark) as u64);
        self.tag(number, 2);
    }

    /// Writes a field of these bytes.
    pub(super) fn bytes(&mut self, number: u32, bytes: &[u8]) {
        let mark = self.len();
        self.put(bytes);
        self.close(mark, number);
    }

    /// The written bytes, in memory of their own size.
    pub(super) fn finish(&self) -> Bytes {
        Bytes::copy_from_slice(&self.data[self.start..])
    }

    fn grow(&mut self, more: usize) {
        let size = (self.len() + more).max(self.data.len() * 2).max(512);
        let mut data = vec![0; size];
        let start = size - self.len();
        data[start..].copy_from_slice(&self.data[self.start..]);
        (self.data, self.start) = (data, start);
    }
}

#[cfg(test)]
mod tests {
    use super::Back;

    #[test]
    fn fields_are_written_from_the_last_to_the_first() {
        let mut out = Back::default();
        out.varint(150);
        out.tag(7, 0);
        let mark = out.len();
        out.bytes(3, b"web");
        out.close(mark, 1);
        assert_eq!(out.finish(), &b"\x0a\x05\x1a\x03web\x38\x96\x01"[..]);
    }

    #[test]
    fn the_buffer_grows_at_its_front() {
        let mut out = Back::default();
        for number in (0..10_000_u64).rev() {
            out.varint(number);
        }
        let all = out.finish();
        let mut rest = &all[..];
        for number in 0..10_000 {
            assert_eq!(crate::protobuf::wire::varint(&mut rest), Ok(number));
        }
        assert!(rest.is_empty());
    }
}
