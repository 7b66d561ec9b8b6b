//! JSON: a reader that finds duplicates and a writer whose bytes are those of Go's `encoding/json`.

mod error;
mod indent;
mod lanes;
mod read;
pub(crate) mod scan;
mod write;

pub use error::{Error, Position};
pub use indent::{Indenter, indent};
pub use read::{Document, read, read_every_pair};
pub(crate) use read::{read_members, read_string};
pub use write::{to_bytes, write, write_float, write_map, write_text};

#[cfg(test)]
pub(crate) mod properties;
