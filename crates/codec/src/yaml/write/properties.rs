//! Property: a document does not depend on the parts in which it is written.

use keelson_object::Value;
use proptest::prelude::*;

use super::super::key_order;
use super::{Writer, to_text};
use crate::json::properties::{any_map, any_value};

/// Everything that can be written now.
fn drain(writer: &mut Writer, room: usize, text: &mut String) {
    while let Some(part) = writer.part(room) {
        text.push_str(&part);
    }
}

proptest! {
    #[test]
    fn documents_can_be_written_in_parts(value in any_value(), room in 1_usize..100) {
        let (mut writer, mut text) = (Writer::default(), String::new());
        writer.document(value.clone());
        drain(&mut writer, room, &mut text);
        writer.end();
        text.push_str(&writer.rest());
        prop_assert_eq!(text, to_text(value));
    }

    #[test]
    fn members_and_items_can_be_handed_over_one_by_one(
        map in any_map(any_value()),
        items in proptest::collection::vec(any_value(), 1..5),
        room in 1_usize..100,
    ) {
        let mut map: keelson_object::Map = map.into_iter().filter(|(key, _)| super::is_simple_key(key)).collect();
        map.set("items", items.clone());
        let mut pairs: Vec<_> = map.clone().into_iter().collect();
        key_order::sort(&mut pairs, &|(key, _)| key.as_str());
        let (mut writer, mut text) = (Writer::default(), String::new());
        for (key, value) in pairs {
            if key != "items" {
                writer.member(&key, value);
                drain(&mut writer, room, &mut text);
                continue;
            }
            writer.begin_list(&key);
            for item in items.iter().cloned() {
                writer.item(item);
                drain(&mut writer, room, &mut text);
            }
        }
        writer.end();
        text.push_str(&writer.rest());
        prop_assert_eq!(text, to_text(Value::Map(map)));
    }
}

#[test]
fn parts_are_bounded_however_deep_a_text_stands() {
    const DEPTH: usize = 1000;
    let lines = Value::String("line\n".repeat(100).into());
    let words = Value::String("word ".repeat(100).trim_end().into());
    let deep = (0..DEPTH).fold(Value::List(vec![lines, words]), |value, _| Value::List(vec![value]));
    let (mut writer, mut size) = (Writer::default(), 0);
    writer.document(deep);
    while let Some(part) = writer.part(4096) {
        assert!(part.len() < 4096 + 2 * DEPTH + 20, "{} bytes", part.len());
        size += part.len();
    }
    assert!(size > 100 * 2 * DEPTH);
}
