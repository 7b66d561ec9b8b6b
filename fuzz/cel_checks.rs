//! What must hold for any expression: parser, checker, estimator and evaluator answer and keep their limits.
//!
//! The fuzz targets call these with bytes from libFuzzer, `crates/cel/tests/random.rs` with bytes of its own.
#![allow(dead_code, reason = "each target uses one of them")]

use std::sync::LazyLock;

use keelson_cel::fail::Cause;
use keelson_cel::program::Program;
use keelson_cel::run::{Options, PER_CALL_LIMIT};
use keelson_cel::value::Val;
use keelson_cel::{Env, Library, Type, estimate};
use keelson_object::{Map, Value};

/// Less than usual, so that more expressions are tried.
const LIMIT: u64 = PER_CALL_LIMIT / 10;

static ENV: LazyLock<Env> = LazyLock::new(|| {
    Env::stored()
        .with_library(Library::Bindings)
        .with_variable("self", Type::map(Type::String, Type::Dyn))
        .with_variable("x", Type::Int)
        .with_variable("l", Type::list(Type::String))
        .with_variable("d", Type::Dyn)
});

static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    let mut inner = Map::new();
    inner.set("name", "web");
    inner.set("replicas", 3);
    inner.set("ratio", Value::Float(2.5));
    inner.set("absent", Value::Null);
    inner.set("items", vec![Value::Int(1), Value::from("a"), Value::Null]);
    let mut outer = Map::new();
    outer.set("spec", inner);
    Value::Map(outer)
});

/// The parser alone: a tree, or errors that say where.
pub(crate) fn parse(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(issues) = ENV.parse(text) {
        assert!(issues.to_string().starts_with("ERROR: <input>:"));
    }
}

/// Parser, checker and estimator: the least cost is not above the most.
pub(crate) fn compile(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ENV.compile(text) {
        Ok(checked) => {
            let range = estimate::estimate(&checked, &());
            assert!(range.min <= range.max || range.max == 0, "{range:?} for {text}");
        }
        Err(issues) => assert!(issues.to_string().starts_with("ERROR: <input>:")),
    }
}

/// Everything: the same value at the same cost twice, and no evaluation goes on after its limit.
pub(crate) fn evaluate(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(checked) = ENV.compile(text) else { return };
    let Ok(program) = Program::new(&checked) else { return };
    let list = Val::list(vec![Val::str("a"), Val::str("bc")]);
    let variables =
        [("self", Val::json(&OBJECT)), ("x", Val::Int(7)), ("l", list), ("d", Val::json(&OBJECT))];
    let options = Options { cost_limit: Some(LIMIT), ..Options::default() };
    let [first, second] = [0; 2].map(|_| program.evaluate(&variables, options));
    assert_eq!(first.cost, second.cost);
    match (&first.outcome, &second.outcome) {
        (Ok(a), Ok(b)) => assert_eq!(a.go_text(), b.go_text()),
        (Err(a), Err(b)) => {
            assert_eq!(a, b);
            if !matches!(a.cause(), Cause::CostLimit) {
                assert!(first.cost <= LIMIT);
            }
        }
        _ => panic!("two evaluations of {text} differ"),
    }
}
