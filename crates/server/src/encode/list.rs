//! Lists: a head, items, a tail, written while they are sent.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use keelson_codec::json;
use keelson_object::{Frozen, SmolStr};

use super::CHUNK;
use super::metadata::write_metadata;
use super::object::{write_item, write_object};
use crate::negotiate::MetaVersion;

/// What a list says about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    /// The revision of which it is a list.
    pub(crate) revision: u64,
    /// How to get the next page; empty after the last one.
    pub(crate) continue_token: String,
    /// How many come after this page, if that is known.
    pub(crate) remaining: Option<u64>,
    /// Which part of the collection it is a list of.
    pub(crate) shard: Option<String>,
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

/// `"metadata":{"resourceVersion":"7",…}`
pub(crate) fn write_list_meta(out: &mut BytesMut, meta: &ListMeta) {
    if meta.revision == 0 {
        return out.extend_from_slice(b"\"metadata\":{}");
    }
    let mut number = itoa::Buffer::new();
    out.extend_from_slice(b"\"metadata\":{\"resourceVersion\":\"");
    out.extend_from_slice(number.format(meta.revision).as_bytes());
    out.put_u8(b'"');
    if !meta.continue_token.is_empty() {
        out.extend_from_slice(b",\"continue\":");
        json::write_text(&meta.continue_token, out);
    }
    if let Some(remaining) = meta.remaining {
        out.extend_from_slice(b",\"remainingItemCount\":");
        out.extend_from_slice(number.format(remaining).as_bytes());
    }
    if let Some(shard) = &meta.shard {
        out.extend_from_slice(b",\"shardInfo\":{\"selector\":");
        json::write_text(shard, out);
        out.put_u8(b'}');
    }
    out.put_u8(b'}');
}

/// The kind of list a list of `kind` is, and the version it is in.
#[derive(Clone, Debug)]
pub(crate) struct ListHead {
    /// `DeploymentList`.
    pub(crate) kind: String,
    /// `apps/v1`.
    pub(crate) api_version: SmolStr,
}

/// The pieces of a list.
pub(crate) fn list(
    head: &ListHead,
    meta: &ListMeta,
    items: Vec<Arc<Frozen>>,
    item: Item,
) -> impl Iterator<Item = Bytes> + Send + use<> {
    let mut start = BytesMut::with_capacity(4 << 10);
    start.extend_from_slice(
        format!("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",", head.kind, head.api_version).as_bytes(),
    );
    write_list_meta(&mut start, meta);
    start.extend_from_slice(b",\"items\":[");
    joined(start, items.into_iter(), b"]}", move |out, object| match &item {
        Item::Bare => write_item(out, &object),
        Item::WithHead(head) => write_object(out, head, &object),
        Item::Metadata(version) => write_metadata(out, *version, &object),
    })
}

/// `start`, then what `write` makes of each item with commas in between, then `end`, in pieces.
pub(super) fn joined<T: Send>(
    start: BytesMut,
    items: impl Iterator<Item = T> + Send,
    end: &'static [u8],
    mut write: impl FnMut(&mut BytesMut, T) + Send,
) -> impl Iterator<Item = Bytes> + Send {
    let mut items = items.peekable();
    let mut open = Some(start);
    std::iter::from_fn(move || {
        let mut out = open.take()?;
        while let Some(item) = items.next() {
            write(&mut out, item);
            let is_last = items.peek().is_none();
            if !is_last {
                out.put_u8(b',');
            }
            if out.len() >= CHUNK && !is_last {
                open = Some(BytesMut::with_capacity(CHUNK + (8 << 10)));
                return Some(out.freeze());
            }
        }
        out.extend_from_slice(end);
        Some(out.freeze())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use keelson_object::{Frozen, Index};

    use super::{CHUNK, Item, ListHead, ListMeta, list};
    use crate::negotiate::MetaVersion;

    pub(crate) fn frozen(name: &str, revision: u64, rest: &str) -> Arc<Frozen> {
        let metadata = format!("{{\"name\":\"{name}\",\"resourceVersion\":\"{revision}\"}}");
        let range = 11..11 + u32::try_from(metadata.len()).unwrap();
        let json = Bytes::from(format!("\"metadata\":{metadata}{rest}}}"));
        let index = Index { name: name.into(), ..Index::default() };
        Arc::new(Frozen::new(revision, index, json, range))
    }

    #[track_caller]
    fn check(items: Vec<Arc<Frozen>>, meta: &ListMeta, item: Item, expected: &str) {
        let head = ListHead { kind: "ThingList".to_owned(), api_version: "v1".into() };
        let bytes: Vec<u8> = list(&head, meta, items, item).flatten().collect();
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn lists_are_heads_items_and_tails() {
        let meta = ListMeta { revision: 7, ..ListMeta::default() };
        check(
            vec![],
            &meta,
            Item::Bare,
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#,
        );
        let two = || vec![frozen("a", 1, ",\"x\":1"), frozen("b", 2, "")];
        check(
            two(),
            &ListMeta { revision: 7, continue_token: "abc".to_owned(), remaining: Some(3), shard: None },
            Item::Bare,
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":3},"items":[{"metadata":{"name":"a","resourceVersion":"1"},"x":1},{"metadata":{"name":"b","resourceVersion":"2"}}]}"#,
        );
        check(
            two(),
            &meta,
            Item::WithHead(Bytes::from(r#""kind":"Thing","apiVersion":"v1","#)),
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"Thing","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"},"x":1},{"kind":"Thing","apiVersion":"v1","metadata":{"name":"b","resourceVersion":"2"}}]}"#,
        );
        check(
            two(),
            &meta,
            Item::Metadata(MetaVersion::V1),
            r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","resourceVersion":"1"}},{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"b","resourceVersion":"2"}}]}"#,
        );
    }

    #[test]
    fn long_lists_come_in_pieces() {
        let rest = format!(",\"data\":\"{}\"", "x".repeat(10_000));
        let items: Vec<_> = (0..100).map(|it| frozen(&format!("n{it}"), it, &rest)).collect();
        let head = ListHead { kind: "ThingList".to_owned(), api_version: "v1".into() };
        let pieces: Vec<Bytes> = list(&head, &ListMeta::default(), items, Item::Bare).collect();
        assert!(pieces.len() > 10);
        assert!(pieces.iter().all(|it| it.len() < CHUNK + 11_000));
        let whole: Vec<u8> = pieces.into_iter().flatten().collect();
        let value = keelson_codec::json::read(&whole).unwrap().value;
        assert_eq!(value.as_map().unwrap().list("items").len(), 100);
    }
}
