//! YAML responses, made from the compact JSON item by item, in pieces of bounded size.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use keelson_codec::yaml::Writer;
use keelson_codec::{json, yaml};
use keelson_object::Value;

use super::CHUNK;
use super::list::{Items, List};
use super::pace::Pieces;
use crate::error::Result;

/// A document that we wrote as JSON.
pub(super) fn document(compact: Bytes) -> impl Pieces {
    Document { unread: Some(compact), writer: Some(Writer::default()) }
}

struct Document {
    unread: Option<Bytes>,
    /// `None` when all is written.
    writer: Option<Writer>,
}

impl Pieces for Document {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        let open = self.writer.as_mut()?;
        if let Some(compact) = self.unread.take() {
            open.document(read(&compact));
        }
        if let Some(part) = open.part(CHUNK) {
            return Some(Ok(Bytes::from(part)));
        }
        let mut done = self.writer.take()?;
        done.end();
        Some(Ok(Bytes::from(done.rest())))
    }

    fn work(&self) -> usize {
        self.unread.as_ref().map_or(0, Bytes::len)
    }
}

/// A list that is written while it is sent.
pub(super) fn list<I: Items>(list: List<I>) -> impl Pieces {
    let List { mut members, name, items } = list;
    members.push((name, Bytes::new()));
    // YAML sorts the names.
    members.sort_unstable_by_key(|(name, _)| *name);
    let list = if items.left() == 0 { ListState::Empty } else { ListState::Waiting };
    Written { members: members.into(), name, items, list, writer: Some(Writer::default()) }
}

struct Written<I> {
    /// The members that are not written yet.
    members: VecDeque<(&'static str, Bytes)>,
    /// The member with the items.
    name: &'static str,
    items: I,
    list: ListState,
    /// `None` when all is written.
    writer: Option<Writer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ListState {
    Empty,
    Waiting,
    Begun,
    Done,
}

impl<I: Items> Pieces for Written<I> {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        let mut read = 0;
        loop {
            let writer = self.writer.as_mut()?;
            if let Some(part) = writer.part(CHUNK) {
                return Some(Ok(Bytes::from(part)));
            }
            if read >= CHUNK {
                return Some(Ok(Bytes::from(writer.rest())));
            }
            match self.hand_over() {
                Ok(Some(more)) => read += more,
                Ok(None) => {
                    let mut writer = self.writer.take()?;
                    writer.end();
                    return Some(Ok(Bytes::from(writer.rest())));
                }
                Err(error) => {
                    self.writer = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// Items that the writer has already received are not counted: the end of a large item counts for the
    /// next one.
    fn work(&self) -> usize {
        let ahead = self.items.ahead();
        ahead.parsed + ahead.written
    }
}

impl<I: Items> Written<I> {
    /// Gives the writer the next member or item, and returns how many bytes were read for it; `None` after
    /// the last one.
    fn hand_over(&mut self) -> Result<Option<usize>> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        if self.list == ListState::Begun {
            let mut compact = BytesMut::with_capacity(4 << 10);
            if let Some(read) = self.items.write_next(&mut compact)? {
                writer.item(self::read(&compact));
                return Ok(Some(read + compact.len()));
            }
            self.list = ListState::Done;
        }
        let Some((name, compact)) = self.members.pop_front() else { return Ok(None) };
        if name != self.name {
            writer.member(name, self::read(&compact));
        } else if self.list == ListState::Empty {
            writer.member(name, Value::List(Vec::new()));
        } else {
            writer.begin_list(name);
            self.list = ListState::Begun;
        }
        Ok(Some(compact.len()))
    }
}

/// Reads JSON that we wrote ourselves, which cannot fail.
fn read(compact: &[u8]) -> Value {
    json::read(compact).map(|document| document.value).unwrap_or_default()
}

/// A short document that we wrote as JSON.
pub(super) fn short(compact: &[u8]) -> Bytes {
    Bytes::from(yaml::to_text(read(compact)))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use keelson_codec::{json, yaml};
    use proptest::prelude::*;

    use super::{document, list};
    use crate::encode::CHUNK;
    use crate::encode::list::tests::{all, compact, things};
    use crate::encode::list::{Item, ListMeta};

    fn meta() -> ListMeta {
        ListMeta {
            revision: 7,
            continue_token: "abc".to_owned(),
            remaining: Some(3),
            shard: Some("x".to_owned()),
            ..ListMeta::default()
        }
    }

    /// The list as one document, converted as a whole.
    fn expected(rest: &[String]) -> String {
        let compact = compact(things(rest, &meta(), Item::Bare));
        yaml::to_text(json::read(compact.as_bytes()).unwrap().value)
    }

    fn pieces(rest: &[String]) -> Vec<Bytes> {
        all(list(things(rest, &meta(), Item::Bare)))
    }

    #[test]
    fn lists_are_written_in_bounded_pieces() {
        let rest = vec![format!(",\"data\":[{}0]", "[],".repeat(9_000)); 40];
        let pieces = pieces(&rest);
        assert!(pieces.len() > 10);
        assert!(pieces.iter().all(|it| it.len() < CHUNK + 100));
        assert!(pieces.concat() == expected(&rest).as_bytes());
    }

    #[test]
    fn large_documents_are_written_in_bounded_pieces() {
        let compact = format!("{{\"lines\":\"{}\"}}", "line\\n".repeat(100_000));
        let pieces = all(document(Bytes::from(compact.clone())));
        assert!(pieces.len() > 10);
        assert!(pieces.iter().all(|it| it.len() < CHUNK + 100));
        let whole = yaml::to_text(json::read(compact.as_bytes()).unwrap().value);
        assert!(pieces.concat() == whole.as_bytes());
    }

    proptest! {
        #[test]
        fn lists_are_what_the_whole_would_be(texts in proptest::collection::vec(any::<Vec<String>>(), 0..6)) {
            let field = |texts: &Vec<String>| {
                let value = texts.iter().map(|it| it.as_str().into()).collect::<Vec<keelson_object::Value>>();
                format!(",\"x\":{}", String::from_utf8(json::to_bytes(&value.into()).to_vec()).unwrap())
            };
            let rest: Vec<String> = texts.iter().map(field).collect();
            prop_assert_eq!(String::from_utf8(pieces(&rest).concat()).unwrap(), expected(&rest));
        }
    }
}
