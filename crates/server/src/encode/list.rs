//! Lists and tables: members, and items that are written one by one while they are sent.
//!
//! A [`List`] contains its members and items as compact JSON, and does not depend on other encodings.
//! [`List::json`] writes it as it is; `yaml.rs` and `cbor.rs` convert it, item by item.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use keelson_codec::json;
use keelson_object::{Frozen, SmolStr};
use keelson_registry::Found;

use super::CHUNK;
use super::metadata::write_metadata;
use super::object::{write_item, write_object};
use super::pace::Pieces;
use crate::error::Result;
use crate::negotiate::MetaVersion;

/// The metadata of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    /// The revision of which it is a list.
    pub(crate) revision: u64,
    /// The continue token of the next page; empty after the last one.
    pub(crate) continue_token: String,
    /// The number of objects after this page, if it is known.
    pub(crate) remaining: Option<u64>,
    /// The shard that this is a list of.
    pub(crate) shard: Option<String>,
    /// Whether an empty token is written, as lists of custom resources have it.
    pub(crate) shows_empty_token: bool,
}

impl ListMeta {
    /// `{"resourceVersion":"7",…}`
    pub(crate) fn json(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(128 + self.continue_token.len());
        self.write(&mut out);
        out.freeze()
    }

    fn write(&self, out: &mut BytesMut) {
        if self.revision == 0 {
            return out.extend_from_slice(b"{}");
        }
        let mut number = itoa::Buffer::new();
        out.extend_from_slice(b"{\"resourceVersion\":\"");
        out.extend_from_slice(number.format(self.revision).as_bytes());
        out.put_u8(b'"');
        if !self.continue_token.is_empty() || self.shows_empty_token {
            out.extend_from_slice(b",\"continue\":");
            json::write_text(&self.continue_token, out);
        }
        if let Some(remaining) = self.remaining {
            out.extend_from_slice(b",\"remainingItemCount\":");
            out.extend_from_slice(number.format(remaining).as_bytes());
        }
        if let Some(shard) = &self.shard {
            out.extend_from_slice(b",\"shardInfo\":{\"selector\":");
            json::write_text(shard, out);
            out.put_u8(b'}');
        }
        out.put_u8(b'}');
    }
}

/// A list: members, and one more member with the items.
pub(crate) struct List<I> {
    /// Names and values in compact JSON, in the order of JSON.
    pub(super) members: Vec<(&'static str, Bytes)>,
    /// The name of the last member: `items` or `rows`.
    pub(super) name: &'static str,
    /// Its items.
    pub(super) items: I,
}

/// Items that are written one by one.
pub(crate) trait Items: Send + 'static {
    /// The number of items that are left.
    fn left(&self) -> usize;

    /// The number of bytes in the next items that fill a piece.
    fn ahead(&self) -> Ahead;

    /// Appends the next item as compact JSON, and returns how many bytes were parsed for it; `None` after the
    /// last one.
    fn write_next(&mut self, out: &mut BytesMut) -> Result<Option<usize>>;
}

/// The work for the next piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ahead {
    /// The number of bytes that must be parsed to get compact JSON.
    pub(crate) parsed: usize,
    /// The number of bytes of that compact JSON.
    pub(crate) written: usize,
}

impl Ahead {
    /// Adds up the work for the next objects, until they fill a piece.
    pub(super) fn of(objects: &[Arc<Frozen>], one: impl Fn(&Frozen) -> Ahead) -> Ahead {
        let mut sum = Ahead::default();
        for object in objects {
            let Ahead { parsed, written } = one(object);
            sum = Ahead { parsed: sum.parsed + parsed, written: sum.written + written };
            if sum.parsed >= CHUNK || sum.written >= CHUNK {
                break;
            }
        }
        sum
    }
}

impl<I: Items> List<I> {
    /// The pieces of the list in compact JSON. `end` closes list and map.
    pub(crate) fn json(self, end: &'static [u8]) -> Json<I> {
        let mut start = BytesMut::with_capacity(4 << 10);
        start.put_u8(b'{');
        for (name, value) in &self.members {
            json::write_text(name, &mut start);
            start.put_u8(b':');
            start.extend_from_slice(value);
            start.put_u8(b',');
        }
        json::write_text(self.name, &mut start);
        start.extend_from_slice(b":[");
        Json { items: self.items, open: Some(start), end }
    }
}

/// A list as compact JSON.
pub(crate) struct Json<I> {
    items: I,
    /// The piece that is being written; `None` after the last one.
    open: Option<BytesMut>,
    end: &'static [u8],
}

impl<I: Items> Pieces for Json<I> {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        let mut out = self.open.take()?;
        let mut parsed = 0;
        loop {
            match self.items.write_next(&mut out) {
                Ok(None) => break,
                Ok(Some(more)) => parsed += more,
                Err(error) => return Some(Err(error)),
            }
            if self.items.left() == 0 {
                break;
            }
            out.put_u8(b',');
            if out.len() >= CHUNK || parsed >= CHUNK {
                self.open = Some(BytesMut::with_capacity(CHUNK + (8 << 10)));
                return Some(Ok(out.freeze()));
            }
        }
        out.extend_from_slice(self.end);
        Some(Ok(out.freeze()))
    }

    fn work(&self) -> usize {
        self.items.ahead().parsed
    }
}

/// The kind and version of a list.
#[derive(Clone, Debug)]
pub(crate) struct ListHead {
    /// `DeploymentList`.
    pub(crate) kind: String,
    /// `apps/v1`.
    pub(crate) api_version: SmolStr,
}

impl ListHead {
    /// The members that every list begins with.
    pub(super) fn members(&self, meta: &ListMeta) -> Vec<(&'static str, Bytes)> {
        let text = |text: &str| {
            let mut out = BytesMut::with_capacity(text.len() + 2);
            json::write_text(text, &mut out);
            out.freeze()
        };
        vec![("kind", text(&self.kind)), ("apiVersion", text(&self.api_version)), ("metadata", meta.json())]
    }
}

/// How an item is written.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// Without kind and apiVersion.
    Bare,
    /// With this head.
    WithHead(Bytes),
    /// Metadata alone.
    Metadata(MetaVersion),
}

/// The objects of a list.
pub(crate) struct Objects {
    pub(crate) objects: std::vec::IntoIter<Arc<Frozen>>,
    pub(crate) item: Item,
    /// The version that shows them, if its shape is not that of the stored version.
    pub(crate) shown_by: Option<Found>,
}

impl Items for Objects {
    fn left(&self) -> usize {
        self.objects.len()
    }

    fn ahead(&self) -> Ahead {
        match (&self.shown_by, &self.item) {
            (Some(_), _) => Ahead::of(self.objects.as_slice(), |it| Ahead {
                parsed: it.json().len(),
                written: it.json().len(),
            }),
            (None, Item::Metadata(_)) => Ahead::of(self.objects.as_slice(), |it| Ahead {
                parsed: 0,
                written: it.metadata_json().len(),
            }),
            (None, Item::Bare | Item::WithHead(_)) => {
                Ahead::of(self.objects.as_slice(), |it| Ahead { parsed: 0, written: it.json().len() })
            }
        }
    }

    fn write_next(&mut self, out: &mut BytesMut) -> Result<Option<usize>> {
        let Some(stored) = self.objects.next() else { return Ok(None) };
        let (object, read) = match &self.shown_by {
            Some(found) => (found.show(&stored)?, stored.json().len()),
            None => (stored, 0),
        };
        match &self.item {
            Item::Bare => write_item(out, &object),
            Item::WithHead(head) => write_object(out, head, &object),
            Item::Metadata(version) => write_metadata(out, *version, &object),
        }
        Ok(Some(read))
    }
}

/// A list of objects.
pub(crate) fn list(head: &ListHead, meta: &ListMeta, objects: Objects) -> List<Objects> {
    List { members: head.members(meta), name: "items", items: objects }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use keelson_object::{Frozen, Index};

    use super::{CHUNK, Item, Items, List, ListHead, ListMeta, Objects, list};
    use crate::encode::pace::Pieces;
    use crate::negotiate::MetaVersion;

    fn frozen(name: &str, revision: u64, rest: &str) -> Arc<Frozen> {
        let metadata = format!("{{\"name\":\"{name}\",\"resourceVersion\":\"{revision}\"}}");
        let range = 11..11 + u32::try_from(metadata.len()).unwrap();
        let json = Bytes::from(format!("\"metadata\":{metadata}{rest}}}"));
        let index = Index { name: name.into(), ..Index::default() };
        Arc::new(Frozen::new(revision, index, json, range))
    }

    /// A list of things, each with the fields `rest`, which begin with a comma.
    pub(crate) fn things(rest: &[String], meta: &ListMeta, item: Item) -> List<Objects> {
        let head = ListHead { kind: "ThingList".to_owned(), api_version: "v1".into() };
        let objects = rest.iter().zip(1..).map(|(rest, at)| frozen(&format!("n{at}"), at, rest));
        let objects = objects.collect::<Vec<_>>().into_iter();
        list(&head, meta, Objects { objects, item, shown_by: None })
    }

    /// All pieces.
    pub(crate) fn all(mut pieces: impl Pieces) -> Vec<Bytes> {
        std::iter::from_fn(|| pieces.next_piece()).map(|it| it.unwrap()).collect()
    }

    /// The list as one text.
    pub(crate) fn compact(list: List<impl Items>) -> String {
        String::from_utf8(all(list.json(b"]}")).concat()).unwrap()
    }

    #[track_caller]
    fn check(rest: &[&str], meta: &ListMeta, item: Item, expected: &str) {
        let rest: Vec<String> = rest.iter().map(|&it| it.to_owned()).collect();
        assert_eq!(compact(things(&rest, meta, item)), expected);
    }

    #[test]
    fn lists_are_heads_items_and_tails() {
        let meta = ListMeta { revision: 7, ..ListMeta::default() };
        check(
            &[],
            &meta,
            Item::Bare,
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#,
        );
        let two = [",\"x\":1", ""];
        check(
            &two,
            &ListMeta {
                revision: 7,
                continue_token: "abc".to_owned(),
                remaining: Some(3),
                ..ListMeta::default()
            },
            Item::Bare,
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":3},"items":[{"metadata":{"name":"n1","resourceVersion":"1"},"x":1},{"metadata":{"name":"n2","resourceVersion":"2"}}]}"#,
        );
        check(
            &two,
            &meta,
            Item::WithHead(Bytes::from(r#""kind":"Thing","apiVersion":"v1","#)),
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"Thing","apiVersion":"v1","metadata":{"name":"n1","resourceVersion":"1"},"x":1},{"kind":"Thing","apiVersion":"v1","metadata":{"name":"n2","resourceVersion":"2"}}]}"#,
        );
        check(
            &two,
            &meta,
            Item::Metadata(MetaVersion::V1),
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n1","resourceVersion":"1"}},{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n2","resourceVersion":"2"}}]}"#,
        );
    }

    #[test]
    fn long_lists_come_in_pieces() {
        let rest = vec![format!(",\"data\":\"{}\"", "x".repeat(10_000)); 100];
        let pieces = all(things(&rest, &ListMeta::default(), Item::Bare).json(b"]}"));
        assert!(pieces.len() > 10);
        assert!(pieces.iter().all(|it| it.len() < CHUNK + 11_000));
        let value = keelson_codec::json::read(&pieces.concat()).unwrap().value;
        assert_eq!(value.as_map().unwrap().list("items").len(), 100);
    }
}
