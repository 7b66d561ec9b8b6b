//! The tables in the file, and the bytes of a record.
//!
//! ```text
//! meta     name ─▶ bytes
//!          "format"     u64   the format of everything else
//!          "compacted"  u64   the oldest revision that can be read
//!          "swept"      u64   up to here, compacted revisions are removed from the file, too
//! live     key ─▶ (modified, created, version, expires)
//! history  revision ─▶ record
//!
//! record   0       4      5         13        21        29        37      41        41+n
//!          ┌───────┬──────┬─────────┬─────────┬─────────┬─────────┬───────┬─────────┬─────────┐
//!          │ crc32 │ kind │ created │ version │ previous│ expires │ n     │ key     │ value … │
//!          └───────┴──────┴─────────┴─────────┴─────────┴─────────┴───────┴─────────┴─────────┘
//!          crc32     of the revision and of everything behind it
//!          kind      1 put, 2 delete (which has no value)
//!          created   the revision at which the key came into being; 0 for a delete
//!          version   how many times it was written since; 0 for a delete
//!          previous  the revision of what was there before; 0 if there was nothing
//!          expires   when the store deletes it, in milliseconds since 1970; 0 for never
//! ```
//!
//! All numbers are little endian. A delete is a record like any other, so the history after
//! `compacted` has no gaps: that is checked when the store is opened.

use bytes::Bytes;
use keelson_store::{Entry, Key, Revision, StoreError};
use redb::TableDefinition;

/// Names and values of the store itself.
pub(crate) const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
/// Key to (modified, created, version, expires).
pub(crate) const LIVE: TableDefinition<'static, &str, (u64, u64, u64, u64)> = TableDefinition::new("live");
/// Revision to record.
pub(crate) const HISTORY: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("history");

/// In [`META`]: the format of the file.
pub(crate) const FORMAT: &str = "format";
/// In [`META`]: the oldest revision that can be read.
pub(crate) const COMPACTED: &str = "compacted";
/// In [`META`]: up to here, compacted revisions are removed from the file.
pub(crate) const SWEPT: &str = "swept";

/// The format that this version writes.
pub(crate) const CURRENT_FORMAT: u64 = 1;

const PUT: u8 = 1;
const DELETE: u8 = 2;
const HEADER: usize = 41;

/// One row of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    pub(crate) revision: u64,
    pub(crate) kind: Kind,
    pub(crate) created: u64,
    pub(crate) version: u64,
    pub(crate) previous: u64,
    pub(crate) expires: u64,
    pub(crate) key: &'r str,
    pub(crate) value: &'r [u8],
}

/// The kind of write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Put,
    Delete,
}

impl<'r> Record<'r> {
    /// Replaces what is in `out` with the bytes of the record.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.reserve(HEADER + self.key.len() + self.value.len());
        out.extend_from_slice(&[0; 4]);
        out.push(match self.kind {
            Kind::Put => PUT,
            Kind::Delete => DELETE,
        });
        for number in [self.created, self.version, self.previous, self.expires] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let length = u32::try_from(self.key.len()).expect("a key is shorter than 4 GiB");
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(self.key.as_bytes());
        out.extend_from_slice(self.value);
        let checksum = checksum(self.revision, &out[4..]);
        out[..4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// The record in the bytes that were stored at `revision`; `None` if they are damaged.
    pub(crate) fn decode(revision: u64, bytes: &'r [u8]) -> Option<Record<'r>> {
        let (stored, rest) = bytes.split_first_chunk::<4>()?;
        if u32::from_le_bytes(*stored) != checksum(revision, rest) {
            return None;
        }
        let (kind, rest) = rest.split_first()?;
        let kind = match *kind {
            PUT => Kind::Put,
            DELETE => Kind::Delete,
            _ => return None,
        };
        let (created, rest) = take_u64(rest)?;
        let (version, rest) = take_u64(rest)?;
        let (previous, rest) = take_u64(rest)?;
        let (expires, rest) = take_u64(rest)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (key, value) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let key = std::str::from_utf8(key).ok()?;
        Some(Record { revision, kind, created, version, previous, expires, key, value })
    }

    /// The entry that a put wrote, under a key that is known already.
    pub(crate) fn to_entry(self, key: Key) -> Result<Entry, StoreError> {
        let modified = Revision::new(self.revision).expect("the history begins after revision 1");
        let damaged = StoreError::Corrupt { revision: modified };
        match (self.kind, Revision::new(self.created)) {
            (Kind::Put, Some(created)) if self.key == key.as_str() => {
                let value = Bytes::copy_from_slice(self.value);
                Ok(Entry { key, value, created, modified, version: self.version })
            }
            _ => Err(damaged),
        }
    }
}

fn take_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk::<8>()?;
    Some((u64::from_le_bytes(*number), rest))
}

fn checksum(revision: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&revision.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::{HEADER, Kind, Record};

    const PUT: Record<'static> = Record {
        revision: 7,
        kind: Kind::Put,
        created: 3,
        version: 2,
        previous: 3,
        expires: 0,
        key: "/a",
        value: b"{}",
    };

    #[test]
    fn a_record_is_what_it_was() {
        let delete = Record { kind: Kind::Delete, created: 0, version: 0, value: b"", ..PUT };
        let empty = Record { value: b"", expires: u64::MAX, previous: 0, ..PUT };
        let mut bytes = vec![9; 3];
        for record in [PUT, delete, empty] {
            record.encode(&mut bytes);
            assert_eq!(bytes.len(), HEADER + record.key.len() + record.value.len());
            assert_eq!(Record::decode(7, &bytes), Some(record));
        }
    }

    #[test]
    fn no_bit_may_change() {
        let mut bytes = Vec::new();
        PUT.encode(&mut bytes);
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::decode(7, &bytes), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        for length in 0..bytes.len() {
            assert_eq!(Record::decode(7, &bytes[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn a_record_belongs_to_its_revision() {
        let mut bytes = Vec::new();
        PUT.encode(&mut bytes);
        assert_eq!(Record::decode(8, &bytes), None);
    }
}
