//! Stored form of objects, and its conversion to a [`Frozen`] object.
//!
//! The store contains one compact JSON document per object:
//!
//! ```text
//! {"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"a","uid":"…","labels":{…}},"spec":{…}}
//! ```
//!
//! It has no resource version, because that is known only after the write. [`decode`] scans the bytes once,
//! without building a tree: it drops the head, inserts the resource version, and collects the values that
//! selectors need.
//!
//! ```text
//! stored  {"kind":…,"apiVersion":…,"metadata":{"name":"web","uid":"…","labels":{…}},"spec":{…}}
//! frozen                           "metadata":{"name":"web","uid":"…","resourceVersion":"7","labels":{…}},"spec":{…}}
//! ```

mod encode;
mod scanner;
mod selected;

use std::ops::Range;

use bytes::Bytes;
use keelson_object::meta::StringMap;
use keelson_object::{Frozen, Index, Object, ObjectMeta, SelectableField, ShapeError, SmolStr, Value};
use memchr::memmem;

pub use encode::encode;
use scanner::Scanner;
use selected::{Candidate, Selected, below, candidates};

use crate::json;

/// Why stored bytes could not be read: the store contains something that this server did not write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// Not the JSON of an object.
    #[error("stored object is malformed at byte {offset}")]
    Malformed {
        /// The position of the error.
        offset: usize,
    },
    /// An object without metadata.
    #[error("stored object has no metadata")]
    NoMetadata,
    /// More bytes than a frozen object can address.
    #[error("stored object of {size} bytes is too large")]
    TooLarge {
        /// The size.
        size: usize,
    },
    /// Not JSON.
    #[error("stored object is not JSON")]
    Json(#[source] json::Error),
    /// The metadata has the wrong shape.
    #[error("stored object has a field of the wrong type")]
    Shape(#[source] ShapeError),
}

impl From<json::Error> for StoredError {
    fn from(error: json::Error) -> StoredError {
        StoredError::Json(error)
    }
}

impl From<ShapeError> for StoredError {
    fn from(error: ShapeError) -> StoredError {
        StoredError::Shape(error)
    }
}

/// The frozen object of stored bytes that were written at `revision`; 0 for objects that are not stored.
pub fn decode(bytes: &Bytes, revision: u64, fields: &[SelectableField]) -> Result<Frozen, StoredError> {
    let mut scanner = Scanner::new(bytes);
    let mut selected = Selected::new(fields);
    let wanted = candidates(fields);
    let mut layout = Layout::default();
    let mut metadata = None;
    scanner.open()?;
    while let Some(member) = scanner.next_member()? {
        match &*member.key {
            b"kind" | b"apiVersion" => {
                scanner.skip_value()?;
                layout.drop_member(member.begin, scanner.at())?;
            }
            b"metadata" => {
                if metadata.is_some() {
                    return Err(scanner.malformed());
                }
                metadata = Some(Metadata::scan(&mut scanner, &mut selected, &below(&wanted, b"metadata"))?);
                layout.keep_member(member.begin, scanner.at());
            }
            key => {
                selected.value(&mut scanner, &wanted, key)?;
                layout.keep_member(member.begin, scanner.at());
            }
        }
    }
    scanner.end()?;
    let metadata = metadata.ok_or(StoredError::NoMetadata)?;
    let (json, place) = layout.build(bytes, &metadata, revision)?;
    let Metadata { name, namespace, uid, labels, .. } = metadata;
    let index = Index { name, namespace, uid, labels, fields: selected.into_values() };
    Ok(Frozen::new(revision, index, json, place))
}

/// `kind` and `apiVersion` of stored bytes; empty if they are absent.
pub fn head(bytes: &Bytes) -> Result<(SmolStr, SmolStr), StoredError> {
    let (mut kind, mut api_version) = (None, None);
    let mut scanner = Scanner::new(bytes);
    scanner.open()?;
    while kind.is_none() || api_version.is_none() {
        let Some(member) = scanner.next_member()? else { break };
        match &*member.key {
            b"kind" => kind = Some(scanner.text()?),
            b"apiVersion" => api_version = Some(scanner.text()?),
            _ => scanner.skip_value()?,
        }
    }
    Ok((kind.unwrap_or_default(), api_version.unwrap_or_default()))
}

/// The editable object of a frozen one, resource version included.
pub fn thaw(frozen: &Frozen, api_version: &str, kind: &str) -> Result<Object, StoredError> {
    thaw_json(frozen.json(), api_version, kind)
}

fn thaw_json(json: &[u8], api_version: &str, kind: &str) -> Result<Object, StoredError> {
    let document = json::read_members(json)?;
    let Value::Map(mut fields) = document.value else { unreachable!("members make a map") };
    let meta = match fields.remove("metadata") {
        Some(Value::Map(map)) => ObjectMeta::from_map(map)?,
        _ => return Err(StoredError::NoMetadata),
    };
    Ok(Object { api_version: api_version.into(), kind: kind.into(), meta, fields })
}

/// The same without managedFields, which are a third of many objects: for readers that do not write the
/// object.
pub fn thaw_without_managers(frozen: &Frozen, api_version: &str, kind: &str) -> Result<Object, StoredError> {
    /// No text can contain this, because quotes are escaped in it, and metadata has no other such list.
    const MANAGERS: &[u8] = b",\"managedFields\":[";
    let (json, metadata) = (frozen.json(), frozen.metadata_range());
    let found = memmem::find(&json[metadata.clone()], MANAGERS).map(|it| metadata.start + it);
    let end = found.and_then(|at| json::scan::container_end(json, at + MANAGERS.len() - 1));
    let (Some(at), Some(end)) = (found, end) else {
        let mut object = thaw(frozen, api_version, kind)?;
        object.meta.managed_fields.clear();
        return Ok(object);
    };
    let short = [&json[..at], &json[end..]].concat();
    thaw_json(&short, api_version, kind)
}

/// The content of `metadata`, and its position.
struct Metadata {
    name: SmolStr,
    namespace: SmolStr,
    uid: SmolStr,
    labels: StringMap,
    /// The range of the value of `metadata` in the stored bytes.
    place: Range<usize>,
    /// The range that the resource version replaces: empty, or the value of one that should not be there.
    splice: Range<usize>,
    before: &'static str,
    after: &'static str,
}

impl Metadata {
    fn scan(
        scanner: &mut Scanner<'_>,
        selected: &mut Selected,
        wanted: &[Candidate<'_>],
    ) -> Result<Metadata, StoredError> {
        scanner.open()?;
        let inside = scanner.at();
        let mut metadata = Metadata {
            name: SmolStr::default(),
            namespace: SmolStr::default(),
            uid: SmolStr::default(),
            labels: StringMap::default(),
            place: inside - 1..inside,
            splice: inside..inside,
            before: "\"resourceVersion\":\"",
            after: "\",",
        };
        let mut is_there = false;
        let mut is_empty = true;
        while let Some(member) = scanner.next_member()? {
            is_empty = false;
            let start = scanner.at();
            let text = match &*member.key {
                b"labels" => {
                    metadata.labels = scanner.string_map()?;
                    continue;
                }
                key => {
                    selected.value(scanner, wanted, key)?;
                    &mut match key {
                        b"name" => Some(&mut metadata.name),
                        b"namespace" => Some(&mut metadata.namespace),
                        b"uid" => Some(&mut metadata.uid),
                        b"resourceVersion" => {
                            is_there = true;
                            metadata.splice = start..scanner.at();
                            (metadata.before, metadata.after) = ("\"", "\"");
                            None
                        }
                        b"generateName" => None,
                        _ => continue,
                    }
                }
            };
            if let Some(text) = text {
                **text = scanner.text_at(start)?;
            }
            if !is_there {
                metadata.splice = scanner.at()..scanner.at();
                (metadata.before, metadata.after) = (",\"resourceVersion\":\"", "\"");
            }
        }
        if is_empty {
            metadata.after = "\"";
        }
        metadata.place.end = scanner.at();
        Ok(metadata)
    }
}

/// The ranges of the stored bytes that are kept: all members but `kind` and `apiVersion`. With the head in
/// front, as we write it, that is one range; there can be three.
#[derive(Default)]
struct Layout {
    kept: [Range<usize>; 3],
    count: usize,
    is_open: bool,
    dropped: usize,
}

impl Layout {
    fn keep_member(&mut self, begin: usize, end: usize) {
        if !self.is_open {
            self.is_open = true;
            self.kept[self.count] = begin..end;
            self.count += 1;
        }
        self.kept[self.count - 1].end = end;
    }

    fn drop_member(&mut self, begin: usize, end: usize) -> Result<(), StoredError> {
        debug_assert!(begin < end, "a member is not empty");
        self.is_open = false;
        self.dropped += 1;
        if self.dropped > 2 { Err(StoredError::Malformed { offset: begin }) } else { Ok(()) }
    }

    /// The bytes of the frozen object, in one allocation, and the range of its metadata in them.
    fn build(
        &self,
        stored: &[u8],
        metadata: &Metadata,
        revision: u64,
    ) -> Result<(Bytes, Range<u32>), StoredError> {
        let mut digits = itoa::Buffer::new();
        let version = match revision {
            0 => ["", "", ""],
            _ => [metadata.before, digits.format(revision), metadata.after],
        };
        let version_length: usize = version.iter().map(|it| it.len()).sum();
        let kept = &self.kept[..self.count];
        let size = kept.iter().map(|it| it.len() + 1).sum::<usize>() + version_length - metadata.splice.len();
        if u32::try_from(size).is_err() {
            return Err(StoredError::TooLarge { size });
        }
        let mut json = Vec::with_capacity(size);
        let mut place = 0..0;
        for (position, stretch) in kept.iter().enumerate() {
            if position > 0 {
                json.push(b',');
            }
            if !stretch.contains(&metadata.place.start) {
                json.extend_from_slice(&stored[stretch.clone()]);
                continue;
            }
            place.start = json.len() + metadata.place.start - stretch.start;
            json.extend_from_slice(&stored[stretch.start..metadata.splice.start]);
            for part in version {
                json.extend_from_slice(part.as_bytes());
            }
            json.extend_from_slice(&stored[metadata.splice.end..stretch.end]);
        }
        json.push(b'}');
        debug_assert_eq!(json.len(), size, "the size was computed above");
        place.end = place.start + metadata.place.len() + version_length - metadata.splice.len();
        Ok((json.into(), place.start as u32..place.end as u32))
    }
}

#[cfg(test)]
mod tests;
