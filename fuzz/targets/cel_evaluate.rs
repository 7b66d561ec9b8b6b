//! Fuzzes the evaluator of CEL.
#![no_main]

#[path = "../cel_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::evaluate(data));
