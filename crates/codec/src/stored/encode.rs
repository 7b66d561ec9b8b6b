//! Encoding of objects in their stored form.

use bytes::Bytes;
use keelson_object::meta::StringMap;
use keelson_object::scalar::Time;
use keelson_object::{Object, ObjectMeta, OwnerReference};

use crate::json::{write, write_text};

/// The stored form of `object`: `kind`, `apiVersion`, `metadata` without resource version, then the rest in its
/// order.
pub fn encode(object: &Object) -> Bytes {
    let mut out = Vec::with_capacity(4096);
    out.extend_from_slice(b"{\"kind\":");
    write_text(&object.kind, &mut out);
    out.extend_from_slice(b",\"apiVersion\":");
    write_text(&object.api_version, &mut out);
    out.extend_from_slice(b",\"metadata\":");
    write_meta(&object.meta, &mut out);
    for (key, value) in object.fields.iter() {
        out.push(b',');
        write_text(key, &mut out);
        out.push(b':');
        write(value, &mut out);
    }
    out.push(b'}');
    out.into()
}

/// Writes the same as [`ObjectMeta::to_map`], in its order, without copying `managedFields` into a tree
/// first.
fn write_meta(meta: &ObjectMeta, out: &mut Vec<u8>) {
    out.push(b'{');
    let start = out.len();
    let key = |out: &mut Vec<u8>, key: &str| {
        if out.len() > start {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\":");
    };
    for (name, text) in [
        ("name", &meta.name),
        ("generateName", &meta.generate_name),
        ("namespace", &meta.namespace),
        ("uid", &meta.uid),
    ] {
        if !text.is_empty() {
            key(out, name);
            write_text(text, out);
        }
    }
    if meta.generation != 0 {
        key(out, "generation");
        write_int(meta.generation, out);
    }
    for (name, time) in
        [("creationTimestamp", meta.creation_timestamp), ("deletionTimestamp", meta.deletion_timestamp)]
    {
        if let Some(time) = time {
            key(out, name);
            write_time(time, out);
        }
    }
    if let Some(seconds) = meta.deletion_grace_period_seconds {
        key(out, "deletionGracePeriodSeconds");
        write_int(seconds, out);
    }
    for (name, map) in [("labels", &meta.labels), ("annotations", &meta.annotations)] {
        if !map.is_empty() {
            key(out, name);
            write_string_map(map, out);
        }
    }
    if !meta.owner_references.is_empty() {
        key(out, "ownerReferences");
        write_items(&meta.owner_references, out, |owner, out| write(&OwnerReference::to_value(owner), out));
    }
    if !meta.finalizers.is_empty() {
        key(out, "finalizers");
        write_items(&meta.finalizers, out, |text, out| write_text(text, out));
    }
    if !meta.managed_fields.is_empty() {
        key(out, "managedFields");
        write_items(&meta.managed_fields, out, write);
    }
    out.push(b'}');
}

fn write_int(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_time(time: Time, out: &mut Vec<u8>) {
    write_text(&time.to_string(), out);
}

fn write_string_map(map: &StringMap, out: &mut Vec<u8>) {
    out.push(b'{');
    for (position, (key, value)) in map.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        write_text(key, out);
        out.push(b':');
        write_text(value, out);
    }
    out.push(b'}');
}

fn write_items<T>(items: &[T], out: &mut Vec<u8>, one: impl Fn(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (position, item) in items.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        one(item, out);
    }
    out.push(b']');
}
