//! Fuzzes the parser, the checker and the cost estimator of CEL.
#![no_main]

#[path = "../cel_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::compile(data));
