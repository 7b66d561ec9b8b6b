//! Fuzzes `checks::yaml_read`.
#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::yaml_read(data));
