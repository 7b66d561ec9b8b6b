//! The binary itself: its output and its exit code. (This test also makes cargo build it for the other
//! suites.)

use std::process::{Command, Output};

fn keelson(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keelson")).args(arguments).output().expect("the binary runs")
}

#[track_caller]
fn fails(arguments: &[&str], expected: &str) {
    let output = keelson(arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{arguments:?} must fail");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn it_tells_its_version() {
    let output = keelson(&["--version"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("Kubernetes v1.36.4"));
}

#[test]
fn the_drop_in_has_help_and_no_insecure_port() {
    let output = keelson(&["kube-apiserver", "--help"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("--secure-port")
            && !text.lines().any(|line| line.trim().starts_with("--insecure-port"))
    );
}

#[test]
fn mistakes_are_told_and_end_badly() {
    fails(&["--no-such-flag"], "unknown flag: --no-such-flag");
    fails(&["kube-apiserver", "stray"], "does not take any arguments");
    fails(&["--secure-port=99999"], "--secure-port");
}
