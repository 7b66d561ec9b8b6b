//! The first start, the second start, and starts that cannot succeed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use keelson_testkit::{Binary, Options, RunningServer, fixture};

const SECRET_FILES: [&str; 5] = ["ca.key", "apiserver.key", "sa.key", "admin.key", "admin.kubeconfig"];

fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().expect("the binary runs")
}

/// Fails with one line on stderr that has all of `parts`.
#[track_caller]
fn check_refused(output: &Output, parts: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{stderr}");
    let errors: Vec<&str> = stderr.lines().filter(|line| line.to_lowercase().contains("error")).collect();
    assert_eq!(errors.len(), 1, "one line says what is wrong:\n{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{part} is not in:\n{stderr}");
    }
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[tokio::test]
async fn the_first_start_makes_everything_and_the_second_uses_it() {
    let mut server = RunningServer::start(Options::default()).await;
    let read =
        |name: &str| fs::read(server.data_dir().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let names = [
        "ca.crt",
        "ca.key",
        "apiserver.crt",
        "apiserver.key",
        "sa.key",
        "sa.pub",
        "admin.crt",
        "admin.key",
        "admin.kubeconfig",
    ];
    let before: Vec<Vec<u8>> = names.iter().copied().map(read).collect();
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&server.data_dir()), 0o700);
    for name in SECRET_FILES {
        assert_eq!(mode(&server.data_dir().join(name)), 0o600, "{name}");
    }
    let log = server.log();
    assert!(log.contains(&server.url()), "the log names the address:\n{log}");
    assert!(log.contains(&server.kubeconfig().display().to_string()), "the log names the kubeconfig:\n{log}");

    let path = "/api/v1/namespaces/default/configmaps";
    server.client().post(path, &fixture::config_map("kept")).await.expect(201);
    assert!(server.terminate().await.success());
    server.restart().await;
    let read = |name: &str| fs::read(server.data_dir().join(name)).expect("it is still there");
    let after: Vec<Vec<u8>> = names.iter().copied().map(read).collect();
    assert!(before == after, "a second start uses the files of the first");
    server.client().get(&format!("{path}/kept")).await.expect(200);
}

#[tokio::test]
async fn the_system_namespaces_are_there_from_the_start() {
    let server = RunningServer::shared().await;
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        server.client().get(&format!("/api/v1/namespaces/{name}")).await.expect(200);
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("it has one").port().to_string();
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    let output =
        run(&Binary::path(), &["--data-dir", &data, "--secure-port", &port, "--bind-address", "127.0.0.1"]);
    check_refused(&output, &[&port, "in use"]);
}

#[tokio::test]
async fn a_folder_has_one_server() {
    let server = RunningServer::start(Options::default()).await;
    let data = server.data_dir().display().to_string();
    let port = keelson_testkit::free_port().expect("a port").to_string();
    let output = run(&Binary::path(), &["--data-dir", &data, "--secure-port", &port]);
    check_refused(&output, &[&server.pid().to_string()]);
    assert_eq!(server.client().get("/readyz").await.text(), "ok", "the first goes on");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    // A file in place of the folder makes the start fail for every user, even for root.
    let data = folder.path().join("data");
    fs::write(&data, "not a folder").expect("a file");
    let port = keelson_testkit::free_port().expect("a port").to_string();
    let shown = data.display().to_string();
    check_refused(&run(&Binary::path(), &["--data-dir", &shown, "--secure-port", &port]), &[&shown]);

    if !rustix::process::geteuid().is_root() {
        let closed = folder.path().join("closed");
        fs::create_dir(&closed).expect("a folder");
        fs::set_permissions(&closed, Permissions::from_mode(0o500)).expect("it is ours");
        let shown = closed.join("data").display().to_string();
        check_refused(&run(&Binary::path(), &["--data-dir", &shown, "--secure-port", &port]), &[&shown]);
    }
}

#[tokio::test]
async fn a_damaged_certificate_is_named_and_kept() {
    let mut server = RunningServer::start(Options::default()).await;
    assert!(server.terminate().await.success());
    let path = server.data_dir().join("ca.crt");
    fs::write(&path, "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
        .expect("it is ours");
    let damaged = fs::read(&path).expect("it is there");
    let port = server.port().to_string();
    let data = server.data_dir().display().to_string();
    check_refused(&run(&Binary::path(), &["--data-dir", &data, "--secure-port", &port]), &["ca.crt"]);
    assert_eq!(fs::read(&path).expect("it is there"), damaged, "nothing is overwritten");
}

#[test]
fn help_and_version_are_answered() {
    let help = run(&Binary::path(), &["--help"]);
    assert!(help.status.success());
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    for part in ["--data-dir", "--secure-port", "--bind-address"] {
        assert!(text.contains(part), "{part} is not in the help");
    }
    let version = run(&Binary::path(), &["--version"]);
    assert!(version.status.success());
    assert!(String::from_utf8_lossy(&version.stdout).contains("v1.36.4"));
}

#[test]
fn all_bad_flags_are_reported_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data").display().to_string();
    let output = run(
        &Binary::path(),
        &[
            "--data-dir",
            &data,
            "--secure-port=70000",
            "--max-requests-inflight=-1",
            "--min-request-timeout=-1",
        ],
    );
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    for flag in ["--secure-port", "--max-requests-inflight", "--min-request-timeout"] {
        assert!(stderr.contains(flag), "{flag} is not in:\n{stderr}");
    }
    let unknown = run(&Binary::path(), &["--no-such-flag"]);
    assert!(!unknown.status.success());
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("unknown flag: --no-such-flag"));
}

#[test]
fn called_as_kube_apiserver_it_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("kube-apiserver");
    symlink(Binary::path(), &link).expect("a link");
    for output in [run(&link, &["--help"]), run(&Binary::path(), &["kube-apiserver", "--help"])] {
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for part in
            ["--etcd-servers", "--service-cluster-ip-range", "--authorization-mode", "Secure serving flags:"]
        {
            assert!(text.contains(part), "{part} is not in the help");
        }
    }
    let version = run(&link, &["--version"]);
    assert_eq!(String::from_utf8_lossy(&version.stdout), "Kubernetes v1.36.4\n");
    let extra = run(&link, &["extra"]);
    assert!(!extra.status.success());
}
