//! Tests of the writer against the output of `kubectl -o yaml`.

use super::to_text;
use crate::json;

fn check(compact: &str, expected: &str) {
    let value = json::read(compact.as_bytes()).unwrap().value;
    assert_eq!(to_text(value), expected, "{compact}");
}

#[test]
fn objects_look_familiar() {
    check(
        r#"{"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":"a","args":["-x","y"]},{"name":"b"}],"volumes":[]},"metadata":{"name":"p","labels":{}}}"#,
        "apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n  name: p\nspec:\n  containers:\n  - args:\n    - -x\n    - \"y\"\n    \
         name: a\n  - name: b\n  volumes: []\n",
    );
    check("[[1,[2]],{}]", "- - 1\n  - - 2\n- {}\n");
    check("null", "null\n");
    check(r#""text""#, "text\n");
}

#[test]
fn text_is_quoted_where_it_must_be() {
    let check = |text: &str, expected: &str| check(&format!("{{\"k\":{text}}}"), &format!("k: {expected}\n"));
    check(r#""""#, "\"\"");
    check(r#""plain text""#, "plain text");
    check(r#""true""#, "\"true\"");
    check(r#""no""#, "\"no\"");
    check(r#""12""#, "\"12\"");
    check(r#""1e3""#, "\"1e3\"");
    check(r#""0x1F""#, "\"0x1F\"");
    check(r#""null""#, "\"null\"");
    check(r#""1:30""#, "\"1:30\"");
    check(r#""2026-01-02T03:04:05Z""#, "\"2026-01-02T03:04:05Z\"");
    check(r#""a: b""#, "'a: b'");
    check(r#""a:b""#, "a:b");
    check(r##""#a""##, "'#a'");
    check(r##""a #b""##, "'a #b'");
    check(r#""- a""#, "'- a'");
    check(r#""-a""#, "-a");
    check(r#""*a""#, "'*a'");
    check(r#""it's""#, "it's");
    check(r#""'q'""#, "'''q'''");
    check(r#"" a""#, "' a'");
    check(r#""a\tb""#, "\"a\\tb\"");
    check(r#""😀""#, "\"\\U0001F600\"");
    check(r#""é""#, "é");
    check(r#""---""#, "'---'");
}

#[test]
fn lines_are_kept_in_blocks() {
    let check = |text: &str, expected: &str| check(&format!("{{\"k\":{text}}}"), &format!("k: {expected}"));
    check(r#""a\nb""#, "|-\n  a\n  b\n");
    check(r#""a\nb\n""#, "|\n  a\n  b\n");
    check(r#""a\n\n""#, "|+\n  a\n\n");
    check(r#"" a\n""#, "|2\n   a\n");
    check(r#""\n""#, "|2+\n\n");
    check(r#""a \nb""#, "\"a \\nb\"\n");
}

#[test]
fn long_lines_are_folded() {
    let words = vec!["word"; 30].join(" ");
    let folded = format!("{}\n  {}", vec!["word"; 16].join(" "), vec!["word"; 14].join(" "));
    check(&format!("{{\"key\":\"{words}\"}}"), &format!("key: {folded}\n"));
}

#[test]
fn long_keys_stand_behind_a_question_mark() {
    let key = "k".repeat(129);
    check(&format!("{{\"{key}\":1}}"), &format!("? {key}\n: 1\n"));
    check(r#"{"a\nb":[1]}"#, "? |-\n  a\n  b\n: - 1\n");
}

#[test]
fn numbers_are_written_as_upstream_writes_them() {
    check("[1,-5,1.5,1e21,1e-7,1234567.5]", "- 1\n- -5\n- 1.5\n- 1e+21\n- 1e-07\n- 1.2345675e+06\n");
    check("[1000000.0,1e20]", "- 1000000\n- 1e+20\n");
}

#[test]
fn keys_are_sorted_naturally() {
    check(r#"{"b10":1,"b9":2,"a":3,"A":4,"1":5}"#, "\"1\": 5\nA: 4\na: 3\nb9: 2\nb10: 1\n");
}
