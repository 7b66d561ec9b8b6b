//! The same object at another revision.
//!
//! A deleted object is shown with the revision of its deletion, and an object that leaves a selector with the
//! revision of the write that made it leave. Both differ from what is cached in one number:
//!
//! ```text
//! "metadata":{"name":"web","resourceVersion":"7","labels":{"resourceVersion":"7"}},"spec":{…}}
//!                                            ^^^ only this one, not the label
//! ```

use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use keelson_object::Frozen;

/// The content of `object` with another `metadata.resourceVersion`.
pub(crate) fn at_revision(object: &Frozen, revision: u64) -> Frozen {
    let (json, metadata) = (object.json(), object.metadata_json());
    let start = metadata.as_ptr().addr() - json.as_ptr().addr();
    let text = match value_range(metadata, b"resourceVersion") {
        Some(range) => splice(json, start + range.start..start + range.end, &format!("\"{revision}\"")),
        None => {
            let comma = if metadata.get(1) == Some(&b'}') { "" } else { "," };
            splice(json, start + 1..start + 1, &format!("\"resourceVersion\":\"{revision}\"{comma}"))
        }
    };
    let end = start + metadata.len() + text.len() - json.len();
    let offset = |at: usize| u32::try_from(at).expect("a stored object is far smaller than 4 GiB");
    let revised = Frozen::new(revision, object.index().clone(), text, offset(start)..offset(end));
    revised.in_version(u16::try_from(object.version()).unwrap_or_default())
}

fn splice(json: &[u8], range: Range<usize>, text: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(json.len() - range.len() + text.len());
    out.put_slice(&json[..range.start]);
    out.put_slice(text.as_bytes());
    out.put_slice(&json[range.end..]);
    out.freeze()
}

/// The range of the text of the field `key` in the object `json`, quotes included. Fields of inner objects do
/// not count.
fn value_range(json: &[u8], key: &[u8]) -> Option<Range<usize>> {
    let (mut at, mut depth, mut is_value) = (0, 0_usize, false);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                let end = string_end(json, at)?;
                if is_value {
                    return Some(at..end);
                }
                is_value = depth == 1 && json.get(end) == Some(&b':') && json[at + 1..end - 1] == *key;
                at = end;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => (),
        }
        at += 1;
    }
    None
}

/// The place behind the closing quote of the text that opens at `open`.
fn string_end(json: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match json.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use keelson_object::{Frozen, Index};

    use super::at_revision;

    #[track_caller]
    fn check(metadata: &str, expected: &str) {
        for (before, behind) in [("\"metadata\":", ",\"spec\":{}}"), ("\"a\":\"{\",\"metadata\":", "}")] {
            let json = Bytes::from(format!("{before}{metadata}{behind}"));
            let start = before.len() as u32;
            let object = Frozen::new(7, Index::default(), json, start..start + metadata.len() as u32);
            let revised = at_revision(&object, 1234);
            assert_eq!(revised.revision(), 1234);
            assert_eq!(std::str::from_utf8(revised.metadata_json()).unwrap(), expected);
            assert_eq!(revised.json(), &Bytes::from(format!("{before}{expected}{behind}")));
        }
    }

    #[test]
    fn only_the_revision_changes() {
        check(
            r#"{"name":"web","resourceVersion":"7","labels":{"a":"7"}}"#,
            r#"{"name":"web","resourceVersion":"1234","labels":{"a":"7"}}"#,
        );
    }

    #[test]
    fn a_label_of_that_name_is_not_the_revision() {
        check(
            r#"{"labels":{"resourceVersion":"7"},"resourceVersion":"7"}"#,
            r#"{"labels":{"resourceVersion":"7"},"resourceVersion":"1234"}"#,
        );
        check(
            r#"{"annotations":{"x":"{\"resourceVersion\":\"7\"}"},"finalizers":["resourceVersion"],"resourceVersion":"7"}"#,
            r#"{"annotations":{"x":"{\"resourceVersion\":\"7\"}"},"finalizers":["resourceVersion"],"resourceVersion":"1234"}"#,
        );
    }

    #[test]
    fn an_object_without_revision_gets_one() {
        check(r#"{"name":"web"}"#, r#"{"resourceVersion":"1234","name":"web"}"#);
        check("{}", r#"{"resourceVersion":"1234"}"#);
    }
}
