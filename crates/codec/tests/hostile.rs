//! Hostile input for every reader: it must be refused with a clear error, and quickly.

use keelson_codec::{cbor, json, protobuf, yaml};

/// The error of a document; `fine` if there is none.
fn said<T>(result: Result<T, impl std::fmt::Display>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "fine".to_owned())
}

#[track_caller]
fn json(data: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(said(json::read(data.as_ref())), expected);
}

#[track_caller]
fn yaml(data: impl AsRef<[u8]>, expected: &str) {
    assert_eq!(said(yaml::read(data.as_ref())), expected);
}

/// A message of a pod, without its envelope.
#[track_caller]
fn protobuf(data: impl AsRef<[u8]>, expected: &str) {
    let pod = keelson_schema::Schema::builtin("", "v1", "Pod").expect("built in");
    assert_eq!(said(protobuf::read(data.as_ref(), pod.root())), expected);
}

#[track_caller]
fn cbor(data: impl AsRef<[u8]>, expected: &str) {
    let data = data.as_ref();
    assert_eq!(said(cbor::read(data)), expected);
    let pod = keelson_schema::Schema::builtin("", "v1", "Pod").expect("built in");
    // The reader by schema refuses it, too.
    if expected != "fine" {
        assert_ne!(said(cbor::read_object(data, Some(pod.root()))), "fine");
    }
}

#[test]
fn what_is_cut_off_is_refused() {
    json("", "unexpected end of JSON input");
    json(r#"{"a":"#, "unexpected end of JSON input");
    json(r#"["\u00"#, r"invalid character ' ' in \u hexadecimal character escape");
    yaml("a: [1, 2", "yaml: line 1: did not find expected ',' or ']'");
    protobuf(b"\x0a", "unexpected EOF");
    protobuf(b"\x0a\x05ab", "unexpected EOF");
    protobuf(b"\x0a\xff", "unexpected EOF");
    cbor(b"", "EOF");
    cbor(b"\xa1", "unexpected EOF");
    cbor(b"\x9f\x01", "unexpected EOF");
    cbor(b"\xd9\xd9\xf7", "unexpected EOF");
    cbor(b"\x1b\0\0\0", "unexpected EOF");
}

#[test]
fn lengths_past_the_end_reserve_nothing() {
    protobuf(b"\x0a\xff\xff\xff\xff\x07ab", "unexpected EOF");
    protobuf(
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        "proto: negative length found during unmarshaling",
    );
    protobuf(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "proto: integer overflow");
    cbor(b"\x5a\xff\xff\xff\xff", "unexpected EOF");
    cbor(b"\x9a\x7f\xff\xff\xff", "unexpected EOF");
    cbor(b"\x9a\x80\0\0\0", "cbor: exceeded max number of elements 2147483647 for CBOR array");
    cbor(b"\xba\0\x20\0\0", "unexpected EOF");
    cbor(b"\xba\0\x20\0\x01", "cbor: exceeded max number of key-value pairs 2097152 for CBOR map");
    let over = "is too large, it would cause integer overflow";
    cbor(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff", &format!("cbor: array length 18446744073709551615 {over}"));
    cbor(b"\xbb\x80\0\0\0\0\0\0\0", &format!("cbor: map length 9223372036854775808 {over}"));
    let over = "is too large, causing integer overflow";
    cbor(
        b"\x7b\xff\xff\xff\xff\xff\xff\xff\xff",
        &format!("cbor: UTF-8 text string length 18446744073709551615 {over}"),
    );
}

#[test]
fn nests_without_end_are_refused() {
    for depth in [10_001, 1_000_000] {
        json("[".repeat(depth), "invalid character '[' exceeded max depth");
        json(r#"{"a":"#.repeat(depth), "invalid character '{' exceeded max depth");
        yaml("- ".repeat(depth), "yaml: exceeded max depth of 10000");
        yaml("[".repeat(depth), "yaml: exceeded max depth of 10000");
        cbor(b"\x81".repeat(depth), "cbor: exceeded max nested level 10000");
        cbor(b"\x9f".repeat(depth), "cbor: exceeded max nested level 10000");
        cbor(b"\xa1\x41a".repeat(depth), "cbor: exceeded max nested level 10000");
        cbor(b"\xbf\x41a".repeat(depth), "cbor: exceeded max nested level 10000");
    }
    cbor(b"\xc6".repeat(1_000_000), "cbor: exceeded max nested level 10000");
    cbor([&b"\x81".repeat(10_000)[..], b"\x01"].concat(), "fine");
    // Nested messages, each as long as its length says: JSON schemas may contain themselves.
    let mut message = Vec::new();
    for _ in 0..2000 {
        let mut outer = vec![0xe2, 0x01];
        let mut length = message.len();
        while length >= 0x80 {
            outer.push(length as u8 | 0x80);
            length >>= 7;
        }
        outer.push(length as u8);
        outer.extend_from_slice(&message);
        message = outer;
    }
    let schema = keelson_schema::Schema::builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let schema = schema.expect("built in");
    let props = schema.field_at("spec.versions.schema.openAPIV3Schema").and_then(|it| it.ty.as_struct());
    let found = protobuf::read(&message, props.expect("a struct"));
    assert_eq!(said(found), "exceeded max depth");
}

#[test]
fn things_of_the_wrong_kind_are_refused() {
    protobuf(b"\x10\x01", "proto: wrong wireType = 0 for field Spec");
    protobuf(b"\x0f", "proto: illegal wireType 7");
    protobuf(b"\x0c", "proto: Pod: wiretype end group for non-group");
    protobuf(b"\x02\x00", "proto: Pod: illegal tag 0 (wire type 2)");
    cbor(b"\xff", "cbor: unexpected \"break\" code");
    cbor(b"\xbf\x41a\xff", "cbor: unexpected \"break\" code");
    cbor(b"\x5f\x61a\xff", "cbor: wrong element type UTF-8 text string for indefinite-length byte string");
    cbor(b"\x5f\x5f\xff\xff", "cbor: indefinite-length byte string chunk is not definite-length");
    cbor(b"\x1c", "cbor: invalid additional information 28 for type positive integer");
    cbor(b"\xf8\x14", "cbor: invalid simple value 20 for type primitives");
    cbor(b"\xc2\x41\x01", "cbor: data item of cbor type tag is not accepted by protocol: bignum");
    // In a struct it is an unknown field.
    let number = "cbor: cannot unmarshal positive integer into Go value of type string";
    assert_eq!(said(cbor::read(b"\xa1\x01\x02")), number);
    cbor(b"\x01\x02", "cbor: 1 bytes of extraneous data starting at index 1");
}

#[test]
fn numbers_that_json_cannot_say_are_refused() {
    json("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64");
    yaml("a: .inf", "json: unsupported value: +Inf");
    yaml("a: .nan", "json: unsupported value: NaN");
    let not_accepted = "cbor: data item of cbor type primitives is not accepted by protocol: floating-point";
    cbor(b"\xf9\x7c\x00", &format!("{not_accepted} infinity"));
    cbor(b"\xf9\x7e\x00", &format!("{not_accepted} NaN"));
    cbor(
        b"\x1b\x80\0\0\0\0\0\0\0",
        "cbor: cannot unmarshal positive integer into Go value of type int64 (9223372036854775808 overflows Go's int64)",
    );
}

#[test]
fn text_that_is_none_is_repaired_or_refused() {
    json(r#""\ud800""#, "fine");
    json(b"\"\xff\"", "fine");
    yaml(b"a: \xff", "yaml: invalid leading UTF-8 octet");
    cbor(b"\x61\xff", "cbor: invalid UTF-8 string");
    cbor(b"\x7f\x61\xc3\x61\xa9\xff", "cbor: invalid UTF-8 string");
    cbor(b"\x41\xff", "fine");
}

#[test]
fn aliases_and_tags_do_not_multiply() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    yaml(&bomb, "yaml: document contains excessive aliasing");
    yaml("a: *b", "yaml: unknown anchor 'b' referenced");
    yaml("a: &a [*a]", "yaml: anchor 'a' value contains itself");
    yaml("a: !!binary '?'", "yaml: !!binary value contains invalid base64 data");
    let tagged = [&b"\xd6".repeat(9_000)[..], b"\x41a"].concat();
    assert_eq!(cbor::read(&tagged).expect("tags are no harm"), "YQ==".into());
}

#[test]
fn large_maps_are_searched_for_duplicates_in_no_time() {
    let mut pairs = Vec::new();
    for number in 0..300_000u32 {
        pairs.push(0x44);
        pairs.extend_from_slice(&number.to_be_bytes().map(|byte| byte & 0x7f));
        pairs.push(0xf6);
    }
    let data = [&b"\xba\0\x04\x93\xe0"[..], &pairs].concat();
    assert!(said(cbor::read(&data)).starts_with("cbor: found duplicate map key"));
}
