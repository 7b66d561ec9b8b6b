//! Dump: all entries of a store at one revision, as a stream of bytes.
//!
//! ```text
//! head    "KEELDUMP"  format u32 = 1  revision u64  count u64 (0: not known)  crc32
//! entry   1  n u32  m u32  created u64  modified u64  version u64  key n bytes  value m bytes  crc32
//! end     2  count u64  crc32
//! ```
//!
//! All numbers are little endian; each checksum is of the bytes before it in its record. Values are as they
//! are stored: encrypted values stay encrypted. A dump without its end is incomplete.

use std::io::{self, Read, Write};

use bytes::Bytes;
use keelson_store::{Entry, Key, Revision};

const MAGIC: &[u8; 8] = b"KEELDUMP";
const FORMAT: u32 = 1;
const ENTRY: u8 = 1;
const END: u8 = 2;
const HEAD: usize = 28;
const ENTRY_HEAD: usize = 33;
/// The limit of a key or value: no store accepts longer ones.
const LONGEST: u32 = 64 << 20;

/// Writes a dump.
pub(crate) struct DumpWriter<W> {
    out: W,
    count: u64,
    buffer: Vec<u8>,
}

impl<W: Write> DumpWriter<W> {
    /// Begins a dump of a state; `expected` is the number of entries, if it is known.
    pub(crate) fn new(out: W, revision: Revision, expected: Option<u64>) -> io::Result<DumpWriter<W>> {
        let mut writer = DumpWriter { out, count: 0, buffer: Vec::new() };
        writer.buffer.extend_from_slice(MAGIC);
        writer.buffer.extend_from_slice(&FORMAT.to_le_bytes());
        writer.buffer.extend_from_slice(&revision.get().to_le_bytes());
        writer.buffer.extend_from_slice(&expected.unwrap_or(0).to_le_bytes());
        writer.flush_record()?;
        Ok(writer)
    }

    /// Writes an entry.
    pub(crate) fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        let length = |bytes: &[u8]| u32::try_from(bytes.len()).map_err(io::Error::other);
        let key = entry.key.as_str().as_bytes();
        self.buffer.push(ENTRY);
        self.buffer.extend_from_slice(&length(key)?.to_le_bytes());
        self.buffer.extend_from_slice(&length(&entry.value)?.to_le_bytes());
        for number in [entry.created.get(), entry.modified.get(), entry.version] {
            self.buffer.extend_from_slice(&number.to_le_bytes());
        }
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(&entry.value);
        self.count += 1;
        self.flush_record()
    }

    /// Writes the end, and returns the underlying writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.buffer.push(END);
        self.buffer.extend_from_slice(&self.count.to_le_bytes());
        self.flush_record()?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// The underlying writer.
    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    fn flush_record(&mut self) -> io::Result<()> {
        let checksum = crc32fast::hash(&self.buffer);
        self.buffer.extend_from_slice(&checksum.to_le_bytes());
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads a dump: an iterator over its entries that ends without an error only if the dump is complete.
#[derive(Debug)]
pub(crate) struct DumpReader<R> {
    input: R,
    revision: Revision,
    expected: Option<u64>,
    count: u64,
    is_over: bool,
}

impl<R: Read> DumpReader<R> {
    /// Reads the head.
    pub(crate) fn new(mut input: R) -> io::Result<DumpReader<R>> {
        let mut head = [0; HEAD];
        input.read_exact(&mut head).map_err(|_| wrong("it is no dump"))?;
        if head[..8] != *MAGIC {
            return Err(wrong("it is no dump"));
        }
        let format = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if format != FORMAT {
            return Err(wrong(format!("it has the format {format}, this version knows {FORMAT}")));
        }
        check(&mut input, &head, 0)?;
        let revision = Revision::new(number(&head[12..])).ok_or_else(|| wrong("it has no revision"))?;
        let expected = Some(number(&head[20..])).filter(|count| *count > 0);
        Ok(DumpReader { input, revision, expected, count: 0, is_over: false })
    }

    /// The revision of the dump.
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// The number of entries, if it is known.
    pub(crate) fn expected(&self) -> Option<u64> {
        self.expected
    }

    fn read(&mut self) -> io::Result<Option<Entry>> {
        let mut record = vec![0];
        self.fill(&mut record, 0)?;
        match record[0] {
            ENTRY => self.read_entry(record).map(Some),
            END => {
                record.resize(9, 0);
                self.fill(&mut record, 1)?;
                check(&mut self.input, &record, self.count)?;
                if number(&record[1..]) != self.count {
                    return Err(wrong(format!(
                        "{} entries are missing",
                        number(&record[1..]).abs_diff(self.count)
                    )));
                }
                Ok(None)
            }
            _ => Err(damaged(self.count)),
        }
    }

    fn read_entry(&mut self, mut record: Vec<u8>) -> io::Result<Entry> {
        record.resize(ENTRY_HEAD, 0);
        self.fill(&mut record, 1)?;
        let length =
            |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        let (key, value) = (length(1), length(5));
        if key > LONGEST || value > LONGEST {
            return Err(damaged(self.count));
        }
        let (key, value) = (key as usize, value as usize);
        record.resize(ENTRY_HEAD + key + value, 0);
        self.fill(&mut record, ENTRY_HEAD)?;
        check(&mut self.input, &record, self.count)?;
        let revision = |at: usize| Revision::new(number(&record[at..])).ok_or_else(|| damaged(self.count));
        let (created, modified, version) = (revision(9)?, revision(17)?, number(&record[25..]));
        let text =
            std::str::from_utf8(&record[ENTRY_HEAD..ENTRY_HEAD + key]).map_err(|_| damaged(self.count))?;
        let key_text = Key::from(text);
        let value = Bytes::from(record).slice(ENTRY_HEAD + key..);
        self.count += 1;
        Ok(Entry { key: key_text, value, created, modified, version })
    }

    fn fill(&mut self, record: &mut [u8], from: usize) -> io::Result<()> {
        self.input.read_exact(&mut record[from..]).map_err(|error| cut(error, self.count))
    }
}

impl<R: Read> Iterator for DumpReader<R> {
    type Item = io::Result<Entry>;

    fn next(&mut self) -> Option<io::Result<Entry>> {
        if self.is_over {
            return None;
        }
        let entry = self.read();
        self.is_over = !matches!(entry, Ok(Some(_)));
        entry.transpose()
    }
}

fn check(input: &mut impl Read, record: &[u8], count: u64) -> io::Result<()> {
    let mut checksum = [0; 4];
    input.read_exact(&mut checksum).map_err(|error| cut(error, count))?;
    if u32::from_le_bytes(checksum) == crc32fast::hash(record) { Ok(()) } else { Err(damaged(count)) }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn wrong(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.into())
}

fn damaged(count: u64) -> io::Error {
    wrong(format!("it is damaged behind entry {count}"))
}

fn cut(error: io::Error, count: u64) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong(format!("it is cut off behind entry {count}")),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use keelson_store::{Entry, Key, Revision};

    use super::{DumpReader, DumpWriter};

    fn entry(number: u64) -> Entry {
        let revision = |number| Revision::new(number).expect("not zero");
        Entry {
            key: Key::from(format!("/registry/pods/default/p{number}")),
            value: Bytes::from(vec![number as u8; number as usize * 3]),
            created: revision(number + 1),
            modified: revision(number + 5),
            version: number,
        }
    }

    fn dump(count: u64) -> Vec<u8> {
        let mut writer = DumpWriter::new(Vec::new(), Revision::FIRST.next(), Some(count)).unwrap();
        (0..count).for_each(|number| writer.entry(&entry(number)).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> std::io::Result<Vec<Entry>> {
        DumpReader::new(bytes)?.collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = dump(20);
        let reader = DumpReader::new(bytes.as_slice()).unwrap();
        assert_eq!((reader.revision().get(), reader.expected()), (2, Some(20)));
        assert_eq!(read(&bytes).unwrap(), (0..20).map(entry).collect::<Vec<_>>());
        assert!(read(&dump(0)).unwrap().is_empty());
    }

    #[test]
    fn no_byte_may_be_missing_or_changed() {
        let bytes = dump(4);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length} bytes are not all of it");
        }
        for position in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 0x10;
            assert!(read(&changed).is_err(), "byte {position}");
        }
    }

    #[test]
    fn problems_are_named() {
        let problem = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert_eq!(problem(b"{}"), "it is no dump");
        assert_eq!(problem(b"PK-and-a-lot-of-other-bytes-here"), "it is no dump");
        let mut newer = dump(1);
        newer[8] = 9;
        assert_eq!(problem(&newer), "it has the format 9, this version knows 1");
        let whole = dump(3);
        assert_eq!(problem(&whole[..whole.len() - 1]), "it is cut off behind entry 3");
    }
}
