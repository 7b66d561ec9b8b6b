//! Properties of every document.

use keelson_object::{Map, Value};
use proptest::prelude::*;

use super::{Indenter, indent, read, to_bytes};

/// Any tree of moderate size.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1000i64..1000).prop_map(Value::Int),
        any_float().prop_map(Value::Float),
        any_text().prop_map(|it| Value::String(it.into())),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            any_map(inner).prop_map(Value::Map),
        ]
    })
}

/// Any float that JSON can express. Negative zero is left out: it is read as the integer zero.
fn any_float() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("not finite, or minus zero", |it| it.is_finite() && *it != 0.0)
}

/// A map of the given values.
pub(crate) fn any_map(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    proptest::collection::btree_map(any_text(), inner, 0..20)
        .prop_map(|it| it.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// Text with many characters that need escaping.
pub(crate) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        "[a-zA-Z0-9 ./:-]{0,40}",
        proptest::collection::vec(
            prop_oneof![
                any::<char>(),
                proptest::sample::select(vec![
                    '"', '\\', '\n', '<', '&', '\u{2028}', '\0', '\u{7f}', 'é', '😀'
                ]),
            ],
            0..12
        )
        .prop_map(|it| it.into_iter().collect()),
    ]
}

/// Whether a tree equals what serde has read. Its floats may differ in the last digit, and it distinguishes
/// floats from ints only by their text.
fn is_same(ours: &Value, theirs: &serde_json::Value) -> bool {
    use serde_json::Value as Theirs;
    match (ours, theirs) {
        (Value::Null, Theirs::Null) => true,
        (Value::Bool(a), Theirs::Bool(b)) => a == b,
        (Value::Int(a), Theirs::Number(b)) => b.as_i64() == Some(*a),
        // Their reader is slightly inexact, also for floats that are too small to be written with all digits.
        (Value::Float(a), Theirs::Number(b)) => {
            b.as_f64().is_some_and(|b| (a - b).abs() <= (a.abs() * 1e-15).max(1e-320))
        }
        (Value::String(a), Theirs::String(b)) => a == b,
        (Value::List(a), Theirs::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
        }
        (Value::Map(a), Theirs::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key.as_str()).is_some_and(|b| is_same(a, b)))
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn what_is_written_reads_as_serde_reads_it(value in any_value()) {
        let text = to_bytes(&value);
        let ours = read(&text).unwrap();
        prop_assert!(ours.duplicates.is_empty());
        let theirs = serde_json::from_slice(&text).unwrap();
        prop_assert!(is_same(&ours.value, &theirs), "{:?} is not {:?}", ours.value, theirs);
    }

    #[test]
    fn writing_is_a_fix_point_of_reading(value in any_value()) {
        let once = to_bytes(&value);
        let twice = to_bytes(&read(&once).unwrap().value);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn indenting_changes_nothing_but_white_space(value in any_value()) {
        let compact = to_bytes(&value);
        let mut pretty = Vec::new();
        indent(&compact, &mut pretty);
        prop_assert_eq!(to_bytes(&read(&pretty).unwrap().value), compact);
        let theirs: serde_json::Value = serde_json::from_slice(&pretty).unwrap();
        let lines = serde_json::to_string_pretty(&theirs).unwrap().lines().count();
        prop_assert_eq!(lines, pretty.split(|it| *it == b'\n').count());
    }

    #[test]
    fn documents_can_be_indented_in_parts(value in any_value(), part in 1_usize..50, room in 1_usize..50) {
        let compact = to_bytes(&value);
        let mut whole = Vec::new();
        indent(&compact, &mut whole);
        let (mut indenter, mut pretty) = (Indenter::default(), Vec::new());
        for part in compact.chunks(part) {
            let mut at = 0;
            while at < part.len() {
                at += indenter.indent(&part[at..], room, &mut pretty);
            }
        }
        prop_assert_eq!(pretty, whole);
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        let ours = read(&data);
        if serde_json::from_slice::<serde_json::Value>(&data).is_ok() {
            prop_assert!(ours.is_ok());
        }
    }

    #[test]
    fn documents_with_a_mistake_do_not_panic(value in any_value(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = to_bytes(&value).to_vec();
        let place = at.index(text.len());
        text[place] = byte;
        let _ = read(&text);
        text.truncate(place);
        let _ = read(&text);
    }
}
