//! The binary from outside: its output, its exit code, and the files that it leaves.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use keelson::data_folder::DataFolder;

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keelson"))
        .arg0(program)
        .args(arguments)
        .env_remove("XDG_DATA_HOME")
        .env_remove("HOME")
        .output()
        .expect("keelson runs")
}

/// `expected` is the only line on standard error.
#[track_caller]
fn check_refused(arguments: &[&str], expected: &str) {
    let output = run("keelson", arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), format!("{expected}\n"));
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
}

fn data_dir(folder: &Path) -> String {
    format!("--data-dir={}", folder.display())
}

#[test]
fn help_is_printed_by_both_faces() {
    for (program, arguments) in
        [("keelson", &["--help"][..]), ("kube-apiserver", &["--help"]), ("keelson", &["-h"])]
    {
        let output = run(program, arguments);
        assert!(output.status.success());
        assert!(output.stderr.is_empty());
        let text = String::from_utf8(output.stdout).expect("text");
        assert!(text.contains(&format!("\nUsage:\n  {program} [flags]\n")), "{text}");
    }
}

#[test]
fn the_version_depends_on_the_face() {
    let version =
        |program, arguments: &[&str]| String::from_utf8(run(program, arguments).stdout).expect("text");
    assert_eq!(version("keelson", &["--version"]), "Keelson 0.1.0 (Kubernetes v1.36.4)\n");
    assert_eq!(version("/opt/kube-apiserver", &["--version"]), "Kubernetes v1.36.4\n");
    assert_eq!(version("keelson", &["kube-apiserver", "--version"]), "Kubernetes v1.36.4\n");
}

#[test]
fn what_hinders_a_start_is_told_in_one_line() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("data");
    check_refused(&["--foo"], "Error: unknown flag: --foo");
    check_refused(
        &[],
        "Error: cannot choose a data folder: neither $XDG_DATA_HOME nor $HOME is set; give one with --data-dir",
    );
    let lock = DataFolder::open(&folder).expect("a data folder");
    check_refused(
        &[&data_dir(&folder)],
        &format!(
            "Error: data folder {} is in use by another Keelson (pid {})",
            folder.display(),
            std::process::id()
        ),
    );
    drop(lock);
    std::fs::write(folder.join("ca.key"), "rubbish").expect("a file");
    check_refused(
        &[&data_dir(&folder)],
        &format!("Error: {}/ca.key is not usable: it holds no private key", folder.display()),
    );
    std::fs::write(parent.path().join("file"), "").expect("a file");
    check_refused(
        &[&data_dir(&parent.path().join("file"))],
        &format!("Error: data folder {}/file is not usable: entity already exists", parent.path().display()),
    );
}
