//! Bad input: every function with arguments of every wrong type, patterns and texts that grow, time zones that do not
//! exist. Evaluation answers with an error or a value, within its cost and without a panic.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT};
use keelson_cel::value::Val;
use keelson_cel::{Env, Library, Type};

fn env() -> Env {
    Env::stored()
        .with_library(Library::JsonPatch)
        .with_library(Library::DeviceIncludes)
        .with_variable("text", Type::String)
        .with_variable("raw", Type::Bytes)
}

/// The text of the value or of the error.
fn answer(expression: &str, text: &str) -> String {
    let program = match env().compile(expression) {
        Ok(checked) => Program::new(&checked),
        Err(issues) => return issues.to_string(),
    };
    let program = match program {
        Ok(program) => program,
        Err(error) => return error.to_string(),
    };
    let bytes = Val::Bytes(vec![0xff, 0xfe].into());
    let variables = [("text", Val::str(text)), ("raw", bytes)];
    let options = Options { cost_limit: Some(PER_CALL_LIMIT), ..Options::default() };
    match program.evaluate(&variables, options).outcome {
        Ok(value) => value.go_text(),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn every_function_takes_every_wrong_type() {
    const VALUES: &[&str] = &[
        "null",
        "true",
        "1",
        "1u",
        "2.5",
        "'a'",
        "b'a'",
        "[1, 'a']",
        "{'a': 1}",
        "duration('1s')",
        "timestamp('2021-02-03T04:05:06Z')",
        "optional.of(1)",
        "optional.none()",
        "int",
        "quantity('1')",
        "ip('::1')",
        "cidr('10.0.0.0/8')",
        "url('/')",
        "semver('1.0.0')",
        "format.uuid()",
    ];
    let env = env();
    let mut calls = 0;
    for function in env.functions().iter() {
        if function.name.contains(['@', '_']) {
            continue;
        }
        let counts = function.overloads.iter().map(|overload| (overload.is_member, overload.arguments.len()));
        let mut counts: Vec<(bool, usize)> = counts.collect();
        counts.sort_unstable();
        counts.dedup();
        for (is_member, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            for (position, value) in VALUES.iter().enumerate() {
                let argument = |at: usize| format!("dyn({})", VALUES[(position + at * 7) % VALUES.len()]);
                let rest: Vec<String> = (1..count).map(argument).collect();
                let expression = if is_member {
                    format!("dyn({value}).{}({})", function.name, rest.join(", "))
                } else {
                    let all: Vec<String> = std::iter::once(format!("dyn({value})")).chain(rest).collect();
                    format!("{}({})", function.name, all.join(", "))
                };
                calls += 1;
                assert!(!answer(&expression, "").contains("panicked"), "{expression}");
            }
        }
    }
    assert!(calls > 2_000, "{calls} calls");
}

#[test]
fn patterns_that_blow_up_are_refused_or_linear() {
    let text = "a".repeat(50_000);
    assert_eq!(answer("text.matches('^(a+)+$')", &text), "true");
    assert_eq!(answer("text.matches('(a*)*b')", &text), "false");
    for pattern in ["(x{1000}){1000}", "((a{100}){100}){100}", "a{1001}", "(?:(?:a?){500}){500}"] {
        let found = answer(&format!("'a'.matches('{pattern}')"), "");
        assert!(found.contains("invalid matches argument"), "{pattern}: {found}");
        let found = answer("'a'.matches(text)", pattern);
        assert!(found.contains("error parsing regexp") || found.contains("too large"), "{pattern}: {found}");
    }
}

#[test]
fn bytes_that_are_no_text_and_zones_that_do_not_exist_are_errors() {
    assert_eq!(answer("string(raw)", ""), "invalid UTF-8 in bytes, cannot convert to string");
    let hours = |zone: &str| answer(&format!("timestamp('2021-02-03T04:05:06Z').getHours('{zone}')"), "");
    assert_eq!(hours("Nowhere/City"), "unknown time zone Nowhere/City");
    assert_eq!(hours("../etc/passwd"), "time: invalid location name");
    assert_eq!(hours("europe/berlin"), "unknown time zone europe/berlin");
    assert_eq!(hours("Europe/Berlin"), "5");
    assert_eq!(answer("timestamp('9999-12-31T23:59:59Z').getHours('Europe/Berlin')", ""), "0");
}

#[test]
fn lists_that_double_are_refused_before_they_fill_the_memory() {
    let limit = "operation cancelled: actual cost limit exceeded";
    for count in [25, 40, 64, 65, 80] {
        let doubled = format!("[[1, 2]]{}.size() == 0", ".map(a, a + a)".repeat(count));
        assert_eq!(answer(&doubled, ""), limit, "{count} times");
    }
    // A text costs what it has, and ends at the limit by itself.
    let doubled = format!("['ab']{}.size() == 0", ".map(a, a + a)".repeat(60));
    assert_eq!(answer(&doubled, ""), limit);
    assert_eq!(answer("lists.range(9223372036854775807).size() == 0", ""), limit);
    assert_eq!(answer("lists.range(1000).map(i, lists.range(1000)).flatten().size() == 0", ""), limit);
}

#[test]
fn texts_that_are_no_utf8_and_literals_that_cannot_be_are_errors() {
    assert!(answer(r"'\ud800'", "").contains("invalid unicode code point"), "a surrogate");
    assert!(answer(r"'\U00110000'", "").contains("invalid unicode code point"), "beyond Unicode");
    assert!(answer(r"b'\u0041'", "").contains("unable to unescape string"), "a code point in bytes");
    assert_eq!(answer(r"string(b'\xff') == ''", ""), "invalid UTF-8 in bytes, cannot convert to string");
    assert_eq!(answer("raw + raw == raw", ""), "false");
}

#[test]
fn the_longest_and_the_deepest_expressions_are_answered() {
    let longest = format!("'{}' == ''", "x".repeat(99_992));
    assert_eq!(answer(&longest, ""), "false");
    let wide = format!("[{}1].size()", "1,".repeat(49_000));
    assert_eq!(answer(&wide, ""), "49001");
    let chain = format!("text{}", " + text".repeat(240));
    assert_eq!(answer(&format!("size({chain})"), "ab"), "482");
}

#[test]
fn long_and_deep_expressions_are_refused() {
    let long = format!("'{}'", "x".repeat(100_000));
    let expected = "expression code point size exceeds limit: size: 100002, limit 100000";
    assert!(answer(&long, "").contains(expected));
    let deep = format!("{}1{}", "(".repeat(300), ")".repeat(300));
    assert!(answer(&deep, "").contains("expression recursion limit exceeded: 250"));
}
