//! The same answers in CBOR, made of the compact JSON: nothing of it is kept, because few ask.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use keelson_codec::{cbor, json};
use keelson_object::{Frozen, Map, Value};
use keelson_schema::Schema;

use super::CHUNK;
use super::list::{Item, ListHead, ListMeta};
use super::metadata::write_metadata;
use super::object::{write_item, write_object};

/// A document that we wrote as JSON.
pub(crate) fn of_json(compact: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(compact.len());
    write_document(&read(compact), &mut out);
    out.into()
}

/// A frame of a watch that we wrote as JSON. The object within is a document of its own, as upstream writes it.
pub(crate) fn frame(json: &[u8]) -> Bytes {
    let value = read(json);
    let map = value.as_map();
    let mut out = Vec::with_capacity(json.len());
    out.extend_from_slice(&cbor::SELF_DESCRIBED);
    cbor::begin_map(2, &mut out);
    cbor::write_text("type", &mut out);
    cbor::write_text(map.and_then(|it| it.str("type")).unwrap_or_default(), &mut out);
    cbor::write_text("object", &mut out);
    write_document(map.and_then(|it| it.get("object")).unwrap_or(&Value::Null), &mut out);
    out.into()
}

/// A list that is written while it is sent.
pub(crate) struct List {
    pub(crate) head: ListHead,
    pub(crate) meta: ListMeta,
    /// Of the items, if they have one.
    pub(crate) schema: Option<Schema>,
    pub(crate) item: Item,
}

impl List {
    /// Its pieces. Names are in the order of CBOR: `kind`, `items`, `metadata`, `apiVersion`.
    pub(crate) fn pieces(self, items: Vec<Arc<Frozen>>) -> impl Iterator<Item = Bytes> + Send {
        let mut start = cbor::SELF_DESCRIBED.to_vec();
        cbor::begin_map(4, &mut start);
        cbor::write_text("kind", &mut start);
        cbor::write_text(&self.head.kind, &mut start);
        cbor::write_text("items", &mut start);
        cbor::begin_list(items.len(), &mut start);
        let mut open = Some(start);
        let mut items = items.into_iter();
        std::iter::from_fn(move || {
            let mut out = open.take()?;
            for object in items.by_ref() {
                self.write_item(&object, &mut out);
                if out.len() >= CHUNK {
                    open = Some(Vec::with_capacity(CHUNK + (8 << 10)));
                    return Some(out.into());
                }
            }
            self.write_end(&mut out);
            Some(out.into())
        })
    }

    fn write_item(&self, object: &Frozen, out: &mut Vec<u8>) {
        let mut text = BytesMut::with_capacity(object.json().len() + 256);
        match &self.item {
            Item::Bare => write_item(&mut text, object),
            Item::WithHead(head) => write_object(&mut text, head, object),
            Item::Metadata(version) => write_metadata(&mut text, *version, object),
        }
        write_as(&read(&text), self.schema.as_ref(), out);
    }

    fn write_end(&self, out: &mut Vec<u8>) {
        let mut meta = Map::new();
        meta.push_new("resourceVersion", self.meta.revision.to_string());
        if !self.meta.continue_token.is_empty() {
            meta.push_new("continue", self.meta.continue_token.as_str());
        }
        if let Some(remaining) = self.meta.remaining {
            meta.push_new("remainingItemCount", i64::try_from(remaining).unwrap_or(i64::MAX));
        }
        if let Some(shard) = &self.meta.shard {
            let mut described = Map::new();
            described.push_new("selector", shard.as_str());
            meta.push_new("shardInfo", described);
        }
        cbor::write_text("metadata", out);
        cbor::write(&Value::Map(meta), out);
        cbor::write_text("apiVersion", out);
        cbor::write_text(&self.head.api_version, out);
    }
}

fn write_document(value: &Value, out: &mut Vec<u8>) {
    let text = |key: &str| value.as_map().and_then(|map| map.str(key)).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    out.extend_from_slice(&cbor::SELF_DESCRIBED);
    write_as(value, Schema::builtin(group, version, kind).as_ref(), out);
}

fn write_as(value: &Value, schema: Option<&Schema>, out: &mut Vec<u8>) {
    match schema {
        Some(schema) => cbor::write_as(value, schema.root(), out),
        None => cbor::write(value, out),
    }
}

/// What we wrote ourselves can be read.
fn read(json: &[u8]) -> Value {
    json::read(json).map(|document| document.value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use keelson_codec::{cbor, json};

    use super::{frame, of_json};

    /// What CBOR says, as JSON.
    fn shown(data: &[u8]) -> String {
        String::from_utf8(json::to_bytes(&cbor::read(data).unwrap()).to_vec()).unwrap()
    }

    #[test]
    fn documents_begin_with_the_magic_number() {
        let secret = br#"{"kind":"Secret","apiVersion":"v1","data":{"k":"AAE="}}"#;
        let found = of_json(secret);
        assert!(found.starts_with(&cbor::SELF_DESCRIBED));
        assert!(found.windows(4).any(|it| it == [0xd6, 0x42, 0, 1]), "bytes are bytes");
        assert_eq!(shown(&found), r#"{"apiVersion":"v1","data":{"k":"AAE="},"kind":"Secret"}"#);
    }

    #[test]
    fn frames_have_documents_within() {
        let found = frame(
            b"{\"type\":\"ADDED\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"example.com/v1\"}}\n",
        );
        let expected =
            b"\xd9\xd9\xf7\xa2DtypeEADDEDFobject\xd9\xd9\xf7\xa2DkindEThingJapiVersionNexample.com/v1";
        assert_eq!(found, &expected[..]);
        assert_eq!(
            shown(&found),
            r#"{"object":{"apiVersion":"example.com/v1","kind":"Thing"},"type":"ADDED"}"#
        );
    }
}
