//! Frozen object: immutable, encoded once, shared by all readers.
//!
//! ```text
//! json   "metadata":{"name":"web","resourceVersion":"7",…},"spec":{…},"status":{…}}
//!                   ^------------- metadata -----------^
//! ```
//!
//! `json` has no opening brace, no `kind` and no `apiVersion`: those depend on the version of the request. A
//! GET and a watch event write `{`, a head and the rest; an item of a built-in list writes `{` and the rest;
//! metadata alone is a slice.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use smol_str::SmolStr;

use crate::cell::Cell;
use crate::meta::StringMap;

/// An object as of one revision.
#[derive(Debug)]
pub struct Frozen {
    revision: u64,
    index: Index,
    json: Bytes,
    metadata: Range<u32>,
    version: u16,
    cells: OnceLock<Arc<[Cell]>>,
    protobuf: OnceLock<Bytes>,
}

/// The parts of an object that selectors and handlers need without parsing its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// `metadata.name`.
    pub name: SmolStr,
    /// `metadata.namespace`; empty for cluster-scoped objects.
    pub namespace: SmolStr,
    /// `metadata.uid`.
    pub uid: SmolStr,
    /// `metadata.labels`.
    pub labels: StringMap,
    /// The values of the resource's selectable fields, in the order in which the resource declares them.
    pub fields: Box<[SmolStr]>,
}

impl Frozen {
    /// A frozen object of encoded bytes. `metadata` is the range of the value of `"metadata"` in `json`.
    pub fn new(revision: u64, index: Index, json: Bytes, metadata: Range<u32>) -> Frozen {
        debug_assert_eq!(json.get(metadata.start as usize), Some(&b'{'), "metadata begins with a brace");
        let (cells, protobuf) = (OnceLock::new(), OnceLock::new());
        Frozen { revision, index, json, metadata, version: 0, cells, protobuf }
    }

    /// The same object, marked with the version that its bytes are in: the position of the version in the resource.
    /// Only custom resources have objects of different versions side by side.
    #[must_use]
    pub fn in_version(mut self, version: u16) -> Frozen {
        self.version = version;
        self
    }

    /// The position of the version that the bytes are in; see [`Frozen::in_version`].
    pub fn version(&self) -> usize {
        usize::from(self.version)
    }

    /// The revision at which this state was written.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The index for selectors.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The encoding after the head: see the module's drawing.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The value of `metadata` alone.
    pub fn metadata_json(&self) -> &[u8] {
        &self.json[self.metadata_range()]
    }

    /// The range of the value of `metadata` in [`Frozen::json`].
    pub fn metadata_range(&self) -> Range<usize> {
        self.metadata.start as usize..self.metadata.end as usize
    }

    /// The table cells, made by the first reader that needs them.
    pub fn cells<E>(&self, make: impl FnOnce() -> Result<Arc<[Cell]>, E>) -> Result<&Arc<[Cell]>, E> {
        if let Some(cells) = self.cells.get() {
            return Ok(cells);
        }
        let cells = make()?;
        Ok(self.cells.get_or_init(|| cells))
    }

    /// The protobuf message of the stored version, made by the first reader that needs it.
    pub fn protobuf<E>(&self, make: impl FnOnce() -> Result<Bytes, E>) -> Result<&Bytes, E> {
        if let Some(message) = self.protobuf.get() {
            return Ok(message);
        }
        let message = make()?;
        Ok(self.protobuf.get_or_init(|| message))
    }

    /// Whether the cells have been made.
    pub fn has_cells(&self) -> bool {
        self.cells.get().is_some()
    }

    /// Whether the protobuf message has been made.
    pub fn has_protobuf(&self) -> bool {
        self.protobuf.get().is_some()
    }

    /// The approximate memory of this object: its bytes and its index.
    pub fn footprint(&self) -> usize {
        size_of::<Frozen>() + self.json.len() + self.index.labels.len() * 2 * size_of::<SmolStr>()
    }
}

/// A field that field selectors can use, and the path of its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectableField {
    /// The name in the selector: `spec.nodeName`.
    pub label: SmolStr,
    /// Dotted paths, tried in order; the first that holds a scalar other than the empty text gives the value.
    pub paths: Vec<SmolStr>,
    /// The value if none of the paths has one.
    pub default: SmolStr,
}

impl SelectableField {
    /// A field that is selected by its own path and is empty if absent.
    pub fn plain(path: &str) -> SelectableField {
        SelectableField { label: path.into(), paths: vec![path.into()], default: SmolStr::default() }
    }
}
