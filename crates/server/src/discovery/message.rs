//! Protobuf of the discovery document with everything in it, whose types no resource has.
//!
//! Upstream: api/apidiscovery/v2/generated.proto (v1.36.4).

use std::sync::Arc;

use bytes::Bytes;
use keelson_codec::{json, protobuf};
use keelson_schema::types::Member;
use keelson_schema::{Field, Schema, Shape, Struct, StructRef, Type};

/// The document, which is compact JSON, in its envelope; empty if it is not what we write.
pub(super) fn of(compact: &[u8]) -> Bytes {
    let message = json::read(compact).ok().and_then(|it| protobuf::write(&it.value, &list()).ok());
    let head = protobuf::Head::new("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList");
    message.map(|message| head.wrap(&message)).unwrap_or_default()
}

fn list() -> Struct {
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
    let group =
        structure("APIGroupDiscovery", vec![("metadata", object_meta), ("versions", listed(version))]);
    let metadata =
        structure("ListMeta", vec![("selfLink", text()), ("resourceVersion", text()), ("continue", text())]);
    Struct::new(
        "v2",
        "APIGroupDiscoveryList",
        members(vec![("metadata", metadata), ("items", listed(group))]),
    )
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
    use super::of;

    #[test]
    fn the_message_is_that_of_upstream() {
        let json =
            br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[
            {"metadata":{"name":"g"},"versions":[{"version":"v1","resources":[{"resource":"rs","responseKind":
            {"group":"","version":"","kind":"R"},"scope":"Cluster","singularResource":"r","verbs":["get"]}],
            "freshness":"Current"}]}]}"#;
        let bytes = of(json);
        let head = b"k8s\0\n/\n\x16apidiscovery.k8s.io/v2\x12\x15APIGroupDiscoveryList\x12";
        assert!(bytes.starts_with(head), "{bytes:?}");
        let resource = b"\n\x02rs\x12\x07\n\0\x12\0\x1a\x01R\x1a\x07Cluster\"\x01r*\x03get";
        assert!(bytes.windows(resource.len()).any(|it| it == resource), "{bytes:?}");
        let list_meta = b"\n\x06\n\0\x12\0\x1a\0";
        assert!(bytes.windows(list_meta.len()).any(|it| it == list_meta), "{bytes:?}");
    }
}
