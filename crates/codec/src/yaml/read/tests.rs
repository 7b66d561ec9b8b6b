//! Tests of the reader against upstream's results for the same text.

use proptest::prelude::*;

use super::read;
use crate::json;
use crate::json::properties::any_value;
use crate::yaml::to_text;

/// Compares `text` as JSON.
fn check(text: &str, expected: &str) {
    let document = read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(json::to_bytes(&document.value), expected, "{text}");
    assert_eq!(document.strict_problem(), None, "{text}");
}

fn check_error(text: impl AsRef<[u8]>, expected: &str) {
    let shown = String::from_utf8_lossy(text.as_ref()).into_owned();
    assert_eq!(read(text.as_ref()).expect_err(&shown).to_string(), expected, "{shown}");
}

#[test]
fn documents_become_trees() {
    check("", "null");
    check("---\n", "null");
    check("hello", r#""hello""#);
    check("a: 1\nb:\n- x\n- c: z\n  w: [1, {k: v}]\n", r#"{"a":1,"b":["x",{"c":"z","w":[1,{"k":"v"}]}]}"#);
    check("a: |\n  x\n  y\nb: >\n  x\n  y\n\n  z\nc: |-\n  x\n", r#"{"a":"x\ny\n","b":"x y\nz\n","c":"x"}"#);
    check("a: |\n  x", r#"{"a":"x"}"#);
    check("a: \"b\\tc\"\nd: 'it''s'\n", r#"{"a":"b\tc","d":"it's"}"#);
    check("{\"a\": [1, 2.5, null]}", r#"{"a":[1,2.5,null]}"#);
    check("a: 1\r\nb: 2\r\n", r#"{"a":1,"b":2}"#);
    check("\u{feff}a: 1\n", r#"{"a":1}"#);
}

#[test]
fn only_the_first_document_is_read() {
    check("a: 1\n---\nb: [\n", r#"{"a":1}"#);
    check("a: 1\n...\ngarbage: [", r#"{"a":1}"#);
}

#[test]
fn scalars_follow_yaml_1_1() {
    check("[y, No, on, OFF, ~, null, ]", "[true,false,true,false,null,null]");
    check("[0777, 0o17, 0x1F, 0b11, 1_000, +5]", "[511,15,31,3,1000,5]");
    check("[1.0, 1e3, 1e21, .5, 08, -0.0]", "[1,1000,1e+21,0.5,8,0]");
    check("[1:30, 2026-01-02, 1e400, '12', \"yes\"]", r#"["1:30","2026-01-02","1e400","12","yes"]"#);
    check("18446744073709551615", "18446744073709552000");
    check("[!!str 12, !!int \"12\", !!float 3, !!bool on, !foo 12, ! 12]", r#"["12",12,3,true,"12","12"]"#);
    check("!!binary aGVsbG8=", r#""hello""#);
}

#[test]
fn keys_become_text() {
    check(
        "1: a\ntrue: b\n1.5: c\nno: d\n.inf: e\n",
        r#"{"1":"a","true":"b","1.5":"c","false":"d",".inf":"e"}"#,
    );
    check_error("~: e\n", r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: "e""#);
    check_error("a: {{b}}", r#"yaml: invalid map key: map[interface {}]interface {}{"b":interface {}(nil)}"#);
    check_error("? [x]\n: c\n", r#"yaml: invalid map key: []interface {}{"x"}"#);
}

#[test]
fn anchors_are_expanded_and_maps_merged() {
    check("a: &x {b: 1}\nc: *x\n", r#"{"a":{"b":1},"c":{"b":1}}"#);
    check("a: &x [1]\nb: [*x, *x]\n", r#"{"a":[1],"b":[[1],[1]]}"#);
    check("&k key: v\nother: *k\n", r#"{"key":"v","other":"key"}"#);
    check("a: &x {b: 1}\nd:\n  <<: *x\n  c: 3\n", r#"{"a":{"b":1},"d":{"b":1,"c":3}}"#);
    check("d:\n  <<: [{a: 1}, {b: 2}]\n", r#"{"d":{"b":2,"a":1}}"#);
    check("\"<<\": 1\n", r#"{"\u003c\u003c":1}"#);
    check_error("a: *x", "yaml: unknown anchor 'x' referenced");
    check_error("a: &x [*x]", "yaml: anchor 'x' value contains itself");
    check_error("d:\n  <<: 5\n", "yaml: map merge requires map or sequence of maps as the value");
}

#[test]
fn duplicates_are_named_and_the_last_wins() {
    let check = |text: &str, expected: &str, problem: &str| {
        let document = read(text.as_bytes()).unwrap();
        assert_eq!(json::to_bytes(&document.value), expected, "{text}");
        assert_eq!(document.strict_problem().as_deref(), Some(problem), "{text}");
    };
    check("a: 1\na: 2\n", r#"{"a":2}"#, "yaml: unmarshal errors:\n  line 2: key \"a\" already set in map");
    check(
        "a:\n  b: 1\n  b: 2\n  c: {x: 1, x: 2}\na: 3\n",
        r#"{"a":3}"#,
        "yaml: unmarshal errors:\n  line 3: key \"b\" already set in map\n  line 4: key \"x\" already set in map\n  \
         line 5: key \"a\" already set in map",
    );
    check(
        "1: a\n1: b\nyes: c\ntrue: d\n",
        r#"{"1":"b","true":"d"}"#,
        "yaml: unmarshal errors:\n  line 2: key 1 already set in map\n  line 4: key true already set in map",
    );
}

#[test]
fn mistakes_are_told_as_upstream_tells_them() {
    check_error("a: b: c", "yaml: mapping values are not allowed in this context");
    check_error("a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context");
    check_error("x: 1\n y: 2\n", "yaml: line 2: mapping values are not allowed in this context");
    check_error("x:\n  - a\n - b\n", "yaml: line 2: did not find expected key");
    check_error("a: [1\n", "yaml: line 1: did not find expected ',' or ']'");
    check_error("a: @b", "yaml: found character that cannot start any token");
    check_error("\ta: 1", "yaml: found character that cannot start any token");
    check_error("a: \"b\n", "yaml: line 2: found unexpected end of stream");
    check_error("a: \"\\q\"", "yaml: found unknown escape character");
    check_error([0xff], "yaml: invalid leading UTF-8 octet");
    check_error(b"a: \xc3", "yaml: incomplete UTF-8 octet sequence");
    check_error("a: \u{1}", "yaml: control characters are not allowed");
    check_error("a: !!int x", "yaml: cannot decode !!str `x` as a !!int");
    check_error("a: !!binary '!'", "yaml: !!binary value contains invalid base64 data");
    check_error("a: [1, .inf]", "json: unsupported value: +Inf");
    check_error("a: .nan\nb: [", "yaml: line 2: did not find expected node content");
}

#[test]
fn old_liberties_are_taken() {
    check("spec:\n  args: [\n    a,\nb,\nc]\n  x: 1\n", r#"{"spec":{"args":["a","b","c"],"x":1}}"#);
    check("spec:\n  text: \"a\nb\n\nc\"\n", r#"{"spec":{"text":"a b\nc"}}"#);
    check("a:\tb\nc:\t\td\n", r#"{"a":"b","c":"d"}"#);
    check("m: {\n  a: 1\n}\n", r#"{"m":{"a":1}}"#);
}

#[test]
fn bombs_do_not_go_off() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x]\n");
    for level in 1..10 {
        let item = format!("*a{}", level - 1);
        bomb += &format!("a{level}: &a{level} [{}]\n", [item.as_str(); 9].join(","));
    }
    check_error(bomb, "yaml: document contains excessive aliasing");
    check_error("- ".repeat(500_000), "yaml: exceeded max depth of 10000");
    check_error("{".repeat(1_500_000), "yaml: exceeded max depth of 10000");
    let nested: String = (0..5_000).map(|n| format!("&n{n} - ")).collect();
    assert!(read(nested.as_bytes()).is_err());
}

#[test]
fn deep_documents_are_read_on_a_small_stack() {
    let work = || {
        let deep = format!("{}x", "- ".repeat(9_999));
        let document = read(deep.as_bytes()).unwrap();
        assert_eq!(to_text(document.value), format!("{deep}\n"));
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn large_maps_are_read_in_reasonable_time() {
    let many: String = (0..20_000).map(|n| format!("k{n}: {n}\n")).collect();
    let document = read(format!("{many}{many}").as_bytes()).unwrap();
    assert_eq!(document.value.as_map().map(|it| it.len()), Some(20_000));
    assert_eq!(document.duplicates.len(), 100);
}

proptest! {
    #[test]
    fn what_is_written_is_read(value in any_value()) {
        // Upstream's way through JSON is part of the contract: floats without fraction are ints. Line ends
        // that only YAML 1.1 knows are written as upstream writes them, and read as text.
        let text = String::from_utf8(json::to_bytes(&value).to_vec()).unwrap();
        let text = text.replace("\\u2028", "").replace("\\u2029", "").replace(['\u{85}', '\u{7f}'], "").replace("\\r", "");
        let Ok(json::Document { value, duplicates }) = json::read(text.as_bytes()) else { return Ok(()) };
        // As upstream: the key `<<` is written without quotes.
        prop_assume!(duplicates.is_empty() && !text.contains(r#""\u003c\u003c":"#));
        let yaml = to_text(value.clone());
        let found = read(yaml.as_bytes());
        prop_assert!(found.is_ok(), "{:?} of {}", found, yaml);
        prop_assert_eq!(found.unwrap().value, value, "{}", yaml);
    }

    #[test]
    fn arbitrary_text_does_not_panic(text in "[-a{}\\[\\]:,&*!|>'\"%@`?# \n\t0-9]{0,60}") {
        let _ = read(text.as_bytes());
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(data in proptest::collection::vec(any::<u8>(), 0..60)) {
        let _ = read(&data);
    }
}
