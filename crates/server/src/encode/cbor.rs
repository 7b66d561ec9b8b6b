//! CBOR responses, made from the compact JSON: nothing is cached, because few clients use CBOR.

use bytes::{Bytes, BytesMut};
use keelson_codec::{cbor, json};
use keelson_object::Value;
use keelson_schema::Schema;

use super::CHUNK;
use super::list::{Items, List};
use super::pace::Pieces;
use crate::error::Result;

/// A document that we wrote as JSON.
pub(crate) fn of_json(compact: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(compact.len());
    write_document(&read(compact), &mut out);
    out.into()
}

/// A watch frame that we wrote as JSON. The object within is a separate document, as upstream writes it.
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

/// A list that is written while it is sent. Names are in the order of CBOR, the shorter first: `kind`,
/// `items`, `metadata`, `apiVersion`. `schema` is that of the items, if they have one.
pub(super) fn list<I: Items>(list: List<I>, schema: Option<Schema>) -> impl Pieces {
    let List { mut members, name, items } = list;
    members.sort_unstable_by_key(|(name, _)| (name.len(), *name));
    let is_before = |member: &str| (member.len(), member) < (name.len(), name);
    let (before, behind): (Vec<_>, Vec<_>) = members.into_iter().partition(|(name, _)| is_before(name));
    let mut start = cbor::SELF_DESCRIBED.to_vec();
    cbor::begin_map(before.len() + behind.len() + 1, &mut start);
    write_members(&before, &mut start);
    cbor::write_text(name, &mut start);
    cbor::begin_list(items.left(), &mut start);
    Written { items, schema, open: Some(start), behind }
}

struct Written<I> {
    items: I,
    schema: Option<Schema>,
    /// The piece that is being written; `None` after the last one.
    open: Option<Vec<u8>>,
    /// The members after the items.
    behind: Vec<(&'static str, Bytes)>,
}

impl<I: Items> Pieces for Written<I> {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        let mut out = self.open.take()?;
        let mut text = BytesMut::with_capacity(4 << 10);
        let mut parsed = 0;
        loop {
            text.clear();
            match self.items.write_next(&mut text) {
                Ok(None) => break,
                Ok(Some(more)) => parsed += more + text.len(),
                Err(error) => return Some(Err(error)),
            }
            write_as(&read(&text), self.schema.as_ref(), &mut out);
            if out.len() >= CHUNK || parsed >= CHUNK {
                self.open = Some(Vec::with_capacity(CHUNK + (8 << 10)));
                return Some(Ok(out.into()));
            }
        }
        write_members(&self.behind, &mut out);
        Some(Ok(out.into()))
    }

    fn work(&self) -> usize {
        let ahead = self.items.ahead();
        ahead.parsed + ahead.written
    }
}

fn write_members(members: &[(&str, Bytes)], out: &mut Vec<u8>) {
    for (name, value) in members {
        cbor::write_text(name, out);
        cbor::write(&read(value), out);
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

/// Reads JSON that we wrote ourselves, which cannot fail.
fn read(json: &[u8]) -> Value {
    json::read(json).map(|document| document.value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use keelson_codec::{cbor, json};
    use keelson_schema::Schema;

    use super::{frame, list, of_json};
    use crate::encode::CHUNK;
    use crate::encode::list::tests::{all, compact, things};
    use crate::encode::list::{Item, ListMeta};

    /// The CBOR as JSON.
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

    #[test]
    fn lists_are_written_in_bounded_pieces() {
        let meta = ListMeta { revision: 7, continue_token: "abc".to_owned(), ..ListMeta::default() };
        for rest in [Vec::new(), vec![format!(",\"data\":{{\"k\":\"{}\"}}", "AAEC".repeat(2_000)); 40]] {
            let secrets = || {
                let mut list = things(&rest, &meta, Item::Bare);
                list.members[0].1 = "\"SecretList\"".into();
                list
            };
            let pieces = all(list(secrets(), Schema::builtin("", "v1", "Secret")));
            assert!(rest.is_empty() || pieces.len() > 3);
            assert!(pieces.iter().all(|it| it.len() < CHUNK + 10_000));
            assert!(pieces.concat() == of_json(compact(secrets()).as_bytes()), "as one document");
        }
    }
}
