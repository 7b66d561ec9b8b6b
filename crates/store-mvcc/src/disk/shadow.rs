//! Shadow: a file that is only read; writes stay in memory.
//!
//! redb must write to open a file that was not closed properly. When the disk has failed it cannot, so it
//! gets this. Opening a file writes little, and the store itself writes nothing then.
//!
//! ```text
//! blocks   0        1        2        3
//! file     ████████ ████████ ████████ ███
//! memory            ▓▓▓▓▓▓▓▓                 ◀ a write into block 1 copied it
//! read     ████████ ▓▓▓▓▓▓▓▓ ████████ ███0000
//! ```

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;
use redb::StorageBackend;

const BLOCK: usize = 4096;

/// A file, and the writes that were not made.
#[derive(Debug)]
pub(crate) struct Shadow {
    file: File,
    memory: Mutex<Memory>,
}

#[derive(Debug)]
struct Memory {
    blocks: BTreeMap<u64, Box<[u8]>>,
    length: u64,
    /// The valid length of the file; it was truncated to this once, and later bytes are invalid.
    file_length: u64,
}

impl Shadow {
    pub(crate) fn new(file: File) -> io::Result<Shadow> {
        let length = file.metadata()?.len();
        let memory = Memory { blocks: BTreeMap::new(), length, file_length: length };
        Ok(Shadow { file, memory: Mutex::new(memory) })
    }

    fn load(&self, memory: &Memory, number: u64) -> io::Result<Box<[u8]>> {
        let mut block = vec![0; BLOCK];
        let start = number * BLOCK as u64;
        let in_file = memory.file_length.saturating_sub(start).min(BLOCK as u64);
        let in_file = usize::try_from(in_file).expect("a block is small");
        self.file.read_exact_at(&mut block[..in_file], start)?;
        Ok(block.into())
    }
}

/// The pieces of a range that lie in one block each: block, where in the block, where in the range.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let position = offset + done as u64;
        let within = usize::try_from(position % BLOCK as u64).expect("a block is small");
        let size = (BLOCK - within).min(length - done);
        let piece = (position / BLOCK as u64, within, done..done + size);
        done += size;
        Some(piece)
    })
}

impl StorageBackend for Shadow {
    fn len(&self) -> io::Result<u64> {
        Ok(self.memory.lock().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let memory = self.memory.lock();
        if offset + out.len() as u64 > memory.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for (number, within, part) in pieces(offset, out.len()) {
            let size = part.len();
            let part = &mut out[part];
            match memory.blocks.get(&number) {
                Some(block) => part.copy_from_slice(&block[within..within + size]),
                None => part.copy_from_slice(&self.load(&memory, number)?[within..within + size]),
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut memory = self.memory.lock();
        if len < memory.length {
            // What is cut off is zero when it comes back.
            drop(memory.blocks.split_off(&len.div_ceil(BLOCK as u64)));
            memory.file_length = memory.file_length.min(len);
            let within = usize::try_from(len % BLOCK as u64).expect("a block is small");
            if let Some(block) = memory.blocks.get_mut(&(len / BLOCK as u64)) {
                block[within..].fill(0);
            }
        }
        memory.length = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut memory = self.memory.lock();
        for (number, within, part) in pieces(offset, data.len()) {
            let size = part.len();
            if !memory.blocks.contains_key(&number) {
                let block = self.load(&memory, number)?;
                memory.blocks.insert(number, block);
            }
            let block = memory.blocks.get_mut(&number).expect("it was just put there");
            block[within..within + size].copy_from_slice(&data[part]);
        }
        memory.length = memory.length.max(offset + data.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use redb::StorageBackend;

    use super::Shadow;

    #[test]
    fn writes_are_read_back_and_the_file_stays() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let original: Vec<u8> = (0..10_000_u32).map(|number| (number % 251) as u8).collect();
        fs::write(file.path(), &original).unwrap();
        let shadow = Shadow::new(file.reopen().unwrap()).unwrap();

        let mut expected = original.clone();
        for (offset, data) in [(0, vec![1; 10]), (4090, vec![2; 20]), (8000, vec![3; 4000]), (4095, vec![4])]
        {
            expected.resize(expected.len().max(offset + data.len()), 0);
            expected[offset..offset + data.len()].copy_from_slice(&data);
            shadow.write(offset as u64, &data).unwrap();
        }
        for length in [5000, 20_000, 4096, 4100] {
            expected.resize(length, 0);
            shadow.set_len(length as u64).unwrap();
            assert_eq!(shadow.len().unwrap(), length as u64);
            let mut read = vec![9; length];
            shadow.read(0, &mut read).unwrap();
            assert!(read == expected, "with length {length}");
        }
        assert!(shadow.read(4000, &mut [0; 101]).is_err());
        assert!(fs::read(file.path()).unwrap() == original);
    }
}
