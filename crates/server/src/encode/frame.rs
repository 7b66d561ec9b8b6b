//! Watch frames: `{"type":"ADDED","object":{…}}` and a line end.

use bytes::{Bytes, BytesMut};
use keelson_object::Frozen;
use keelson_object::meta::StringMap;
use keelson_watch_cache::EventKind;

use super::metadata::write_metadata;
use super::object::write_object;
use crate::negotiate::MetaVersion;

/// The value of `type`.
pub(crate) fn type_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Added => "ADDED",
        EventKind::Modified => "MODIFIED",
        EventKind::Deleted => "DELETED",
    }
}

/// An object that was added, modified or deleted.
pub(crate) fn object(kind: EventKind, head: &[u8], object: &Frozen) -> Bytes {
    frame(type_name(kind), object.json().len() + head.len(), |out| write_object(out, head, object))
}

/// The metadata of an object that was added, modified or deleted.
pub(crate) fn metadata(kind: EventKind, version: MetaVersion, object: &Frozen) -> Bytes {
    frame(type_name(kind), object.metadata_json().len() + 64, |out| write_metadata(out, version, object))
}

/// An object that is already JSON.
pub(crate) fn raw(type_name: &str, object: &[u8]) -> Bytes {
    frame(type_name, object.len(), |out| out.extend_from_slice(object))
}

/// A bookmark: everything up to `revision` was sent. `head` is that of the resource.
pub(crate) fn bookmark(head: &[u8], revision: u64, is_initial_end: InitialEnd) -> Bytes {
    let annotations = match is_initial_end {
        InitialEnd::Yes => ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}",
        InitialEnd::No => "",
    };
    frame("BOOKMARK", head.len() + 128, |out| {
        out.extend_from_slice(b"{");
        out.extend_from_slice(head);
        out.extend_from_slice(
            format!("\"metadata\":{{\"resourceVersion\":\"{revision}\"{annotations}}}}}").as_bytes(),
        );
    })
}

/// The annotations of a bookmark.
pub(crate) fn marks(is_initial_end: InitialEnd) -> StringMap {
    match is_initial_end {
        InitialEnd::Yes => StringMap::from_iter([("k8s.io/initial-events-end".into(), "true".into())]),
        InitialEnd::No => StringMap::default(),
    }
}

/// Whether a bookmark marks the end of the initial events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialEnd {
    /// It does.
    Yes,
    /// It does not.
    No,
}

fn frame(type_name: &str, size: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
    let mut out = BytesMut::with_capacity(size + 48);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(type_name.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    write(&mut out);
    out.extend_from_slice(b"}\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::{InitialEnd, bookmark, raw};

    #[test]
    fn frames_are_lines() {
        let head = br#""kind":"Thing","apiVersion":"v1","#;
        assert_eq!(
            bookmark(head, 7, InitialEnd::No),
            "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\"}}}\n"
        );
        assert_eq!(
            bookmark(head, 7, InitialEnd::Yes),
            "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"Thing\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"7\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
        );
        assert_eq!(raw("ERROR", b"{}"), "{\"type\":\"ERROR\",\"object\":{}}\n");
    }
}
