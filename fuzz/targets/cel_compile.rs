//! Fuzzes the parser, the checker and the cost estimator of CEL.
#![no_main]

use std::sync::LazyLock;

use keelson_cel::{Env, Type, estimate};

static ENV: LazyLock<Env> = LazyLock::new(|| {
    Env::stored()
        .with_variable("self", Type::map(Type::String, Type::Dyn))
        .with_variable("x", Type::Int)
        .with_variable("l", Type::list(Type::String))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match ENV.compile(text) {
        Ok(checked) => {
            estimate::estimate(&checked, &());
        }
        Err(issues) => assert!(issues.to_string().starts_with("ERROR: <input>:")),
    }
});
