//! The embedded store on a full disk: no confirmed write is lost, and the server reports the problem.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use keelson_testkit::{Binary, Options, RunningServer, fixture};
use keelson_tests::place::{name, names};
use rustix::process::Signal;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A program that starts the server with files that may not grow beyond what `limit` in its folder says. A write that
/// would make them larger fails, as on a full disk.
fn limited(folder: &Path) -> std::path::PathBuf {
    let program = folder.join("limited");
    let text = format!(
        "#!/bin/sh\ntrap '' XFSZ\nulimit -f \"$(cat '{}')\"\nexec '{}' \"$@\"\n",
        folder.join("limit").display(),
        Binary::path().display()
    );
    std::fs::write(&program, text).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    program
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_loses_nothing_and_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit = |text: &str| std::fs::write(folder.path().join("limit"), text).expect("a file");
    // Blocks of 512 or 1024 bytes, as the shell likes.
    limit("16384");
    let mut server = RunningServer::start(Options::default().binary(limited(folder.path()))).await;
    let client = server.client();
    let from = keelson_tests::place::revision(&client.get(CONFIG_MAPS).await.expect(200));
    let mut confirmed = Vec::new();
    let refused = loop {
        let object = fixture::config_map_of(&format!("big-{:03}", confirmed.len()), 400_000);
        let answer = client.post(CONFIG_MAPS, &object).await;
        if answer.status != 201 {
            break answer;
        }
        confirmed.push(name(&answer.json()));
        assert!(confirmed.len() < 200, "there is no end to it");
    };
    assert!(confirmed.len() > 5, "{} fit", confirmed.len());
    let status = refused.refused(503, "ServiceUnavailable");
    assert!(status["message"].as_str().is_some_and(|it| it.contains("File too large")), "{status}");
    assert!(server.log().contains("the store cannot write any more"), "{}", server.log());

    // Reads and watches work, writes are refused, and health checks report it.
    let there = names(&client.get(CONFIG_MAPS).await.expect(200));
    assert!(confirmed.iter().all(|it| there.contains(it)));
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}")).await;
    for expected in confirmed.iter() {
        assert_eq!(name(&watch.change().await["object"]), *expected);
    }
    client.post(CONFIG_MAPS, &fixture::config_map("small")).await.refused(503, "ServiceUnavailable");
    for check in ["/readyz", "/livez"] {
        let answer = client.get(check).await;
        assert_eq!(answer.status, 500, "{check}");
        assert!(answer.text().contains("[-]etcd failed"), "{}", answer.text());
    }

    // With free space the next start works as usual.
    server.signal(Signal::TERM);
    server.ended().await;
    limit("unlimited");
    server.restart().await;
    let client = server.client();
    let there = names(&client.get(CONFIG_MAPS).await.expect(200));
    assert_eq!(there.iter().filter(|it| it.starts_with("big-")).count(), confirmed.len());
    client.post(CONFIG_MAPS, &fixture::config_map("small")).await.expect(201);
    assert_eq!(client.get("/readyz").await.status, 200);
}
