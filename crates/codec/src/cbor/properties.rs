//! Properties of every document.

use keelson_object::Value;
use proptest::prelude::*;

use super::{Error, identify, read, read_object, write};
use crate::json;
use crate::json::properties::any_value;

fn written(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, &mut out);
    out
}

/// JSON with sorted keys, which is the order after reading.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let mut map: keelson_object::Map =
                map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            map.sort_keys();
            Value::Map(map)
        }
        Value::List(items) => Value::List(items.iter().map(sorted).collect()),
        scalar => scalar.clone(),
    }
}

proptest! {
    #[test]
    fn every_tree_comes_back(value in any_value()) {
        let found = read(&written(&value)).expect("what was written can be read");
        prop_assert_eq!(json::to_bytes(&found), json::to_bytes(&sorted(&value)));
        prop_assert_eq!(written(&found), written(&value));
    }

    #[test]
    fn a_document_that_is_cut_off_is_refused(value in any_value(), place in 0.0..1.0) {
        let whole = written(&value);
        let end = (whole.len() as f64 * place) as usize;
        let expected = if end == 0 { Error::Empty } else { Error::End };
        prop_assert_eq!(read(&whole[..end]), Err(expected));
    }

    #[test]
    fn any_bytes_are_read_or_refused(data in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = (read(&data), identify(&data), read_object(&data, None));
    }
}
