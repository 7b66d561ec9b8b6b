//! Tests of the reader against Go's rules and messages.

use keelson_object::Value;

use super::{Document, read, read_members};
use crate::json::to_bytes;

/// Reads `text` and writes it again.
fn check(text: &str, expected: &str) {
    let document = read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(to_bytes(&document.value), expected, "{text}");
    assert_eq!(document.duplicates, Vec::<String>::new(), "{text}");
}

fn check_error(text: impl AsRef<[u8]>, expected: &str, offset: usize) {
    let text = text.as_ref();
    let shown = String::from_utf8_lossy(text);
    let error = read(text).expect_err(&shown);
    assert_eq!(error.to_string(), expected, "{shown}");
    assert_eq!(error.offset(), offset, "{shown}");
}

#[test]
fn values_of_every_type_are_read() {
    check(" null ", "null");
    check("true", "true");
    check("\tfalse\r\n", "false");
    check("\"\"", "\"\"");
    check("[]", "[]");
    check("{ }", "{}");
    check("[ 1 , \"a\" , [ ] , { } ]", "[1,\"a\",[],{}]");
    check("{\"b\" : {\"c\":[1,2,{\"d\":3}]} , \"a\":null}", "{\"b\":{\"c\":[1,2,{\"d\":3}]},\"a\":null}");
}

#[test]
fn whole_numbers_that_fit_are_ints() {
    let check =
        |text: &str, expected: Value| assert_eq!(read(text.as_bytes()).unwrap().value, expected, "{text}");
    check("0", Value::Int(0));
    check("-0", Value::Int(0));
    check("42", Value::Int(42));
    check("9223372036854775807", Value::Int(i64::MAX));
    check("-9223372036854775808", Value::Int(i64::MIN));
    check("9223372036854775808", Value::Float(9223372036854775808.0));
    check("1.0", Value::Float(1.0));
    check("1e3", Value::Float(1000.0));
    check("-1.5E-3", Value::Float(-0.0015));
    check("0.1e+1", Value::Float(1.0));
    check("1e-999", Value::Float(0.0));
}

#[test]
fn text_is_unescaped_and_repaired() {
    let check = |raw: &[u8], expected: &str| {
        let quoted = [b"\"", raw, b"\""].concat();
        assert_eq!(read(&quoted).unwrap().value.as_str(), Some(expected));
    };
    check(b"plain", "plain");
    check(b"a longer text that does not fit into a word", "a longer text that does not fit into a word");
    check(br#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
    check(br"\u0041\u00e9\u20AC", "Aé€");
    check(br"\ud83d\ude00", "😀");
    check(br"\ud83d", "\u{fffd}");
    check(br"\ude00\ud83d", "\u{fffd}\u{fffd}");
    check(br"\ud83dx", "\u{fffd}x");
    check(br"\ud83d\u0041", "\u{fffd}A");
    check(br"\ud83d\n", "\u{fffd}\n");
    check("é€😀".as_bytes(), "é€😀");
    check(b"a\xffb", "a\u{fffd}b");
    check(b"\xe2\x82", "\u{fffd}\u{fffd}");
    check(b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}");
    check(b"\\n\xff\xc3\xa9", "\n\u{fffd}é");
    check(b"\x7f", "\u{7f}");
}

#[test]
fn errors_speak_as_go_speaks() {
    check_error("", "unexpected end of JSON input", 0);
    check_error("  ", "unexpected end of JSON input", 2);
    check_error("x", "invalid character 'x' looking for beginning of value", 0);
    check_error("{", "unexpected end of JSON input", 1);
    check_error("{a", "invalid character 'a' looking for beginning of object key string", 1);
    check_error("{\"a\" 1}", "invalid character '1' after object key", 5);
    check_error("{\"a\":1 x", "invalid character 'x' after object key:value pair", 7);
    check_error("{\"a\":1,}", "invalid character '}' looking for beginning of object key string", 7);
    check_error("{\"a\":}", "invalid character '}' looking for beginning of value", 5);
    check_error("[1,]", "invalid character ']' looking for beginning of value", 3);
    check_error("[1 2]", "invalid character '2' after array element", 3);
    check_error("[1}", "invalid character '}' after array element", 2);
    check_error("{} {}", "invalid character '{' after top-level value", 3);
    check_error("1 \n2", "invalid character '2' after top-level value", 3);
    check_error("\"a\nb\"", "invalid character '\\n' in string literal", 2);
    check_error("\"a", "unexpected end of JSON input", 2);
    check_error("\"\\x\"", "invalid character 'x' in string escape code", 2);
    check_error("\"\\", "invalid character ' ' in string escape code", 2);
    check_error("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape", 5);
    check_error("\"\\u12", "invalid character ' ' in \\u hexadecimal character escape", 5);
    check_error("-x", "invalid character 'x' in numeric literal", 1);
    check_error("-", "invalid character ' ' in numeric literal", 1);
    check_error("01", "invalid character '1' after top-level value", 1);
    check_error("[01]", "invalid character '1' after array element", 2);
    check_error("1.x", "invalid character 'x' after decimal point in numeric literal", 2);
    check_error("1e", "invalid character ' ' in exponent of numeric literal", 2);
    check_error("1e+q", "invalid character 'q' in exponent of numeric literal", 3);
    check_error("+1", "invalid character '+' looking for beginning of value", 0);
    check_error("trap", "invalid character 'a' in literal true (expecting 'u')", 2);
    check_error("fals", "invalid character ' ' in literal false (expecting 'e')", 4);
    check_error("nul]", "invalid character ']' in literal null (expecting 'l')", 3);
    check_error("'a'", "invalid character '\\'' looking for beginning of value", 0);
    check_error([0xff], "invalid character 'ÿ' looking for beginning of value", 0);
    check_error([0xef, 0xbb, 0xbf, b'1'], "invalid character 'ï' looking for beginning of value", 0);
}

#[test]
fn numbers_out_of_range_are_reported_after_mistakes_in_the_syntax() {
    check_error("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64", 0);
    check_error("[1,-1e400,1e500]", "json: cannot unmarshal number -1e400 into Go value of type float64", 3);
    check_error("[1e999,x]", "invalid character 'x' looking for beginning of value", 7);
}

#[test]
fn nesting_ends_at_ten_thousand() {
    let nest = |depth: usize| ["[".repeat(depth), "]".repeat(depth)].concat();
    let small = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    let work = move || {
        let document = read(nest(10_000).as_bytes()).unwrap();
        assert_eq!(to_bytes(&document.value), nest(10_000));
        check_error(nest(10_001), "invalid character '[' exceeded max depth", 10_000);
        let maps = ["{\"a\":".repeat(10_000), "1".to_owned(), "}".repeat(10_000)].concat();
        assert_eq!(to_bytes(&read(maps.as_bytes()).unwrap().value), maps);
        let maps = "{\"a\":".repeat(10_001);
        check_error(maps, "invalid character '{' exceeded max depth", 50_000);
        check_error("[".repeat(10_000), "unexpected end of JSON input", 10_000);
    };
    small.spawn(work).unwrap().join().unwrap();
}

#[test]
fn the_last_of_duplicates_wins_and_all_are_named() {
    let check = |text: &str, expected: &str, names: &[&str]| {
        let Document { value, duplicates } = read(text.as_bytes()).unwrap();
        assert_eq!(to_bytes(&value), expected, "{text}");
        assert_eq!(duplicates, names, "{text}");
    };
    check(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#, &["a"]);
    check(r#"{"a":1,"a":2,"a":3}"#, r#"{"a":3}"#, &["a"]);
    check(r#"{"spec":{"a":1,"a":2}}"#, r#"{"spec":{"a":2}}"#, &["spec.a"]);
    check(
        r#"{"spec":{"containers":[{"name":"x"},{"name":"a","name":"b"}]}}"#,
        r#"{"spec":{"containers":[{"name":"x"},{"name":"b"}]}}"#,
        &["spec.containers[1].name"],
    );
    check(r#"[[1,2],[3,[{"x":{"y":1,"y":2}}]]]"#, r#"[[1,2],[3,[{"x":{"y":2}}]]]"#, &["[1][1][0].x.y"]);
    check(r#"{"a":{"b":1,"b":2},"a":{"b":3,"b":4,"c":5}}"#, r#"{"a":{"b":4,"c":5}}"#, &["a.b", "a"]);
    check(r#"{"a":1,"\u0061":2}"#, r#"{"a":2}"#, &["a"]);
}

#[test]
fn duplicates_are_found_in_maps_of_every_size_and_order() {
    for size in [1, 2, 10, 23, 24, 25, 26, 60] {
        let sorted: Vec<String> = (0..size).map(|n| format!("k{n:02}")).collect();
        let mut turned = sorted.clone();
        turned.reverse();
        for keys in [sorted, turned] {
            for again in [0, size / 2, size - 1] {
                let again = &keys[again];
                let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\":[{{}}]")).collect();
                let text = format!("{{{},\"new\":1,\"{again}\":2,\"newer\":3}}", members.join(","));
                let Document { value, duplicates } = read(text.as_bytes()).unwrap();
                let map = value.as_map().unwrap();
                assert_eq!(duplicates, std::slice::from_ref(again), "{text}");
                assert_eq!(
                    (map.len(), map.int(again), map.int("newer")),
                    (size + 2, Some(2), Some(3)),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn at_most_a_hundred_duplicates_are_named() {
    let keys: Vec<String> = (0..300).flat_map(|n| [format!("\"k{n}\":1"), format!("\"k{n}\":2")]).collect();
    let document = read(format!("{{{}}}", keys.join(",")).as_bytes()).unwrap();
    assert_eq!(document.duplicates.len(), 100);
    assert_eq!(document.duplicates[99], "k99");
    assert_eq!(document.value.as_map().map(|it| it.len()), Some(300));
    assert_eq!(document.value.as_map().and_then(|it| it.int("k299")), Some(2));
}

#[test]
fn hostile_documents_are_read_in_reasonable_time() {
    // Each of these takes minutes if something is quadratic.
    let many: Vec<String> = (0..50_000).map(|n| format!("\"{n}\":1")).collect();
    let twice = format!("{{{},{}}}", many.join(","), many.join(","));
    assert_eq!(read(twice.as_bytes()).unwrap().value.as_map().map(|it| it.len()), Some(50_000));
    let nest = "{\"a\":".repeat(9_000);
    let repeated = format!("{nest}{{{}\"b\":1}}{}", "\"b\":1,".repeat(100_000), "}".repeat(9_000));
    assert_eq!(read(repeated.as_bytes()).unwrap().duplicates.len(), 1);
}

#[test]
fn members_are_read_without_their_opening_brace() {
    assert_eq!(to_bytes(&read_members(br#""a":1,"b":{}}"#).unwrap().value), r#"{"a":1,"b":{}}"#);
    assert_eq!(to_bytes(&read_members(b"}").unwrap().value), "{}");
    assert!(read_members(br#""a":1"#).is_err());
    assert!(read_members(b"").is_err());
}
