//! Protobuf of the aggregated discovery document, whose types are not those of any resource.
//!
//! Upstream: api/apidiscovery/v2/generated.proto (v1.36.4).

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use keelson_codec::{json, protobuf};
use keelson_schema::types::Member;
use keelson_schema::{Field, Schema, Shape, Struct, StructRef, Type};

/// The document with these items, each of which is a message of [`item`], in its envelope.
pub(super) fn list<'i>(items: impl Iterator<Item = &'i Bytes>) -> Bytes {
    const ITEMS: u8 = 2 << 3 | 2;
    let mut message = write(b"{\"metadata\":{},\"items\":[]}", &TYPES.list);
    for item in items {
        message.push(ITEMS);
        let mut rest = item.len();
        while rest >= 0x80 {
            message.push((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        message.push(rest as u8);
        message.extend_from_slice(item);
    }
    protobuf::Head::new("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList").wrap(&message)
}

/// One item, which is compact JSON.
pub(super) fn item(compact: &[u8]) -> Bytes {
    write(compact, &TYPES.group).into()
}

/// Empty if the JSON is not one that we write.
fn write(compact: &[u8], as_type: &Struct) -> Vec<u8> {
    let message = json::read(compact).ok().and_then(|it| protobuf::write(&it.value, as_type).ok());
    message.map(Into::into).unwrap_or_default()
}

static TYPES: LazyLock<Types> = LazyLock::new(types);

struct Types {
    list: Struct,
    group: Struct,
}

fn types() -> Types {
    let text = || Type::of(Shape::String);
    let kind = structure("GroupVersionKind", vec![("group", text()), ("version", text()), ("kind", text())]);
    let subresource = structure(
        "APISubresourceDiscovery",
        vec![
            ("subresource", text()),
            ("responseKind", kind.clone()),
            ("acceptedTypes", listed(kind.clone())),
            ("verbs", listed(text())),
        ],
    );
    let resource = structure(
        "APIResourceDiscovery",
        vec![
            ("resource", text()),
            ("responseKind", kind),
            ("scope", text()),
            ("singularResource", text()),
            ("verbs", listed(text())),
            ("shortNames", listed(text())),
            ("categories", listed(text())),
            ("subresources", listed(subresource)),
        ],
    );
    let version = structure(
        "APIVersionDiscovery",
        vec![("version", text()), ("resources", listed(resource)), ("freshness", text())],
    );
    let object_meta = Schema::builtin("", "v1", "Namespace")
        .and_then(|it| it.root().field("metadata").map(|field| field.ty.clone()))
        .unwrap_or_else(text);
    let group = || vec![("metadata", object_meta.clone()), ("versions", listed(version.clone()))];
    let metadata =
        structure("ListMeta", vec![("selfLink", text()), ("resourceVersion", text()), ("continue", text())]);
    let items = listed(structure("APIGroupDiscovery", group()));
    Types {
        list: Struct::new(
            "v2",
            "APIGroupDiscoveryList",
            members(vec![("metadata", metadata), ("items", items)]),
        ),
        group: Struct::new("v2", "APIGroupDiscovery", members(group())),
    }
}

fn structure(name: &str, fields: Vec<(&str, Type)>) -> Type {
    Type::of(Shape::Struct(StructRef::from(Struct::new("v2", name, members(fields)))))
}

/// Fields whose numbers count from one.
fn members(fields: Vec<(&str, Type)>) -> Vec<Member> {
    let numbered = fields.into_iter().zip(1..);
    let field = |((name, ty), number)| {
        Member::Field(Field { number: Some(number), omit_empty: true, ..Field::new(name, ty) })
    };
    numbered.map(field).collect()
}

fn listed(item: Type) -> Type {
    Type::of(Shape::List(Arc::new(item)))
}

#[cfg(test)]
mod tests {
    use super::{TYPES, item, list, write};

    #[test]
    fn the_message_is_that_of_upstream() {
        let json = br#"{"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[{"resource":"rs","responseKind":
            {"group":"","version":"","kind":"R"},"scope":"Cluster","singularResource":"r","verbs":["get"]}],
            "freshness":"Current"}]}"#;
        let bytes = list([item(json), item(json)].iter());
        let whole = [b"{\"metadata\":{},\"items\":[", &json[..], b",", json, b"]}"].concat();
        let whole = write(&whole, &TYPES.list);
        assert!(bytes.windows(whole.len()).any(|it| it == whole), "{bytes:?}");
        let head = b"k8s\0\n/\n\x16apidiscovery.k8s.io/v2\x12\x15APIGroupDiscoveryList\x12";
        assert!(bytes.starts_with(head), "{bytes:?}");
        let resource = b"\n\x02rs\x12\x07\n\0\x12\0\x1a\x01R\x1a\x07Cluster\"\x01r*\x03get";
        assert!(bytes.windows(resource.len()).any(|it| it == resource), "{bytes:?}");
        let list_meta = b"\n\x06\n\0\x12\0\x1a\0";
        assert!(bytes.windows(list_meta.len()).any(|it| it == list_meta), "{bytes:?}");
    }
}
