//! The memory of compiled expressions: a number that may not grow.
//!
//! One test, because it reads the resident memory of this process.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use keelson_cel::program::Program;
use keelson_cel::{Env, Type};

/// So many that what the process takes besides does not count.
const PROGRAMS: u64 = 20_000;
/// The most bytes of a typical expression.
const MOST: u64 = 2_048;

const TYPICAL: &[&str] = &[
    "object.spec.replicas <= 5",
    "object.metadata.namespace == 'default' || request.userInfo.username.startsWith('system:')",
    "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
    "object.metadata.labels.exists(k, k.startsWith('app.kubernetes.io/'))",
];

/// Bytes of resident memory.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn a_compiled_expression_is_small() {
    let env = Env::stored().with_variable("object", Type::Dyn).with_variable("request", Type::Dyn);
    let compiled = |text: &str| Program::new(&env.compile(text).unwrap()).unwrap();
    let mut programs: Vec<Program> = Vec::with_capacity(PROGRAMS as usize);
    programs.extend(TYPICAL.iter().map(|text| compiled(text)));
    let before = resident();
    let more = PROGRAMS - TYPICAL.len() as u64;
    programs.extend(TYPICAL.iter().cycle().take(more as usize).map(|text| compiled(text)));
    let each = resident().saturating_sub(before) / more;
    println!("{each} bytes for each of {} expressions", programs.len());
    assert!(each <= MOST, "{each} bytes");
}
